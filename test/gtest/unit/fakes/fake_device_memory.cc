/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Memory that nobody but the stock UCX of fake_ucx.cc may touch; see fake_ucx.h. */

#include "fake_ucx.h"

#include <sys/mman.h>
#include <unistd.h>

namespace fake {

device_memory::device_memory(size_t length, ucs_memory_type_t type)
    : m_length(length), m_type(type)
{
    size_t page = sysconf(_SC_PAGESIZE);

    m_mapped = (length / page + 1) * page;
    m_data   = mmap(nullptr, m_mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(MAP_FAILED, m_data);
    ucx::get()->devices.insert(this);
}

device_memory::~device_memory()
{
    ucx::get()->devices.erase(this);
    munmap(m_data, m_mapped);
}

bool device_memory::contains(const void *address) const
{
    return (address >= m_data) && (address < static_cast<char *>(m_data) + m_mapped);
}

void device_memory::allow(bool access)
{
    EXPECT_EQ(0, mprotect(m_data, m_mapped, access ? PROT_READ | PROT_WRITE : PROT_NONE));
}

bytes device_memory::read()
{
    allow(true);
    bytes content(static_cast<uint8_t *>(m_data),
                  static_cast<uint8_t *>(m_data) + m_length);
    allow(false);
    return content;
}

void device_memory::write(const bytes &content)
{
    allow(true);
    std::copy(content.begin(), content.end(), static_cast<uint8_t *>(m_data));
    allow(false);
}

} // namespace fake

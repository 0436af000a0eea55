/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the two files of the RDMA device of the unit tests share.
 */
#ifndef RI_TEST_FAKE_VERBS_CONTEXT_H
#define RI_TEST_FAKE_VERBS_CONTEXT_H

#include "fake_verbs.h"

#if HAVE_VERBS

#include <cerrno>

namespace fake {

/* An opened device */
struct context {
    struct ibv_context super;
    hca_device *device;
    unsigned users; /* protection domains and completion queues */
};

template <typename type, typename super_type> type *outer(super_type *super)
{
    static_assert(offsetof(type, super) == 0, "the first member");
    return reinterpret_cast<type *>(super);
}

inline hca_device *device_of(struct ibv_context *super)
{
    return outer<context>(super)->device;
}

template <typename type> type *null_with(int error)
{
    errno = error;
    return nullptr;
}

/* The functions that ask for devices and ports, or for what these tell of themselves */
void fill_device_functions();

} // namespace fake

#endif

#endif

/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/shm/mapping.[hc]: which file memory is of, and views of it. */

#include "unit/common/ri_cpp.h"
#include "unit/common/setting.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <vector>

namespace {

const int READ_WRITE = PROT_READ | PROT_WRITE;

/* A file without a name. */
class file {
public:
    explicit file(size_t length) : m_fd(memfd_create("test_mapping", MFD_CLOEXEC))
    {
        EXPECT_EQ(0, ftruncate(m_fd, length));
    }

    ~file() { close(m_fd); }

    int fd() const { return m_fd; }

    ri_mapping_place_t place(uint64_t offset) const { return place_of(m_fd, offset); }

    static ri_mapping_place_t place_of(int fd, uint64_t offset)
    {
        struct stat st = {};

        EXPECT_EQ(0, fstat(fd, &st));
        return {((uint64_t)major(st.st_dev) << 32) | minor(st.st_dev), st.st_ino, offset,
                0};
    }

private:
    int m_fd;
};

/* The kernel is asked where it answers (1), or the text is read (0). */
class test_mapping : public ::testing::TestWithParam<int> {
protected:
    void TearDown() override
    {
        for (const auto &range : m_mapped) {
            munmap(range.first, range.second);
        }
    }

    char *map(size_t length, int fd, off_t offset = 0, int protection = READ_WRITE,
              int flags = MAP_SHARED, char *at = nullptr)
    {
        void *memory = mmap(at, length, protection,
                            flags | ((at != nullptr) ? MAP_FIXED : 0), fd, offset);

        EXPECT_NE(MAP_FAILED, memory);
        if (at == nullptr) {
            m_mapped.emplace_back(memory, length);
        }
        return static_cast<char *>(memory);
    }

    /* Addresses with nothing behind them, in which others are mapped. */
    char *room(size_t length)
    {
        return map(length, -1, 0, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS);
    }

    /* @return Whether memory is of a file; then of which one. */
    static bool find(const void *address, size_t length, ri_mapping_place_t *place)
    {
        ucs_status_t status;

        memset((void *)place, 0xaa, sizeof(*place));
        status = ri_mapping_find(address, length, place);
        EXPECT_TRUE((status == UCS_OK) || (status == UCS_ERR_NO_ELEM)) << status;
        EXPECT_EQ(status == UCS_OK, place->inode != 0);
        return status == UCS_OK;
    }

    static bool find(const void *address, size_t length)
    {
        ri_mapping_place_t place;

        return find(address, length, &place);
    }

    static void expect_place(const ri_mapping_place_t &expected, const void *address,
                             size_t length)
    {
        ri_mapping_place_t place;

        ASSERT_TRUE(find(address, length, &place));
        EXPECT_EQ((uint64_t)expected.device, (uint64_t)place.device);
        EXPECT_EQ((uint64_t)expected.inode, (uint64_t)place.inode);
        EXPECT_EQ((uint64_t)expected.offset, (uint64_t)place.offset);
        EXPECT_EQ((uint64_t)expected.space, (uint64_t)place.space);
    }

    static bool view(const ri_mapping_place_t &place, size_t length)
    {
        ucs_status_t status;

        memset((void *)&m_view, 0xaa, sizeof(m_view));
        status = ri_mapping_view_make(&place, length, &m_view);
        EXPECT_TRUE((status == UCS_OK) || (status == UCS_ERR_NO_ELEM)) << status;
        EXPECT_EQ(status == UCS_OK, m_view.address != nullptr);
        return status == UCS_OK;
    }

    static char *seen() { return static_cast<char *>(m_view.address); }

    static void end_view()
    {
        ri_mapping_view_end(&m_view);
        EXPECT_EQ(nullptr, m_view.address);
    }

    setting<int> m_asks{ri_mapping_asks, GetParam()};
    const size_t m_page = sysconf(_SC_PAGESIZE);
    std::vector<std::pair<void *, size_t>> m_mapped;
    static ri_mapping_view_t m_view;
};

ri_mapping_view_t test_mapping::m_view;

TEST_P(test_mapping, find)
{
    file memory(8 * m_page);
    char *at = map(4 * m_page, memory.fd(), 2 * m_page);

    expect_place(memory.place(2 * m_page), at, 4 * m_page);
    expect_place(memory.place(2 * m_page), at, 1);
    expect_place(memory.place(3 * m_page + 5), at + m_page + 5, 100);
    expect_place(memory.place(4 * m_page - 1), at + 2 * m_page - 1, 2);
    expect_place(memory.place(6 * m_page - 1), at + 4 * m_page - 1, 1);
}

TEST_P(test_mapping, find_anonymous_shared)
{
    char *at = map(m_page, -1, 0, READ_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    ri_mapping_place_t place;

    ASSERT_TRUE(find(at + 8, 16, &place));
    EXPECT_EQ(8u, place.offset);
    ASSERT_TRUE(view(place, 16));
    strcpy(seen(), "anonymous");
    EXPECT_STREQ("anonymous", at + 8);
    end_view();
}

TEST_P(test_mapping, find_private)
{
    file memory(m_page);
    std::vector<char> heap(100);
    char stack[100] = "";

    EXPECT_FALSE(find(heap.data(), heap.size()));
    EXPECT_FALSE(find(stack, sizeof(stack)));
    EXPECT_FALSE(find(map(m_page, -1, 0, READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS), 8));
    EXPECT_FALSE(find(map(m_page, memory.fd(), 0, READ_WRITE, MAP_PRIVATE), 8));
    EXPECT_FALSE(find((const void *)"constant", 8));
}

TEST_P(test_mapping, find_what_may_not_be_written_or_read)
{
    file memory(m_page);
    char *at = map(m_page, memory.fd());

    EXPECT_TRUE(find(at, m_page));
    for (int protection : {PROT_READ, PROT_NONE}) {
        ASSERT_EQ(0, mprotect(at, m_page, protection));
        EXPECT_FALSE(find(at, m_page)) << protection;
        EXPECT_FALSE(view(memory.place(0), m_page)) << protection;
    }
    EXPECT_FALSE(find(map(m_page, memory.fd(), 0, PROT_READ), m_page));
}

/* Some of it is not there */
TEST_P(test_mapping, find_in_part)
{
    file memory(4 * m_page);
    char *at = room(4 * m_page);

    map(m_page, memory.fd(), 0, READ_WRITE, MAP_SHARED, at + m_page);
    EXPECT_TRUE(find(at + m_page, m_page));
    EXPECT_FALSE(find(at + m_page - 1, 2));
    EXPECT_FALSE(find(at + m_page, m_page + 1));
    EXPECT_FALSE(find(at + 2 * m_page - 1, 2));
    EXPECT_FALSE(find(at, 4 * m_page));
    /* A hole, whose other side goes on as if it were not one */
    map(m_page, memory.fd(), 2 * m_page, READ_WRITE, MAP_SHARED, at + 3 * m_page);
    munmap(at + 2 * m_page, m_page);
    EXPECT_FALSE(find(at + m_page, 3 * m_page));
    EXPECT_FALSE(find(at + 2 * m_page, m_page));
    EXPECT_TRUE(find(at + 3 * m_page, m_page));
}

TEST_P(test_mapping, find_nothing)
{
    file memory(m_page);
    char *at = map(m_page, memory.fd());
    ri_mapping_place_t place;

    EXPECT_FALSE(find(at, 0));
    EXPECT_FALSE(find(nullptr, 0));
    EXPECT_FALSE(find(nullptr, 1));
    EXPECT_FALSE(find((void *)UINTPTR_MAX, 1));
    EXPECT_EQ(UCS_ERR_NO_ELEM, ri_mapping_find(nullptr, 8, &place));
}

/* Beyond the last address */
TEST_P(test_mapping, find_length_that_wraps)
{
    file memory(m_page);
    char *at = map(m_page, memory.fd());

    EXPECT_FALSE(find(at, SIZE_MAX));
    EXPECT_FALSE(find(at, SIZE_MAX - (uintptr_t)at));
    EXPECT_FALSE(find(at, SIZE_MAX - (uintptr_t)at + 2));
}

TEST_P(test_mapping, find_over_adjoining_mappings)
{
    file memory(4 * m_page);
    char *at = room(4 * m_page);

    map(2 * m_page, memory.fd(), 0, READ_WRITE, MAP_SHARED, at);
    map(2 * m_page, memory.fd(), 2 * m_page, READ_WRITE, MAP_SHARED, at + 2 * m_page);
    expect_place(memory.place(0), at, 4 * m_page);
    /* What makes the kernel keep two lines for them, and then three */
    ASSERT_EQ(0, madvise(at + 2 * m_page, 2 * m_page, MADV_DONTFORK));
    expect_place(memory.place(0), at, 4 * m_page);
    expect_place(memory.place(7), at + 7, 4 * m_page - 7);
    ASSERT_EQ(0, madvise(at + 3 * m_page, m_page, MADV_SEQUENTIAL));
    expect_place(memory.place(m_page), at + m_page, 3 * m_page);
    expect_place(memory.place(2 * m_page - 1), at + 2 * m_page - 1, m_page + 2);
}

TEST_P(test_mapping, find_over_what_does_not_adjoin_in_the_file)
{
    file memory(8 * m_page), other(8 * m_page);
    const int fds[]        = {other.fd(), memory.fd(), memory.fd(), memory.fd()};
    const size_t offsets[] = {1, 0, 2, 3}; /* in pages; 1 would go on */

    for (size_t i = 0; i < 4; ++i) {
        char *at = room(2 * m_page);

        map(m_page, memory.fd(), 0, READ_WRITE, MAP_SHARED, at);
        map(m_page, fds[i], offsets[i] * m_page, READ_WRITE, MAP_SHARED, at + m_page);
        EXPECT_FALSE(find(at, 2 * m_page)) << i;
        EXPECT_FALSE(find(at + m_page - 1, 2)) << i;
        EXPECT_TRUE(find(at, m_page)) << i;
        EXPECT_TRUE(find(at + m_page, m_page)) << i;
    }
    char *swapped = room(2 * m_page);
    map(m_page, memory.fd(), m_page, READ_WRITE, MAP_SHARED, swapped);
    map(m_page, memory.fd(), 0, READ_WRITE, MAP_SHARED, swapped + m_page);
    EXPECT_FALSE(find(swapped, 2 * m_page));
}

TEST_P(test_mapping, the_librarys_own)
{
    int fd      = -1;
    void *own   = ri_shared_file_make("ucxri-test", m_page, m_page, &fd);
    char *other = nullptr;

    ASSERT_NE(nullptr, own);
    other = map(m_page, fd);
    EXPECT_FALSE(find(own, m_page));
    EXPECT_FALSE(find(other, 8));
    EXPECT_FALSE(view(file::place_of(fd, 0), m_page));
    munmap(own, m_page);
    close(fd);
}

TEST_P(test_mapping, view_shows_the_same_bytes)
{
    file memory(4 * m_page);
    char *at = map(4 * m_page, memory.fd());

    strcpy(at + m_page + 3, "first");
    ASSERT_TRUE(view(memory.place(m_page + 3), 2 * m_page));
    EXPECT_NE(at + m_page + 3, seen());
    EXPECT_STREQ("first", seen());
    strcpy(seen() + 100, "second");
    EXPECT_STREQ("second", at + m_page + 103);
    seen()[2 * m_page - 1] = 'x';
    EXPECT_EQ('x', at[3 * m_page + 2]);
    EXPECT_EQ(0u, (uintptr_t)m_view.start % m_page);
    EXPECT_LE((char *)m_view.start, seen());
    EXPECT_GE((char *)m_view.start + m_view.length, seen() + 2 * m_page);
    end_view();
}

/* All places and lengths near the edges of pages, of a mapping that begins within the file */
TEST_P(test_mapping, view_of_places_in_pages)
{
    file memory(6 * m_page);
    char *at = map(4 * m_page, memory.fd(), m_page);

    for (size_t i = 0; i < 4 * m_page; ++i) {
        at[i] = (char)(i * 7 + i / m_page);
    }
    for (size_t offset : {0ul, 1ul, m_page - 1, m_page, m_page + 1, 2 * m_page - 8}) {
        for (size_t length : {1ul, 2ul, m_page - 1, m_page, m_page + 1, 2 * m_page}) {
            ASSERT_TRUE(view(memory.place(m_page + offset), length));
            EXPECT_EQ(0, memcmp(at + offset, seen(), length)) << offset << ' ' << length;
            end_view();
        }
    }
}

TEST_P(test_mapping, view_outlives_the_first_mapping)
{
    file memory(m_page);
    char *at = map(m_page, memory.fd());

    strcpy(at + 5, "text");
    ASSERT_TRUE(view(memory.place(5), 10));
    munmap(at, m_page);
    EXPECT_STREQ("text", seen());
    strcpy(seen(), "more");
    char text[5] = "";
    EXPECT_EQ(4, pread(memory.fd(), text, 4, 5));
    EXPECT_STREQ("more", text);

    /* Another view is made of the view, if that is all that there is. */
    ri_mapping_view_t first = m_view;
    ASSERT_TRUE(view(memory.place(5), 10));
    EXPECT_STREQ("more", seen());
    end_view();
    ri_mapping_view_end(&first);
    EXPECT_FALSE(view(memory.place(5), 10)) << "it is not mapped any more";
}

TEST_P(test_mapping, view_end_twice)
{
    file memory(m_page);
    ri_mapping_view_t none = {};

    map(m_page, memory.fd());
    ASSERT_TRUE(view(memory.place(0), 8));
    void *start = m_view.start;
    end_view();
    errno = 0;
    EXPECT_EQ(-1, msync(start, m_page, MS_ASYNC));
    EXPECT_EQ(ENOMEM, errno) << "it is unmapped";
    void *other = mmap(start, m_page, READ_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    ASSERT_EQ(start, other);
    end_view();
    EXPECT_EQ(0, msync(start, m_page, MS_ASYNC)) << "what came after it is there";
    munmap(start, m_page);
    ri_mapping_view_end(&none);
}

TEST_P(test_mapping, view_of_hostile_places)
{
    file memory(4 * m_page);
    ri_mapping_place_t good = memory.place(m_page), place;

    map(2 * m_page, memory.fd(), m_page);
    ASSERT_TRUE(view(good, 2 * m_page));
    end_view();

    EXPECT_FALSE(view(good, 0));
    for (size_t length : {2 * m_page + 1, 3 * m_page, SIZE_MAX, SIZE_MAX - m_page + 1,
                          SIZE_MAX / 2, (size_t)1 << 47}) {
        EXPECT_FALSE(view(good, length)) << length;
    }
    for (uint64_t offset :
         {0ul, m_page - 1, 3 * m_page, 3 * m_page - 7, 4 * m_page, UINT64_MAX,
          UINT64_MAX - 7, UINT64_MAX - m_page + 1, 1ul << 63}) {
        place        = good;
        place.offset = offset;
        EXPECT_FALSE(view(place, 8)) << offset;
        EXPECT_FALSE(view(place, SIZE_MAX)) << offset;
        EXPECT_FALSE(view(place, UINT64_MAX - offset + 1 + m_page)) << "wraps " << offset;
    }
    place        = good;
    place.offset = 3 * m_page - 8;
    EXPECT_TRUE(view(place, 8));
    end_view();
}

TEST_P(test_mapping, view_of_another_file)
{
    file memory(m_page);
    const ri_mapping_place_t good = memory.place(0);
    ri_mapping_place_t place;

    map(m_page, memory.fd());
    for (uint64_t value : {0ul, 1ul, UINT64_MAX, good.inode ^ 1, good.inode << 32}) {
        place       = good;
        place.inode = value;
        EXPECT_FALSE(view(place, 8)) << value;
    }
    for (uint64_t value : {good.device ^ 1, good.device ^ (1ul << 32), UINT64_MAX}) {
        place        = good;
        place.device = value;
        EXPECT_FALSE(view(place, 8)) << value;
    }
    for (uint64_t value : {1ul, UINT64_MAX}) {
        place       = good;
        place.space = value;
        EXPECT_FALSE(view(place, 8)) << value;
    }
    /* Anonymous memory has no file: all zero */
    EXPECT_FALSE(view({0, 0, 0, 0}, 8));
    EXPECT_FALSE(view({0, 0, 0, 0}, m_page));
}

/* A private mapping, or one to be read only, does not do; another one of the same file does. */
TEST_P(test_mapping, view_takes_the_mapping_that_will_do)
{
    file memory(4 * m_page);
    char *at;

    map(4 * m_page, memory.fd(), 0, READ_WRITE, MAP_PRIVATE)[m_page] = 'p';
    map(4 * m_page, memory.fd(), 0, PROT_READ);
    EXPECT_FALSE(view(memory.place(m_page), m_page));
    map(m_page, memory.fd(), 0);              /* has nothing of it */
    map(m_page, memory.fd(), m_page);         /* ends too early */
    map(2 * m_page, memory.fd(), 2 * m_page); /* begins too late */
    EXPECT_FALSE(view(memory.place(m_page), 2 * m_page + 1));
    at         = map(3 * m_page, memory.fd(), m_page);
    at[0]      = 's';
    at[m_page] = 't';
    ASSERT_TRUE(view(memory.place(m_page), 2 * m_page + 1));
    EXPECT_EQ('s', seen()[0]);
    EXPECT_EQ('t', seen()[m_page]);
    end_view();
}

/* Segments of System V. The first of a host has the number 0, as what has no file. */
class segment {
public:
    explicit segment(size_t length) : m_id(shmget(IPC_PRIVATE, length, IPC_CREAT | 0600))
    {
        m_memory = (m_id >= 0) ? shmat(m_id, nullptr, 0) : (void *)-1;
    }

    ~segment()
    {
        if (m_memory != (void *)-1) {
            shmdt(m_memory);
        }
        if (m_id >= 0) {
            shmctl(m_id, IPC_RMID, nullptr);
        }
    }

    int id() const { return m_id; }
    char *memory() const { return (m_memory != (void *)-1) ? (char *)m_memory : nullptr; }

private:
    int m_id;
    void *m_memory;
};

TEST_P(test_mapping, system_v)
{
    segment first(m_page), second(2 * m_page);
    struct stat names = {};
    ri_mapping_place_t place;

    if (second.memory() == nullptr) {
        GTEST_SKIP() << "no segments";
    }
    ASSERT_EQ(0, stat("/proc/self/ns/ipc", &names));
    ASSERT_TRUE(find(second.memory() + m_page + 1, 10, &place));
    EXPECT_EQ((uint64_t)second.id() + 1, (uint64_t)place.inode);
    EXPECT_EQ(m_page + 1, place.offset);
    EXPECT_EQ(names.st_ino, place.space)
            << "numbers mean something in one namespace only";
    ASSERT_TRUE(view(place, 10));
    strcpy(seen(), "segment");
    EXPECT_STREQ("segment", second.memory() + m_page + 1);

    /* It outlives the segment. */
    char *memory = second.memory();
    shmctl(second.id(), IPC_RMID, nullptr);
    shmdt(memory);
    EXPECT_STREQ("segment", seen());
    end_view();
    EXPECT_FALSE(view(place, 10));
}

TEST_P(test_mapping, system_v_of_another_namespace)
{
    segment first(m_page), second(m_page);
    ri_mapping_place_t place;

    if (second.memory() == nullptr) {
        GTEST_SKIP() << "no segments";
    }
    ASSERT_TRUE(find(second.memory(), 10, &place));
    place.space ^= 1;
    EXPECT_FALSE(view(place, 10));
    place.space = 0;
    EXPECT_FALSE(view(place, 10));
}

/* A file of a disk, whose device and inode may be those of another one, too. Its line of /proc is read
 * in two parts, whose second one looks like a line. */
TEST_P(test_mapping, file_with_a_long_name)
{
    char folder[] = "/tmp/test_mapping.XXXXXX";

    ASSERT_NE(nullptr, mkdtemp(folder));
    std::string under = std::string(folder) + "/" + std::string(140, 'd');
    std::string path  = under + "/";
    ASSERT_EQ(0, mkdir(under.c_str(), 0700));
    path += std::string(182 - path.size(), 'x'); /* names are at column 73, of 255 */
    path += "7fff00000000-7fff00001000 rw-s 00000000 00:01 4711 ";
    ASSERT_EQ(0, mkdir(path.c_str(), 0700));
    std::string last = path + "/memfd:name";
    int fd           = open(last.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(0, ftruncate(fd, m_page));

    char *at = map(m_page, fd);
    ri_mapping_place_t place;
    EXPECT_FALSE(find(at, 8, &place));
    EXPECT_FALSE(view({1, 4711, 0, 0}, 8));
    file memory(m_page);
    EXPECT_TRUE(find(map(m_page, memory.fd()), 8)) << "lines behind it";
    close(fd);
    unlink(last.c_str());
    rmdir(path.c_str());
    rmdir(under.c_str());
    rmdir(folder);
}

/* Linux answers from 6.11 on. */
TEST_P(test_mapping, who_answers)
{
    unsigned before = ri_mapping_answers;
    struct utsname name;
    int major = 0, minor = 0;
    file shared(m_page);

    ASSERT_EQ(0, uname(&name));
    ASSERT_EQ(2, sscanf(name.release, "%d.%d", &major, &minor));
    EXPECT_TRUE(find(map(m_page, shared.fd()), m_page));
    if (GetParam() && ((major > 6) || ((major == 6) && (minor >= 11)))) {
        EXPECT_LT(before, ri_mapping_answers);
    }
    if (!GetParam()) {
        EXPECT_EQ(before, ri_mapping_answers);
    }
}

INSTANTIATE_TEST_SUITE_P(all, test_mapping, ::testing::Values(0, 1));

} // namespace

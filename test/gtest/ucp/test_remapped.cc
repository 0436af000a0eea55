/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Long messages from and to memory whose pages are replaced between them, at the same address: what
 * a cache of registrations has to notice. The data tell on devices that go by pages; on the
 * software HCA with SOFTHCA_PAGES=check.
 *
 * With UCP_TEST_RAW=1 the pages are replaced by system calls of which nobody is told. No cache can
 * notice that: the tests must fail then where registrations are judged, which shows that they can
 * (stale.test).
 */

#include "common/sanitized.h"
#include "long_test.h"

#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

using namespace ucp_test;

namespace {

/* How memory goes, and comes again */
enum way {
    UNMAPPED, /* and mapped again where it was */
    MAPPED_OVER,
    GIVEN_BACK, /* madvise */
    MOVED, /* elsewhere, and new memory is mapped in its place; not by MREMAP_FIXED, whose
                   address libucm's hook drops */
    SHRUNK,   /* and made as long as before */
    FREED,    /* and allocated again */
    ATTACHED, /* shared memory that is detached; another one is attached there */
    BREAK     /* the end of the program's data is moved down and up */
};

/* What any thread may do to memory of its own */
const std::vector<way> ANY_THREAD = {UNMAPPED, MAPPED_OVER, GIVEN_BACK,
                                     MOVED,    SHRUNK,      FREED};

bool is_raw()
{
    return getenv("UCP_TEST_RAW") != nullptr;
}

/* New memory; in place of what is there with MAP_FIXED, else where there is nothing, best at the
 * address: another thread may have something there by now. */
char *map(void *address, size_t length, int fixed = 0)
{
    const int prot = PROT_READ | PROT_WRITE;
    int flags      = MAP_PRIVATE | MAP_ANONYMOUS | fixed;
    void *p        = is_raw() ? reinterpret_cast<void *>(
                                 syscall(SYS_mmap, address, length, prot, flags, -1, 0)) :
                                mmap(address, length, prot, flags, -1, 0);

    if (p == MAP_FAILED) {
        throw failure("mmap");
    }
    return static_cast<char *>(p);
}

void unmap(void *address, size_t length)
{
    if (is_raw()) {
        syscall(SYS_munmap, address, length);
    } else {
        munmap(address, length);
    }
}

/* @return Where it is now; NULL: it may not move, and cannot be so long. */
char *remap(void *address, size_t from, size_t to, int flags)
{
    void *p = is_raw() ? reinterpret_cast<void *>(
                                 syscall(SYS_mremap, address, from, to, flags)) :
                         mremap(address, from, to, flags);

    return (p == MAP_FAILED) ? nullptr : static_cast<char *>(p);
}

class memory {
public:
    memory(way w, size_t size) : m_way(w), m_size((size + 2 * PAGE - 1) / PAGE * PAGE)
    {
        switch (m_way) {
        case FREED:
            m_data = static_cast<char *>(malloc(m_size));
            break;
        case ATTACHED:
            attach(nullptr);
            break;
        case BREAK:
            m_data = static_cast<char *>(sbrk(static_cast<intptr_t>(m_size)));
            break;
        case MOVED: /* the page behind it is in its way */
            m_data = map(nullptr, m_size + PAGE);
            break;
        default:
            m_data = map(nullptr, m_size);
        }
    }

    ~memory()
    {
        switch (m_way) {
        case FREED:
            free(m_data);
            break;
        case ATTACHED:
            shmdt(m_data);
            break;
        case BREAK:
            if (sbrk(0) == m_data + m_size) {
                sbrk(-static_cast<intptr_t>(m_size));
            }
            break;
        case MOVED:
            munmap(m_data, m_size + PAGE);
            break;
        default:
            munmap(m_data, m_size);
        }
    }

    memory(const memory &)            = delete;
    memory &operator=(const memory &) = delete;

    char *data() const { return m_data; }

    /* @return Whether there are new pages at the same address. */
    bool replace()
    {
        char *before = m_data;
        char *other;

        switch (m_way) {
        case UNMAPPED:
            /* In two pieces, of which one event has none as a whole */
            unmap(m_data, PAGE);
            unmap(m_data + PAGE, m_size - PAGE);
            m_data = map(m_data, m_size);
            break;
        case MAPPED_OVER:
            map(m_data, m_size, MAP_FIXED);
            break;
        case GIVEN_BACK:
            is_raw() ? syscall(SYS_madvise, m_data, m_size, MADV_DONTNEED) :
                       madvise(m_data, m_size, MADV_DONTNEED);
            break;
        case MOVED:
            other = remap(m_data, m_size, m_size + PAGE, MREMAP_MAYMOVE);
            if (other == nullptr) {
                throw failure("mremap");
            }
            m_data = map(before, m_size);
            unmap(other, m_size + PAGE);
            if (m_data != before) {
                unmap(m_data, m_size);
                unmap(before + m_size, PAGE);
                m_data = map(nullptr, m_size + PAGE);
            }
            break;
        case SHRUNK:
            remap(m_data, m_size, PAGE, 0);
            if (remap(m_data, PAGE, m_size, 0) == nullptr) {
                unmap(m_data, PAGE);
                m_data = map(nullptr, m_size);
            }
            break;
        case FREED:
            free(m_data);
            m_data = static_cast<char *>(malloc(m_size));
            break;
        case ATTACHED:
            shmdt(m_data);
            attach(m_data);
            break;
        case BREAK:
            if (sbrk(0) != m_data + m_size) {
                return false; /* malloc has taken what is behind */
            }
            sbrk(-static_cast<intptr_t>(m_size));
            m_data = static_cast<char *>(sbrk(static_cast<intptr_t>(m_size)));
            break;
        }
        return m_data == before;
    }

private:
    static constexpr size_t PAGE = 4096;

    void attach(void *address)
    {
        int id  = shmget(IPC_PRIVATE, m_size, IPC_CREAT | 0600);
        void *p = shmat(id, address, 0);

        if (p == reinterpret_cast<void *>(-1)) {
            p = shmat(id, nullptr, 0); /* another thread has something there */
        }
        shmctl(id, IPC_RMID, nullptr);
        if (p == reinterpret_cast<void *>(-1)) {
            throw failure("shmat");
        }
        m_data = static_cast<char *>(p);
    }

    way m_way;
    size_t m_size;
    char *m_data = nullptr;
};

/* Sizes on both sides of the thresholds, and within a page of the memory's end */
const std::vector<size_t> SIZES = {20000, 100000, 600000, 2500000};

/* One message from one memory to another one */
struct passage {
    passage(way out_way, way in_way, size_t size)
        : size(size), out(out_way, size), in(in_way, size)
    {
    }

    void start(ucp_ep_h ep, ucp_worker_h to, ucp_tag_t tag, uint64_t new_seed, bool early)
    {
        std::string bytes;

        seed   = new_seed;
        offset = (seed * 8) % 4096;
        bytes  = pattern(size, seed);
        memcpy(out.data() + offset, bytes.data(), size);
        memset(in.data() + offset, 0, size);
        if (early) {
            r = recv(to, in.data() + offset, size, tag);
        }
        s = send(ep, out.data() + offset, size, tag);
        if (!early) {
            r = recv(to, in.data() + offset, size, tag);
        }
    }

    bool is_done() const { return r->done() && s->done(); }

    void finish()
    {
        EXPECT_EQ(UCS_OK, s->status());
        EXPECT_EQ(UCS_OK, r->status());
        expect_pattern(in.data() + offset, size, seed, "message " + std::to_string(seed));
        r.reset();
        s.reset();
    }

    size_t size, offset = 0;
    uint64_t seed = 0;
    memory out, in;
    op_ptr r, s;
};

} // namespace

class test_remapped : public long_test {
protected:
    /* Messages one after the other; the sender's memory is replaced, the receiver's, or both. */
    void check(way w)
    {
        unsigned replaced = 0;
        uint64_t seed     = 0;

        for (size_t size : SIZES) {
            passage p(w, w, size);

            for (int round = 0; (round < 9) && !HasFailure(); ++round) {
                p.start(ab(), b().worker(), 5, ++seed, round % 2);
                wait(*p.r);
                wait(*p.s);
                p.finish();
                if (round % 3 != 0) {
                    replaced += p.out.replace();
                }
                if (round % 3 != 1) {
                    replaced += p.in.replace();
                }
            }
        }
        EXPECT_LT(0u, replaced);
    }
};

TEST_P(test_remapped, unmapped)
{
    check(UNMAPPED);
}

TEST_P(test_remapped, mapped_over)
{
    check(MAPPED_OVER);
}

TEST_P(test_remapped, given_back)
{
    check(GIVEN_BACK);
}

TEST_P(test_remapped, moved)
{
    check(MOVED);
}

TEST_P(test_remapped, shrunk)
{
    check(SHRUNK);
}

TEST_P(test_remapped, freed)
{
#if RI_TEST_ASAN
    GTEST_SKIP() << "AddressSanitizer does not give freed memory out again";
#endif
    check(FREED);
}

TEST_P(test_remapped, attached)
{
    check(ATTACHED);
}

TEST_P(test_remapped, program_break)
{
    mallopt(M_MMAP_THRESHOLD, 65536); /* what is long does not go behind it */
    check(BREAK);
}

/* While other messages are under way, in any order. */
TEST_P(test_remapped, under_load)
{
    const char *text   = getenv("UCP_TEST_SEED");
    unsigned long seed = (text == nullptr) ? 1 : strtoul(text, nullptr, 0);
    std::mt19937_64 random(seed);
    std::vector<std::unique_ptr<passage>> all;
    uint64_t next = 0;

    SCOPED_TRACE("UCP_TEST_SEED=" + std::to_string(seed));
    for (int i = 0; i < 6; ++i) {
        all.emplace_back(new passage(ANY_THREAD[random() % ANY_THREAD.size()],
                                     ANY_THREAD[random() % ANY_THREAD.size()],
                                     SIZES[random() % SIZES.size()]));
    }
    while ((next < 200) && !HasFailure()) {
        size_t i   = random() % all.size();
        passage &p = *all[i];

        if (p.s != nullptr) {
            wait([&] { return p.is_done(); }, "a message");
            p.finish();
        }
        if (random() % 2) {
            p.out.replace();
        }
        if (random() % 2) {
            p.in.replace();
        }
        p.start(ab(), b().worker(), i, ++next, random() % 2);
        for (unsigned turns = random() % 30; turns > 0; --turns) {
            progress();
        }
    }
    for (auto &p : all) {
        if (p->s != nullptr) {
            wait([&] { return p->is_done(); }, "the last messages");
            p->finish();
        }
    }
}

/* Threads that use the same workers replace their memory while others register theirs. */
class test_remapped_threads : public transport_test {};

TEST_P(test_remapped_threads, multi)
{
    const int THREADS = 3, MESSAGES = 60;
    std::vector<std::thread> threads;
    std::atomic<int> failures{0};
    entity_params params;

    params.thread_mode = UCS_THREAD_MODE_MULTI;
    make_pair(params);
    if (a().granted_thread_mode() != UCS_THREAD_MODE_MULTI) {
        GTEST_SKIP() << "UCX was built without --enable-mt";
    }
    warm_up();
    for (int t = 0; t < THREADS; ++t) {
        threads.emplace_back([&, t] {
            std::mt19937_64 random(static_cast<unsigned>(t));

            try {
                passage p(ANY_THREAD[random() % ANY_THREAD.size()],
                          ANY_THREAD[random() % ANY_THREAD.size()],
                          SIZES[static_cast<size_t>(t) % SIZES.size()]);

                for (uint64_t i = 1; (i <= MESSAGES) && (failures == 0); ++i) {
                    p.start(ab(), b().worker(), static_cast<ucp_tag_t>(t + 1),
                            static_cast<uint64_t>(t) * 1000 + i, random() % 2);
                    if (!poll_until([&] { return p.is_done(); },
                                    [&] { return a().progress() + b().progress(); })) {
                        throw failure("no end of a message");
                    }
                    p.finish();
                    if (random() % 2) {
                        p.out.replace();
                    }
                    if (random() % 2) {
                        p.in.replace();
                    }
                }
            } catch (const std::exception &e) {
                ADD_FAILURE() << "thread " << t << ": " << e.what();
                ++failures;
            }
        });
    }
    for (auto &t : threads) {
        t.join();
    }
}

INSTANTIATE_REMOTE_TRANSPORTS(test_remapped);
INSTANTIATE_REMOTE_TRANSPORTS(test_remapped_threads);

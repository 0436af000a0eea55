/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the tests of the rc plane have in common: two ends of a way, and transfers whose end
 * is noted.
 */
#ifndef RI_RC_TEST_H
#define RI_RC_TEST_H

#include "unit/fakes/fake_verbs.h"
#include "unit/common/segments.h"

#if HAVE_VERBS

#include <sys/mman.h>
#include <ucs/sys/string.h>

/* A worker's plane, and its way to another one. */
struct rc_end {
    ri_plane_t *plane = nullptr;
    ri_plane_ep_t *ep = nullptr;

    void open() { ASSERT_EQ(UCS_OK, ri_plane_rc.open(&plane)); }

    void prepare() { ASSERT_EQ(UCS_OK, ri_plane_rc.prepare(plane, &ep)); }

    ri_rc_address_t address() const
    {
        ri_rc_address_t address;

        EXPECT_EQ(sizeof(address), ri_plane_rc.ep_address(ep, &address));
        return address;
    }

    ucs_status_t connect(const ri_rc_address_t &to)
    {
        return ri_plane_rc.connect(plane, &to, sizeof(to), &ep);
    }

    void disconnect()
    {
        ri_plane_ep_t *old = ep;

        ep = nullptr;
        if (old != nullptr) {
            ri_plane_rc.disconnect(old);
        }
    }

    void close()
    {
        disconnect();
        if (plane != nullptr) {
            ri_plane_rc.close(plane);
            plane = nullptr;
        }
    }

    unsigned progress() { return ri_plane_rc.progress(plane); }

    ri_rc_plane_t *rc() const { return ri_container_of(plane, ri_rc_plane_t, ib.super); }
    ri_rc_ep_t *rc_ep() const { return ri_container_of(ep, ri_rc_ep_t, super); }

    /* Until nothing ends any more; not more often than that can take */
    void progress_all()
    {
        for (int i = 0; (i < 10000) && (rc()->outstanding > 0); ++i) {
            progress();
        }
        progress();
    }
};

/* Memory of this process that is registered as long as it exists. It has pages of its own, as
 * whole pages are registered. */
class rc_memory {
public:
    rc_memory(const rc_end &end, size_t length) : m_plane(end.plane), m_size(length)
    {
        m_data = (uint8_t *)mmap(nullptr, length, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(MAP_FAILED, (void *)m_data);
        EXPECT_EQ(UCS_OK, ri_plane_rc.reg(m_plane, m_data, length, &m_memory));
    }
    ~rc_memory()
    {
        ri_plane_rc.release(m_plane, &m_memory);
        munmap(m_data, m_size);
    }
    rc_memory(const rc_memory &)            = delete;
    rc_memory &operator=(const rc_memory &) = delete;

    uint8_t *data() const { return m_data; }
    size_t size() const { return m_size; }
    uint32_t local_key() const { return m_memory.local_key; }
    uint32_t remote_key() const { return m_memory.remote_key; }
    ri_segment_t all() const { return {(uintptr_t)m_data, m_size}; }

    void fill(rng &random)
    {
        for (size_t i = 0; i < m_size; ++i) {
            m_data[i] = random.next();
        }
    }

private:
    ri_plane_t *m_plane;
    ri_plane_memory_t m_memory;
    uint8_t *m_data;
    size_t m_size;
};

/* An operation; it must end exactly once if it starts. */
struct rc_op {
    ri_plane_op_t super;
    ucs_status_t status = UCS_INPROGRESS;
    int ends            = 0;
    bool started        = false;
    std::vector<rc_op *> *order;       /* where the end is noted, too */
    std::function<void(rc_op &)> then; /* is called at the end */

    explicit rc_op(std::vector<rc_op *> *order = nullptr) : order(order)
    {
        super.done = done;
    }
    rc_op(const rc_op &)            = delete;
    rc_op &operator=(const rc_op &) = delete;
    ~rc_op() { EXPECT_EQ(started ? 1 : 0, ends); }

    /* Lists and keys are gone when it returns */
    ucs_status_t start(ri_plane_ep_t *ep, bool write, const segments &local,
                       uint32_t lkey, const segments &remote, uint32_t rkey,
                       size_t offset, size_t length)
    {
        std::vector<uint32_t> lkeys(local.size(), lkey), rkeys(remote.size(), rkey);

        return start(ep, write, local, lkeys, remote, rkeys, offset, length);
    }

    ucs_status_t start(ri_plane_ep_t *ep, bool write, segments local,
                       std::vector<uint32_t> lkeys, segments remote,
                       std::vector<uint32_t> rkeys, size_t offset, size_t length)
    {
        ri_transfer_t transfer = {};
        int ends_before        = ends;

        transfer.local       = local.data();
        transfer.num_local   = local.size();
        transfer.remote      = remote.data();
        transfer.num_remote  = remote.size();
        transfer.offset      = offset;
        transfer.length      = length;
        transfer.local_keys  = lkeys.data();
        transfer.remote_keys = rkeys.data();
        transfer.op          = &super;

        ucs_status_t ret = write ? ri_plane_rc.write(ep, &transfer) :
                                   ri_plane_rc.read(ep, &transfer);
        EXPECT_EQ(ends_before, ends) << "ended within the call";
        started = ret == UCS_INPROGRESS;
        std::fill(local.begin(), local.end(), ri_segment_t{1, 1});
        std::fill(remote.begin(), remote.end(), ri_segment_t{1, 1});
        std::fill(lkeys.begin(), lkeys.end(), 1);
        std::fill(rkeys.begin(), rkeys.end(), 1);
        return ret;
    }

    static void done(ri_plane_op_t *super, ucs_status_t status)
    {
        rc_op *op = reinterpret_cast<rc_op *>(super);

        op->status = status;
        ++op->ends;
        if (op->order != nullptr) {
            op->order->push_back(op);
        }
        if (op->then) {
            op->then(*op);
        }
    }
};

class rc_test : public ::testing::Test {
protected:
    void SetUp() override
    {
        ri_config.ib_devices   = const_cast<char *>("all");
        ri_config.ib_gid_index = UCS_ULUNITS_AUTO;
        ri_config.ib_tx_queue  = 256;
        ri_config.reg_cache    = 0;
    }

    void TearDown() override
    {
        a.close();
        b.close();
    }

    /* Both ends, from nothing. */
    void start()
    {
        a.open();
        b.open();
        join();
    }

    void join()
    {
        a.prepare();
        b.prepare();
        ASSERT_EQ(UCS_OK, a.connect(b.address()));
        ASSERT_EQ(UCS_OK, b.connect(a.address()));
    }

    /* What @a func prints at level @a level. */
    static std::string printed(ri_log_level_t level, const std::function<void()> &func)
    {
        setting<ri_log_level_t> printed(ri_log_level, level);

        ::testing::internal::CaptureStderr();
        func();
        return ::testing::internal::GetCapturedStderr();
    }

    fake::hca hca;
    rc_end a, b;

private:
};

/* With memory to be moved. */
class rc_transfer_test : public rc_test {
protected:
    /* Memory at both ends, for as long as they are open. */
    void allocate(size_t length)
    {
        m_local.reset(new rc_memory(a, length));
        m_remote.reset(new rc_memory(b, length));
    }

    void TearDown() override
    {
        a.disconnect();
        b.disconnect();
        m_local.reset();
        m_remote.reset();
        rc_test::TearDown();
    }

    /* One segment each. */
    ucs_status_t move(rc_op &op, bool write, size_t offset, size_t length)
    {
        return op.start(a.ep, write, {m_local->all()}, m_local->local_key(),
                        {m_remote->all()}, m_remote->remote_key(), offset, length);
    }

    /* @a count segments of @a length, with gaps of the same length */
    static segments pieces(rc_memory &memory, size_t count, size_t length)
    {
        segments list;

        for (size_t i = 0; i < count; ++i) {
            list.push_back({(uintptr_t)memory.data() + 2 * i * length, length});
        }
        return list;
    }

    /* A work request for each of @a count pieces. */
    ucs_status_t move_pieces(rc_op &op, bool write, size_t count, size_t length)
    {
        return op.start(a.ep, write, {m_local->all()}, m_local->local_key(),
                        pieces(*m_remote, count, length), m_remote->remote_key(), 0,
                        count * length);
    }

    std::unique_ptr<rc_memory> m_local, m_remote;
};

#endif

#endif

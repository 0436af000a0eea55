/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Three processes of which one is killed; see killed_side.h. */

#include "killed_side.h"
#include "counter.h"
#include "kill_point.h"
#include "variables.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <unistd.h>

namespace ucp_test {

namespace {

/* Small rings: they are compared often. Thresholds that do not depend on the machine. */
const char *const COMMON = "EAGER_THRESH=2k HYBRID_THRESH=0 COOP_THRESH=inf RTR=n "
                           "SENDER_SCHEME=get POOL_SIZE=256k RING_SIZE=8k RING_AFTER=1 "
                           "RING_PEERS=64 CMA=y LOG_LEVEL=error";

} // namespace

std::ostream &operator<<(std::ostream &os, const killed_setting &s)
{
    return os << s.name;
}

killed_side::killed_side(channel &ch, const killed_setting &setting,
                         const std::string &settings)
    : m_setting(setting), m_ch(ch)
{
    entity_params params;

    set_variables(COMMON);
    set_variables(settings);
    if (!setting.cma) {
        set_variables("CMA=n");
    }
    if (setting.rdma) {
        set_variables("RING_PEERS=0 IB_DEVICES=all");
    }
    if (setting.link != nullptr) {
        setenv("SOFTHCA_LINK", setting.link, 1);
    }
    if (setting.mode_peer) {
        params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
        params.err_cb   = on_error;
        params.err_arg  = this;
        params.config   = {{"KEEPALIVE_INTERVAL", "1s"}};
    }
    if (setting.asleep) {
        params.features |= UCP_FEATURE_WAKEUP;
    }
    m_entity.reset(new entity(setting.tr, params));
}

unsigned killed_side::progress_once()
{
    unsigned count  = m_entity->progress();
    pollfd events[] = {{-1, POLLIN, 0}, {m_ch.fd(), POLLIN, 0}};

    if (m_setting.asleep && (count == 0) &&
        (ucp_worker_get_efd(worker(), &events[0].fd) == UCS_OK) &&
        (ucp_worker_arm(worker()) == UCS_OK)) {
        poll(events, 2, static_cast<int>(deadline_sec() * 1000));
    }
    return count;
}

/* Operations are freed while there is a worker. */
killed_side::~killed_side()
{
    m_ops.clear();
}

void killed_side::on_error(void *arg, ucp_ep_h, ucs_status_t)
{
    ++static_cast<killed_side *>(arg)->m_errors;
}

int64_t killed_side::counter(const char *name)
{
    return ucp_test::counter(worker(), name);
}

void killed_side::connect(const std::string &whom)
{
    m_eps[whom] = m_entity->connect(m_ch.get());
}

killed_op &killed_side::send_to(const std::string &whom, size_t length, ucp_tag_t tag,
                                bool sync)
{
    m_ops.emplace_back(new killed_op{true, pattern(length, tag), nullptr});
    killed_op &op = *m_ops.back();

    kill_point_in([&] {
        op.o = (sync ? ucp_test::send_sync : ucp_test::send)(m_eps.at(whom),
                                                             op.data.data(), length, tag);
    });
    return op;
}

killed_op &killed_side::post(size_t length, ucp_tag_t tag)
{
    m_ops.emplace_back(new killed_op{false, std::string(length, '\0'), nullptr});
    killed_op &op = *m_ops.back();

    kill_point_in([&] { op.o = recv(worker(), &op.data[0], length, tag); });
    return op;
}

void killed_side::progress(int calls)
{
    kill_point_in([&] {
        for (int i = 0; i < calls; ++i) {
            m_entity->progress();
        }
    });
}

void killed_side::linger()
{
    poll_until([] { return false; }, [this] { return progress_once(); }, 0.2);
}

void killed_side::progress_until(const char *name)
{
    int64_t before = counter(name);

    wait(
            [&] {
                progress(1);
                return counter(name) > before;
            },
            name);
}

void killed_side::wait(const std::function<bool()> &condition, const char *what)
{
    if (!poll_until(condition, [this] { return progress_once(); })) {
        throw failure(std::string("timeout while waiting for ") + what);
    }
}

void killed_side::wait(const killed_op &op, const char *what)
{
    wait([&] { return op.o->done(); }, what);
}

void killed_side::wait_all(const char *what)
{
    wait([&] { return all_done(true) && all_done(false); }, what);
}

void killed_side::wait_for_receive(ucp_tag_t tag)
{
    wait(
            [&] {
                return std::any_of(m_ops.begin(), m_ops.end(), [&](const auto &op) {
                    return !op->is_send && op->o->done() && (op->o->status() == UCS_OK) &&
                           (op->o->info().sender_tag == tag);
                });
            },
            "a message to be received");
}

/* The receive is late: the sender must not come to think that it is waited for. */
void killed_side::await_message(ucp_tag_t tag)
{
    ucp_tag_recv_info_t info;

    wait([&] { return ucp_tag_probe_nb(worker(), tag, TAG_FULL, 0, &info) != nullptr; },
         "a message");
    usleep(20);
}

void killed_side::talk(const std::string &whom, bool first, ucp_tag_t out, ucp_tag_t in,
                       int rounds, size_t length)
{
    size_t before = m_ops.size();

    for (int turn = 0; turn < 2 * rounds; ++turn) {
        if ((turn % 2 == 0) == first) {
            wait(send_to(whom, length, out + 1), "a message to be sent");
            wait(post(SHORT_LENGTH, in + 2), "its answer");
        } else {
            await_message(in + 1);
            wait(post(length, in + 1), "a message");
            wait(send_to(whom, SHORT_LENGTH, out + 2), "its answer to be sent");
        }
    }
    for (size_t i = before; i < m_ops.size(); ++i) {
        EXPECT_EQ(UCS_OK, m_ops[i]->o->status());
        check_op(*m_ops[i]);
    }
    m_ops.resize(before);
}

bool killed_side::all_done(bool sends) const
{
    for (const auto &op : m_ops) {
        if ((op->is_send == sends) && !op->o->done()) {
            return false;
        }
    }
    return true;
}

/* What an operation says about itself is true. */
void killed_side::check_op(const killed_op &op) const
{
    EXPECT_LE(op.o->calls(), 1) << (op.is_send ? "send" : "receive");
    if (!op.is_send && (op.o->status() == UCS_OK)) {
        size_t length = op.o->info().length;
        ASSERT_LE(length, op.data.size());
        EXPECT_TRUE(
                op.data.compare(0, length, pattern(length, op.o->info().sender_tag)) == 0)
                << "data of a message of " << length << " bytes";
    }
}

void killed_side::end_all(bool sends)
{
    auto progress = [this] { return progress_once(); };

    if (sends) {
        EXPECT_TRUE(poll_until([this] { return all_done(true); }, progress))
                << "sends to a process that was killed";
    }
    for (const auto &op : m_ops) {
        if (!op->is_send && !op->o->done()) {
            op->o->cancel();
        }
    }
    EXPECT_TRUE(poll_until([this] { return all_done(false); }, progress))
            << "receives that were cancelled";
    for (const auto &op : m_ops) {
        check_op(*op);
    }
}

void killed_side::drain()
{
    ucp_tag_recv_info_t info;
    ucp_tag_message_h message;
    size_t before = m_ops.size();

    while ((message = ucp_tag_probe_nb(worker(), 0, 0, 1, &info)) != nullptr) {
        m_ops.emplace_back(new killed_op{false, std::string(info.length, '\0'), nullptr});
        killed_op &op             = *m_ops.back();
        op.o                      = op_ptr(new ucp_test::op);
        ucp_request_param_t param = op.o->recv_param();
        op.o->started(
                ucp_tag_msg_recv_nbx(worker(), &op.data[0], info.length, message, &param),
                worker());
    }
    EXPECT_TRUE(poll_until([this] { return all_done(false); },
                           [this] { return progress_once(); }))
            << "receives of messages that were there";
    for (size_t i = before; i < m_ops.size(); ++i) {
        check_op(*m_ops[i]);
        std::fill(m_ops[i]->data.begin(), m_ops[i]->data.end(),
                  '#'); /* see mark_buffers() */
    }
}

bool killed_side::close(const std::string &whom)
{
    ucs_status_ptr_t ret = m_entity->close_nbx(
            m_eps.at(whom), m_setting.mode_peer ? UCP_EP_CLOSE_FLAG_FORCE : 0);
    bool ended = true;

    m_eps.erase(whom);
    if (UCS_PTR_IS_PTR(ret)) {
        ended = poll_until(
                [&] { return ucp_request_check_status(ret) != UCS_INPROGRESS; },
                [this] { return progress_once(); });
        ucp_request_free(ret);
    }
    return ended;
}

void killed_side::mark_buffers()
{
    for (auto &op : m_ops) {
        std::fill(op->data.begin(), op->data.end(), '#');
    }
}

void killed_side::check_buffers()
{
    for (auto &op : m_ops) {
        EXPECT_EQ(std::string::npos, op->data.find_first_not_of('#'))
                << "a buffer that was handed back has been written";
    }
}

void killed_side::destroy_busy_worker()
{
    m_entity->destroy_worker();
    for (auto &op : m_ops) {
        EXPECT_LE(op->o->calls(), 1);
        op->o->forget();
    }
    mark_buffers();
    usleep(1000);
    check_buffers();
    m_ops.clear();
}

void killed_side::destroy_worker()
{
    m_ops.clear();
    m_entity->destroy_worker();
}

} // namespace ucp_test

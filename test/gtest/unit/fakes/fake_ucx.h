/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A stock UCX that does what a test says: it stands in the table of stock functions, keeps
 * what is sent, and delivers it when and in which order the test wants. It checks the
 * contract: descriptors and requests are given back exactly once and never inside the
 * callback that brought them, and what a send points to stays unchanged until its end.
 */
#ifndef RI_TEST_FAKE_UCX_H
#define RI_TEST_FAKE_UCX_H

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"
#include "unit/common/wire_msg.h"

#include <cmath>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace fake {

class node;
struct endpoint;

/* How a stock operation ends. */
enum ending_t {
    AT_ONCE,
    LATER, /* when the test completes it */
    FAILS, /* at once, with UCS_ERR_NO_RESOURCE */
    RANDOM /* AT_ONCE or LATER, by ucx::random */
};

/* Memory that is not the host's: who touches it but the fake UCX, crashes. */
class device_memory {
public:
    explicit device_memory(size_t length, ucs_memory_type_t type = UCS_MEMORY_TYPE_CUDA);
    ~device_memory();

    void *data() { return m_data; }

    size_t length() const { return m_length; }

    ucs_memory_type_t type() const { return m_type; }

    bool contains(const void *address) const;

    /* For the fake UCX and the test */
    void allow(bool access);
    bytes read();
    void write(const bytes &content);

private:
    void *m_data;
    size_t m_length;
    size_t m_mapped;
    ucs_memory_type_t m_type;
};

/* What a stock operation returned, if it ends later. */
struct request {
    void (*callback)(request *req, ucs_status_t status) = nullptr;
    ucp_request_param_t param;
    bool freed = false;
    bool ready = true; /* the test may complete it */
    ucs_status_t status =
            UCS_INPROGRESS; /* without a callback: what is to be asked for */
    /* Of a send: what it must not change before its end */
    const void *header_at = nullptr;
    bytes header;
    const void *data_at = nullptr;
    bytes data;
    /* Of a fetch */
    void *buffer = nullptr;
    size_t count = 0;
    bytes content;
    /* Of a tag receive */
    bool posted   = false;
    ucp_tag_t tag = 0;
};

/* A message on its way. */
struct packet {
    bytes header;
    bytes data;
    bool rndv      = false;
    bool reply     = false;
    unsigned flags = 0;
    request *req   = nullptr; /* of the sender, that ends with the fetch */
    ri_wire_type_t type() const;
    ri_wire_msg_t parse() const;
};

struct endpoint {
    node *from;
    node *to; /* NULL: the test plays the other side */
    std::deque<packet> sent;
    bool closed    = false;
    bool tcp       = false; /* the transport that UCX has chosen */
    unsigned am_id = 0; /* of the handler at the other side: what is sent must name it */

    ucp_ep_h handle() { return reinterpret_cast<ucp_ep_h>(this); }

    /* Take what was sent of one type, oldest first. @return How many there were. */
    size_t count(ri_wire_type_t type) const;
    packet take(ri_wire_type_t type);
};

/* Data that came with a message: a descriptor. */
struct descriptor {
    std::unique_ptr<uint8_t[]> memory;
    bytes content; /* of rendezvous; memory is empty then */
    bool rndv;
    bool in_callback  = true;
    unsigned released = 0;
    unsigned fetched  = 0;
    request *sender   = nullptr;
};

/* A slot of stock's table of active message handlers. */
struct am_slot {
    bool written = false; /* no: it holds what was in that memory before */
    ucp_am_recv_callback_t cb;
    void *arg;
};

/* What is common to all workers of a test. */
class ucx {
public:
    ucx();
    ~ucx();

    static ucx *get();

    /* Complete what is pending: all, or the n-th. @return Whether there was any. */
    bool complete(ucs_status_t status = UCS_OK);
    bool complete_nth(size_t which, ucs_status_t status = UCS_OK);
    size_t num_pending() const;

    ending_t send_mode  = AT_ONCE;
    ending_t fetch_mode = AT_ONCE;
    ending_t tag_mode   = AT_ONCE; /* tag sends, and the receives that they match */
    ending_t flush_mode = AT_ONCE;
    ending_t close_mode = AT_ONCE;
    ending_t post_mode  = AT_ONCE; /* FAILS: tag receives */
    size_t rndv_thresh  = 16384;
    rng *random         = nullptr;

    /* How many more sends there is memory for; -1: all */
    int memory = -1;

    /* How many more sends that must end at once may do so; -1: all */
    int immediate = -1;

    /* Counters of calls */
    unsigned num_sends    = 0;
    unsigned num_released = 0;
    unsigned num_fetched  = 0;
    unsigned num_closed   = 0;
    unsigned num_flushed  = 0;
    unsigned num_eps      = 0; /* made by the library */
    unsigned num_tag_recv = 0;
    unsigned num_tag_send = 0;

    uint64_t memory_types = UCS_BIT(UCS_MEMORY_TYPE_HOST);
    std::set<device_memory *> devices;
    /* Of the latest send, fetch or tag receive; UNKNOWN: it did not say */
    ucs_memory_type_t told_type = UCS_MEMORY_TYPE_UNKNOWN;

    device_memory *device_of(const void *address);
    request *find_posted(ucp_tag_t tag);

    std::map<void *, descriptor> descriptors; /* alive */
    std::list<request *> requests;            /* pending */
    std::list<request *> ended; /* without a callback, and not given back yet */

    bool later(ending_t mode);
    void finish(request *req, ucs_status_t status);
    void end_descriptor(std::map<void *, descriptor>::iterator it, ucs_status_t status);
};

/* A tag receive and a tag send of a test, with what became of it. */
struct recv_op {
    uint64_t tag;
    uint64_t mask;
    bytes buffer;
    void *handle             = nullptr;
    bool done                = false;
    ucs_status_t status      = UCS_INPROGRESS;
    ucp_tag_recv_info_t info = {};
    std::function<void()> on_done;
};

struct send_op {
    bytes data;
    void *handle        = nullptr;
    bool done           = false;
    ucs_status_t status = UCS_INPROGRESS;
};

typedef std::shared_ptr<recv_op> recv_ptr;
typedef std::shared_ptr<send_op> send_ptr;

/* How the data of a delivered message arrives. */
enum arrival_t {
    PLAIN, /* only there during the callback */
    DATA,  /* in a descriptor that may be kept */
    RNDV   /* at the sender */
};

/* One worker of the library with its context. */
class node {
public:
    explicit node(uint64_t uid, uint64_t features = UCP_FEATURE_TAG);
    ~node();

    ri_worker_t *worker() { return m_worker; }

    uint64_t uid() const { return m_uid; }

    /* An endpoint and its conn. @a to NULL: to a worker that the test plays. */
    endpoint *new_endpoint(node *to);
    ri_conn_t *connect(endpoint *ep, uint64_t remote_uid, uint32_t flags = RI_CONN_USER);

    /* ... by an address that says 1 + @a am_id; @a am_id -1: it does not say */
    ri_conn_t *connect_by(endpoint *ep, uint64_t remote_uid, int am_id,
                          uint32_t flags = RI_CONN_USER);

    /* Hand a message to the library's handler, in memory of exactly its size. */
    ucs_status_t deliver(const bytes &header, const bytes &data,
                         arrival_t arrival = PLAIN, endpoint *reply = nullptr,
                         request *sender = nullptr);
    ucs_status_t deliver(const wire_msg &msg, const bytes &data = bytes(),
                         arrival_t arrival = PLAIN, endpoint *reply = nullptr)
    {
        return deliver(msg.header(), data, arrival, reply);
    }

    recv_ptr recv(uint64_t tag, uint64_t mask, size_t capacity,
                  std::function<void()> on_done = nullptr);
    recv_ptr msg_recv(ri_msg_t *msg, size_t capacity);

    /* A receive into memory of the test's; @a extra may have a datatype, a memory type. */
    recv_ptr recv_into(void *buffer, size_t count, uint64_t tag,
                       const ucp_request_param_t &extra = {});
    send_ptr send(ri_conn_t *conn, const bytes &data, uint64_t tag, bool sync = false);
    send_ptr send_from(ri_conn_t *conn, device_memory &memory, uint64_t tag,
                       bool sync = false);

    /* A send of memory of the test's, of a datatype */
    send_ptr send_of(ri_conn_t *conn, const void *buffer, size_t count,
                     ucp_datatype_t datatype, uint64_t tag, bool sync = false);
    void cancel(const recv_ptr &op);
    void progress();

    ri_worker_counters_t counters() const;

    /* A registration, as the stock of the version at hand does it. */
    void set_handler(const ucp_am_handler_param_t &param);

    const std::vector<am_slot> &handlers() const { return m_handlers; }

    unsigned num_registered = 0;

    /* Give completed requests back. @return Whether none is left open. */
    bool release_done();

    bool may_end_open = false; /* with requests that the worker's end completes */

private:
    send_ptr start_send(const send_ptr &op, ri_conn_t *conn, const void *data,
                        size_t count, uint64_t tag, bool sync,
                        const ucp_request_param_t &extra = {});
    recv_ptr start_recv(
            const std::function<ucs_status_ptr_t(recv_op *, const ucp_request_param_t *)>
                    &start,
            size_t capacity);

    uint64_t m_uid;
    std::vector<am_slot> m_handlers;
    uint64_t m_context_key; /* its address is the handle */
    ri_context_t *m_context = nullptr;
    ri_worker_t *m_worker   = nullptr;
    std::list<std::unique_ptr<endpoint>> m_endpoints;
    std::list<recv_ptr> m_recvs;
    std::list<send_ptr> m_sends;
};

/* Payload of message @a i. */
bytes pattern(uint64_t i, size_t length);

} // namespace fake

/* Fixture: the fake UCX in the table, and configuration values for tests. */
class ri_test : public ::testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;

    std::unique_ptr<fake::ucx> m_ucx;
};

#endif

/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* The stock UCX of the unit tests; see fake_ucx.h. */

#include "fake_ucx.h"

#include <sys/mman.h>
#include <unistd.h>

namespace fake {

static ucx *g_ucx;

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

/* While stock moves data */
class device_access {
public:
    device_access()
    {
        for (device_memory *device : ucx::get()->devices) {
            device->allow(true);
        }
    }

    ~device_access()
    {
        for (device_memory *device : ucx::get()->devices) {
            device->allow(false);
        }
    }
};

/* A block of exactly the size of @a content. */
static std::unique_ptr<uint8_t[]> exact_copy(const bytes &content)
{
    std::unique_ptr<uint8_t[]> copy(new uint8_t[content.size()]);

    std::copy(content.begin(), content.end(), copy.get());
    return copy;
}

/* Generic datatypes of the fake. They stay for the life of the process, as the library
 * makes its one only once. */
struct generic_dt {
    ucp_generic_dt_ops_t ops;
    void *context;
};

static const generic_dt *generic_of(ucp_datatype_t datatype)
{
    return reinterpret_cast<const generic_dt *>(datatype & ~(ucp_datatype_t)7);
}

static ucs_status_t dt_create_generic(const ucp_generic_dt_ops_t *ops, void *context,
                                      ucp_datatype_t *datatype)
{
    static std::list<generic_dt> types;

    types.push_back({*ops, context});
    *datatype = reinterpret_cast<uintptr_t>(&types.back()) | UCP_DATATYPE_GENERIC;
    return UCS_OK;
}

static ucp_datatype_t datatype_of(const ucp_request_param_t *param)
{
    return (param->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) ? param->datatype :
                                                                ucp_dt_make_contig(1);
}

static bytes gather(const void *buffer, size_t count, ucp_datatype_t datatype)
{
    device_access access;
    bytes out;

    switch (datatype & UCP_DATATYPE_CLASS_MASK) {
    case UCP_DATATYPE_CONTIG: {
        const uint8_t *at = static_cast<const uint8_t *>(buffer);
        out.assign(at, at + count * (datatype >> UCP_DATATYPE_SHIFT));
        break;
    }
    case UCP_DATATYPE_IOV: {
        const ucp_dt_iov_t *iov = static_cast<const ucp_dt_iov_t *>(buffer);
        for (size_t i = 0; i < count; ++i) {
            const uint8_t *at = static_cast<const uint8_t *>(iov[i].buffer);
            out.insert(out.end(), at, at + iov[i].length);
        }
        break;
    }
    default: {
        const generic_dt *dt = generic_of(datatype);
        void *state          = dt->ops.start_pack(dt->context, buffer, count);
        out.resize(dt->ops.packed_size(state));
        for (size_t at = 0; at < out.size();) {
            /* In pieces, as fragments are */
            at += dt->ops.pack(state, at, &out[at],
                               std::min<size_t>(out.size() - at, 1000));
        }
        dt->ops.finish(state);
        break;
    }
    }
    return out;
}

static ucs_status_t scatter(void *buffer, size_t count, ucp_datatype_t datatype,
                            const bytes &content)
{
    ucs_status_t status = UCS_OK;
    device_access access;

    switch (datatype & UCP_DATATYPE_CLASS_MASK) {
    case UCP_DATATYPE_CONTIG:
        EXPECT_LE(content.size(), count * (datatype >> UCP_DATATYPE_SHIFT));
        std::copy(content.begin(), content.end(), static_cast<uint8_t *>(buffer));
        break;
    case UCP_DATATYPE_IOV: {
        const ucp_dt_iov_t *iov = static_cast<const ucp_dt_iov_t *>(buffer);
        size_t at               = 0;
        for (size_t i = 0; (i < count) && (at < content.size()); ++i) {
            size_t piece = std::min(iov[i].length, content.size() - at);
            if (piece > 0) { /* or there may be no buffer */
                memcpy(iov[i].buffer, &content[at], piece);
            }
            at += piece;
        }
        EXPECT_EQ(content.size(), at);
        break;
    }
    default: {
        const generic_dt *dt = generic_of(datatype);
        void *state          = dt->ops.start_unpack(dt->context, buffer, count);
        EXPECT_LE(content.size(), dt->ops.packed_size(state));
        for (size_t at = 0; (at < content.size()) && (status == UCS_OK);) {
            size_t piece = std::min<size_t>(content.size() - at, 1000);
            status       = dt->ops.unpack(state, at, &content[at], piece);
            at += piece;
        }
        dt->ops.finish(state);
        break;
    }
    }
    return status;
}

/* The stock functions */

static ucs_memory_type_t memory_type_of(const ucp_request_param_t *param)
{
    return (param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE) ?
                   param->memory_type :
                   UCS_MEMORY_TYPE_UNKNOWN;
}

/* Device memory is not looked at to see whether it changes. */
static bool same_content(const void *at, const bytes &content)
{
    return content.empty() || (ucx::get()->device_of(at) != nullptr) ||
           !memcmp(at, content.data(), content.size());
}

static void send_ends(request *req, ucs_status_t status)
{
    EXPECT_TRUE(req->header.empty() ||
                !memcmp(req->header_at, req->header.data(), req->header.size()))
            << "the header of an active message changed before its end";
    EXPECT_TRUE(same_content(req->data_at, req->data))
            << "the data of an active message changed before its end";
    if (req->param.op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK) {
        req->param.cb.send(req, status, req->param.user_data);
    }
}

static void fetch_ends(request *req, ucs_status_t status)
{
    if (status == UCS_OK) {
        status = scatter(req->buffer, req->count, datatype_of(&req->param), req->content);
    }
    req->param.cb.recv_am(req, status, req->content.size(), req->param.user_data);
}

static ucs_status_ptr_t am_send_nbx(ucp_ep_h handle, unsigned id, const void *header,
                                    size_t header_length, const void *buffer,
                                    size_t count, const ucp_request_param_t *param)
{
    endpoint *ep = reinterpret_cast<endpoint *>(handle);
    ucx *u       = ucx::get();
    packet p;

    ++u->num_sends;
    u->told_type = memory_type_of(param);
    EXPECT_EQ(ri_config.am_id, id);
    EXPECT_FALSE(ep->closed);
    if (u->send_mode == FAILS) {
        return UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE);
    }

    if (u->memory == 0) {
        return UCS_STATUS_PTR(UCS_ERR_NO_MEMORY);
    }
    u->memory -= (u->memory > 0);

    if (param->op_attr_mask & UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL) {
        if (u->immediate == 0) {
            return UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE);
        }
        u->immediate -= (u->immediate > 0);
    }

    p.header = gather(header, header_length, ucp_dt_make_contig(1));
    p.data   = gather(buffer, count, datatype_of(param));
    p.flags  = (param->op_attr_mask & UCP_OP_ATTR_FIELD_FLAGS) ? param->flags : 0;
    p.reply  = !!(p.flags & UCP_AM_SEND_FLAG_REPLY);
    p.rndv   = (p.flags & UCP_AM_SEND_FLAG_RNDV) ||
             (!(p.flags & UCP_AM_SEND_FLAG_EAGER) && (p.data.size() > u->rndv_thresh));
    if (!p.rndv && ((param->op_attr_mask & UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL) ||
                    !u->later(u->send_mode))) {
        ep->sent.push_back(p);
        return NULL;
    }

    request *req   = new request;
    req->callback  = send_ends;
    req->param     = *param;
    req->header_at = header;
    req->header    = p.header;
    if ((datatype_of(param) & UCP_DATATYPE_CLASS_MASK) == UCP_DATATYPE_CONTIG) {
        req->data_at = buffer;
        req->data    = p.data;
    }
    if (p.rndv) {
        req->ready = false;
        p.req      = req;
    }
    u->requests.push_back(req);
    ep->sent.push_back(p);
    return req;
}

static ucs_status_ptr_t am_recv_data_nbx(ucp_worker_h worker, void *desc, void *buffer,
                                         size_t count, const ucp_request_param_t *param)
{
    ucx *u  = ucx::get();
    auto it = u->descriptors.find(desc);

    ++u->num_fetched;
    if (it == u->descriptors.end()) {
        ADD_FAILURE() << "fetch of a descriptor that is not there";
        return UCS_STATUS_PTR(UCS_ERR_INVALID_PARAM);
    }
    EXPECT_TRUE(it->second.rndv);
    EXPECT_EQ(0u, it->second.fetched + it->second.released) << "fetched again";
    ++it->second.fetched;

    u->told_type  = memory_type_of(param);
    bytes content = it->second.content;
    u->end_descriptor(it, UCS_OK);
    if (u->fetch_mode == FAILS) {
        return UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE);
    }
    if (!u->later(u->fetch_mode)) {
        return UCS_STATUS_PTR(scatter(buffer, count, datatype_of(param), content));
    }

    request *req  = new request;
    req->callback = fetch_ends;
    req->param    = *param;
    req->buffer   = buffer;
    req->count    = count;
    req->content  = content;
    u->requests.push_back(req);
    return req;
}

/* Tag messages that the library sends to the worker itself: the receive comes first. */

static void tag_recv_ends(request *req, ucs_status_t status)
{
    ucp_tag_recv_info_t info = {.sender_tag = req->tag, .length = req->content.size()};

    if (status == UCS_OK) {
        status = scatter(req->buffer, req->count, datatype_of(&req->param), req->content);
    }
    req->param.cb.recv(req, status, &info, req->param.user_data);
}

static ucs_status_ptr_t tag_recv_nbx(ucp_worker_h worker, void *buffer, size_t count,
                                     ucp_tag_t tag, ucp_tag_t mask,
                                     const ucp_request_param_t *param)
{
    ucx *u = ucx::get();

    ++u->num_tag_recv;
    EXPECT_EQ(~0ul, mask);
    EXPECT_EQ(nullptr, u->find_posted(tag));
    EXPECT_TRUE(param->op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK);
    u->told_type = memory_type_of(param);
    if (u->post_mode == FAILS) {
        return UCS_STATUS_PTR(UCS_ERR_NO_MEMORY);
    }

    request *req  = new request;
    req->callback = tag_recv_ends;
    req->param    = *param;
    req->buffer   = buffer;
    req->count    = count;
    req->ready    = false;
    req->posted   = true;
    req->tag      = tag;
    u->requests.push_back(req);
    return req;
}

static ucs_status_ptr_t tag_send_nbx(ucp_ep_h handle, const void *buffer, size_t count,
                                     ucp_tag_t tag, const ucp_request_param_t *param)
{
    endpoint *ep  = reinterpret_cast<endpoint *>(handle);
    ucx *u        = ucx::get();
    request *recv = u->find_posted(tag);

    ++u->num_tag_send;
    EXPECT_EQ(ep->from, ep->to);
    if (u->tag_mode == FAILS) {
        return UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE);
    }
    if (recv == nullptr) {
        ADD_FAILURE() << "a tag message without its receive";
        return NULL;
    }

    recv->posted  = false;
    recv->content = gather(buffer, count, datatype_of(param));
    if (!u->later(u->tag_mode)) {
        u->finish(recv, UCS_OK);
        return NULL;
    }
    recv->ready = true;

    request *req  = new request;
    req->callback = send_ends;
    req->param    = *param;
    req->data_at  = buffer;
    req->data     = recv->content;
    u->requests.push_back(req);
    return req;
}

static void request_cancel(ucp_worker_h worker, void *handle)
{
    ucx::get()->finish(static_cast<request *>(handle), UCS_ERR_CANCELED);
}

static ucs_status_t ep_create(ucp_worker_h worker, const ucp_ep_params_t *params,
                              ucp_ep_h *ep)
{
    node *self = reinterpret_cast<node *>(worker);

    EXPECT_TRUE(params->field_mask & UCP_EP_PARAM_FIELD_REMOTE_ADDRESS);
    EXPECT_EQ((const void *)worker, (const void *)params->address) << "not to itself";
    ++ucx::get()->num_eps;
    *ep = self->new_endpoint(self)->handle();
    return UCS_OK;
}

static ucs_status_t worker_get_address(ucp_worker_h worker, ucp_address_t **address,
                                       size_t *length)
{
    *address = reinterpret_cast<ucp_address_t *>(worker);
    *length  = 10;
    return UCS_OK;
}

static ucs_status_t memtype_cache_lookup(const void *address, size_t length,
                                         ucs_memory_info_t *info)
{
    device_memory *device = ucx::get()->device_of(address);

    if (device == nullptr) {
        return UCS_ERR_NO_ELEM;
    }
    info->type = device->type();
    return UCS_OK;
}

static void am_data_release(ucp_worker_h worker, void *desc)
{
    ucx *u  = ucx::get();
    auto it = u->descriptors.find(desc);

    ++u->num_released;
    if (it == u->descriptors.end()) {
        ADD_FAILURE() << "release of a descriptor that is not there";
        return;
    }
    EXPECT_FALSE(it->second.in_callback) << "released inside the callback";
    EXPECT_EQ(0u, it->second.fetched + it->second.released) << "released again";
    ++it->second.released;
    u->end_descriptor(it, UCS_OK);
}

static void request_free(void *handle)
{
    request *req = static_cast<request *>(handle);

    EXPECT_FALSE(req->freed);
    req->freed = true;
}

static ucs_status_t context_query(ucp_context_h context, ucp_context_attr_t *attr)
{
    attr->request_size = 272;
    attr->memory_types = ucx::get()->memory_types;
    return UCS_OK;
}

static ucs_status_t worker_query(ucp_worker_h worker, ucp_worker_attr_t *attr)
{
    attr->thread_mode    = UCS_THREAD_MODE_SINGLE;
    attr->address        = reinterpret_cast<ucp_address_t *>(worker);
    attr->address_length = 10;
    return UCS_OK;
}

static ucs_status_t worker_address_query(ucp_address_t *address,
                                         ucp_worker_address_attr_t *attr)
{
    attr->worker_uid = reinterpret_cast<node *>(address)->uid();
    return UCS_OK;
}

static void worker_release_address(ucp_worker_h worker, ucp_address_t *address) {}

static ucs_status_t worker_set_am_recv_handler(ucp_worker_h worker,
                                               const ucp_am_handler_param_t *param)
{
    EXPECT_TRUE((param->cb == NULL) || (param->id == ri_config.am_id));
    reinterpret_cast<node *>(worker)->set_handler(*param);
    return UCS_OK;
}

static unsigned worker_progress(ucp_worker_h worker)
{
    return 0;
}

static ucs_status_ptr_t ep_close_nbx(ucp_ep_h handle, const ucp_request_param_t *param)
{
    endpoint *ep = reinterpret_cast<endpoint *>(handle);

    EXPECT_FALSE(ep->closed);
    ep->closed = true;
    ++ucx::get()->num_closed;
    return NULL;
}

static ucs_status_ptr_t ep_flush_nbx(ucp_ep_h handle, const ucp_request_param_t *param)
{
    ++ucx::get()->num_flushed;
    return NULL;
}

static ucs_status_ptr_t worker_flush_nbx(ucp_worker_h worker,
                                         const ucp_request_param_t *param)
{
    ++ucx::get()->num_flushed;
    return NULL;
}

ri_wire_msg_t packet::parse() const
{
    ri_wire_msg_t msg;

    EXPECT_EQ(UCS_OK, ri_wire_parse(header.data(), header.size(), data.data(),
                                    data.size(), rndv, &msg));
    return msg;
}

ri_wire_type_t packet::type() const
{
    return parse().type;
}

size_t endpoint::count(ri_wire_type_t type) const
{
    size_t count = 0;

    for (const packet &p : sent) {
        count += (p.type() == type);
    }
    return count;
}

packet endpoint::take(ri_wire_type_t type)
{
    for (auto it = sent.begin(); it != sent.end(); ++it) {
        if (it->type() == type) {
            packet p = *it;
            sent.erase(it);
            return p;
        }
    }
    ADD_FAILURE() << "no message of type " << type << " was sent";
    return packet();
}

ucx::ucx()
{
    g_ucx    = this;
    ri_stock = {};

    ri_stock.am_send_nbx                = am_send_nbx;
    ri_stock.am_recv_data_nbx           = am_recv_data_nbx;
    ri_stock.am_data_release            = am_data_release;
    ri_stock.request_free               = request_free;
    ri_stock.context_query              = context_query;
    ri_stock.worker_query               = worker_query;
    ri_stock.worker_address_query       = worker_address_query;
    ri_stock.worker_release_address     = worker_release_address;
    ri_stock.worker_set_am_recv_handler = worker_set_am_recv_handler;
    ri_stock.worker_progress            = worker_progress;
    ri_stock.worker_flush_nbx           = worker_flush_nbx;
    ri_stock.ep_close_nbx               = ep_close_nbx;
    ri_stock.ep_flush_nbx               = ep_flush_nbx;
    ri_stock.dt_create_generic          = dt_create_generic;
    ri_stock.tag_recv_nbx               = tag_recv_nbx;
    ri_stock.tag_send_nbx               = tag_send_nbx;
    ri_stock.request_cancel             = request_cancel;
    ri_stock.ep_create                  = ep_create;
    ri_stock.worker_get_address         = worker_get_address;
    ri_stock.ucs_memtype_cache_lookup   = memtype_cache_lookup;
    ri_stock.version_major              = 1;
    ri_stock.version_minor              = 13;
}

ucx::~ucx()
{
    EXPECT_TRUE(descriptors.empty())
            << descriptors.size() << " descriptors never released";
    EXPECT_EQ(0u, requests.size()) << "stock requests never ended";
    for (request *req : requests) {
        delete req;
    }
    ri_stock = {};
    g_ucx    = nullptr;
}

ucx *ucx::get()
{
    return g_ucx;
}

device_memory *ucx::device_of(const void *address)
{
    for (device_memory *device : devices) {
        if (device->contains(address)) {
            return device;
        }
    }
    return nullptr;
}

request *ucx::find_posted(ucp_tag_t tag)
{
    for (request *req : requests) {
        if (req->posted && (req->tag == tag)) {
            return req;
        }
    }
    return nullptr;
}

bool ucx::later(ending_t mode)
{
    return (mode == LATER) || ((mode == RANDOM) && random->percent(50));
}

size_t ucx::num_pending() const
{
    size_t count = 0;

    for (request *req : requests) {
        count += req->ready;
    }
    return count;
}

void ucx::finish(request *req, ucs_status_t status)
{
    requests.remove(req);
    req->callback(req, status);
    EXPECT_TRUE(req->freed) << "a stock request was not freed";
    delete req;
}

bool ucx::complete_nth(size_t which, ucs_status_t status)
{
    for (request *req : requests) {
        if (req->ready && (which-- == 0)) {
            finish(req, status);
            return true;
        }
    }
    return false;
}

bool ucx::complete(ucs_status_t status)
{
    bool any = false;

    while (complete_nth(0, status)) {
        any = true;
    }
    return any;
}

void ucx::end_descriptor(std::map<void *, descriptor>::iterator it, ucs_status_t status)
{
    if (it->second.sender != nullptr) {
        it->second.sender->ready = true;
        it->second.sender        = nullptr;
    }
    if (!it->second.in_callback) {
        descriptors.erase(it);
    }
}

node::node(uint64_t uid, uint64_t features) : m_uid(uid)
{
    ucp_context_h stock_context = reinterpret_cast<ucp_context_h>(&m_context_key);
    ucp_params_t params         = {};

    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features   = features;
    EXPECT_EQ(UCS_OK, ri_context_create(stock_context, &params));
    m_context = ri_context_find(stock_context);
    EXPECT_EQ(UCS_OK, ri_worker_create(m_context, reinterpret_cast<ucp_worker_h>(this),
                                       &m_worker));
    m_worker->process.host =
            0; /* as planes: nobody looks for it, but where a test says so */
}

node::~node()
{
    EXPECT_TRUE(release_done() || may_end_open) << "requests are left open";
    ri_worker_destroy(m_worker);
    ucx::get()->complete(UCS_ERR_CANCELED);
    release_done();
    EXPECT_EQ(0u, m_worker->reqs.in_use) << "requests leaked";
    EXPECT_EQ(0u, m_worker->counters.held_bytes);
    EXPECT_EQ(0u, m_worker->num_rings);
    ri_worker_free(m_worker);
    ri_context_destroy(m_context);
}

void node::set_handler(const ucp_am_handler_param_t &param)
{
    ++num_registered;
    if (param.id >= m_handlers.size()) {
        if (ri_stock_version_at_least(1, 17)) {
            m_handlers.resize(param.id + 1, {true, nullptr, nullptr});
        } else {
            size_t length = std::max<size_t>(2 * m_handlers.size(), param.id + 1);

            m_handlers.resize(length + length % 2);
        }
    }
    m_handlers[param.id] = {true, param.cb, param.arg};
}

endpoint *node::new_endpoint(node *to)
{
    m_endpoints.emplace_back(new endpoint());
    m_endpoints.back()->from = this;
    m_endpoints.back()->to   = to;
    return m_endpoints.back().get();
}

ri_conn_t *node::connect(endpoint *ep, uint64_t remote_uid, uint32_t flags)
{
    ri_conn_t *conn = nullptr;

    EXPECT_EQ(UCS_OK,
              ri_conn_create(m_worker, ep->handle(), remote_uid, UCS_OK, flags, &conn));
    return conn;
}

ucs_status_t node::deliver(const bytes &header, const bytes &data, arrival_t arrival,
                           endpoint *reply, request *sender)
{
    ucx *u                                 = ucx::get();
    std::unique_ptr<uint8_t[]> header_copy = exact_copy(header);
    std::unique_ptr<uint8_t[]> data_copy = exact_copy((arrival == RNDV) ? bytes() : data);
    void *pointer                        = data_copy.get();
    ucp_am_recv_param_t param            = {};
    ucs_status_t status;

    if (arrival != PLAIN) {
        descriptor &desc = u->descriptors[pointer];
        desc.memory      = std::move(data_copy);
        desc.rndv        = (arrival == RNDV);
        desc.sender      = sender;
        if (desc.rndv) {
            desc.content = data;
        }
        param.recv_attr |= desc.rndv ? UCP_AM_RECV_ATTR_FLAG_RNDV :
                                       UCP_AM_RECV_ATTR_FLAG_DATA;
    }
    if (reply != nullptr) {
        param.recv_attr |= UCP_AM_RECV_ATTR_FIELD_REPLY_EP;
        param.reply_ep = reply->handle();
    }

    status = ri_dispatch_am(m_worker, header.empty() ? nullptr : header_copy.get(),
                            header.size(), pointer, data.size(), &param);
    EXPECT_TRUE((status == UCS_OK) || (status == UCS_INPROGRESS)) << status;
    if (arrival == PLAIN) {
        EXPECT_EQ(UCS_OK, status) << "nothing that could have been kept";
        return status;
    }

    auto it = u->descriptors.find(pointer);
    EXPECT_TRUE(it != u->descriptors.end());
    it->second.in_callback = false;
    if (it->second.fetched + it->second.released > 0) {
        EXPECT_EQ(UCS_INPROGRESS, status) << "a used descriptor is given back";
        u->descriptors.erase(it);
    } else if (status == UCS_OK) {
        u->end_descriptor(it, UCS_OK); /* stock releases it */
    }
    return status;
}

static void recv_done(void *handle, ucs_status_t status, const ucp_tag_recv_info_t *info,
                      void *user_data)
{
    recv_op *op = static_cast<recv_op *>(user_data);

    EXPECT_FALSE(op->done) << "a receive completed twice";
    op->handle = handle;
    op->done   = true;
    op->status = status;
    op->info   = *info;
    if (op->on_done) {
        op->on_done();
    }
}

static void send_done(void *handle, ucs_status_t status, void *user_data)
{
    send_op *op = static_cast<send_op *>(user_data);

    EXPECT_FALSE(op->done) << "a send completed twice";
    op->done   = true;
    op->status = status;
}

recv_ptr node::start_recv(
        const std::function<ucs_status_ptr_t(recv_op *, const ucp_request_param_t *)>
                &start,
        size_t capacity)
{
    recv_ptr op               = std::make_shared<recv_op>();
    ucp_request_param_t param = {};
    ucs_status_ptr_t ret;

    op->buffer.resize(capacity);
    m_recvs.push_back(op);
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                         UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    param.cb.recv   = recv_done;
    param.user_data = op.get();
    ret             = start(op.get(), &param);
    EXPECT_TRUE(UCS_PTR_IS_PTR(ret));
    op->handle = ret;
    return op;
}

recv_ptr node::recv(uint64_t tag, uint64_t mask, size_t capacity,
                    std::function<void()> on_done)
{
    return start_recv(
            [&](recv_op *op, const ucp_request_param_t *param) {
                op->tag     = tag;
                op->mask    = mask;
                op->on_done = on_done;
                return ri_tag_recv(m_worker, op->buffer.data(), capacity, tag, mask,
                                   param);
            },
            capacity);
}

recv_ptr node::msg_recv(ri_msg_t *msg, size_t capacity)
{
    return start_recv(
            [&](recv_op *op, const ucp_request_param_t *param) {
                return ri_tag_msg_recv(m_worker, op->buffer.data(), capacity, msg, param);
            },
            capacity);
}

recv_ptr node::recv_into(void *buffer, size_t count, uint64_t tag,
                         const ucp_request_param_t &extra)
{
    return start_recv(
            [&](recv_op *op, const ucp_request_param_t *param) {
                ucp_request_param_t all = *param;

                all.op_attr_mask |= extra.op_attr_mask;
                all.datatype    = extra.datatype;
                all.memory_type = extra.memory_type;
                return ri_tag_recv(m_worker, buffer, count, tag, ~0ul, &all);
            },
            0);
}

send_ptr node::send(ri_conn_t *conn, const bytes &data, uint64_t tag, bool sync)
{
    send_ptr op = std::make_shared<send_op>();

    op->data = data;
    return start_send(op, conn, op->data.data(), op->data.size(), tag, sync);
}

send_ptr node::send_from(ri_conn_t *conn, device_memory &memory, uint64_t tag, bool sync)
{
    return start_send(std::make_shared<send_op>(), conn, memory.data(), memory.length(),
                      tag, sync);
}

send_ptr node::start_send(const send_ptr &op, ri_conn_t *conn, const void *data,
                          size_t length, uint64_t tag, bool sync)
{
    ucp_request_param_t param = {};
    ucs_status_ptr_t ret;

    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.send      = send_done;
    param.user_data    = op.get();
    ret                = ri_tag_send(conn, data, length, tag, &param, sync);
    if (UCS_PTR_IS_PTR(ret)) {
        op->handle = ret;
        m_sends.push_back(op);
    } else {
        EXPECT_FALSE(op->done) << "called back and completed at once";
        op->done   = true;
        op->status = UCS_PTR_STATUS(ret);
    }
    return op;
}

void node::cancel(const recv_ptr &op)
{
    ri_tag_cancel(m_worker,
                  reinterpret_cast<ri_recv_req_t *>(ri_req_of_handle(op->handle)));
}

void node::progress()
{
    ri_worker_progress(m_worker);
}

ri_worker_counters_t node::counters() const
{
    ri_worker_counters_t counters;

    ri_worker_counters_snapshot(m_worker, &counters);
    return counters;
}

template <typename T> static bool release_list(std::list<std::shared_ptr<T>> &ops)
{
    for (auto it = ops.begin(); it != ops.end();) {
        if ((*it)->done) {
            if ((*it)->handle != nullptr) {
                ri_req_put(ri_req_of_handle((*it)->handle));
            }
            it = ops.erase(it);
        } else {
            ++it;
        }
    }
    return ops.empty();
}

bool node::release_done()
{
    bool recvs = release_list(m_recvs);
    bool sends = release_list(m_sends);

    return recvs && sends;
}

bytes pattern(uint64_t i, size_t length)
{
    bytes out(length);
    rng random(i);

    for (size_t at = 0; at < length; at += 8) {
        uint64_t word = random.next();

        memcpy(&out[at], &word, std::min<size_t>(8, length - at));
    }
    return out;
}

} // namespace fake

void ri_test::SetUp()
{
    m_ucx = std::make_unique<fake::ucx>();

    ri_config                 = {};
    ri_config.eager_thresh    = 8192;
    ri_config.coop_thresh     = 262144;
    ri_config.am_inline       = 1024;
    ri_config.ring_peers      = 64;
    ri_config.ring_size       = 65536;
    ri_config.ring_after      = 4;
    ri_config.progress_skip   = 8;
    ri_config.reorder_window  = 1 << 20;
    ri_config.rc_max_peers    = 256;
    ri_config.ib_devices      = const_cast<char *>("");
    ri_config.connect_timeout = 300;
    ri_config.am_id           = 4079;
    ri_config.trace_size      = 64;
    ri_config.tag_sender_mask = const_cast<char *>("auto");
    ri_config.rtr             = UCS_YES;
    ri_recv_rndv_patience     = 0;
    ri_settle_timeout         = 10;
    ri_config.stats_dest      = const_cast<char *>("stderr");
    ri_config.report_dest     = const_cast<char *>("stderr");
    ri_config.trace_dest      = const_cast<char *>("stderr");
    ri_log_level              = RI_LOG_LEVEL_ERROR;
}

void ri_test::TearDown()
{
    m_ucx.reset();
}

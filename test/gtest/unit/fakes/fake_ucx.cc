/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* The stock UCX of the unit tests: its functions, and what becomes of requests. See fake_ucx.h. */

#include "fake_ucx.h"
#include "fake_ucx_data.h"

namespace fake {

static ucx *g_ucx;

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
    EXPECT_EQ(ep->am_id, id) << "a handler of another's";
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
    if (req->status != UCS_INPROGRESS) {
        ucx::get()->ended.remove(req);
        delete req;
    }
}

static ucs_status_t request_check_status(void *handle)
{
    return static_cast<request *>(handle)->status;
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

static void flush_ends(request *req, ucs_status_t status)
{
    if (req->param.op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK) {
        req->param.cb.send(req, status, req->param.user_data);
    } else if (!req->freed) {
        req->status = status;
        ucx::get()->ended.push_back(req);
    }
}

static ucs_status_ptr_t start_flush(ending_t mode, const ucp_request_param_t *param)
{
    ucx *u = ucx::get();

    if (!u->later(mode)) {
        return (mode == FAILS) ? UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE) : NULL;
    }
    request *req  = new request();
    req->callback = flush_ends;
    req->param    = *param;
    u->requests.push_back(req);
    return req;
}

static ucs_status_ptr_t ep_close_nbx(ucp_ep_h handle, const ucp_request_param_t *param)
{
    endpoint *ep = reinterpret_cast<endpoint *>(handle);

    EXPECT_FALSE(ep->closed);
    ep->closed = true;
    ++ucx::get()->num_closed;
    return start_flush(ucx::get()->close_mode, param);
}

static void ep_print_info(ucp_ep_h handle, FILE *stream)
{
    endpoint *ep = reinterpret_cast<endpoint *>(handle);

    fprintf(stream, "# UCP endpoint\n#\n#    lane[0]:  2:%s.0 md[1]   -> md[1] am\n",
            ep->tcp ? "tcp/eth0" : "posix/memory");
}

static ucs_status_ptr_t flush(const ucp_request_param_t *param)
{
    ++ucx::get()->num_flushed;
    return start_flush(ucx::get()->flush_mode, param);
}

static ucs_status_ptr_t ep_flush_nbx(ucp_ep_h handle, const ucp_request_param_t *param)
{
    return flush(param);
}

static ucs_status_ptr_t worker_flush_nbx(ucp_worker_h worker,
                                         const ucp_request_param_t *param)
{
    return flush(param);
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
    ri_stock.request_check_status       = request_check_status;
    ri_stock.context_query              = context_query;
    ri_stock.worker_query               = worker_query;
    ri_stock.worker_address_query       = worker_address_query;
    ri_stock.worker_release_address     = worker_release_address;
    ri_stock.worker_set_am_recv_handler = worker_set_am_recv_handler;
    ri_stock.worker_progress            = worker_progress;
    ri_stock.worker_flush_nbx           = worker_flush_nbx;
    ri_stock.ep_close_nbx               = ep_close_nbx;
    ri_stock.ep_flush_nbx               = ep_flush_nbx;
    ri_stock.ep_print_info              = ep_print_info;
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
    EXPECT_EQ(0u, ended.size()) << "stock requests never given back";
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
    if (req->status != UCS_INPROGRESS) {
        return; /* somebody asks for it */
    }
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
    ri_config.dt_layouts      = 1;
    ri_config.dt_run_min      = 4096;
    ri_config.dt_run_host     = 8192;
    ri_config.ring_peers      = 64;
    ri_config.ring_size       = 65536;
    ri_config.ring_after      = 4;
    ri_config.progress_skip   = 8;
    ri_config.reorder_window  = 1 << 20;
    ri_config.rc_max_peers    = 256;
    ri_config.ib_devices      = const_cast<char *>("");
    ri_config.connect_timeout = 300;
    ri_config.close_timeout   = INFINITY;
    ri_config.am_id           = 4079;
    ri_config.trace_size      = 64;
    ri_config.tag_sender_mask = const_cast<char *>("auto");
    ri_config.rtr             = UCS_YES;
    ri_rtr_send_host_patience = 0;
    ri_quiesce_timeout        = 10;
    ri_config.stats_dest      = const_cast<char *>("stderr");
    ri_config.report_dest     = const_cast<char *>("stderr");
    ri_config.trace_dest      = const_cast<char *>("stderr");
    ri_log_level              = RI_LOG_LEVEL_ERROR;
}

void ri_test::TearDown()
{
    m_ucx.reset();
}

/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* How the stock UCX of the unit tests moves data: by datatype, from and to its device memory. */

#include "fake_ucx_data.h"

namespace fake {

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

ucs_status_t dt_create_generic(const ucp_generic_dt_ops_t *ops, void *context,
                               ucp_datatype_t *datatype)
{
    static std::list<generic_dt> types;

    types.push_back({*ops, context});
    *datatype = reinterpret_cast<uintptr_t>(&types.back()) | UCP_DATATYPE_GENERIC;
    return UCS_OK;
}

ucp_datatype_t datatype_of(const ucp_request_param_t *param)
{
    return (param->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) ? param->datatype :
                                                                ucp_dt_make_contig(1);
}

bytes gather(const void *buffer, size_t count, ucp_datatype_t datatype)
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

ucs_status_t scatter(void *buffer, size_t count, ucp_datatype_t datatype,
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

} // namespace fake

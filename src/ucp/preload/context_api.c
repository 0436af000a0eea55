/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Interposed: configuration, contexts, datatypes. Here it is decided whether a context is
 * served by this library: its configuration says recv_init, and it asks for tag matching or for
 * one-sided operations.
 */
#include "guard.h"
#include "mpi_api.h"
#include "../../ucs/stock.h"
#include "../core/settings/config.h"
#include "../core/context.h"
#include "../core/settings/stock_config.h"
#include "../core/settings/switch.h"
#include "../core/version.h"
#include "../run/inert.h"
#include "../../ucs/handle_map.h"
#include "../../ucs/log.h"
#include "../../ucs/settings.h"
#include "../dt/dt.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Features, one of which has a context served that has no tag matching. */
#define FEATURES_ONE_SIDED (UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64)

/* The configurations that said recv_init, by their stock handle. */
static ri_map_t selected_configs = RI_MAP_INITIALIZER;

ucs_status_t ucp_config_read(const char *env_prefix, const char *filename,
                             ucp_config_t **config_p)
{
    int is_selected;
    ucs_status_t status = ri_stock_config_read(env_prefix, filename, config_p,
                                               &is_selected);

    if (status != UCS_OK) {
        ri_inert_note(RI_INERT_REFUSED);
    } else if (is_selected) {
        status = ri_map_put(&selected_configs, (uintptr_t)*config_p, *config_p);
        if (status != UCS_OK) {
            ri_stock.config_release(*config_p);
        }
    }
    return status;
}

ucs_status_t ucp_config_modify(ucp_config_t *config, const char *name, const char *value)
{
    ucs_status_t status;

    ri_stock_resolve();
    if (strcmp(name, RI_SWITCH_NAME)) {
        return ri_stock.config_modify(config, name, value);
    }
    if (ri_switch_read(value) == RI_SWITCH_ON) {
        return ri_map_put(&selected_configs, (uintptr_t)config, config);
    }
    status = ri_stock.config_modify(config, name, value);
    if (status == UCS_OK) {
        ri_map_remove(&selected_configs, (uintptr_t)config);
    }
    return status;
}

void ucp_config_release(ucp_config_t *config)
{
    ri_stock_resolve();
    ri_map_remove(&selected_configs, (uintptr_t)config);
    ri_stock.config_release(config);
}

static int params_want(const ucp_params_t *params, uint64_t features)
{
    return (params->field_mask & UCP_PARAM_FIELD_FEATURES) &&
           ((params->features & features) != 0);
}

/* Whether a context has anything that this library does, if it is switched on. One-sided operations
 * alone may be left to stock. The configuration was read. */
static int params_want_library(const ucp_params_t *params)
{
    return params_want(params, UCP_FEATURE_TAG) ||
           (params_want(params, FEATURES_ONE_SIDED) && ri_config.rma);
}

/* The application's parameters with the active message feature added. */
typedef union params_copy {
    ucp_params_t params;
    uint8_t bytes[sizeof(ucp_params_t) + RI_PARAMS_EXTRA_BYTES];
} params_copy_t;

static void params_copy(params_copy_t *copy, const ucp_params_t *params)
{
    uint64_t unknown = params->field_mask & ~(uint64_t)((UCP_PARAM_FIELD_NAME << 1) - 1);

    ri_guard_copy_params(copy->bytes, params, sizeof(*params), unknown);
    copy->params.features |= UCP_FEATURE_AM;
}

/* Create a context for which recv_init was selected. One that is left to stock asks for what served
 * ones ask for: with other features at each side, UCX may choose other lanes for the two directions
 * of a pair, and ends a process over it. */
static ucs_status_t context_init(unsigned major, unsigned minor,
                                 const ucp_params_t *params, const ucp_config_t *config,
                                 ucp_context_h *context_p)
{
    params_copy_t own_params;
    ucs_status_t status;
    int is_served;

    ri_config_read();
    is_served = params_want_library(params);
    if (!is_served) {
        ri_inert_note(RI_INERT_NO_TAGS);
        atomic_store(&ri_context_left, 1);
    }
    params_copy(&own_params, params);
    status = ri_stock.init_version(major, minor, &own_params.params, config, context_p);
    if ((status != UCS_OK) || !is_served) {
        return status;
    }

    status = ri_context_create(*context_p, params);
    if (status != UCS_OK) {
        ri_stock.cleanup(*context_p);
        return status;
    }
    ri_inert_note(RI_INERT_NO_WORKER);
    ri_mpi_switch_on();
    ri_info("version " RI_VERSION_STRING " serves a context of UCX %u.%u.%u",
            ri_stock.version_major, ri_stock.version_minor, ri_stock.version_release);
    return UCS_OK;
}

ucs_status_t ucp_init_version(unsigned api_major_version, unsigned api_minor_version,
                              const ucp_params_t *params, const ucp_config_t *config,
                              ucp_context_h *context_p)
{
    ucp_config_t *own_config = NULL;
    ucs_status_t status;

    ri_stock_resolve();
    if (!params_want(params, UCP_FEATURE_TAG | FEATURES_ONE_SIDED)) {
        ri_inert_note(RI_INERT_NO_TAGS);
        return ri_stock.init_version(api_major_version, api_minor_version, params, config,
                                     context_p);
    }

    /* Without a configuration, stock reads the default one; so do we, to see it. */
    if (config == NULL) {
        status = ucp_config_read(NULL, NULL, &own_config);
        if (status != UCS_OK) {
            return status;
        }
        config = own_config;
    }

    if (ri_map_get_ptr(&selected_configs, config) != NULL) {
        status = context_init(api_major_version, api_minor_version, params, config,
                              context_p);
    } else {
        ri_inert_note(RI_INERT_NO_SWITCH);
        status = ri_stock.init_version(api_major_version, api_minor_version, params,
                                       config, context_p);
    }
    if (own_config != NULL) {
        ucp_config_release(own_config);
    }
    return status;
}

void ucp_cleanup(ucp_context_h stock)
{
    ri_context_t *context;

    ri_stock_resolve();
    context = ri_context_find(stock);
    if (context != NULL) {
        ri_context_destroy(context);
    }
    ri_stock.cleanup(stock);
}

ucs_status_t ucp_context_query(ucp_context_h stock, ucp_context_attr_t *attr)
{
    ucs_status_t status;

    ri_stock_resolve();
    status = ri_stock.context_query(stock, attr);
    if ((status == UCS_OK) && (attr->field_mask & UCP_ATTR_FIELD_REQUEST_SIZE) &&
        (ri_context_find(stock) != NULL)) {
        attr->request_size = ri_req_headroom;
    }
    return status;
}

ucs_status_t ucp_dt_create_generic(const ucp_generic_dt_ops_t *ops, void *context,
                                   ucp_datatype_t *datatype_p)
{
    ucs_status_t status;

    ri_stock_resolve();
    status = ri_stock.dt_create_generic(ops, context, datatype_p);
    if (status != UCS_OK) {
        return status;
    }

    status = ri_dt_register(*datatype_p, ops, context);
    if (status != UCS_OK) {
        ri_stock.dt_destroy(*datatype_p);
        return status;
    }
    ri_mpi_note_generic(*datatype_p, context);
    return UCS_OK;
}

void ucp_dt_destroy(ucp_datatype_t datatype)
{
    ri_stock_resolve();
    ri_dt_unregister(datatype);
    ri_stock.dt_destroy(datatype);
}

/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A program that is not linked with UCX and loads it privately (RTLD_LOCAL), for
 * switch.test. It finds the functions in its handle, or wherever the loader finds them.
 *
 * Usage: private_ucp handle|default [own-config]
 */
#include <ucp/api/ucp.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *scope;

#define CALL(_name) ((__typeof__(_name) *)find(#_name))

static void *find(const char *name)
{
    void *func = dlsym(scope, name);

    if (func == NULL) {
        printf("%s not found\n", name);
        exit(EXIT_FAILURE);
    }
    return func;
}

static void check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        printf("%s: %d\n", what, status);
        exit(EXIT_FAILURE);
    }
}

static void wait_for(ucp_worker_h worker, ucs_status_ptr_t ret)
{
    if (UCS_PTR_IS_PTR(ret)) {
        while (CALL(ucp_request_check_status)(ret) == UCS_INPROGRESS) {
            CALL(ucp_worker_progress)(worker);
        }
        check(CALL(ucp_request_check_status)(ret), "request");
        CALL(ucp_request_free)(ret);
    } else {
        check(UCS_PTR_STATUS(ret), "operation");
    }
}

static void callback(void *request, ucs_status_t status) {}

static void recv_callback(void *request, ucs_status_t status, ucp_tag_recv_info_t *info)
{
}

/* By the older calls, which libucp maps to the newer ones through the symbol table */
static void messages(ucp_worker_h worker, ucp_ep_h ep)
{
    const ucp_datatype_t byte = ucp_dt_make_contig(1);
    static char out[100000], in[100000];
    size_t size;

    memset(out, 17, sizeof(out));
    for (size = 1; size <= sizeof(out); size *= 10) {
        ucs_status_ptr_t recv = CALL(ucp_tag_recv_nb)(worker, in, size, byte, 1, ~0ul,
                                                      recv_callback);

        wait_for(worker, CALL(ucp_tag_send_nb)(ep, out, size, byte, 1, callback));
        wait_for(worker, recv);
        if (memcmp(out, in, size)) {
            printf("wrong data\n");
            exit(EXIT_FAILURE);
        }
    }
}

int main(int argc, char **argv)
{
    ucp_params_t params               = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                         .features   = UCP_FEATURE_TAG};
    ucp_worker_params_t worker_params = {.field_mask = 0};
    ucp_ep_params_t ep_params         = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    void *handle                      = dlopen("libucp.so.0", RTLD_LAZY | RTLD_LOCAL);
    ucp_config_t *config              = NULL;
    int (*is_served)(ucp_worker_h);
    ucp_address_t *address;
    ucp_context_h context;
    ucp_worker_h worker;
    size_t length;
    ucp_ep_h ep;

    if ((handle == NULL) || (argc < 2)) {
        printf("%s\n", (handle == NULL) ? dlerror() : "usage");
        return EXIT_FAILURE;
    }
    scope = strcmp(argv[1], "handle") ? RTLD_DEFAULT : handle;
    if (argc > 2) {
        check(CALL(ucp_config_read)(NULL, NULL, &config), "ucp_config_read");
    }
    check(CALL(ucp_init_version)(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context),
          "ucp_init");
    check(CALL(ucp_worker_create)(context, &worker_params, &worker), "ucp_worker_create");
    check(CALL(ucp_worker_get_address)(worker, &address, &length), "get_address");
    ep_params.address = address;
    check(CALL(ucp_ep_create)(worker, &ep_params, &ep), "ucp_ep_create");
    CALL(ucp_worker_release_address)(worker, address);

    messages(worker, ep);
    is_served = (int (*)(ucp_worker_h))dlsym(RTLD_DEFAULT, "ucxri_worker_is_served");
    printf("served %d\n", (is_served != NULL) && is_served(worker));

    CALL(ucp_ep_destroy)(ep);
    CALL(ucp_worker_destroy)(worker);
    CALL(ucp_cleanup)(context);
    return EXIT_SUCCESS;
}

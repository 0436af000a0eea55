/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * An ordinary program on UCP, for switch.test and report.test. It prints what it sees.
 *
 * Usage: switch read [prefix]      read the configuration, make a worker
 *        switch modify <value>...  the same, and set RNDV_SCHEME first
 *        switch print              print the configuration
 *        switch am <id>            register active message handlers
 *        switch notags             make a context without tag matching
 *        switch api                use all of ucxri.h
 *        switch messages [leave|signal|fork]   send messages; leave without clean-up, or
 *                                  SIGUSR2, or with a child that exits first
 */
#include "ucp/api/ucxri.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGES 10

static ucp_context_h context;
static ucp_worker_h worker;
static ucp_ep_h ep;

static void check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        printf("%s: %s\n", what, ucs_status_string(status));
        exit(EXIT_FAILURE);
    }
}

static void *find(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

static int is_served(void)
{
    int (*func)(ucp_worker_h) = (int (*)(ucp_worker_h))find("ucxri_worker_is_served");

    return (func != NULL) && func(worker);
}

static ucp_config_t *config_read(const char *prefix)
{
    static const char *const names[] = {"UCX_RNDV_SCHEME", "MPI_UCX_RNDV_SCHEME"};
    char *before[2];
    const char *after;
    ucp_config_t *config;
    ucs_status_t status;
    int i;

    for (i = 0; i < 2; ++i) {
        after     = getenv(names[i]);
        before[i] = (after == NULL) ? NULL : strdup(after);
    }
    status = ucp_config_read(prefix, NULL, &config);
    for (i = 0; i < 2; ++i) {
        after = getenv(names[i]);
        if (((after == NULL) != (before[i] == NULL)) ||
            ((after != NULL) && strcmp(after, before[i]))) {
            printf("%s is changed to '%s'\n", names[i], (after == NULL) ? "" : after);
        }
        free(before[i]);
    }
    check(status, "ucp_config_read");
    return config;
}

static void start(ucp_config_t *config)
{
    ucp_params_t params               = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                         .features   = UCP_FEATURE_TAG | UCP_FEATURE_AM};
    ucp_worker_params_t worker_params = {.field_mask = 0};
    ucp_ep_params_t ep_params         = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    ucp_address_t *address;
    size_t length;

    check(ucp_init(&params, config, &context), "ucp_init");
    ucp_config_release(config);
    check(ucp_worker_create(context, &worker_params, &worker), "ucp_worker_create");
    check(ucp_worker_get_address(worker, &address, &length), "ucp_worker_get_address");
    ep_params.address = address;
    check(ucp_ep_create(worker, &ep_params, &ep), "ucp_ep_create");
    ucp_worker_release_address(worker, address);
}

static void stop(void)
{
    ucp_ep_destroy(ep);
    ucp_worker_destroy(worker);
    ucp_cleanup(context);
}

static void wait_for(ucs_status_ptr_t ret)
{
    if (UCS_PTR_IS_PTR(ret)) {
        while (ucp_request_check_status(ret) == UCS_INPROGRESS) {
            ucp_worker_progress(worker);
        }
        check(ucp_request_check_status(ret), "request");
        ucp_request_free(ret);
    } else {
        check(UCS_PTR_STATUS(ret), "operation");
    }
}

static void messages(void)
{
    static const ucp_request_param_t param = {.op_attr_mask = 0};
    uint64_t i;

    for (i = 0; i < MESSAGES; ++i) {
        uint64_t in           = ~0ul;
        ucs_status_ptr_t recv = ucp_tag_recv_nbx(worker, &in, sizeof(in), i, ~0ul,
                                                 &param);

        wait_for(ucp_tag_send_nbx(ep, &i, sizeof(i), i, &param));
        wait_for(recv);
        if (in != i) {
            printf("message %lu is %lu\n", (unsigned long)i, (unsigned long)in);
            exit(EXIT_FAILURE);
        }
    }
}

/* A child that does nothing but leave, as of a program's call of another one that was not found */
static void fork_child(void)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        exit(EXIT_SUCCESS);
    }
    if ((child < 0) || (waitpid(child, &status, 0) != child) || (status != 0)) {
        printf("the child failed\n");
        exit(EXIT_FAILURE);
    }
}

static void read_and_run(ucp_config_t *config)
{
    start(config);
    messages();
    printf("served %d\n", is_served());
    stop();
}

static ucs_status_t am_callback(void *arg, void *data, size_t length, ucp_ep_h reply_ep,
                                unsigned flags)
{
    return UCS_OK;
}

static ucs_status_t am_recv_callback(void *arg, const void *header, size_t header_length,
                                     void *data, size_t length,
                                     const ucp_am_recv_param_t *param)
{
    return UCS_OK;
}

static void am(unsigned id)
{
    ucp_am_handler_param_t param = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                                                  UCP_AM_HANDLER_PARAM_FIELD_CB,
                                    .id = id,
                                    .cb = am_recv_callback};

    start(config_read(NULL));
    printf("set_am_recv_handler: %s\n",
           ucs_status_string(ucp_worker_set_am_recv_handler(worker, &param)));
    printf("set_am_handler: %s\n",
           ucs_status_string(ucp_worker_set_am_handler(worker, id, am_callback, NULL,
                                                       UCP_AM_FLAG_WHOLE_MSG)));
    messages();
    stop();
}

static void api(void)
{
    __typeof__(ucxri_version_string) *version       = find("ucxri_version_string");
    __typeof__(ucxri_worker_counters) *counters     = find("ucxri_worker_counters");
    __typeof__(ucxri_worker_print_counters) *print  = find("ucxri_worker_print_counters");
    __typeof__(ucxri_worker_dump_trace) *dump_trace = find("ucxri_worker_dump_trace");
    ucxri_counter_t array[256];
    size_t count, i;

    if ((version == NULL) || (counters == NULL) || (print == NULL) ||
        (dump_trace == NULL)) {
        printf("no ucxri\n");
        exit(EXIT_FAILURE);
    }
    start(config_read(NULL));
    messages();
    printf("version %s\nserved %d\n", version(), is_served());

    count = counters(worker, NULL, 0);
    memset(array, 0xff, sizeof(array));
    printf("counts %d\n", (counters(worker, array, 1) == count) &&
                                  (array[1].value == ~0ul) &&
                                  (counters(worker, array, 256) == count));
    for (i = 0; i < count; ++i) {
        if (array[i].value != 0) {
            printf("counter %s=%lu\n", array[i].name, (unsigned long)array[i].value);
        }
    }
    printf("print: %s\n", ucs_status_string(print(worker, stdout)));
    printf("dump: %s\n", ucs_status_string(dump_trace(worker)));
    stop();
}

int main(int argc, char **argv)
{
    const char *command = (argc > 1) ? argv[1] : "";
    ucp_params_t params;
    ucp_config_t *config;
    int i;

    if (!strcmp(command, "read")) {
        read_and_run(config_read((argc > 2) ? argv[2] : NULL));
    } else if (!strcmp(command, "modify")) {
        config = config_read(NULL);
        for (i = 2; i < argc; ++i) {
            check(ucp_config_modify(config, "RNDV_SCHEME", argv[i]), "ucp_config_modify");
        }
        read_and_run(config);
    } else if (!strcmp(command, "print")) {
        config = config_read(NULL);
        ucp_config_print(config, stdout, "", UCS_CONFIG_PRINT_CONFIG);
        ucp_config_release(config);
    } else if (!strcmp(command, "am") && (argc > 2)) {
        am(atoi(argv[2]));
    } else if (!strcmp(command, "notags")) {
        params.field_mask = UCP_PARAM_FIELD_FEATURES;
        params.features   = UCP_FEATURE_AM;
        check(ucp_init(&params, NULL, &context), "ucp_init");
        ucp_cleanup(context);
    } else if (!strcmp(command, "api")) {
        api();
    } else if (!strcmp(command, "messages")) {
        start(config_read(NULL));
        messages();
        if (argc == 2) {
            stop();
        } else if (!strcmp(argv[2], "signal")) {
            raise(SIGUSR2);
            for (i = 0; i < 200000; ++i) { /* looked at now and then */
                ucp_worker_progress(worker);
            }
            printf("alive\n");
        } else if (!strcmp(argv[2], "fork")) {
            fork_child();
        }
    } else {
        fprintf(stderr, "switch: unknown command '%s'\n", command);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

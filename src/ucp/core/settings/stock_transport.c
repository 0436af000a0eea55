/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * ucp_ep_query() tells the transports of an endpoint from UCX 1.14 on. What ucp_ep_print_info()
 * writes for people names them in all versions: "lane[0]:  2:tcp/eth0.0 md[1] ...".
 */
#include "stock_transport.h"
#include "../../../ucs/stock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ri_stock_transport_is_tcp(ucp_ep_h ep)
{
    char *text  = NULL;
    size_t size = 0;
    FILE *stream;
    int is_tcp;

    if (ri_stock.ep_print_info == NULL) {
        return 0;
    }
    stream = open_memstream(&text, &size);
    if (stream == NULL) {
        return 0;
    }
    ri_stock.ep_print_info(ep, stream);
    is_tcp = (fclose(stream) == 0) && (strstr(text, ":tcp/") != NULL);
    free(text);
    return is_tcp;
}

/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How MPICH 4.2 and later receive data that is not contiguous. By themselves they unpack it from
 * memory of their own when the message is there, or give UCP a list of all its pieces. One of their
 * variables has them give UCP the datatype, as MPICH 4.0 and 4.1 always do. A datatype has a layout
 * that is known here, and the others have none (docs/facts.md). So the variable is set.
 *
 * MPICH reads it in MPI_Init, and may be loaded after this library. So it is set at once.
 */
#include "../core/settings/switch.h"
#include "../../ucs/yes_no.h"

#include <stdlib.h>

/* Whether the user has set it, by any of the names that MPICH reads. */
static int setting_is_users(void)
{
    static const char *const names[] = {"MPIR_CVAR_UCX_DT_RECV", "MPIR_PARAM_UCX_DT_RECV",
                                        "MPICH_UCX_DT_RECV"};
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        if (getenv(names[i]) != NULL) {
            return 1;
        }
    }
    return 0;
}

/* Whether the library, if it is used at all, copies by layouts. */
static int setting_is_wanted(void)
{
    const char *layouts = getenv("UCXRI_DT_LAYOUTS");

    return ri_switch_is_on(getenv(RI_SWITCH_VARIABLE)) &&
           ((layouts == NULL) || (ri_yes_no(layouts) != 0));
}

static void __attribute__((constructor)) setting_make(void)
{
    if (setting_is_wanted() && !setting_is_users()) {
        (void)setenv("MPIR_CVAR_UCX_DT_RECV", "1", 0); /* else MPICH goes its own way */
    }
}

/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A misspelling is what differs from recv_init by up to two letters that are wrong, missing,
 * too many or swapped with their neighbour, with hyphens, underscores and blanks left out.
 * recv_initiated and receiver_init are too far from it, and are recognised by their parts. All
 * values of stock (auto, get_zcopy, put_ppln, am, rkey_ptr and others) differ by more.
 */
#include "switch.h"
#include "../../../ucs/base.h"
#include "../../../ucs/misspelt.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define SWITCH_LETTERS "recvinit"
#define SWITCH_ERRORS  2
#define SWITCH_MAX     24 /* longer values are nobody's misspelling */

/* Keep letters and digits, in lower case. @return Their number, or -1: too many. */
static int switch_squeeze(const char *value, char *letters)
{
    int count = 0;

    for (; *value != '\0'; ++value) {
        if (strchr("-_ \t", *value) == NULL) {
            if (count == SWITCH_MAX) {
                return -1;
            }
            letters[count++] = tolower((unsigned char)*value);
        }
    }
    letters[count] = '\0';
    return count;
}

ri_switch_t ri_switch_read(const char *value)
{
    char letters[SWITCH_MAX + 1];
    const char *init;
    int count;

    if (value == NULL) {
        return RI_SWITCH_UNSET;
    }
    if (!strcasecmp(value, RI_SWITCH_VALUE)) {
        return RI_SWITCH_ON;
    }
    count = switch_squeeze(value, letters);
    if (count < 0) {
        return RI_SWITCH_OTHER;
    }
    init = strstr(letters, "init");
    if (((init != NULL) && (init > letters) && !strncmp(letters, "rec", 3)) ||
        (ri_misspelt_letters(letters, SWITCH_LETTERS) <= SWITCH_ERRORS)) {
        return RI_SWITCH_MEANT;
    }
    return RI_SWITCH_OTHER;
}

int ri_switch_is_on(const char *value)
{
    ri_switch_t is = ri_switch_read(value);

    return (is == RI_SWITCH_ON) || (is == RI_SWITCH_MEANT);
}

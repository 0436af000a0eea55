/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * JSON, as far as reports need it: a text is gone through once, in its order, and nothing of it is
 * kept. Errors need not be looked at after each step: all steps do nothing once there was one.
 */
#ifndef UCXRI_INFO_JSON_H
#define UCXRI_INFO_JSON_H

#include <stdint.h>

typedef struct json {
    const char *at;    /* what is not read yet; the text ends by a zero */
    const char *error; /* NULL: none */
    int depth;         /* of values that are passed over */
} json_t;

/** @return Whether another entry of an object comes. To be called in front of the object, and again
 * after each value has been read, until it returns 0. @a name gets the name of the entry, cut off
 * at @a max bytes with the end; @a first is 1 before the first call, and belongs to the object. */
int json_object(json_t *json, int *first, char *name, unsigned long max);

/** @return Whether another element of an array comes, in the same way. */
int json_array(json_t *json, int *first);

/** Read a string into @a text, cut off at @a max bytes with the end. @return 1, or 0 if it is null,
 * or there is an error; then @a text is left as it was. */
int json_text(json_t *json, char *text, unsigned long max);

/** Read a number that is whole and not negative. @return 1, or 0 in the same way. */
int json_number(json_t *json, uint64_t *number);

/** Read true or false. @return Whether it is true. */
int json_true(json_t *json);

/** Pass over a value of any kind. */
void json_skip(json_t *json);

/** Pass over blanks. @return Whether there is more. */
int json_more(json_t *json);

#endif

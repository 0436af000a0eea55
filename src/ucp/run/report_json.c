/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers are whole: times are in microseconds or seconds, so no locale has a say. What is 0 is
 * left out where there is one entry for each protocol, size or peer.
 */
#include "report_json.h"
#include "../core/settings/config.h"
#include "../core/version.h"
#include "../../ucs/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A number that stands as a word, or null if it is not known. */
static void json_number(const char *name, const char *word, FILE *stream)
{
    fprintf(stream, "\"%s\": ", name);
    if (strcmp(word, "-")) {
        fprintf(stream, "%lu", strtoul(word, NULL, 10)); /* without zeros in front */
    } else {
        fprintf(stream, "null");
    }
    fprintf(stream, ",\n");
}

static void json_process(const ri_report_text_t *text, FILE *stream)
{
    const char *process = text->row.process;
    const char *pid     = strrchr(process, ':');
    char host[sizeof(text->row.process)];

    fprintf(stream, "\"ucxri_report\": %d,\n\"version\": \"%s\",\n\"job\": ",
            RI_REPORT_JSON_VERSION, RI_VERSION_STRING);
    if (strcmp(text->row.job, "-")) {
        ri_json_string(text->row.job, "", stream);
    } else {
        fprintf(stream, "null");
    }
    fprintf(stream, ",\n");
    json_number("rank", text->row.rank, stream);
    json_number("ranks", text->row.ranks, stream);
    snprintf(host, sizeof(host), "%.*s", (int)(pid - process), process);
    fprintf(stream, "\"host\": ");
    ri_json_string(host, "", stream);
    fprintf(stream, ",\n\"pid\": %s,\n\"command\": ", pid + 1);
    ri_json_string(program_invocation_short_name, "", stream);
    fprintf(stream, ",\n\"complete\": %s,\n\"started\": %lld,\n\"written\": %lld,\n",
            text->complete ? "true" : "false", (long long)text->started,
            (long long)text->written);
}

static void json_setting(const char *name, const char *value, int is_set, void *arg)
{
    ri_json_list_t *list = arg;

    ri_json_next(list);
    fprintf(list->stream, "\"%s\": ", name);
    ri_json_string(value, "", list->stream);
}

static void json_set(const char *name, const char *value, int is_set, void *arg)
{
    ri_json_list_t *list = arg;

    if (is_set) {
        fprintf(ri_json_next(list), "\"%s\"", name);
    }
}

static void json_values(const ri_report_text_t *text, FILE *stream)
{
    ri_json_list_t list = {stream, ""};
    unsigned i;

    fprintf(stream, "\"values\": {\n");
    for (i = 0; i < RI_REPORT_VALUES; ++i) {
        ri_json_next(&list);
        fprintf(stream, "\"%s\": %" PRIu64, ri_report_names[i], text->row.values[i]);
    }
    fprintf(stream, "},\n");
}

/* Where the sizes of each protocol are: by one counter, or by two. */
/* clang-format off */
#define JSON_SIZES(_value, _name, _is_long, _first, _second) \
    [RI_REPORT_PROTOCOL_##_value] = {RI_SIZES_OF(_first), RI_SIZES_OF(_second)},

static const size_t json_sizes_of[RI_REPORT_PROTOCOLS][2] = {
        JSON_SIZES(RING, , , tx_eager_ring, tx_eager_ring)
        RI_REPORT_COUNTED_PROTOCOLS(JSON_SIZES)
        JSON_SIZES(SELF, , , tx_self, tx_self)};
/* clang-format on */

static uint64_t json_size(const ri_sizes_t *sizes, unsigned protocol, unsigned size_class)
{
    size_t first  = json_sizes_of[protocol][0] / sizeof(uint64_t);
    size_t second = json_sizes_of[protocol][1] / sizeof(uint64_t);

    return sizes->messages[first][size_class] +
           ((second != first) ? sizes->messages[second][size_class] : 0);
}

static void json_sizes(const ri_report_text_t *text, FILE *stream)
{
    ri_json_list_t protocols = {stream, ""};
    unsigned protocol, i;
    uint64_t messages;

    fprintf(stream, "\"sizes\": {\n");
    for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
        ri_json_list_t list = {stream, ""};

        for (i = 0; i < RI_SIZES_CLASSES; ++i) {
            messages = json_size(&text->sizes, protocol, i);
            if (messages == 0) {
                continue;
            }
            if (*list.separator == '\0') {
                ri_json_next(&protocols);
                fprintf(stream, "\"%s\": {", ri_report_table_protocol_name(protocol));
            }
            fprintf(stream, "%s\"%" PRIu64 "\": %" PRIu64, list.separator,
                    ri_sizes_bound(i), messages);
            list.separator = ", ";
        }
        fprintf(stream, "%s", (*list.separator == '\0') ? "" : "}");
    }
    fprintf(stream, "},\n");
}

static void json_pairs(const ri_report_text_t *text, FILE *stream)
{
    ri_json_list_t list = {stream, ""};
    const ri_report_count_t *count;
    unsigned protocol;
    size_t i;

    fprintf(stream, "\"peers\": [\n");
    for (i = 0; i < text->pairs.count; ++i) {
        ri_json_next(&list);
        fprintf(stream, "{\"worker\": \"%016" PRIx64 "\"", text->pairs.list[i].uid);
        for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
            count = &text->pairs.list[i].counts[protocol];
            if (count->messages != 0) {
                fprintf(stream, ", \"%s\": [%" PRIu64 ", %" PRIu64 "]",
                        ri_report_table_protocol_name(protocol), count->messages,
                        count->bytes);
            }
        }
        fputc('}', stream);
    }
    fprintf(stream, "]");
}

static void json_inert(const ri_report_text_t *text, FILE *stream)
{
    fprintf(stream, "\"inert\": ");
    ri_json_string(text->inert, "", stream);
    fprintf(stream, ",\n\"remedy\": ");
    ri_json_string(text->remedy, "", stream);
    fprintf(stream, "\n}\n");
}

void ri_report_json_write(const ri_report_text_t *text, FILE *stream)
{
    ri_json_list_t settings = {stream, ""};
    ri_json_list_t set      = {stream, ""};
    size_t i;

    fprintf(stream, "{\n");
    json_process(text, stream);
    if (text->inert != NULL) {
        json_inert(text, stream);
        return;
    }
    fprintf(stream, "\"settings\": {\n");
    ri_config_foreach(json_setting, &settings);
    fprintf(stream, "},\n\"set\": [");
    ri_config_foreach(json_set, &set);
    fprintf(stream, "],\n");
    json_values(text, stream);
    fprintf(stream, "\"workers\": [");
    for (i = 0; i < text->num_workers; ++i) {
        fprintf(stream, "%s\"%016" PRIx64 "\"", (i > 0) ? ", " : "", text->workers[i]);
    }
    fprintf(stream, "],\n");
    json_sizes(text, stream);
    json_pairs(text, stream);
    fprintf(stream, "\n}\n");
}

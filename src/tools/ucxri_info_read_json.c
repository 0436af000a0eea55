/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Entries that are not known are passed over, as later versions may have more of them.
 */
#include "ucxri_info_read_json.h"
#include "ucxri_info_json.h"
#include "ucp/run/report_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LENGTH 64

/* A document that is read, before it is known to be good. */
typedef struct document {
    info_process_t process;
    uint64_t version;
    uint64_t pid;
    char host[64];
    char inert[INFO_REASON_MAX],
            remedy[INFO_REASON_MAX]; /* "": the library was not inert */
} document_t;

/* @return The protocol of a name, or RI_REPORT_PROTOCOLS. */
static unsigned document_protocol(const char *name)
{
    unsigned protocol = 0;

    while ((protocol < RI_REPORT_PROTOCOLS) &&
           strcmp(name, ri_report_table_protocol_name(protocol))) {
        ++protocol;
    }
    return protocol;
}

static void read_values(json_t *json, info_process_t *process)
{
    char name[NAME_MAX_LENGTH];
    int first = 1;
    unsigned i;

    while (json_object(json, &first, name, sizeof(name))) {
        for (i = 0; (i < RI_REPORT_VALUES) && strcmp(name, ri_report_names[i]); ++i) {}
        if (i < RI_REPORT_VALUES) {
            json_number(json, &process->row.values[i]);
        } else {
            json_skip(json);
        }
    }
}

static void read_settings(json_t *json, info_process_t *process)
{
    info_setting_t setting;
    size_t bytes;
    int first = 1;

    while (json_object(json, &first, setting.name, sizeof(setting.name))) {
        setting.value[0] = '\0';
        setting.is_set   = 0;
        json_text(json, setting.value, sizeof(setting.value));
        bytes             = (process->num_settings + 1) * sizeof(setting);
        process->settings = info_grow(process->settings, bytes);
        process->settings[process->num_settings++] = setting;
    }
}

/* The names of those settings that are no defaults, behind the settings. */
static void read_set(json_t *json, info_process_t *process)
{
    char name[NAME_MAX_LENGTH];
    int first = 1;
    size_t i;

    while (json_array(json, &first)) {
        name[0] = '\0';
        json_text(json, name, sizeof(name));
        for (i = 0; i < process->num_settings; ++i) {
            process->settings[i].is_set |= !strcmp(process->settings[i].name, name);
        }
    }
}

/* A worker's uid, as hexadecimal digits. */
static uint64_t read_uid(json_t *json)
{
    char text[20] = "";

    json_text(json, text, sizeof(text));
    return strtoull(text, NULL, 16);
}

static void read_workers(json_t *json, info_process_t *process)
{
    uint64_t uid;
    size_t bytes;
    int first = 1;

    while (json_array(json, &first)) {
        uid              = read_uid(json);
        bytes            = (process->num_workers + 1) * sizeof(uid);
        process->workers = info_grow(process->workers, bytes);
        process->workers[process->num_workers++] = uid;
    }
}

static void read_sizes(json_t *json, info_process_t *process)
{
    char name[NAME_MAX_LENGTH];
    int first = 1, first_size;
    uint64_t messages;
    unsigned protocol;

    while (json_object(json, &first, name, sizeof(name))) {
        protocol   = document_protocol(name);
        first_size = 1;
        while (json_object(json, &first_size, name, sizeof(name))) {
            messages = 0;
            json_number(json, &messages);
            if (protocol < RI_REPORT_PROTOCOLS) {
                process->sizes[protocol][ri_sizes_class(strtoull(name, NULL, 10))] +=
                        messages;
            }
        }
    }
}

static void read_pair(json_t *json, ri_report_pair_t *pair)
{
    char name[NAME_MAX_LENGTH];
    int first = 1, first_count;
    uint64_t number;
    unsigned protocol, i;

    *pair = (ri_report_pair_t){0};
    while (json_object(json, &first, name, sizeof(name))) {
        protocol = document_protocol(name);
        if (!strcmp(name, "worker")) {
            pair->uid = read_uid(json);
        } else if (protocol == RI_REPORT_PROTOCOLS) {
            json_skip(json);
        } else {
            first_count = 1;
            for (i = 0; json_array(json, &first_count); ++i) {
                json_number(json, (i == 0) ? &pair->counts[protocol].messages :
                                  (i == 1) ? &pair->counts[protocol].bytes :
                                             &number);
            }
        }
    }
}

static void read_pairs(json_t *json, info_process_t *process)
{
    int first = 1;

    while (json_array(json, &first)) {
        if ((process->num_pairs & (process->num_pairs - 1)) == 0) { /* powers of two */
            process->pairs = info_grow(process->pairs,
                                       (process->num_pairs ? 2 * process->num_pairs : 1) *
                                               sizeof(*process->pairs));
        }
        read_pair(json, &process->pairs[process->num_pairs++]);
    }
}

/* A number that is kept as a word; it is "-" if it is not known. */
static void read_word(json_t *json, char *word, size_t max)
{
    uint64_t number = 0;

    if (json_number(json, &number) && (number <= UINT32_MAX)) {
        snprintf(word, max, "%" PRIu64, number);
    } else {
        strcpy(word, "-");
    }
}

/* A word of lines has no blanks. */
static void read_job(json_t *json, char *job, size_t max)
{
    strcpy(job, "-");
    json_text(json, job, max);
    for (; *job != '\0'; ++job) {
        *job = ((unsigned char)*job <= ' ') ? '_' : *job;
    }
}

/* Entries with a number for which there is a place. @return Whether this is one. */
static int read_plain(json_t *json, const char *name, document_t *document)
{
    const struct {
        const char *name;
        uint64_t *number;
    } numbers[] = {{"ucxri_report", &document->version},
                   {"pid", &document->pid},
                   {"started", &document->process.started},
                   {"written", &document->process.written}};
    size_t i;

    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); ++i) {
        if (!strcmp(name, numbers[i].name)) {
            json_number(json, numbers[i].number);
            return 1;
        }
    }
    return 0;
}

static void read_entry(json_t *json, const char *name, document_t *document)
{
    info_process_t *process = &document->process;
    ri_report_row_t *row    = &process->row;

    if (read_plain(json, name, document)) {
        return;
    }
    if (!strcmp(name, "job")) {
        read_job(json, row->job, sizeof(row->job));
    } else if (!strcmp(name, "rank")) {
        read_word(json, row->rank, sizeof(row->rank));
    } else if (!strcmp(name, "ranks")) {
        read_word(json, row->ranks, sizeof(row->ranks));
    } else if (!strcmp(name, "host")) {
        json_text(json, document->host, sizeof(document->host));
    } else if (!strcmp(name, "command")) {
        json_text(json, process->command, sizeof(process->command));
    } else if (!strcmp(name, "complete")) {
        process->complete = json_true(json);
    } else if (!strcmp(name, "settings")) {
        read_settings(json, process);
    } else if (!strcmp(name, "set")) {
        read_set(json, process);
    } else if (!strcmp(name, "values")) {
        read_values(json, process);
    } else if (!strcmp(name, "workers")) {
        read_workers(json, process);
    } else if (!strcmp(name, "sizes")) {
        read_sizes(json, process);
    } else if (!strcmp(name, "peers")) {
        read_pairs(json, process);
    } else if (!strcmp(name, "inert")) {
        json_text(json, document->inert, sizeof(document->inert));
    } else if (!strcmp(name, "remedy")) {
        json_text(json, document->remedy, sizeof(document->remedy));
    } else {
        json_skip(json);
    }
}

static void read_document(json_t *json, document_t *document)
{
    char name[NAME_MAX_LENGTH];
    int first = 1;

    *document = (document_t){.process = {.is_json = 1}, .host = "?"};
    strcpy(document->process.row.job, "-");
    strcpy(document->process.row.rank, "-");
    strcpy(document->process.row.ranks, "-");
    while (json_object(json, &first, name, sizeof(name))) {
        read_entry(json, name, document);
    }
    snprintf(document->process.row.process, sizeof(document->process.row.process),
             "%s:%" PRIu64, document->host, document->pid);
}

int info_read_json(info_t *info, info_inert_t *inert, const char *text, const char *path)
{
    json_t json         = {.at = text};
    const char *problem = NULL;
    document_t document;
    char other[64];

    while ((problem == NULL) && json_more(&json)) {
        read_document(&json, &document);
        problem = json.error;
        if ((problem == NULL) && (document.version != RI_REPORT_JSON_VERSION)) {
            snprintf(other, sizeof(other),
                     "\"ucxri_report\" is %" PRIu64 ", and only %d is known here",
                     document.version, RI_REPORT_JSON_VERSION);
            problem = (document.version == 0) ? "it is no report of ucxri" : other;
        }
        if ((problem == NULL) && (document.inert[0] == '\0')) {
            info_add(info, &document.process);
            continue;
        }
        if (problem == NULL) {
            info_inert_add(inert, document.inert, document.remedy);
        }
        info_process_free(&document.process);
    }
    if (problem != NULL) {
        fprintf(stderr, "ucxri_info: %s: %s (near byte %zu)\n", path, problem,
                (size_t)(json.at - text));
    }
    return problem == NULL;
}

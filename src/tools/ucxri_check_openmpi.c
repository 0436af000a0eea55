/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Open MPI has the folder of its components compiled in, so the usual places below its library are
 * looked at.
 */
#include "ucxri_check_openmpi.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPENMPI_COMPONENT "mca_pml_ucx.so"

/* Copy the folder of a file, with links resolved, or "." if there is no such file. */
static void openmpi_folder(const char *file, char *folder)
{
    char *slash;

    if (realpath(file, folder) == NULL) {
        strcpy(folder, ".");
    }
    slash = strrchr(folder, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
}

static int openmpi_take(const char *file, char *path, size_t max)
{
    if (access(file, R_OK) != 0) {
        return 0;
    }
    snprintf(path, max, "%s", file);
    return 1;
}

/* Look into a list of folders of the user's. "system" and "user" stand for defaults. */
static int openmpi_find_in_list(const char *list, char *path, size_t max)
{
    char file[PATH_MAX];
    int length;

    for (; (list != NULL) && (*list != '\0'); list += length + (list[length] != '\0')) {
        length = strcspn(list, ":;");
        snprintf(file, sizeof(file), "%.*s/" OPENMPI_COMPONENT, length, list);
        if (openmpi_take(file, path, max)) {
            return 1;
        }
    }
    return 0;
}

static int openmpi_find_by_pattern(const char *folder, const char *pattern, char *path,
                                   size_t max)
{
    char file[PATH_MAX + 64];
    int found = 0;
    glob_t result;

    snprintf(file, sizeof(file), "%s/%s/" OPENMPI_COMPONENT, folder, pattern);
    if (glob(file, 0, NULL, &result) == 0) {
        found = openmpi_take(result.gl_pathv[0], path, max);
        globfree(&result);
    }
    return found;
}

int check_openmpi_find_component(const char *libmpi, char *path, size_t max)
{
    static const char *const lists[] = {"OMPI_MCA_mca_base_component_path",
                                        "OMPI_MCA_component_path"};
    /* As Open MPI installs them, then as Debian does */
    static const char *const patterns[] = {"openmpi", "openmpi[0-9]*",
                                           "openmpi/lib/openmpi*"};
    const char *prefix                  = getenv("OPAL_PREFIX");
    char folder[PATH_MAX];
    size_t i;

    for (i = 0; i < sizeof(lists) / sizeof(lists[0]); ++i) {
        if (openmpi_find_in_list(getenv(lists[i]), path, max)) {
            return 1;
        }
    }
    if (prefix != NULL) {
        snprintf(folder, sizeof(folder), "%s/lib*", prefix);
        if (openmpi_find_by_pattern(folder, "openmpi", path, max)) {
            return 1;
        }
    }
    openmpi_folder(libmpi, folder);
    for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); ++i) {
        if (openmpi_find_by_pattern(folder, patterns[i], path, max)) {
            return 1;
        }
    }
    return 0;
}

/* Read "name = value" lines; the last one counts. */
static int openmpi_read_file(const char *path, const char *name, char *value, size_t max)
{
    FILE *stream = fopen(path, "r");
    int found    = 0;
    char line[1024];
    char *text, *end;

    if (stream == NULL) {
        return 0;
    }
    while (fgets(line, sizeof(line), stream) != NULL) {
        text = line + strspn(line, " \t");
        if (strncmp(text, name, strlen(name))) {
            continue;
        }
        text += strlen(name);
        text += strspn(text, " \t");
        if (*text != '=') {
            continue;
        }
        text += 1 + strspn(text + 1, " \t");
        end = text + strcspn(text, " \t\r\n#");
        snprintf(value, max, "%.*s", (int)(end - text), text);
        found = 1;
    }
    fclose(stream);
    return found;
}

int check_openmpi_get(const char *name, const char *libmpi, char *value, char *where,
                      size_t max)
{
    const char *home    = getenv("HOME");
    const char *by_user = NULL;
    char folder[PATH_MAX], path[PATH_MAX + 64];

    snprintf(where, max, "OMPI_MCA_%s", name);
    by_user = getenv(where);
    if (by_user != NULL) {
        snprintf(value, max, "%s", by_user);
        return 1;
    }
    if (home != NULL) {
        snprintf(path, sizeof(path), "%s/.openmpi/mca-params.conf", home);
        snprintf(where, max, "%s", path);
        if (openmpi_read_file(path, name, value, max)) {
            return 1;
        }
    }
    if (libmpi == NULL) {
        return 0;
    }
    openmpi_folder(libmpi, folder);
    snprintf(path, sizeof(path), "%s/../etc/openmpi-mca-params.conf", folder);
    snprintf(where, max, "%s", path);
    if (openmpi_read_file(path, name, value, max)) {
        return 1;
    }
    snprintf(where, max, "/etc/openmpi/openmpi-mca-params.conf");
    return openmpi_read_file(where, name, value, max);
}

int check_openmpi_allows_ucx(const char *pml)
{
    int is_excluded = (*pml == '^');
    int has_ucx     = 0;
    size_t length;

    for (pml += is_excluded; *pml != '\0'; pml += length + (pml[length] != '\0')) {
        length = strcspn(pml, ",");
        has_ucx |= (length == 3) && !strncmp(pml, "ucx", 3);
    }
    return has_ucx != is_excluded;
}

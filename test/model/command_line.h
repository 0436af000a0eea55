/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* The command line of the two small models: a configuration, and a rule that is left out. */
#ifndef RI_MODEL_COMMAND_LINE_H
#define RI_MODEL_COMMAND_LINE_H

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

struct mutation {
    const char *name;
    const char *config; /* one that finds it */
    const char *text;
    void (*set)();
};

/* A model with configurations of a type of its own */
template <typename config> struct command_line {
    const char *about; /* what it goes through, as a sentence */
    const std::map<std::string, config> &configs;
    const std::vector<mutation> &mutations;
    void (*print)(const char *name, const config &chosen); /* its line of --list */
    bool (*run)(const config &chosen); /* whether there is no violation */

    int list() const
    {
        printf("configurations (* in the test):\n");
        for (const auto &one : configs) {
            print(one.first.c_str(), one.second);
        }
        printf("mutations, and a configuration that finds each:\n");
        for (const mutation &m : mutations) {
            printf("    %-13s %-13s %s\n", m.name, m.config, m.text);
        }
        return 0;
    }

    int usage(FILE *stream, const char *program, int status) const
    {
        const char *base = strrchr(program, '/');

        fprintf(stream,
                "Usage: %s [--mutate NAME] CONFIGURATION | --list\n"
                "%s\n"
                "The exit code is 1 if there is a violation, which is printed with the "
                "steps to "
                "it.\n",
                (base != nullptr) ? base + 1 : program, about);
        return status;
    }

    const mutation *find(const char *name) const
    {
        for (const mutation &m : mutations) {
            if (!strcmp(m.name, name)) {
                return &m;
            }
        }
        return nullptr;
    }

    int main(int argc, char **argv) const
    {
        bool mutates = (argc == 4) && !strcmp(argv[1], "--mutate");

        if ((argc == 2) && !strcmp(argv[1], "--list")) {
            return list();
        }
        if ((argc == 2) && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
            return usage(stdout, argv[0], 0);
        }
        if ((!mutates && (argc != 2)) || !configs.count(argv[argc - 1]) ||
            (mutates && (find(argv[2]) == nullptr))) {
            return usage(stderr, argv[0], 2);
        }
        if (mutates) {
            find(argv[2])->set();
        }
        return run(configs.at(argv[argc - 1])) ? 0 : 1;
    }
};

} // namespace

#endif

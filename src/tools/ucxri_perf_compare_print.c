/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A ratio above 1 means slower, whatever is measured, so that all tables are read in the same way.
 */
#include "ucxri_perf_compare_print.h"
#include "ucxri_perf_result.h"
#include "ucxri_perf_scale.h"
#include "ucs/base.h"
#include "ucs/size_text.h"

#include <math.h>
#include <string.h>

static const char *const verdict_names[] = {[PERF_COMPARE_FASTER] = "faster",
                                            [PERF_COMPARE_SAME]   = "equal",
                                            [PERF_COMPARE_SLOWER] = "slower"};

static int has_samples(const perf_compare_line_t *line, perf_state_t state)
{
    return (line->kept[state][PERF_COMPARE_STOCK].count > 0) ||
           (line->kept[state][PERF_COMPARE_LIBRARY].count > 0);
}

static int was_seen(const perf_compare_t *compare, perf_state_t state)
{
    int i;

    for (i = 0; i < compare->count; ++i) {
        if (has_samples(&compare->lines[i], state)) {
            return 1;
        }
    }
    return 0;
}

static int is_one_bench(const perf_compare_t *compare)
{
    int i;

    for (i = 1; i < compare->count; ++i) {
        if (strcmp(compare->lines[i].bench, compare->lines[0].bench) ||
            strcmp(compare->lines[i].config, compare->lines[0].config)) {
            return 0;
        }
    }
    return 1;
}

/* Whether all lines are of the benchmark of the first one, with any configuration */
static int is_one_name(const perf_compare_t *compare)
{
    int i;

    for (i = 1; i < compare->count; ++i) {
        if (strcmp(compare->lines[i].bench, compare->lines[0].bench)) {
            return 0;
        }
    }
    return 1;
}

int perf_compare_print_verdict(const perf_compare_t *compare, perf_state_t state,
                               char *text, size_t length)
{
    int verdicts[PERF_COMPARE_VERDICTS];
    int total = perf_compare_verdicts(compare, state, verdicts);

    if (total == 0) {
        snprintf(text, length, "too few samples of both sides for a verdict");
        return 0;
    }
    snprintf(text, length,
             "the library is faster in %d of %d %s, equal in %d, slower in %d",
             verdicts[PERF_COMPARE_FASTER], total,
             is_one_bench(compare) ? "sizes" : "lines", verdicts[PERF_COMPARE_SAME],
             verdicts[PERF_COMPARE_SLOWER]);
    return 1;
}

static void print_head(FILE *file, const perf_compare_t *compare, const int *cpus)
{
    const perf_compare_line_t *line = &compare->lines[0];

    if (is_one_name(compare) && perf_compare_is_one_unit(compare)) {
        fprintf(file, "%s in %s, ", line->bench, line->unit);
    } else if (perf_compare_is_one_unit(compare)) {
        fprintf(file, "In %s, ", line->unit);
    }
    fprintf(file, "%s beside %s",
            (compare->names[PERF_COMPARE_STOCK][0] != '\0') ?
                    compare->names[PERF_COMPARE_STOCK] :
                    "stock UCX",
            (compare->names[PERF_COMPARE_LIBRARY][0] != '\0') ?
                    compare->names[PERF_COMPARE_LIBRARY] :
                    "the library");
    if ((cpus[0] >= 0) && (cpus[1] >= 0)) {
        fprintf(file, ", cores %d and %d", cpus[0], cpus[1]);
    }
    fprintf(file, "\nratio: %s; below 1 the library is faster\n",
            !perf_compare_is_one_unit(compare) ?
                    "library / stock of times, stock / library of rates" :
            perf_compare_is_rate(line) ? "stock / library" :
                                         "library / stock");
}

static void print_state(FILE *file, perf_state_t state)
{
    if (state == PERF_STATE_UNKNOWN) {
        fprintf(file, "\nThe distance of the cores is not known:\n");
    } else {
        fprintf(file, "\n%s: a cache line takes %s %d ns from core to core\n",
                perf_compare_state_name(state),
                (state == PERF_STATE_NEAR) ? "less than" : "at least",
                PERF_STATE_NEAR_NS);
    }
}

/* The width of the first column: the benchmark, or its configuration */
static int name_width(const perf_compare_t *compare)
{
    int width = 0;
    int i, length;

    for (i = 0; i < compare->count; ++i) {
        length = (int)strlen((compare->lines[i].config[0] != '\0') ?
                                     compare->lines[i].config :
                                     compare->lines[i].bench);
        width  = (length > width) ? length : width;
    }
    return (width < 9) ? 9 : width;
}

/* Four digits, or all that are in front of the point: no powers of ten. */
static const char *number_text(char text[32], double value)
{
    snprintf(text, 32, (fabs(value) < 9999.5) ? "%.4g" : "%.0f", value);
    return text;
}

static void print_side(FILE *file, const perf_compare_summary_t *summary, int side)
{
    const perf_quartiles_t *q = &summary->sides[side];
    char range[72], least[32], most[32], median[32];

    if (summary->counts[side] == 0) {
        fprintf(file, " %9s %-17s", "-", "");
        return;
    }
    snprintf(range, sizeof(range), "%s-%s", number_text(least, q->q1),
             number_text(most, q->q3));
    fprintf(file, " %9s %-17s", number_text(median, q->median), range);
}

static void print_line(FILE *file, const perf_compare_t *compare,
                       const perf_compare_line_t *line, perf_state_t state, int width)
{
    perf_compare_summary_t summary;
    int compared = perf_compare_summary(compare, line, state, &summary);
    char size[32], ratio[32], samples[32];

    ri_size_text(line->size, size, sizeof(size));
    snprintf(ratio, sizeof(ratio), compared ? "%.3f" : "-", summary.ratio);
    snprintf(samples, sizeof(samples), "%zu+%zu", summary.counts[PERF_COMPARE_STOCK],
             summary.counts[PERF_COMPARE_LIBRARY]);
    if (width > 0) {
        fprintf(file, "%-*s ", width,
                (line->config[0] != '\0') ? line->config : line->bench);
    }
    fprintf(file, "%8s", size);
    print_side(file, &summary, PERF_COMPARE_STOCK);
    print_side(file, &summary, PERF_COMPARE_LIBRARY);
    fprintf(file, " %7s %8s", ratio, samples);
    if (compared && summary.few) {
        fprintf(file, "  few");
    } else if (compared && (summary.verdict == PERF_COMPARE_SLOWER)) {
        fprintf(file, "  slower%s", summary.overlap ? "?" : "");
    }
    if (summary.num_outliers > 0) {
        fprintf(file, "  %d far out", summary.num_outliers);
    }
    fprintf(file, "\n");
}

static void print_table(FILE *file, const perf_compare_t *compare, perf_state_t state)
{
    int width = is_one_bench(compare) ? 0 : name_width(compare);
    char text[128];
    int i;

    print_state(file, state);
    if (width > 0) {
        fprintf(file, "%-*s ", width, "line");
    }
    fprintf(file, "%8s %9s %-17s %9s %-17s %7s %8s\n", "size", "stock", "quartiles",
            "library", "quartiles", "ratio", "samples");
    for (i = 0; i < compare->count; ++i) {
        if (has_samples(&compare->lines[i], state)) {
            print_line(file, compare, &compare->lines[i], state, width);
        }
    }
    perf_compare_print_verdict(compare, state, text, sizeof(text));
    fprintf(file, "%s: %s\n", perf_compare_state_name(state), text);
}

/* Whether nothing of a line counts, and there is something that was dropped of both sides */
static int is_dropped(const perf_compare_line_t *line)
{
    int state;

    for (state = 0; state < PERF_NUM_STATES; ++state) {
        if (has_samples(line, state)) {
            return 0;
        }
    }
    return (line->dropped[PERF_COMPARE_STOCK].count > 0) &&
           (line->dropped[PERF_COMPARE_LIBRARY].count > 0);
}

static double dropped_median(const perf_compare_line_t *line, int side)
{
    perf_compare_set_t sorted = line->dropped[side];

    return perf_quartiles(sorted.values, sorted.count).median;
}

/* The medians of what was dropped, where there is nothing else. */
static void print_dropped(FILE *file, const perf_compare_t *compare)
{
    int has_head = 0;
    const perf_compare_line_t *line;
    char size[32], stock[32], library[32];
    int i;

    for (i = 0; i < compare->count; ++i) {
        line = &compare->lines[i];
        if (!is_dropped(line)) {
            continue;
        }
        if (!has_head) {
            fprintf(file,
                    "\nDisturbed samples only, not to be relied on:\n%-*s %8s %9s %9s\n",
                    name_width(compare), "line", "size", "stock", "library");
            has_head = 1;
        }
        ri_size_text(line->size, size, sizeof(size));
        fprintf(file, "%-*s %8s %9s %9s\n", name_width(compare),
                (line->config[0] != '\0') ? line->config : line->bench, size,
                number_text(stock, dropped_median(line, PERF_COMPARE_STOCK)),
                number_text(library, dropped_median(line, PERF_COMPARE_LIBRARY)));
    }
}

/* Which marks are in the tables */
typedef struct {
    int few, doubt, outliers;
    int slight; /* a verdict of less than MARKS_SAMPLES samples of a side */
} marks_t;

#define MARKS_SAMPLES 3

static void find_marks(const perf_compare_t *compare, marks_t *marks)
{
    perf_compare_summary_t summary;
    int i, state;

    memset(marks, 0, sizeof(*marks));
    for (i = 0; i < compare->count; ++i) {
        for (state = 0; state < PERF_NUM_STATES; ++state) {
            if (perf_compare_summary(compare, &compare->lines[i], state, &summary)) {
                marks->few |= summary.few;
                marks->slight |= !summary.few &&
                                 (ri_min(summary.counts[PERF_COMPARE_STOCK],
                                         summary.counts[PERF_COMPARE_LIBRARY]) <
                                  MARKS_SAMPLES);
                marks->doubt |= !summary.few && summary.overlap &&
                                (summary.verdict == PERF_COMPARE_SLOWER);
            }
            marks->outliers |= (summary.num_outliers > 0);
        }
    }
}

static void print_notes(FILE *file, const perf_compare_t *compare)
{
    marks_t marks;

    find_marks(compare, &marks);
    fprintf(file,
            "\nslower: a ratio above %.2f; equal: within %g %%; samples: stock + library\n",
            1 + PERF_COMPARE_EQUAL, 100 * PERF_COMPARE_EQUAL);
    if (marks.doubt) {
        fprintf(file,
                "slower?: the ranges between the quartiles overlap: more --rounds would tell\n");
    }
    if (marks.few) {
        fprintf(file, "few: a side has less than %zu samples, too few for a verdict\n",
                compare->enough);
    }
    if (marks.slight) {
        fprintf(file,
                "one or two samples of each side are a first impression, no proof: see "
                "--rounds\n");
    }
    if (marks.outliers) {
        fprintf(file, "far out: samples far from the quartiles, which count\n");
    }
    if (compare->num_dropped > 0) {
        fprintf(file,
                "%d samples were dropped: the cores moved meanwhile, or another program had them\n",
                compare->num_dropped);
    }
}

void perf_compare_print(FILE *file, const perf_compare_t *compare, const int *cpus)
{
    int seen = 0;
    int state;

    if (compare->count == 0) {
        fprintf(file, "There is no sample: the measuring was ended before the first.\n");
        return;
    }
    print_head(file, compare, cpus);
    for (state = 0; state < PERF_NUM_STATES; ++state) {
        if (was_seen(compare, state)) {
            print_table(file, compare, state);
            seen = 1;
        }
    }
    if (!seen) {
        fprintf(file, "\nNo sample was undisturbed: no verdict.\n");
    }
    print_dropped(file, compare);
    print_notes(file, compare);
    if (compare->interrupted) {
        fprintf(file, "The measuring was ended early, by signal %d.\n",
                compare->interrupted);
    }
    fflush(file);
}

static void write_side(FILE *file, const perf_compare_summary_t *summary, int side)
{
    const perf_quartiles_t *q = &summary->sides[side];

    if (summary->counts[side] == 0) {
        fprintf(file, ",,,,0"); /* no median, no quartiles */
    } else {
        fprintf(file, ",%.6g,%.6g,%.6g,%zu", q->median, q->q1, q->q3,
                summary->counts[side]);
    }
}

void perf_compare_print_csv(const char *path, const perf_compare_t *compare)
{
    FILE *file = perf_file_create(path);
    const perf_compare_line_t *line;
    perf_compare_summary_t summary;
    int state, i;

    fprintf(file,
            "state,bench,size,config,unit,stock,stock_q1,stock_q3,stock_samples,library,"
            "library_q1,library_q3,library_samples,ratio,verdict\n");
    for (state = 0; state < PERF_NUM_STATES; ++state) {
        for (i = 0; i < compare->count; ++i) {
            line = &compare->lines[i];
            if (!has_samples(line, state)) {
                continue;
            }
            fprintf(file, "%s,%s,%llu,%s,%s", perf_compare_state_name(state), line->bench,
                    (unsigned long long)line->size, line->config, line->unit);
            if (perf_compare_summary(compare, line, state, &summary)) {
                write_side(file, &summary, PERF_COMPARE_STOCK);
                write_side(file, &summary, PERF_COMPARE_LIBRARY);
                fprintf(file, ",%.4f,%s\n", summary.ratio,
                        summary.few ? "few" : verdict_names[summary.verdict]);
            } else {
                write_side(file, &summary, PERF_COMPARE_STOCK);
                write_side(file, &summary, PERF_COMPARE_LIBRARY);
                fprintf(file, ",,\n");
            }
        }
    }
    perf_file_close(file, path);
}

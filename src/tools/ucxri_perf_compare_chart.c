/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Two panels above each other with one horizontal axis: medians with bars between the quartiles,
 * and ratios. The axis has the message sizes, or where there are several benchmarks or
 * configurations a place for each line, with letters that the key explains. Only what counts
 * decides the scales: a sample that was dropped may be many times too long, and is drawn at the end
 * of the axis then.
 */
#include "ucxri_perf_compare_chart.h"
#include "ucxri_perf_bench.h"
#include "ucxri_perf_fatal.h"
#include "ucxri_perf_key.h"
#include "ucxri_perf_result.h"
#include "ucxri_perf_svg.h"
#include "ucxri_perf_words.h"
#include "ucs/size_text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WIDTH         760.0
#define PLACE_WIDTH   46.0 /* of a line that has a place */
#define VALUES_HEIGHT 300.0
#define RATIOS_HEIGHT 150.0
#define PANEL_GAP     26.0
#define SIZES_FOOT    62.0
#define PLACES_FOOT   56.0 /* without the key */
#define KEY_Y         52.0
#define MAX_X_TICKS   14
#define WANTED_TICKS  6
#define RATIO_TICKS   4

/* A vertical axis that spans more than this factor is logarithmic */
#define LOG_SPAN  10
#define LOG_RATIO 4

/* How far marks of the two sides are beside the place of a line, in pixels */
#define SIDE_SHIFT 4.0
#define CAP        3.0 /* half the width of the end of a bar */

#define COLOR_RATIO         "#111827"
#define COLOR_SLOWER        "#b91c1c"
#define COLOR_DROPPED_STOCK "#93b4d9"
#define COLOR_DROPPED_OURS  "#eab98f"
#define COLOR_LABEL         "#4b5563"
#define COLOR_EDGE          "#d1d5db"

/* Sides and ratios in two states of three, slower, outlier, dropped */
#define MAX_LEGEND 16

typedef struct {
    const perf_compare_t *compare;
    const perf_compare_line_t *lines[PERF_MAX_POINTS]; /* by size, or as they came */
    int has_places; /* a place for each line, otherwise the sizes are the axis */
    int seen[PERF_NUM_STATES];
    int num_slower, num_outliers, num_dropped;
    char date[16];
    perf_key_t key;
    perf_legend_t legend[MAX_LEGEND];
    char labels[MAX_LEGEND][64];
    int num_legend;
    perf_svg_t svg, values, ratios; /* the whole image, and its panels */
    perf_scale_t x, y, ratio;
} chart_t;

static const char *line_name(const perf_compare_line_t *line)
{
    const char *progress = "progress:";

    if (line->config[0] != '\0') {
        return line->config;
    }
    return strncmp(line->bench, progress, strlen(progress)) ?
                   line->bench :
                   line->bench + strlen(progress);
}

static int compare_size(const void *a, const void *b)
{
    const perf_compare_line_t *x = *(const perf_compare_line_t *const *)a;
    const perf_compare_line_t *y = *(const perf_compare_line_t *const *)b;

    return (x->size > y->size) - (x->size < y->size);
}

/* Find the lines of the chart, and arrange them */
static void look(chart_t *chart)
{
    const perf_compare_t *compare = chart->compare;
    perf_compare_summary_t summary;
    int i, state, side;

    for (i = 0; i < compare->count; ++i) {
        const perf_compare_line_t *line = &compare->lines[i];

        chart->lines[i] = line;
        perf_key_add(&chart->key, line_name(line));
        for (state = 0; state < PERF_NUM_STATES; ++state) {
            if (perf_compare_summary(compare, line, state, &summary)) {
                chart->num_slower += (summary.verdict == PERF_COMPARE_SLOWER);
            }
            chart->num_outliers += summary.num_outliers;
            for (side = 0; side < PERF_COMPARE_SIDES; ++side) {
                chart->seen[state] |= (summary.counts[side] > 0);
            }
        }
        chart->num_dropped += line->dropped[PERF_COMPARE_STOCK].count +
                              line->dropped[PERF_COMPARE_LIBRARY].count;
    }
    chart->has_places = (chart->key.count > 1) ||
                        (line_name(&compare->lines[0]) != compare->lines[0].bench);
    if (!chart->has_places) {
        qsort(chart->lines, compare->count, sizeof(chart->lines[0]), compare_size);
    }
}

static void add_legend(chart_t *chart, const char *label, const char *color,
                       perf_svg_symbol_t symbol)
{
    perf_legend_t *entry = &chart->legend[chart->num_legend];
    char *text           = chart->labels[chart->num_legend++];

    snprintf(text, sizeof(chart->labels[0]), "%s", label);
    entry->label  = text;
    entry->color  = color;
    entry->symbol = symbol;
}

static perf_svg_symbol_t state_symbol(int state)
{
    return (state == PERF_STATE_FAR) ? PERF_SVG_DASHES : PERF_SVG_LINE;
}

/* Paler than what counts */
static const char *dropped_color(int side)
{
    return (side == PERF_COMPARE_STOCK) ? COLOR_DROPPED_STOCK : COLOR_DROPPED_OURS;
}

static void make_legend(chart_t *chart)
{
    static const char *const sides[PERF_COMPARE_SIDES] = {
            [PERF_COMPARE_STOCK]   = "stock UCX",
            [PERF_COMPARE_LIBRARY] = "library",
    };
    char label[64];
    int state, side;

    for (state = 0; state < PERF_NUM_STATES; ++state) {
        for (side = 0; chart->seen[state] && (side < PERF_COMPARE_SIDES); ++side) {
            snprintf(label, sizeof(label), "%s%s%s", sides[side],
                     (state == PERF_STATE_UNKNOWN) ? "" : ", ",
                     (state == PERF_STATE_UNKNOWN) ? "" : perf_compare_state_name(state));
            add_legend(chart, label, perf_svg_color(side), state_symbol(state));
        }
    }
    if (chart->num_slower > 0) {
        snprintf(label, sizeof(label), "ratio above %.2f", 1 + PERF_COMPARE_EQUAL);
        add_legend(chart, label, COLOR_SLOWER, PERF_SVG_DOT);
    }
    if (chart->num_outliers > 0) {
        add_legend(chart, "sample far out, which counts", COLOR_LABEL, PERF_SVG_DIAMOND);
    }
    if (chart->num_dropped > 0) {
        add_legend(chart, "stock UCX, dropped: the cores moved, or another program ran",
                   dropped_color(PERF_COMPARE_STOCK), PERF_SVG_CROSS);
        add_legend(chart, "library, dropped", dropped_color(PERF_COMPARE_LIBRARY),
                   PERF_SVG_CROSS);
    }
}

/* Dropped samples decide only if there are no others. */
static double largest_dropped(const chart_t *chart)
{
    double max = 0;
    const perf_compare_set_t *set;
    size_t n;
    int i, side;

    for (i = 0; i < chart->compare->count; ++i) {
        for (side = 0; side < PERF_COMPARE_SIDES; ++side) {
            set = &chart->lines[i]->dropped[side];
            for (n = 0; n < set->count; ++n) {
                max = fmax(max, set->values[n]);
            }
        }
    }
    return max;
}

static void choose_scales(chart_t *chart)
{
    double min       = INFINITY;
    double max       = 0;
    double min_ratio = 1;
    double max_ratio = 1.2;
    double sizes[PERF_MAX_POINTS];
    perf_compare_summary_t summary;
    int i, state, side;

    for (i = 0; i < chart->compare->count; ++i) {
        sizes[i] = chart->lines[i]->size;
        for (state = 0; state < PERF_NUM_STATES; ++state) {
            if (perf_compare_summary(chart->compare, chart->lines[i], state, &summary)) {
                min_ratio = fmin(min_ratio, summary.ratio);
                max_ratio = fmax(max_ratio, summary.ratio);
            }
            for (side = 0; side < PERF_COMPARE_SIDES; ++side) {
                if (summary.counts[side] > 0) {
                    min = fmin(min, (summary.sides[side].q1 > 0) ?
                                            summary.sides[side].q1 :
                                            INFINITY);
                    max = fmax(max, summary.sides[side].q3);
                }
            }
        }
    }
    if (max > LOG_SPAN * min) {
        perf_scale_log10(&chart->y, min, max);
    } else {
        max = (max > 0) ? max : largest_dropped(chart);
        perf_scale_linear(&chart->y, max, WANTED_TICKS);
    }
    if (max_ratio > LOG_RATIO) {
        perf_scale_log10(&chart->ratio, min_ratio, max_ratio);
    } else {
        perf_scale_linear(&chart->ratio, max_ratio, RATIO_TICKS);
    }
    perf_scale_sizes(&chart->x, sizes, chart->compare->count, MAX_X_TICKS);
}

/* The place of a line; the two sides are beside it */
static double place_x(const chart_t *chart, int i)
{
    if (!chart->has_places) {
        return perf_scale_position(&chart->x, chart->lines[i]->size);
    }
    return chart->svg.left +
           (chart->svg.right - chart->svg.left) * (i + 0.5) / chart->compare->count;
}

static double side_x(const chart_t *chart, int i, int side)
{
    return place_x(chart, i) + ((side == PERF_COMPARE_STOCK) ? -SIDE_SHIFT : SIDE_SHIFT);
}

/* A line between two neighbours in a panel, which has the pattern of the state */
static void join(perf_svg_t *svg, double x1, double y1, double x2, double y2,
                 const char *color, int state)
{
    fprintf(svg->file,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\""
            " stroke-width=\"1.8\"%s/>\n",
            x1, y1, x2, y2, color,
            (state == PERF_STATE_FAR) ? " stroke-dasharray=\"6 4\"" : "");
}

/* Whether lines i and i - 1 have a line between them: of places only those of one name */
static int is_connected(const chart_t *chart, int i)
{
    return (i > 0) && (!chart->has_places || !strcmp(line_name(chart->lines[i]),
                                                     line_name(chart->lines[i - 1])));
}

static void draw_median(chart_t *chart, int i, int side, const perf_quartiles_t *q)
{
    perf_svg_t *svg   = &chart->values;
    const char *color = perf_svg_color(side);
    double x          = side_x(chart, i, side);
    double q1         = perf_scale_position(&chart->y, q->q1);
    double q3         = perf_scale_position(&chart->y, q->q3);
    char name[128];

    perf_svg_line(svg, x, q1, x, q3, color, 1.4);
    perf_svg_line(svg, x - CAP, q1, x + CAP, q1, color, 1.4);
    perf_svg_line(svg, x - CAP, q3, x + CAP, q3, color, 1.4);
    fprintf(svg->file, "<g><title>");
    perf_words_name(name, sizeof(name), line_name(chart->lines[i]));
    perf_svg_escape(svg->file, name);
    fprintf(svg->file, ", %llu bytes: %.4g %s, quartiles %.4g and %.4g</title>\n",
            (unsigned long long)chart->lines[i]->size, q->median, chart->lines[i]->unit,
            q->q1, q->q3);
    perf_svg_mark(svg, x, perf_scale_position(&chart->y, q->median), PERF_SVG_DOT, color);
    fprintf(svg->file, "</g>\n");
}

static void draw_outliers(chart_t *chart, int i, int state, int side,
                          const perf_quartiles_t *q)
{
    const perf_compare_set_t *set = &chart->lines[i]->kept[state][side];
    size_t n;

    for (n = 0; n < set->count; ++n) {
        if (perf_is_outlier(q, set->values[n])) {
            perf_svg_mark(&chart->values, side_x(chart, i, side),
                          perf_scale_position(&chart->y, set->values[n]),
                          PERF_SVG_DIAMOND, perf_svg_color(side));
        }
    }
}

/* Medians, quartiles and outliers of one state */
static void draw_values(chart_t *chart, int state)
{
    int has_last[PERF_COMPARE_SIDES] = {0};
    double last[PERF_COMPARE_SIDES]  = {0};
    perf_compare_summary_t summary;
    double y;
    int i, side;

    for (i = 0; i < chart->compare->count; ++i) {
        perf_compare_summary(chart->compare, chart->lines[i], state, &summary);
        for (side = 0; side < PERF_COMPARE_SIDES; ++side) {
            if (summary.counts[side] == 0) {
                has_last[side] = 0;
                continue;
            }
            y = perf_scale_position(&chart->y, summary.sides[side].median);
            if (has_last[side] && is_connected(chart, i)) {
                join(&chart->values, side_x(chart, i - 1, side), last[side],
                     side_x(chart, i, side), y, perf_svg_color(side), state);
            }
            has_last[side] = 1;
            last[side]     = y;
            draw_median(chart, i, side, &summary.sides[side]);
            draw_outliers(chart, i, state, side, &summary.sides[side]);
        }
    }
}

static void draw_dropped(chart_t *chart)
{
    const perf_compare_set_t *set;
    size_t n;
    int i, side;

    for (i = 0; i < chart->compare->count; ++i) {
        for (side = 0; side < PERF_COMPARE_SIDES; ++side) {
            set = &chart->lines[i]->dropped[side];
            for (n = 0; n < set->count; ++n) {
                perf_svg_mark(&chart->values, side_x(chart, i, side),
                              perf_scale_position(&chart->y, set->values[n]),
                              PERF_SVG_CROSS, dropped_color(side));
            }
        }
    }
}

static void draw_ratios(chart_t *chart, int state)
{
    int has_last = 0;
    double last  = 0;
    perf_compare_summary_t summary;
    double y;
    int i;

    for (i = 0; i < chart->compare->count; ++i) {
        if (!perf_compare_summary(chart->compare, chart->lines[i], state, &summary)) {
            has_last = 0;
            continue;
        }
        y = perf_scale_position(&chart->ratio, summary.ratio);
        if (has_last && is_connected(chart, i)) {
            join(&chart->ratios, place_x(chart, i - 1), last, place_x(chart, i), y,
                 COLOR_RATIO, state);
        }
        has_last = 1;
        last     = y;
        perf_svg_mark(&chart->ratios, place_x(chart, i), y, PERF_SVG_DOT,
                      (summary.verdict == PERF_COMPARE_SLOWER) ? COLOR_SLOWER :
                                                                 COLOR_RATIO);
    }
}

/* Below the ratios: the size of each line, its letter, and lines between the names */
static void draw_places(chart_t *chart)
{
    perf_svg_t *svg = &chart->ratios;
    double half     = (svg->right - svg->left) / chart->compare->count / 2;
    char text[32];
    double x;
    int i;

    for (i = 0; i < chart->compare->count; ++i) {
        x = place_x(chart, i);
        ri_size_text(chart->lines[i]->size, text, sizeof(text));
        perf_svg_text(svg, x, svg->bottom + 16, "middle", 11, COLOR_LABEL, text);
        perf_key_letter(text, sizeof(text),
                        perf_key_add(&chart->key, line_name(chart->lines[i])));
        perf_svg_text(svg, x, svg->bottom + 31, "middle", 11, COLOR_LABEL, text);
        if ((i > 0) && !is_connected(chart, i)) {
            perf_svg_line(svg, x - half, chart->values.top, x - half, svg->bottom + 34,
                          COLOR_EDGE, 1);
        }
    }
    perf_key_draw(svg, &chart->key, svg->bottom + KEY_Y);
}

/* As a sentence begins, of other programs also in words */
static void chart_title(const chart_t *chart, char *text, size_t length)
{
    const char *name          = chart->lines[0]->bench;
    const perf_bench_t *bench = perf_bench_find(name);

    if (bench != NULL) {
        snprintf(text, length, "%s", bench->title);
    } else if (chart->has_places) {
        snprintf(text, length, "Stock UCX and the library");
    } else {
        perf_words_name(text, length, name);
        text[0] = (strcmp(text, name) != 0) ? toupper(text[0]) : text[0];
    }
}

/* The title of the axis of values; only their unit, for benchmarks whose values differ */
static const char *values_title(const chart_t *chart)
{
    const char *unit  = chart->lines[0]->unit;
    const char *title = perf_words_axis(chart->lines[0]->bench, unit);
    int i;

    for (i = 1; i < chart->compare->count; ++i) {
        if (strcmp(perf_words_axis(chart->lines[i]->bench, unit), title)) {
            return perf_words_axis(NULL, unit);
        }
    }
    return title;
}

static void begin(chart_t *chart, const char *title)
{
    double height          = VALUES_HEIGHT + PANEL_GAP + RATIOS_HEIGHT;
    double width           = WIDTH;
    double foot            = SIZES_FOOT;
    const char(*names)[64] = chart->compare->names;
    char subtitle[192], own[128];

    chart_title(chart, own, sizeof(own));
    if (chart->has_places) {
        width = fmax(width, chart->compare->count * PLACE_WIDTH);
        width = fmax(width, perf_key_width(&chart->key));
        foot  = PLACES_FOOT + perf_key_height(&chart->key);
    }
    snprintf(subtitle, sizeof(subtitle),
             "%s%s%s; medians, bars between the quartiles; ratio below 1: the library is "
             "faster",
             (names[PERF_COMPARE_STOCK][0] != '\0') ? names[PERF_COMPARE_STOCK] : "",
             (names[PERF_COMPARE_STOCK][0] != '\0') ? ", " : "", chart->date);
    perf_svg_begin(&chart->svg, (title != NULL) ? title : own, subtitle, chart->legend,
                   chart->num_legend, width, height, foot);
    chart->values        = chart->svg;
    chart->values.bottom = chart->svg.top + VALUES_HEIGHT;
    chart->ratios        = chart->svg;
    chart->ratios.top    = chart->svg.bottom - RATIOS_HEIGHT;
}

static void draw(chart_t *chart)
{
    double one;
    int state;

    if (chart->has_places) {
        perf_svg_axis_y(&chart->values, &chart->y, values_title(chart));
        perf_svg_axis_y(&chart->ratios, &chart->ratio, "ratio");
        draw_places(chart);
    } else {
        perf_svg_grid_sizes(&chart->values, &chart->x);
        perf_svg_axis_sizes(&chart->ratios, &chart->x);
        perf_svg_axis_y(&chart->values, &chart->y, values_title(chart));
        perf_svg_axis_y(&chart->ratios, &chart->ratio, "ratio");
    }
    one = perf_scale_position(&chart->ratio, 1);
    perf_svg_line(&chart->ratios, chart->svg.left, one, chart->svg.right, one,
                  COLOR_SLOWER, 1.2);
    for (state = 0; state < PERF_NUM_STATES; ++state) {
        draw_values(chart, state);
        draw_ratios(chart, state);
    }
    draw_dropped(chart);
}

void perf_compare_chart_write(const char *path, const char *title,
                              const perf_compare_t *compare)
{
    chart_t *chart = calloc(1, sizeof(*chart));
    time_t now     = time(NULL);

    if (chart == NULL) {
        perf_fatal("out of memory");
    }
    chart->compare = compare;
    strftime(chart->date, sizeof(chart->date), "%Y-%m-%d", localtime(&now));
    look(chart);
    make_legend(chart);
    choose_scales(chart);
    chart->svg.file = perf_file_create(path);
    begin(chart, title);
    draw(chart);
    perf_svg_end(&chart->svg);
    perf_file_close(chart->svg.file, path);
    free(chart);
}

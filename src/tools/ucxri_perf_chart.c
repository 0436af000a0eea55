/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A chart has one form for each kind of benchmark: lines over the message size, or for progress a
 * group of bars for each configuration and size, with a mark for the computation alone. Series are
 * matched by size and configuration, so files of different runs can be drawn together. Results that
 * were disturbed are pale, with a cross that the legend names. A letter stands for a configuration,
 * which the key below says in words.
 */
#include "ucxri_perf_chart.h"
#include "ucxri_perf_key.h"
#include "ucxri_perf_svg.h"
#include "ucs/size_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINES_WIDTH  720.0
#define DATA_HEIGHT  340.0
#define LINES_FOOT   62.0
#define MAX_X_TICKS  14
#define WANTED_TICKS 6

/* A vertical axis that spans more than this factor is logarithmic */
#define LOG_SPAN 10

/* Opacity of what is not to be relied on */
#define PALE 0.35

#define BAR_WIDTH       18.0
#define BAR_GAP         14.0 /* between groups */
#define MIN_SPAN        40.0
#define BARS_FOOT       92.0 /* without the key */
#define KEY_Y           86.0 /* of its first line, below the axis */
#define MIN_BARS_WIDTH  600.0
#define COLOR_BEYOND    "#ffffff"
#define COLOR_WORK      "#111827"
#define COLOR_LABEL     "#4b5563"
#define COLOR_SEPARATOR "#d1d5db"
#define COLOR_DISTURBED "#b91c1c"

/* A group of bars: a configuration and a size, in all series */
typedef struct {
    const char *config;
    uint64_t size;
    double x; /* of its middle */
} group_t;

typedef struct {
    group_t groups[PERF_MAX_POINTS];
    int count;
    double stretch; /* what all widths are multiplied by, for a chart of few groups */
    double width;
} groups_t;

static const char *chart_title(const char *title, const perf_series_t *series)
{
    return (title != NULL) ? title : series[0].results.results[0].bench->title;
}

static int is_disturbed(const perf_series_t *series, int count)
{
    int s, i;

    for (s = 0; s < count; ++s) {
        for (i = 0; i < series[s].results.count; ++i) {
            if (series[s].results.results[i].disturbed) {
                return 1;
            }
        }
    }
    return 0;
}

/* Name what is disturbed, if anything is; returns the number of entries */
static int add_disturbed(perf_legend_t *legend, int entries, const perf_series_t *series,
                         int count)
{
    if (!is_disturbed(series, count)) {
        return entries;
    }
    legend[entries].label  = "disturbed by other programs";
    legend[entries].color  = COLOR_DISTURBED;
    legend[entries].symbol = PERF_SVG_CROSS;
    return entries + 1;
}

/*
 * Lines
 */
static int compare_size(const void *a, const void *b)
{
    const perf_result_t *x = a;
    const perf_result_t *y = b;

    return (x->size > y->size) - (x->size < y->size);
}

/* Smallest and largest quartile above 0 of all series */
static void find_range(const perf_series_t *series, int count, double *min, double *max)
{
    const perf_result_t *result;
    int s, i;

    *min = INFINITY;
    *max = 0;
    for (s = 0; s < count; ++s) {
        for (i = 0; i < series[s].results.count; ++i) {
            result = &series[s].results.results[i];
            if (result->value.q1 > 0) {
                *min = fmin(*min, result->value.q1);
            }
            *max = fmax(*max, result->value.q3);
        }
    }
}

static void choose_y_scale(perf_scale_t *scale, const perf_series_t *series, int count)
{
    double min, max;

    find_range(series, count, &min, &max);
    if (max > LOG_SPAN * min) {
        perf_scale_log10(scale, min, max);
    } else {
        perf_scale_linear(scale, max, WANTED_TICKS);
    }
}

static void choose_x_scale(perf_scale_t *scale, const perf_series_t *series, int count)
{
    double sizes[PERF_MAX_SERIES * PERF_MAX_POINTS];
    int num_sizes = 0;
    int s, i;

    for (s = 0; s < count; ++s) {
        for (i = 0; i < series[s].results.count; ++i) {
            sizes[num_sizes++] = series[s].results.results[i].size;
        }
    }
    perf_scale_sizes(scale, sizes, num_sizes, MAX_X_TICKS);
}

static void draw_band(perf_svg_t *svg, const perf_results_t *results,
                      const perf_scale_t *x, const perf_scale_t *y, const char *color)
{
    const perf_result_t *result;
    int i;

    fprintf(svg->file, "<polygon fill=\"%s\" fill-opacity=\"0.16\" points=\"", color);
    for (i = 0; i < results->count; ++i) {
        result = &results->results[i];
        fprintf(svg->file, "%.1f,%.1f ", perf_scale_position(x, result->size),
                perf_scale_position(y, result->value.q3));
    }
    while (i-- > 0) {
        result = &results->results[i];
        fprintf(svg->file, "%.1f,%.1f ", perf_scale_position(x, result->size),
                perf_scale_position(y, result->value.q1));
    }
    fprintf(svg->file, "\"/>\n");
}

static void draw_line(perf_svg_t *svg, const perf_series_t *series, const perf_scale_t *x,
                      const perf_scale_t *y, const char *color)
{
    const perf_results_t *results = &series->results;
    const perf_result_t *result;
    int i;

    fprintf(svg->file,
            "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\""
            " stroke-linejoin=\"round\" points=\"",
            color);
    for (i = 0; i < results->count; ++i) {
        result = &results->results[i];
        fprintf(svg->file, "%.1f,%.1f ", perf_scale_position(x, result->size),
                perf_scale_position(y, result->value.median));
    }
    fprintf(svg->file, "\"/>\n");
    for (i = 0; i < results->count; ++i) {
        result = &results->results[i];
        fprintf(svg->file,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.4\" fill=\"#ffffff\""
                " stroke=\"%s\" stroke-width=\"2\" stroke-opacity=\"%g\"><title>",
                perf_scale_position(x, result->size),
                perf_scale_position(y, result->value.median), color,
                result->disturbed ? PALE : 1);
        perf_svg_escape(svg->file, series->label);
        fprintf(svg->file, ", %llu bytes: %.4g %s</title></circle>\n",
                (unsigned long long)result->size, result->value.median,
                result->bench->unit);
        if (result->disturbed) {
            perf_svg_mark(svg, perf_scale_position(x, result->size),
                          perf_scale_position(y, result->value.median), PERF_SVG_CROSS,
                          COLOR_DISTURBED);
        }
    }
}

static void draw_lines(perf_svg_t *svg, const char *title, perf_series_t *series,
                       int count)
{
    perf_legend_t legend[PERF_MAX_SERIES + 1] = {0};
    perf_scale_t x, y;
    int s;

    for (s = 0; s < count; ++s) {
        legend[s].label  = series[s].label;
        legend[s].color  = perf_svg_color(s);
        legend[s].symbol = PERF_SVG_LINE;
        qsort(series[s].results.results, series[s].results.count, sizeof(perf_result_t),
              compare_size);
    }
    perf_svg_begin(svg, chart_title(title, series),
                   "median of the batches; shaded: between the quartiles", legend,
                   add_disturbed(legend, count, series, count), LINES_WIDTH, DATA_HEIGHT,
                   LINES_FOOT);
    choose_x_scale(&x, series, count);
    choose_y_scale(&y, series, count);
    perf_svg_axis_sizes(svg, &x);
    perf_svg_axis_y(svg, &y, series[0].results.results[0].bench->axis);
    for (s = 0; s < count; ++s) {
        draw_band(svg, &series[s].results, &x, &y, perf_svg_color(s));
    }
    for (s = 0; s < count; ++s) {
        draw_line(svg, &series[s], &x, &y, perf_svg_color(s));
    }
}

/*
 * Bars
 */
static const perf_result_t *find_result(const perf_series_t *series, const group_t *group)
{
    const perf_result_t *result;
    int i;

    for (i = 0; i < series->results.count; ++i) {
        result = &series->results.results[i];
        if ((result->size == group->size) && !strcmp(result->config, group->config)) {
            return result;
        }
    }
    return NULL;
}

static void add_group(groups_t *groups, const perf_result_t *result)
{
    int i;

    for (i = 0; i < groups->count; ++i) {
        if ((groups->groups[i].size == result->size) &&
            !strcmp(groups->groups[i].config, result->config)) {
            return;
        }
    }
    if (groups->count < PERF_MAX_POINTS) {
        groups->groups[groups->count].config = result->config;
        groups->groups[groups->count].size   = result->size;
        ++groups->count;
    }
}

/* The number of groups from the first one on that have the same configuration */
static int span_length(const groups_t *groups, int first)
{
    int next = first + 1;

    while ((next < groups->count) &&
           !strcmp(groups->groups[next].config, groups->groups[first].config)) {
        ++next;
    }
    return next - first;
}

static double span_width(const groups_t *groups, int length, int num_series)
{
    return fmax(length * (num_series * BAR_WIDTH + BAR_GAP), MIN_SPAN) * groups->stretch;
}

/* Sets the places of the groups, from 0 on, and the width of them all */
static void place_groups(groups_t *groups, int num_series)
{
    double x = 0;
    double width;
    int i, first, length;

    for (first = 0; first < groups->count; first += length) {
        length = span_length(groups, first);
        width  = span_width(groups, length, num_series);
        for (i = 0; i < length; ++i) {
            groups->groups[first + i].x = x + width * (i + 0.5) / length;
        }
        x += width;
    }
    groups->width = x;
}

/* All groups of all series */
static void make_groups(groups_t *groups, const perf_series_t *series, int count,
                        double min_width)
{
    int s, i;

    groups->count = 0;
    for (s = 0; s < count; ++s) {
        for (i = 0; i < series[s].results.count; ++i) {
            add_group(groups, &series[s].results.results[i]);
        }
    }
    groups->stretch = 1;
    place_groups(groups, count);
    if (groups->width < min_width) {
        groups->stretch = min_width / groups->width;
        place_groups(groups, count);
    }
}

/*
 * The largest quartile. What was disturbed may be many times too long, and must not make
 * the other bars too short to tell apart: it counts only if there is nothing else.
 */
static double find_top(const perf_series_t *series, int count)
{
    const perf_result_t *result;
    double top = 0;
    double any = 0;
    int s, i;

    for (s = 0; s < count; ++s) {
        for (i = 0; i < series[s].results.count; ++i) {
            result = &series[s].results.results[i];
            any    = fmax(any, result->value.q3);
            if (!result->disturbed) {
                top = fmax(top, result->value.q3);
            }
        }
    }
    return (top > 0) ? top : any;
}

/* Where a time ends, which is the end of the axis for one beyond it */
static double bar_position(const perf_svg_t *svg, const perf_scale_t *y, double value)
{
    return fmax(perf_scale_position(y, value), svg->top);
}

/* A bar that ends beyond the axis has its value in it, upright */
static void draw_beyond(perf_svg_t *svg, double x, const perf_result_t *result)
{
    char text[32];

    snprintf(text, sizeof(text), "%.4g", result->value.median);
    fprintf(svg->file, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">\n", x + 4,
            svg->top + (result->disturbed ? 16 : 4));
    perf_svg_text(svg, 0, 0, "end", 11, result->disturbed ? COLOR_LABEL : COLOR_BEYOND,
                  text);
    fprintf(svg->file, "</g>\n");
}

static void draw_bar(perf_svg_t *svg, const perf_series_t *series,
                     const perf_result_t *result, double x, const perf_scale_t *y,
                     const char *color)
{
    double top  = bar_position(svg, y, result->value.median);
    double q1   = bar_position(svg, y, result->value.q1);
    double q3   = bar_position(svg, y, result->value.q3);
    double work = bar_position(svg, y, result->extras[0]);

    fprintf(svg->file,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\""
            " fill-opacity=\"%g\"><title>",
            x + 1, top, BAR_WIDTH - 2, svg->bottom - top, color,
            result->disturbed ? PALE : 1);
    perf_svg_escape(svg->file, series->label);
    fprintf(svg->file, ", %s, %llu bytes: %.4g us; work %.4g us, ideal %.4g us",
            result->config, (unsigned long long)result->size, result->value.median,
            result->extras[0], result->extras[1]);
    fprintf(svg->file, "</title></rect>\n");
    perf_svg_line(svg, x + BAR_WIDTH / 2, q1, x + BAR_WIDTH / 2, q3, COLOR_LABEL, 1);
    perf_svg_line(svg, x - 1, work, x + BAR_WIDTH + 1, work, COLOR_WORK, 2);
    if (result->value.median > y->max) {
        draw_beyond(svg, x + BAR_WIDTH / 2, result);
    }
    if (result->disturbed) {
        perf_svg_mark(svg, x + BAR_WIDTH / 2, fmax(top - 8, svg->top + 6), PERF_SVG_CROSS,
                      COLOR_DISTURBED);
    }
}

static void draw_groups(perf_svg_t *svg, const groups_t *groups,
                        const perf_series_t *series, int count, const perf_scale_t *y)
{
    const perf_result_t *result;
    const group_t *group;
    double x;
    char text[32];
    int g, s;

    for (g = 0; g < groups->count; ++g) {
        group = &groups->groups[g];
        x     = svg->left + group->x - count * BAR_WIDTH / 2;
        for (s = 0; s < count; ++s) {
            result = find_result(&series[s], group);
            if (result != NULL) {
                draw_bar(svg, &series[s], result, x + s * BAR_WIDTH, y,
                         perf_svg_color(s));
            }
        }
        ri_size_text(group->size, text, sizeof(text));
        perf_svg_text(svg, svg->left + group->x, svg->bottom + 17, "middle", 11,
                      COLOR_LABEL, text);
    }
}

/* The letters of the configurations below the sizes, and lines between them */
static void draw_spans(perf_svg_t *svg, const groups_t *groups, int count,
                       perf_key_t *key)
{
    double x = svg->left;
    double width;
    int first, length;
    char letter[16];

    for (first = 0; first < groups->count; first += length) {
        length = span_length(groups, first);
        width  = span_width(groups, length, count);
        if (first > 0) {
            perf_svg_line(svg, x, svg->top, x, svg->bottom + 38, COLOR_SEPARATOR, 1);
        }
        perf_key_letter(letter, sizeof(letter),
                        perf_key_add(key, groups->groups[first].config));
        perf_svg_text(svg, x + width / 2, svg->bottom + 35, "middle", 11, COLOR_LABEL,
                      letter);
        x += width;
    }
    perf_svg_text(svg, (svg->left + svg->right) / 2, svg->bottom + 60, "middle", 13,
                  COLOR_LABEL, "message size, and who computes when");
    perf_key_draw(svg, key, svg->bottom + KEY_Y);
}

/* The configurations of all groups, each once */
static void make_key(perf_key_t *key, const perf_series_t *series, int count)
{
    int s, i;

    key->count = 0;
    for (s = 0; s < count; ++s) {
        for (i = 0; i < series[s].results.count; ++i) {
            perf_key_add(key, series[s].results.results[i].config);
        }
    }
}

static void draw_bars(perf_svg_t *svg, const char *title, const perf_series_t *series,
                      int count)
{
    perf_legend_t legend[PERF_MAX_SERIES + 2];
    groups_t groups;
    perf_scale_t y;
    perf_key_t key;
    int s;

    for (s = 0; s < count; ++s) {
        legend[s].label  = series[s].label;
        legend[s].color  = perf_svg_color(s);
        legend[s].symbol = PERF_SVG_BOX;
    }
    legend[count].label  = "computation alone";
    legend[count].color  = COLOR_WORK;
    legend[count].symbol = PERF_SVG_LINE;
    make_key(&key, series, count);
    make_groups(&groups, series, count, fmax(MIN_BARS_WIDTH, perf_key_width(&key)));
    perf_svg_begin(svg, chart_title(title, series),
                   "median of the batches; thin line: between the quartiles", legend,
                   add_disturbed(legend, count + 1, series, count), groups.width,
                   DATA_HEIGHT, BARS_FOOT + perf_key_height(&key));
    perf_scale_linear(&y, find_top(series, count), WANTED_TICKS);
    perf_svg_axis_y(svg, &y, series[0].results.results[0].bench->axis);
    draw_spans(svg, &groups, count, &key);
    draw_groups(svg, &groups, series, count, &y);
}

void perf_chart_write(const char *path, const char *title, perf_series_t *series,
                      int count)
{
    const perf_bench_t *bench = series[0].results.results[0].bench;
    perf_svg_t svg            = {0};
    int s, i;

    for (s = 0; s < count; ++s) {
        for (i = 0; i < series[s].results.count; ++i) {
            if (series[s].results.results[i].bench != bench) {
                perf_fatal("cannot draw %s and %s into one chart", bench->name,
                           series[s].results.results[i].bench->name);
            }
        }
    }
    svg.file = perf_file_create(path);
    if (bench->has_config) {
        draw_bars(&svg, title, series, count);
    } else {
        draw_lines(&svg, title, series, count);
    }
    perf_svg_end(&svg);
    perf_file_close(svg.file, path);
}

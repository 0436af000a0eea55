/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Made-up samples of a comparison, for the tests of src/tools/ucxri_perf_compare*.c */
#ifndef PERF_COMPARE_SAMPLES_H
#define PERF_COMPARE_SAMPLES_H

extern "C" {
#include "tools/ucxri_perf_compare.h"
}

#include <memory>
#include <vector>

/* Core probes */
const double CORE_NEAR  = 60;
const double CORE_FAR   = 260;
const double CORE_MOVED = 0;

const perf_compare_side_t STOCK   = PERF_COMPARE_STOCK;
const perf_compare_side_t LIBRARY = PERF_COMPARE_LIBRARY;

class samples {
public:
    samples() : m_compare(new perf_compare_t()) { m_compare->enough = 2; }

    perf_compare_t *operator*() { return m_compare.get(); }

    const perf_compare_line_t *line(int i) const { return &m_compare->lines[i]; }

    /* What following samples are of */
    samples &of(const char *bench, const char *unit, uint64_t size,
                const char *config = "")
    {
        m_sample.bench  = bench;
        m_sample.unit   = unit;
        m_sample.size   = size;
        m_sample.config = config;
        return *this;
    }

    samples &add(perf_compare_side_t side, double core_ns,
                 const std::vector<double> &values, int disturbed = 0)
    {
        for (double value : values) {
            m_sample.value     = value;
            m_sample.core_ns   = core_ns;
            m_sample.disturbed = disturbed;
            perf_compare_add(m_compare.get(), side, &m_sample);
        }
        return *this;
    }

private:
    std::unique_ptr<perf_compare_t> m_compare;
    perf_compare_sample_t m_sample = {};
};

#endif

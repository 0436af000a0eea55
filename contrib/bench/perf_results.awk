# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Prints a CSV file of ucxri_perf as RESULT lines without core probes. Those of progress are as
# mpi_perf prints them.

FNR > 1 && $1 != "progress" {
    print "RESULT", "perf_" $1, $3, $5, $8, 0
}

FNR > 1 && $1 == "progress" {
    print "RESULT", "progress:" $4, $3, $5, $8, 0
    print "RESULT", "ideal:" $4, $3, $13, $8, 0
    print "RESULT", "work:" $4, $3, $12, $8, 0
}

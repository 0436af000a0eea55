# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Common part of the scripts whose datagrams get lost, come twice and overtake each other: which
# faults there are. Sourced in front of common.sh. UD_DROP is how many are lost, in per cent (2),
# and SOFTHCA_SEED which ones; where that is not given it is UD_SEED (1), which check.sh makes
# another one in each run, and prints. With CHECK_LONG set the script is run for each rate, with
# UD_SEEDS (3) seeds from that on.
ud_rates=(0.1 1 5 20)
ud_seed=${SOFTHCA_SEED-${UD_SEED-1}}

if [ -n "${CHECK_LONG-}" ] && [ -z "${UD_DROP-}" ]; then
    . "${srcdir-$(dirname "$0")/..}/check/common.sh"
    for ud_rate in "${ud_rates[@]}"; do
        for ((ud_run = 0; ud_run < ${UD_SEEDS-3}; ud_run++)); do
            part=$abs_builddir/check/tmp/$(basename "$0" .test).part
            UD_DROP=$ud_rate SOFTHCA_SEED=$((ud_seed + ud_run)) "$0" "$@" >"$part"
            tap_part "$ud_rate %, seed $((ud_seed + ud_run)):" "$part"
            rm -f "$part"
        done
    done
    tap_done
fi

export SOFTHCA_SEED=$ud_seed SOFTHCA_MTU=2048
UD_DROP=${UD_DROP-2}
# With many losses the time goes by with waiting for what is sent again
[ "$UD_DROP" = 2 ] || export UCP_TEST_LIMIT=${UCP_TEST_LIMIT-300}
export SOFTHCA_FAULTS=ud_drop=$UD_DROP%,ud_dup=1%,ud_reorder=5%/8
echo "# UD_DROP=$UD_DROP SOFTHCA_SEED=$SOFTHCA_SEED"

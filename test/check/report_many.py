#!/usr/bin/env python3
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Writes reports as JSON of a job that never ran: each rank sends long messages to its four
# neighbours in a square, and short ones to all. Rank 0 gets more than the others, and the last
# rank waits longest. 32 ranks share a host. One setting of rank 1 differs.
#
# Usage: report_many.py RANKS DIRECTORY
import json
import math
import sys

VALUES = (
    "ring am channel hybrid rtr coop get put ucp".split()
    + ["control", "fast", "late", "long", "rtr_sent", "rtr_used", "rtr_dropped", "rtr_suppressed"]
    + ["read_bytes", "written_bytes", "buffered_bytes"]
    + "rma_mapped rma_mapped_bytes rma_copied rma_copied_bytes rma_mailed rma_called".split()
    + ["rma_withdrawn", "rma_stock"]
    + "windows windows_bytes windows_left".split()
    + ["life_us", "send_us", "recv_us", "work_us", "idle_us"]
)


def uid(rank):
    return f"{0x1234567800000000 + rank * 0x10001:016x}"


def neighbours(rank, ranks):
    side = math.isqrt(ranks)
    near = [rank + step for step in (-side, -1, 1, side)]
    return [other for other in near if 0 <= other < ranks]


def report(rank, ranks):
    values = dict.fromkeys(VALUES, 0)
    sizes, peers = {}, []

    def send(peer, protocol, messages, size):
        known = peer.setdefault(protocol, [0, 0])
        known[0] += messages
        known[1] += messages * size
        values[protocol] += messages
        values[protocol + "_bytes"] = values.get(protocol + "_bytes", 0) + messages * size
        by_size = sizes.setdefault(protocol, {})
        bound = str(1 << (size - 1).bit_length())
        by_size[bound] = by_size.get(bound, 0) + messages

    for other in range(ranks):
        if other == rank:
            continue
        peer = {"worker": uid(other)}
        near = rank // 32 == other // 32
        send(peer, "ring" if near else "am", 10 + (rank + other) % 7, 8 << (rank + other) % 9)
        if other == 0:
            send(peer, "get", 5, 300000)
        if other in neighbours(rank, ranks):
            send(peer, "coop" if near else "rtr", 100, 1 << 20)
            send(peer, "hybrid", 40, 20000)
        peers.append(peer)
    values.update(fast=900, late=10 * (rank % 3), long=240, rtr_sent=200, rtr_used=180)
    values.update(life_us=60_000_000, work_us=5_000_000, idle_us=1_000_000)
    if rank == ranks - 1:
        values["idle_us"] = 50_000_000
    thresh = "16K" if rank == 1 else "8K"
    return {
        "ucxri_report": 1,
        "version": "0.1.0",
        "job": "4711.0",
        "rank": rank,
        "ranks": ranks,
        "host": f"n{rank // 32:03}",
        "pid": 1000 + rank,
        "command": "</script><b>app",
        "complete": True,
        "started": 1764150000,
        "written": 1764150060,
        "settings": {"UCXRI_RTR": "auto", "UCXRI_EAGER_THRESH": thresh, "UCXRI_CMA": "y"},
        "set": ["UCXRI_EAGER_THRESH"] if rank == 1 else [],
        "values": values,
        "workers": [uid(rank)],
        "sizes": sizes,
        "peers": peers,
    }


def main():
    ranks, directory = int(sys.argv[1]), sys.argv[2]
    for rank in range(ranks):
        with open(f"{directory}/many.{rank}.json", "w", encoding="utf-8") as stream:
            json.dump(report(rank, ranks), stream, indent=0)


main()

#!/usr/bin/env python3
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
#
# Checks the reports of one job as JSON, each in a file of its own.
#
# Usage: report_json.py RANKS COMPLETE FILE...
#   RANKS     how many ranks the job has: a report of each has to be there
#   COMPLETE  yes: all processes have come to their end, and what was sent was received;
#             no: none has
import json
import sys

PROTOCOLS = ("ring", "am", "channel", "hybrid", "rtr", "coop", "get", "put", "ucp")


def fail(text):
    print(text)
    sys.exit(1)


def check(report, path):
    """One report in itself: values, sizes and pairs tell of the same messages."""
    values = report["values"]
    for protocol in PROTOCOLS:
        sizes = sum(report["sizes"].get(protocol, {}).values())
        pairs = [peer[protocol] for peer in report["peers"] if protocol in peer]
        counts = (values[protocol], sizes, sum(pair[0] for pair in pairs))
        # a message that waits for room in its ring has its bytes, but is counted when it goes
        if len(set(counts)) != 1:
            fail(f"{path}: {protocol}: values, sizes, pairs have {counts} messages")
        if values[protocol + "_bytes"] != sum(pair[1] for pair in pairs):
            fail(f"{path}: {protocol}: pairs have other bytes")
        for size, messages in report["sizes"].get(protocol, {}).items():
            if int(size) & (int(size) - 1) or messages <= 0:
                fail(f"{path}: {protocol}: {messages} messages of up to {size}")


def main():
    ranks, complete, paths = int(sys.argv[1]), sys.argv[2] == "yes", sys.argv[3:]
    reports = []
    for path in paths:
        with open(path, encoding="utf-8") as stream:
            reports.append(json.load(stream))
        check(reports[-1], path)
    if sorted(report["rank"] for report in reports) != list(range(ranks)):
        fail("other ranks")
    known = {worker for report in reports for worker in report["workers"]}
    for report in reports:
        if report["ucxri_report"] != 1 or report["ranks"] != ranks:
            fail("another version, or another number of ranks")
        if report["complete"] != complete:
            fail("complete is wrong")
        if any(peer["worker"] not in known for peer in report["peers"]):
            fail("an unknown peer")
    sent = sum(report["values"][protocol] for report in reports for protocol in PROTOCOLS)
    received = sum(report["values"]["fast"] + report["values"]["late"] for report in reports)
    print(f"{len(reports)} reports, {sent} messages sent, {received} received")
    if sent == 0 or (complete and sent != received):
        fail("not what was sent was received")


main()

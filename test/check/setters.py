# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
"""Whether fields that hold states are changed only where docs/source.md, "States", says.

Usage: setters.py ROOT

A setter asserts the legal order of the states, so an assignment elsewhere is a change that nobody
checks. Next to the file with the setter, those files are allowed that make the object.
"""

import re
import sys

sys.dont_write_bytecode = True
from comments import sources    # noqa: E402

# Which field, in which folder, and the files that may change it, without their ends
RULES = (
    (r"rtr\.state", "src/ucp/", "ucp/proto/rtr/rtr_state ucp/tag/recv"),
    (r"rndv\.written", "src/ucp/", "ucp/proto/rndv/rndv_recv"),
    (r"req->waiting|send->waiting", "src/ucp/", "ucp/core/send_req"),
    (r"req->wire_type|send->wire_type", "src/ucp/",
     "ucp/core/send_req ucp/tag/send ucp/proto/rtr/rtr_send_net"),
    (r"req->target|send->target", "src/ucp/", "ucp/core/send_req ucp/proto/rndv/rndv_ud"),
    (r"conn->flags", "src/ucp/", "ucp/core/conn ucp/core/conn_life ucp/link/ring_life"),
    (r"(?:stream|found)->(?:closed|closed_sn|broken|stalled|resumes|acked)", "src/ucp/",
     "ucp/core/stream"),
    (r"ring_life\.state", "src/ucp/", "ucp/core/stream_ring"),
    (r"way\.state", "src/ucp/", "ucp/link/way"),
    (r"\w+->state", "src/ucp/link/", "ucp/link/channel_out ucp/link/pool"),
    (r"buffer->state", "src/ucp/", "ucp/link/pool"),
    (r"rkey->access", "src/ucp/", "ucp/rma/rkey"),
    (r"\w+->(?:exposure|access|lock)", "src/win/", "win/window"),
    (r"\w+->state", "src/uct/ib/rc/", "uct/ib/rc/rc_base uct/ib/rc/rc_plane"),
    (r"\w+->state", "src/uct/ib/ud/", "uct/ib/ud/ud_base uct/ib/ud/ud_rx uct/ib/ud/ud_way"),
    (r"\w+->state", "src/uct/ib/device/", "uct/ib/device/reg_cache"),
)


def main():
    if len(sys.argv) != 2:
        print(__doc__.split("\n")[3], file=sys.stderr)
        return 2
    faults, seen = 0, set()
    for path, lines in sources(sys.argv[1], "src", (".c", ".h")):
        module = re.sub(r"^src/|\.[ch]$", "", path)
        for number, line in enumerate(lines, 1):
            for rule in RULES:
                field, folder, allowed = rule
                if not path.startswith(folder) or \
                        not re.search(rf"\b(?:{field})\s*(?:[|&]?=(?!=)|\+\+|--)", line):
                    continue
                seen.add(rule)
                if module not in allowed.split():
                    faults += 1
                    print(f"{path}:{number}: changes a state past its setter")
    for field, folder, _ in (rule for rule in RULES if rule not in seen):
        faults += 1
        print(f"{folder}: nothing changes {field}: is the rule stale?")
    return 0 if faults == 0 else 1


if __name__ == "__main__":
    sys.exit(main())

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

# The type that has the field, or None for a field whose name no other type has; the field; the folder;
# and the files that may change it, without their ends
RULES = (
    (None, "rtr.state", "src/ucp/", "ucp/proto/rtr/rtr_state ucp/tag/recv"),
    (None, "rndv.written", "src/ucp/", "ucp/proto/rndv/rndv_recv"),
    ("ri_send_req_t", "waiting", "src/ucp/", "ucp/core/send_req"),
    ("ri_send_req_t", "wire_type", "src/ucp/",
     "ucp/core/send_req ucp/tag/send ucp/proto/rtr/rtr_send_net"),
    ("ri_send_req_t", "target", "src/ucp/", "ucp/core/send_req ucp/proto/rndv/rndv_ud"),
    ("ri_conn_t", "flags", "src/ucp/", "ucp/core/conn ucp/core/conn_life ucp/link/ring_life"),
    ("ri_stream_t", "closed", "src/ucp/", "ucp/core/stream"),
    ("ri_stream_t", "closed_sn", "src/ucp/", "ucp/core/stream"),
    ("ri_stream_t", "broken", "src/ucp/", "ucp/core/stream"),
    ("ri_stream_t", "stalled", "src/ucp/", "ucp/core/stream"),
    ("ri_stream_t", "resumes", "src/ucp/", "ucp/core/stream"),
    ("ri_stream_t", "acked", "src/ucp/", "ucp/core/stream"),
    (None, "ring_life.state", "src/ucp/", "ucp/core/stream_ring"),
    (None, "way.state", "src/ucp/", "ucp/link/way"),
    ("ri_channel_out_t", "state", "src/ucp/", "ucp/link/channel_out"),
    ("ri_pool_buffer_t", "state", "src/ucp/", "ucp/link/pool"),
    ("ri_rkey_t", "access", "src/ucp/", "ucp/rma/rkey"),
    (None, "exposure", "src/win/", "win/window"),
    ("ri_window_t", "access", "src/win/", "win/window"),
    ("ri_window_target_t", "lock", "src/win/", "win/epoch"),
    (None, "state", "src/uct/ib/rc/", "uct/ib/rc/rc_base uct/ib/rc/rc_plane"),
    (None, "state", "src/uct/ib/ud/", "uct/ib/ud/ud_base uct/ib/ud/ud_rx uct/ib/ud/ud_way"),
    (None, "state", "src/uct/ib/device/", "uct/ib/device/reg_cache uct/ib/device/range_queue"),
)

# By which members a type is reached, as in req->conn->flags
MEMBERS = {"ri_conn_t": "conn", "ri_stream_t": "stream", "ri_send_req_t": "send",
           "ri_pool_buffer_t": "buffer", "ri_window_t": "window"}


def owner(kind, text):
    """A pattern of what stands in front of the field."""
    if kind is None:
        return r"\w+(?:\[[^]]*\])?"
    names = set(re.findall(rf"\b{kind} \*+(?:const )?(\w+)", text))
    names.add(MEMBERS.get(kind, ""))
    return rf"\b(?:{'|'.join(sorted(name for name in names if name)) or '(?!)'})(?:\[[^]]*\])?"


def changes(rule, text):
    """The offsets at which a rule's field is changed."""
    kind, field, _, _ = rule
    place = rf"{owner(kind, text)}(?:->|\.){re.escape(field)}"
    for pattern in (rf"(?<![\w*] ){place}\s*(?:[|&^+-]|<<|>>)?=(?!=)", rf"{place}\s*(?:\+\+|--)",
                    rf"(?:\+\+|--)(?:\w+(?:->|\.))*{place}\b",
                    rf"\b(?:atomic_(?:store|exchange|fetch_\w+|compare_\w+?)(?:_explicit)?|__atomic_(?!load)\w+)"
                    rf"\(\s*&(?:\w+(?:->|\.))*{place}\b"):
        for found in re.finditer(pattern, text):
            yield found.start()


def main():
    if len(sys.argv) != 2:
        print(__doc__.split("\n")[3], file=sys.stderr)
        return 2
    faults, seen = 0, set()
    for path, lines in sources(sys.argv[1], "src", (".c", ".h")):
        module = re.sub(r"^src/|\.[ch]$", "", path)
        text = "\n".join(lines)
        for rule in RULES:
            if not path.startswith(rule[2]):
                continue
            for place in changes(rule, text):
                seen.add(rule)
                if module not in rule[3].split():
                    faults += 1
                    print(f"{path}:{text.count(chr(10), 0, place) + 1}: changes "
                          f"{rule[1]}, a state, past its setter")
    for kind, field, folder, _ in (rule for rule in RULES if rule not in seen):
        faults += 1
        print(f"{folder}: nothing changes {field} of {kind}: is the rule stale?")
    return 0 if faults == 0 else 1


if __name__ == "__main__":
    sys.exit(main())

# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
"""Whether the name of a function says in which file of src it is.

Usage: names.py ROOT

A function that is not static begins with words of its file: with the first one or more of them, or
with all but the first. In front may be "ri", then "ib" in uct/ib, and the word of its folder. So
src/uct/ib/ud/pool.c may have ri_ud_pool_take() and ri_pool_take(), and src/ucp/core/conn_life.c
ri_conn_destroy(). The interfaces of others keep their names: those of UCP and of MPI, main(), and
src/ucp/api. A macro that makes functions is none.
"""

import os
import re
import sys

sys.dont_write_bytecode = True
from comments import sources    # noqa: E402

# Up to the brace in column 0 on which its body begins
DEFINITION = re.compile(r"^(?!static|typedef|struct \w+ \{|enum|union|#|\s|\}|/)[^\n;={]*?\b(\w+)\("
                        r"[^;{]*?\)\s*\n\{", re.M)
OTHERS = re.compile(r"ucp_|P?MPI_|main$|__attribute__$|[A-Z_0-9]+$")


def functions(text):
    """The functions of a file that are not static, which may be said in a line of its own."""
    for found in DEFINITION.finditer(text):
        above = text[:found.start()].rstrip("\n").split("\n")[-1]
        if not above.startswith("static") and not OTHERS.match(found.group(1)):
            yield found.group(1)


def beginnings(base):
    """What a name in a file may begin with; of several things the file may have the plural."""
    words = base.split("_")
    if words[0] == "ucxri" and len(words) > 1:
        words = words[1:]
    parts = ["_".join(words[:count]) for count in range(1, len(words) + 1)]
    parts.append("_".join(words[1:]))
    return {form for part in parts if part for form in (part, part.rstrip("s"), part + "s")}


def says_its_file(name, path):
    folder = os.path.basename(os.path.dirname(path))
    name = re.sub(r"^ri_", "", name)
    begin = "|".join(sorted(beginnings(os.path.splitext(os.path.basename(path))[0])))
    return re.match(rf"(ib_)?({folder}_)?({begin})(_|$)", name)


def main():
    if len(sys.argv) != 2:
        print(__doc__.split("\n")[2], file=sys.stderr)
        return 2
    count = faults = 0
    for path, lines in sources(sys.argv[1], "src", (".c",)):
        if path.startswith("src/ucp/api/"):
            continue
        for name in functions("\n".join(lines)):
            count += 1
            if not says_its_file(name, path):
                faults += 1
                print(f"{path}: {name}() begins with no word of the file")
    if count == 0:
        print("no function was found")
    return 0 if faults == 0 and count > 0 else 1


if __name__ == "__main__":
    sys.exit(main())

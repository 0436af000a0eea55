# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
"""Whether the sources can be read by a stranger, as far as a program can tell.

Usage: comments.py ROOT

In src: each function that a header declares or defines has a comment in front of it; a .c file of 100
lines or more has a head comment of its own; no comment says "likewise". In src and test: no file has
more than 600 lines.
"""

import os
import re
import sys

HEAD_LINES = 100
MAX_LINES = 600
DECLARATION = re.compile(r"^(?!typedef|#|extern|return|else|case|goto|union|enum)"
                         r"(?:[A-Za-z_][\w *]*[ *])(\w+)\(")
# Lines between a comment and what it is about
BETWEEN = re.compile(r"^(__attribute__\S.*|RI_[A-Z_]+|[a-z_ ]+\*?)$")


def sources(root, folder, endings):
    for path, _, names in os.walk(os.path.join(root, folder)):
        for name in sorted(names):
            if name.endswith(endings):
                full = os.path.join(path, name)
                with open(full, encoding="utf-8") as file:
                    yield os.path.relpath(full, root), file.read().split("\n")


def without_comment(lines):
    for i, line in enumerate(lines):
        found = DECLARATION.match(line)
        if not found:
            continue
        above = i - 1
        while BETWEEN.match(lines[above]):
            above -= 1
        if not lines[above].rstrip().endswith("*/"):
            yield i + 1, found.group(1)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = sys.argv[1]
    wrong = []
    for path, lines in sources(root, "src", (".c", ".h")):
        if path.endswith(".h"):
            wrong += [f"{path}:{line}: {name} has no comment" for line, name in without_comment(lines)]
        head = lines[:next((i for i, line in enumerate(lines) if line.endswith("*/")), 0)]
        if path.endswith(".c") and len(lines) > HEAD_LINES and len(head) <= 3:
            wrong.append(f"{path}: {len(lines)} lines, and no head comment")
        wrong += [f"{path}:{i + 1}: 'likewise' needs another comment to be understood"
                  for i, line in enumerate(lines) if re.search(r"\blikewise\b", line, re.I)]
    for folder in ("src", "test"):
        for path, lines in sources(root, folder, (".c", ".h", ".cc", ".hh", ".sh", ".test", ".py")):
            if len(lines) - 1 > MAX_LINES:
                wrong.append(f"{path}: {len(lines) - 1} lines")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()

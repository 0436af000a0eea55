# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
"""How many lines of the gtests stand somewhere else as well.

Usage: duplicates.py FOLDER [MOST]

Counts the lines of all C and C++ files below FOLDER that are part of a run of LINES lines which stands
in another place, too. Lines of less than four characters, comments and includes do not count. Prints
the sum, and the files with most of such lines. Fails if these are more than MOST percent.
"""

import os
import re
import sys

LINES = 6
FILES = 10


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        lines = [re.sub(r"\s+", " ", line).strip() for line in file]
    return [line for line in lines
            if len(line) >= 4 and not line.startswith(("#include", "/*", "*", "//"))]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    files = {}
    for folder, _, names in os.walk(sys.argv[1]):
        for name in names:
            if name.endswith((".cc", ".c", ".h")):
                path = os.path.join(folder, name)
                files[path] = lines_of(path)
    places = {}
    for path, lines in files.items():
        for i in range(len(lines) - LINES + 1):
            places.setdefault("\n".join(lines[i:i + LINES]), []).append((path, i))
    repeated = {}
    for found in places.values():
        for path, i in found if len(found) > 1 else ():
            repeated.setdefault(path, set()).update(range(i, i + LINES))
    total = sum(map(len, files.values()))
    count = sum(map(len, repeated.values()))
    share = 100 * count / max(total, 1)
    print(f"{count} of {total} lines ({share:.2f} %) stand twice")
    for path in sorted(repeated, key=lambda path: (-len(repeated[path]), path))[:FILES]:
        print(f"{len(repeated[path]):5} {os.path.relpath(path, sys.argv[1])}")
    sys.exit(len(sys.argv) == 3 and share > float(sys.argv[2]))


if __name__ == "__main__":
    main()

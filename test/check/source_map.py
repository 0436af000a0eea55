# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
"""Whether docs/source.md is right about the files of src.

Usage: source_map.py ROOT

Its tables with the head "| files of `FOLDER` | content |" name each .c and .h file of that folder
once, without its ending; they name no other file. In all other tables, a path that ends in .c or .h
is that of a file, below src/ucp or, if it begins with "uct", "ucs" or "win", below src. Where a function is
named, as `NAME()`, its row also names a file in which it is defined or declared.
"""

import collections
import os
import re
import sys

sys.dont_write_bytecode = True
from comments import sources    # noqa: E402

MAP = "docs/source.md"
HEAD = re.compile(r"\| files of `([\w/]+)` \| content \|$")
FILE = re.compile(r"(?:\w+/)*\w+\.[ch]$")
FUNCTION = re.compile(r"(\w+)\(\)$")
# Of a function, alone on a line or behind its type, or of a macro; a call is indented
DEFINITION = r"^(?:#define |[A-Za-z_][\w *]*[ *])?{}\("


def files_of_source(root):
    """Names of files of each folder below src, without the ending."""
    found = collections.defaultdict(set)
    for path, _ in sources(root, "src", (".c", ".h")):
        found[os.path.dirname(path)].add(os.path.basename(path)[:-2])
    return found


def source_path(name):
    return os.path.join("src" if name.startswith(("uct/", "ucs/", "win/")) else "src/ucp", name)


def faults_of_row(root, names):
    texts = []
    for name in filter(FILE.match, names):
        path = os.path.join(root, source_path(name))
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                texts.append(file.read())
        else:
            yield f"there is no {source_path(name)}"
    for name in names:
        function = FUNCTION.match(name)
        if not function:
            continue
        if not texts:
            yield f"{name} has no file in the row"
        elif not any(re.search(DEFINITION.format(function.group(1)), text, re.M) for text in texts):
            yield f"{name} is defined or declared in no file of the row"


def faults_of_map(root):
    files = files_of_source(root)
    named = collections.defaultdict(collections.Counter)
    folder = None
    with open(os.path.join(root, MAP), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            head = HEAD.match(line)
            if head:
                folder = head.group(1)
            elif not line.startswith("|"):
                folder = None
            elif folder is None:
                for fault in faults_of_row(root, re.findall(r"`([^`]+)`", line)):
                    yield f"{MAP}:{number}: {fault}"
            else:
                named[folder].update(re.findall(r"`([^`]+)`", line.split(" | ")[0]))
    for folder in sorted(set(files) | set(named)):
        for name in sorted(files[folder] - set(named[folder])):
            yield f"{MAP}: does not say what {folder}/{name} is"
        for name, count in sorted(named[folder].items()):
            if count > 1:
                yield f"{MAP}: {folder}/{name} is named {count} times"
            if name not in files[folder] and not os.path.exists(os.path.join(root, folder, name)):
                yield f"{MAP}: there is no {folder}/{name}"


def main():
    if len(sys.argv) != 2:
        print(__doc__.split("\n")[2], file=sys.stderr)
        return 2
    faults = list(faults_of_map(sys.argv[1]))
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
"""Whether the name of a function says in which file of src it is.

Usage: names.py ROOT

A function that is not static, or is inline in a header, begins with words of its file: with the
first one or more of them, or with all but the first. In front may be "ri", then "ib" in uct/ib, and
the word of its folder, which in src/uct does not count as a word of the file. So
src/uct/ib/ud/ud_pool.c may have ri_ud_pool_take() and ri_pool_take(). In base.h of a folder the
folder's word is enough.

A name leads to one file only. So it does not begin with words that are the whole name of another
file, whose functions begin with them, if those words are longer than the ones of its own file; nor
if they are just as long, its own file's name goes on behind them, and the other file is a neighbour
in its folder, or in another folder that is neither below nor above. So src/ucp/link/way_open.c has
no ri_way_ask(), as src/ucp/link/way.c has ri_way_*, and src/ucp/match/rtr_table.c no ri_rtr_use(),
as src/ucp/proto/rtr/rtr.c has ri_rtr_*.

Where a list names tables, ri_KIND_NAME, the file of each stands beside it, and is the one that
defines the table. (LISTS)

The interfaces of others keep their names: those of UCP and of MPI, main(), and src/ucp/api. A macro
that makes functions is none. EXCEPTIONS has all others.
"""

import os
import re
import sys

sys.dont_write_bytecode = True
from comments import sources    # noqa: E402

# Up to the brace in column 0 on which its body begins
DEFINITION = re.compile(r"^(?!typedef|struct \w+ \{|enum|union|#|\s|\}|/)[^\n;={]*?\b(\w+)\("
                        r"[^;{]*?\)\s*\n\{", re.M)
OTHERS = re.compile(r"ucp_|P?MPI_|main$|__attribute__$|[A-Z_0-9]+$")

# End of a file's path, what names begin with there, and why
ABOVE_WORKER = "core/worker has what all parts ask of a worker; what calls all parts is above them"
ABOVE_CONN = "core/conn has what all parts ask of a conn; what ends one calls all parts"
EXCEPTIONS = (
    ("/request.h", "ri_req_", "functions of the types ri_*_req_t that the file has"),
    ("/wire/forms.h", "ri_wire_", "functions of the types ri_wire_*_t that the file has"),
    ("/ud/ud_base.h", "ri_ud_recv_", "functions of the type ri_ud_recv_t that the file has"),
    ("/ucs/base.h", "ri_relax", "an instruction; the folder has no word"),
    ("/conn_life.c", "ri_conn_", ABOVE_CONN),
    ("/conn_life.h", "ri_conn_", ABOVE_CONN),
    ("/tag/send_fast.h", "ri_tag_send(", "the entry of all sends: it goes on in tag/send.c or here"),
    ("/worker_life.c", "ri_worker_", ABOVE_WORKER),
    ("/worker_progress.c", "ri_worker_", ABOVE_WORKER),
    ("/worker_progress.h", "ri_worker_", ABOVE_WORKER),
)

# File, its lines with the name of a table and that of a file, and what such a table is
LISTS = (
    ("src/ucp/proto/table.h", r"^ +_p\(\w+, (\w+)\) +/\* (\w+\.c):", "ri_send_proto_"),
    ("src/ucp/proto/table.h", r"^ +_f\(\w+, (\w+)\) +/\* (\w+\.c):", "ri_fetch_proto_"),
    ("src/ucp/match/rtr_table.h", r"^ +_k\(\w+, (\w+)\) +/\* (\w+\.c):", "ri_rtr_ops_"),
    ("src/ucp/core/types/msg_types.h", r"^ +_k\(\w+, (\w+)\) +/\* (\w+\.c):", "ri_msg_ops_"),
    ("src/ucp/run/modules.h", r"^extern const ri_module_t ri_module_(\w+); +/\* [\w/]*?(\w+\.c) \*/",
     "ri_module_"),
)
TABLE = re.compile(r"^const \w+_t (ri_(?:send_proto|fetch_proto|rtr_ops|msg_ops|module)_\w+)\b", re.M)


def functions(text, is_header):
    """The functions of a file that others may call; "static" may be said in a line of its own."""
    for found in DEFINITION.finditer(text):
        above = text[:found.start()].split("\n")[-2:][0]
        is_static = found.group().startswith("static") or above.startswith("static")
        if (is_header or not is_static) and not OTHERS.match(found.group(1)):
            yield found.group(1)


def words_of(path):
    """The name of a file in names of functions."""
    words = re.sub(r"^ucxri_", "", os.path.splitext(os.path.basename(path))[0])
    folder = os.path.basename(os.path.dirname(path))
    return re.sub(rf"^{folder}_", "", words) if "/uct/" in path else words


def beginnings(path):
    """What a name in a file may begin with; of several things the file may have the plural."""
    words = words_of(path).split("_")
    parts = ["_".join(words[:count]) for count in range(1, len(words) + 1)]
    parts.append("_".join(words[1:]))
    if words == ["base"]:
        parts.append(os.path.basename(os.path.dirname(path)))
    return {form for part in parts if part for form in (part, part.rstrip("s"), part + "s")}


def own_words(name, path, begin):
    """The longest words of @begin that a name begins with, and what may be in front of them, or
    None."""
    folder = os.path.basename(os.path.dirname(path))
    fits = [re.match(rf"(ri_)?(ib_)?({folder}_)?{words}(?=_|$)", name) for words in begin]
    return max((found.group() for found in fits if found), key=len, default=None)


def is_exception(path, name):
    return any(path.endswith(file) and f"{name}(".startswith(begin) for file, begin, _ in EXCEPTIONS)


def wrong_lists(root):
    """Tables that are not where a list says, and those that no list says."""
    there, said = {}, {}
    for path, lines in sources(root, "src", (".c",)):
        for name in TABLE.findall("\n".join(lines)):
            there[name] = os.path.basename(path)
    for path, pattern, kind in LISTS:
        if os.path.exists(os.path.join(root, path)):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                for name, where in re.findall(pattern, file.read(), re.M):
                    said[kind + name] = (path, where)
    for name, file in there.items():
        if name not in said:
            yield f"{file}: no list names {name} with its file"
    for name, (path, file) in said.items():
        if there.get(name) != file:
            yield f"{path}: {name} is in {there.get(name)}, not in {file}"


def main():
    if len(sys.argv) != 2:
        print(__doc__.split("\n")[2], file=sys.stderr)
        return 2
    found = []   # file, name, words of the file in it
    owners = {}  # files by whole names with which their functions begin
    faults = []
    for path, lines in sources(sys.argv[1], "src", (".c", ".h")):
        if path.startswith("src/ucp/api/"):
            continue
        for name in functions("\n".join(lines), path.endswith(".h")):
            words = own_words(name, path, beginnings(path))
            whole = own_words(name, path, {words_of(path)})
            found.append((path, name, words, whole))
            if whole:
                owners.setdefault(whole, set()).add(os.path.splitext(path)[0])
    for path, name, words, whole in found:
        if is_exception(path, name):
            continue
        if not words:
            faults.append(f"{path}: {name}() begins with no word of the file")
            continue
        other = max((other for other in owners if re.match(other + "(_|$)", name)), key=len,
                    default="")
        files = owners.get(other, set())
        folder = os.path.dirname(path) + "/"
        elsewhere = all(os.path.dirname(file) + "/" == folder or
                        not (os.path.dirname(file) + "/").startswith(folder) and
                        not folder.startswith(os.path.dirname(file) + "/") for file in files)
        if os.path.splitext(path)[0] not in files and (
                len(other) > len(words) or len(other) == len(words) and not whole and elsewhere):
            faults.append(f"{path}: {name}() looks as if it were in {' or '.join(sorted(files))}")
    faults += wrong_lists(sys.argv[1])
    print("\n".join(faults) if found else "no function was found")
    return 0 if found and not faults else 1


if __name__ == "__main__":
    sys.exit(main())

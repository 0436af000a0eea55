# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
"""Whether each folder of src calls only the folders that docs/design.md allows it to call, and
whether there are circles of files.

Usage: layers.py SOURCE_ROOT OBJECTS_ROOT [FOLDER]

With FOLDER, as src/ucp/link, it prints the order of the files there: those of a line call only
those of the lines before.

A file and the header of its name are one module. A module calls another one if it includes its
header, if its object needs a symbol that the other's object defines, or if its header names such a
symbol in an inline function, a macro or a table. A module also calls those that assign a function
to a pointer that its header declares. But a table that a lower file has, and a higher one fills,
belongs to the header that declares it, as does such a pointer: docs/design.md lists them, below a
head that begins with "| table | declared in |".

Each source has an object that is not older. Only a folder of which nothing is built has none.

The table of folders is the one in docs/design.md whose head begins with "| folder | calls |". Its
second column names folders, or says "all below": those in the rows that follow.
"""

import os
import re
import subprocess
import sys


def fail(text):
    sys.exit("layers.py: " + text)


def read_table(path):
    """The folders of the table, from top to bottom, each with the set that it may call."""
    rows = []
    inside = False
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("| folder | calls |"):
                inside = True
            elif inside and not line.startswith("|"):
                break
            elif inside and "---" not in line:
                cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
                folder = re.fullmatch(r"`([a-z/]+)`", cells[0])
                if not folder or len(cells) < 3:
                    fail(f"{path}: cannot read the row {line.strip()}")
                rows.append((folder.group(1), cells[1]))
    if not rows:
        fail(f"{path}: there is no table of folders")

    folders = [folder for folder, _ in rows]
    allowed = {}
    for i, (folder, calls) in enumerate(rows):
        if folder in allowed:
            fail(f"{path}: {folder} has two rows")
        if calls == "all below":
            allowed[folder] = set(folders[i + 1:])
        else:
            allowed[folder] = set(re.findall(r"`([a-z/]+)`", calls))
            if not allowed[folder] and calls != "nothing":
                fail(f"{path}: what does {folder} call? '{calls}'")
        for other in allowed[folder]:
            if other not in folders[i + 1:]:
                fail(f"{path}: {folder} calls {other}, which is no row below it")
    return allowed


def read_tables(path):
    """The names of the tables that lower files have and higher ones fill."""
    with open(path, encoding="utf-8") as file:
        found = re.search(r"^\| table \| declared in \|.*\n(?:\|.*\n)+", file.read(), re.M)
    if not found:
        fail(f"{path}: there is no list of tables")
    return set(re.findall(r"`(ri_\w+)`", found.group(0)))


def module_of(path):
    return os.path.splitext(path)[0]


def read_includes(root):
    """Pairs of modules, all modules, and by which header's module variables are declared, among
    them pointers to functions."""
    pairs, modules, declared, pointers, texts = set(), set(), {}, {}, {}
    for folder, _, names in os.walk(os.path.join(root, "src")):
        for name in names:
            if not name.endswith((".c", ".h")):
                continue
            path = os.path.join(folder, name)
            module = module_of(os.path.relpath(path, root))
            modules.add(module)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if name.endswith(".h"):
                for variable in re.findall(r"^extern [^;()]*?(\w+)(?:\[\w*\])?(?: __attribute__|;)", text,
                                           re.M):
                    declared[variable] = module
                for variable in re.findall(r"^extern [^;=]*\(\*(\w+)\)\(", text, re.M):
                    declared[variable] = pointers[variable] = module
            texts.setdefault(module, []).append(text)
            for include in re.findall(r'^#include "([^"]+)"', text, re.M):
                for base in (folder, os.path.join(root, "src")):
                    header = os.path.normpath(os.path.join(base, include))
                    if os.path.exists(header):
                        pairs.add((module, module_of(os.path.relpath(header, root))))
                        break
                else:
                    if include not in ("config.h", "tools/page.inc"):  # made by the build
                        fail(f"{path}: includes {include}, which is not in src")
    return pairs, modules, declared, pointers, texts


def read_assigned(pointers, texts, tables):
    """Pairs of modules: those with a pointer to a function, and those that assign it."""
    return {(pointers[name], module) for name in pointers if name not in tables
            for module in texts if module != pointers[name]
            and re.search(rf"(?<![.>])\b{name}\s*=[^=]", "\n".join(texts[module]))}


def code_of_header(text):
    """The functions, macros and tables of a header, without comments and strings. (clang-format
    puts the brace of a function, and no other one, at the start of a line.)"""
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)
    functions = re.findall(r"^\{$.*?^\}$", text, re.M | re.S)
    macros = re.findall(r"^# *define (?:[^\n]*\\\n)*[^\n]*$", text, re.M)
    tables = re.findall(r"^[a-z][^\n;]*=\s*\{.*?\};", text, re.M | re.S)
    return "\n".join(functions + macros + tables)


def read_inline_calls(root, defined):
    """Pairs of modules by which symbols the code in headers names."""
    pairs = set()
    for folder, _, names in os.walk(os.path.join(root, "src")):
        for name in names:
            if name.endswith(".h"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    code = code_of_header(file.read())
                # a field may have the name of a function
                for symbol in re.findall(r"(?<!\.)(?<!->)\b[A-Za-z_]\w*", code):
                    if symbol in defined:
                        pairs.add((module_of(os.path.relpath(path, root)), defined[symbol]))
    return pairs


def find_objects(root, objects, modules):
    """The objects, each with its module. Automake puts the name of a program or library and "-" in
    front of an object's name if that has flags of its own."""
    paths = {}
    for folder, _, names in os.walk(objects):
        for name in names:
            if not name.endswith(".o"):
                continue
            name_of = name[:-2].rsplit("-", 1)[-1]
            module = os.path.normpath(os.path.join("src", os.path.relpath(folder, objects), name_of))
            if module in modules and os.path.exists(os.path.join(root, module + ".c")):
                paths[os.path.join(folder, name)] = module  # if not, its source is gone
    if not paths:
        fail(f"{objects}: there are no objects")
    built = set(paths.values())
    for path, module in sorted(paths.items()):
        source = os.path.join(root, module + ".c")
        if os.path.getmtime(path) < os.path.getmtime(source):
            fail(f"{path} is older than {source}: make has to run first")
    for module in sorted(modules - built):
        if os.path.exists(os.path.join(root, module + ".c")) and \
                os.path.dirname(module) in map(os.path.dirname, built):
            fail(f"{module}.c has no object: make has to run first")
    return paths


def read_symbols(paths, declared, allowed, tables):
    """Pairs of modules by what nm says of their objects, and which module defines a symbol."""

    defined, needed = {}, {}
    out = subprocess.run(["nm", "-P", "-A"] + sorted(paths), check=True, stdout=subprocess.PIPE,
                         universal_newlines=True).stdout
    for line in out.splitlines():
        path, symbol, kind = line.split()[:3]
        module = paths[path.rstrip(":")]
        if kind == "U":
            needed.setdefault(module, set()).add(symbol)
        elif kind.isupper() and kind not in ("W", "V"):
            header = declared.get(symbol, module)
            is_lower = os.path.dirname(header) in allowed.get(os.path.dirname(module), ())
            defined[symbol] = header if symbol in tables and is_lower else module
    pairs = {(module, defined[symbol]) for module, symbols in needed.items()
             for symbol in symbols if symbol in defined}
    return pairs, defined


def in_circles(pairs, modules):
    """The modules that call themselves by way of others (Tarjan's algorithm, without recursion)."""
    calls = {module: sorted(to for come, to in pairs if come == module) for module in modules}
    order, low, on_stack, stack, found = {}, {}, set(), [], set()
    for start in sorted(modules):
        if start in order:
            continue
        work = [(start, iter(calls[start]))]
        order[start] = low[start] = len(order)
        stack.append(start)
        on_stack.add(start)
        while work:
            module, left = work[-1]
            for to in left:
                if to not in order:
                    order[to] = low[to] = len(order)
                    stack.append(to)
                    on_stack.add(to)
                    work.append((to, iter(calls[to])))
                    break
                if to in on_stack:
                    low[module] = min(low[module], order[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[module])
                if low[module] == order[module]:
                    circle = []
                    while True:
                        circle.append(stack.pop())
                        on_stack.discard(circle[-1])
                        if circle[-1] == module:
                            break
                    if len(circle) > 1:
                        found.update(circle)
    return found


def print_order(folder, pairs, modules):
    left = {module for module in modules if os.path.dirname(module) == folder}
    if not left:
        fail(f"there are no files in {folder}")
    while left:
        line = {come for come in left if not any((come, to) in pairs for to in left)}
        if not line:
            fail(f"{folder}: a circle")
        print(" ".join(sorted(map(os.path.basename, line))))
        left -= line


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    root, objects = sys.argv[1:3]
    allowed = read_table(os.path.join(root, "docs/design.md"))
    tables = read_tables(os.path.join(root, "docs/design.md"))
    pairs, modules, declared, pointers, texts = read_includes(root)
    for table in sorted(tables - declared.keys()):
        fail(f"docs/design.md: no header declares {table}")
    needed, defined = read_symbols(find_objects(root, objects, modules), declared, allowed, tables)
    pairs |= needed | read_inline_calls(root, defined) | read_assigned(pointers, texts, tables)
    pairs = {(come, to) for come, to in pairs if come != to}
    if len(sys.argv) == 4:
        print_order(sys.argv[3].rstrip("/"), pairs, modules)
        return

    wrong = set()
    for come, to in pairs:
        here, there = os.path.dirname(come), os.path.dirname(to)
        for folder in (here, there):
            if folder not in allowed:
                fail(f"docs/design.md: its table has no row for {folder}")
        if here != there and there not in allowed[here]:
            wrong.add(f"call {come} {to}")
    wrong |= {f"circle {module}" for module in in_circles(pairs, modules)}
    for line in sorted(wrong):
        print("against docs/design.md:", line)
    print(len(modules), "modules,", len(pairs), "calls,", len(wrong), "wrong")
    sys.exit(wrong != set())


main()

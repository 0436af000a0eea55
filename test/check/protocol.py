# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
"""Whether docs/protocol.md says of each type of message what the library's table of wire types says.

Usage: protocol.py ROWS PROTOCOL_MD

ROWS is what wire_rows prints. Compared are, of section 3, the table of types (number, name, who is
addressed, whether there are fields and a payload, how it travels), and the tables of fields (length
of the header; offset, length and name of each field).
"""

import re
import sys

# Who is addressed, in the words of the document.
ADDRESSED = {
    "stream": "stream",
    "stream, always by hello": "stream",
    "(hello)": "stream",
    "(the ring)": "stream",
    "conn": "conn",
    "conn, or none": "conn-or-none",
    "stream, by the sender's conn id and uid": "sender",
}


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(lines):
    """Each table with the text in front of it and its place: (paragraph, number, rows)."""
    paragraph, table = "", []
    for number, line in enumerate(lines + [""], 1):
        if line.startswith("|"):
            table.append(cells(line))
            continue
        if table:
            yield paragraph, number, table
            table, paragraph = [], ""
        if line.strip():
            paragraph = (paragraph + " " + line.strip()).strip()
        elif not paragraph.endswith(":"):
            if paragraph:
                yield paragraph, number, []
            paragraph = ""


def length_of(text):
    """'4', or '8 x 4'."""
    product = 1
    for factor in text.split(" x "):
        product *= int(factor)
    return product


def read_rows(path):
    types, fields = {}, {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words[0] == "type":
                number, name, length, to, payload, ways = words[1:]
                types[name] = (int(number), to, payload, set(ways.strip(",").split(",")))
                fields[name] = (int(length), [])
            else:
                name, offset, size, field = words[1:]
                fields[name][1].append((int(offset), int(size), field))
    return types, fields


def read_types(lines):
    found = {}
    for _, number, table in tables(lines):
        if table and table[0][0] == "no.":
            for row in table[2:]:
                ways = {way for way in re.findall(r"AM|ring|channel", row[6])}
                payload = "none" if row[5].startswith("no") else \
                    "anywhere" if "still at the sender" in row[5] else "here"
                found[row[1]] = (int(row[0]), ADDRESSED.get(row[2], row[2]), payload, ways, row[4])
    return found


def read_fields(lines):
    found = {}
    for paragraph, number, table in tables(lines):
        head = re.match(r"([A-Z_]+(?:(?:, | and )[A-Z_]+)*)(?: by active message)?, (\d+) bytes"
                        r"(?:, as ([A-Z_]+))?", paragraph)
        if not head:
            continue
        names = re.split(r", | and ", head.group(1))
        if head.group(3):
            rows = found[head.group(3)][1]
        else:
            rows = [(int(row[0]), length_of(row[1]), row[2]) for row in table[2:]]
        for name in names:
            found[name] = (int(head.group(2)), rows)
    return found


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    types, fields = read_rows(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        text = file.read().split("\n")
    start = text.index("### Types")
    middle = text.index("### Fields by type")
    end = text.index("### Hello")
    said_types = read_types(text[start:middle])
    said_fields = read_fields(text[middle:end])

    wrong = []
    for name in sorted(types.keys() | said_types.keys()):
        said, known = said_types.get(name), types.get(name)
        if not said or not known:
            wrong.append(f"{name}: only in {'the document' if said else 'the library'}")
            continue
        if said[:4] != known:
            wrong.append(f"{name}: the table of types says {said[:4]}, the library {known}")
        length, rows = fields[name]
        if (said[4] == "none") != (not rows):
            wrong.append(f"{name}: fields '{said[4]}', but there are {len(rows)}")
        base = (8, [])
        if said_fields.get(name, base) != (length, rows):
            wrong.append(f"{name}: the table of fields says {said_fields.get(name, base)}, "
                         f"the library {(length, rows)}")
    wrong += [f"{name}: has fields, and is no type" for name in said_fields if name not in types]
    print("\n".join(wrong) if wrong else f"{len(types)} types")
    sys.exit(bool(wrong))


main()

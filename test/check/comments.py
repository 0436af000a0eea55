# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
"""Whether the sources and the documents can be read by a stranger, as far as a program can tell.

Usage: comments.py ROOT

In src: no comment has more than 100 columns; each function that a header declares or defines has a
comment in front of it, which says what is returned, if anything is: by @return, or by another
function, as in "as NAME()" or "see NAME"; the comment names the parameters through which something
is returned (*_p), the flags (is_* and the like), those that are compared with NULL and the unit of a
double, or another function that has them; no comment has words that mean another one, such as "of these" or "as above", or says "so many"; and a flag and its
value are on one line. In src and test: no function has more than 60 lines between its braces, a
source file of 80 lines or more has a head comment of its own, no comment has "likewise", "of these"
or "so many", and no file has more than 600 lines. In NEWS and *.md of the root, docs, test and contrib: no line has more than 100 columns,
except in tables (lines that begin with |) and in preformatted text (lines indented by 4, or between
```); and no cell of a table has two sentences.
"""

import glob
import os
import re
import sys

HEAD_LINES = 80
MAX_LINES = 600
MAX_BODY = 60
MAX_COLUMNS = 100
DECLARATION = re.compile(r"^(?!typedef|#|extern|return|else|case|goto|union|enum)"
                         r"(?:[A-Za-z_][\w *]*[ *])(\w+)\(")
# Where the type has a line of its own
NAME = re.compile(r"^([a-z]\w*)\(")
# Lines between a comment and what it is about
BETWEEN = re.compile(r"^(__attribute__\S.*|RI_[A-Z_]+|[a-z_0-9 ]+\*?)$")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
SAYS_RESULT = re.compile(r"@return\b|\b[Aa]s (@ref )?\w+\(\)|\b[Ss]ee (@ref )?\w*_\w+")
# Parameters whose types say nothing of them, and a function that is referred to
NAMED_PARAM = re.compile(r"\*+(\w+_p)\b|\bint ((?:is|has|was|may|can)_\w+)")
OTHER_FUNCTION = re.compile(r"\b\w+\(\)|@ref")
# A pointer, and a number whose unit its name does not say
POINTER_PARAM = re.compile(r"[ *]\*(\w+)(?<!_p)(?=[,)])")
NUMBER_PARAM = re.compile(r"\bdouble \*?(?!\w*(?:seconds|_ns|_us)\b)(\w+)(?<!_p)(?=[,)])")
DEFINITION = re.compile(r"^(?:[A-Za-z_][\w *]*[ *])?(\w+)\([^{};]*\)\n\{\n(.*?)^\}", re.M | re.S)
# Its end, and the next one
SECOND_SENTENCE = re.compile(r"[a-z0-9X)]\. [A-Z]")
# What is understood only by who has read another comment, or the line above. With a noun behind it,
# as in "of both sides", "of both" is understood.
REFUSED = {"likewise": r"\blikewise\b",
           "of these": r"\bof these\b",
           "so many": r"\bso (many|much)\b",
           "of both": r"\bof both\b(?! [a-z])",
           "for it": r"\bfor it,|/\* for it\b",
           "as above": r"\b(as|see) above\b",
           "as these": r"\bas these\b",
           "the latter": r"\bthe latter\b",
           "of those that follow": r"\bof those that follow\b",
           "the same": r"/\*+ the same( (for|of|as|without)\b|,)",
           "...": r"/\*+ \.\.\."}
REFUSED_IN_TESTS = ("likewise", "of these", "so many")
# A flag of an enum whose value is on the next line
VALUE_APART = re.compile(r"^\s+(1 )?<< \d|^\s+1 << \d+,? */\*")


def sources(root, folder, endings):
    for path, _, names in os.walk(os.path.join(root, folder)):
        for name in sorted(names):
            if name.endswith(endings):
                full = os.path.join(path, name)
                with open(full, encoding="utf-8") as file:
                    yield os.path.relpath(full, root), file.read().split("\n")


def functions(lines):
    """Each function with its line, what it returns, and the comment in front of it, or None."""
    for i, line in enumerate(lines):
        found = DECLARATION.match(line)
        if not found and i > 0 and BETWEEN.match(lines[i - 1]):
            found = NAME.match(line)
        if not found:
            continue
        result, above = line[:found.start(1)], i - 1
        while BETWEEN.match(lines[above]):
            result = lines[above] + " " + result
            above -= 1
        comment = None
        if lines[above].rstrip().endswith("*/"):
            first = above
            while not lines[first].lstrip().startswith("/*"):
                first -= 1
            comment = joined("\n".join(lines[first:above + 1]))
        yield i + 1, found.group(1), result.strip(), comment


def joined(comment):
    """A comment as one line."""
    return re.sub(r"\n[ \t]*(\*(?!/))?[ \t]*", " ", comment)


def wrong_functions(path, lines):
    for line, name, result, comment in functions(lines):
        if comment is None:
            yield f"{path}:{line}: {name} has no comment"
        elif not re.search(r"\bvoid$", result) and not SAYS_RESULT.search(comment):
            yield f"{path}:{line}: the comment of {name} does not say what it returns"


def wrong_parameters(path, lines):
    for line, name, _, comment in functions(lines):
        prototype = re.search(rf"\b{name}\(([^{{;]*)", "\n".join(lines[line - 1:line + 9])).group(1)
        if comment is None or OTHER_FUNCTION.search(comment):
            continue
        for found in NAMED_PARAM.finditer(prototype):
            parameter = found.group(1) or found.group(2)
            if not re.search(rf"@(param|a) {parameter}\b", comment):
                yield f"{path}:{line}: the comment of {name} does not name {parameter}"


def bodies(root):
    """The bodies of all functions of src by name."""
    found = {}
    for _, lines in sources(root, "src", (".c", ".h")):
        for function in DEFINITION.finditer("\n".join(lines)):
            found[function.group(1)] = function.group(2)
    return found


def wrong_pointers_and_times(path, lines, body_of):
    """Parameters of which a reader cannot know that they may be NULL, or of what unit they are."""
    for line, name, _, comment in functions(lines):
        prototype = re.search(rf"\b{name}\(([^{{;]*)", "\n".join(lines[line - 1:line + 9])).group(1)
        if comment is None or OTHER_FUNCTION.search(comment):
            continue
        for found in POINTER_PARAM.finditer(prototype):
            is_compared = rf"(?<![*>.\w]){found.group(1)} [!=]= NULL"
            if "NULL" not in comment and re.search(is_compared, body_of.get(name, "")):
                yield f"{path}:{line}: the comment of {name} does not say what a {found.group(1)} " \
                      "of NULL is"
        for found in NUMBER_PARAM.finditer(prototype):
            if not re.search(rf"\b{found.group(1)}\b", comment):
                yield f"{path}:{line}: the comment of {name} does not say what unit " \
                      f"{found.group(1)} has"


def has_head(lines):
    """Whether there is a comment on the whole file, in the block of the licence or behind it."""
    licence = next((i for i, line in enumerate(lines) if line.endswith("*/")), 0)
    return licence > 3 or any(line.startswith("/*") for line in lines[licence + 1:licence + 3])


def refused_words(path, lines, refused):
    text = "\n".join(lines)
    for comment in COMMENT.finditer(text):
        for words, pattern in refused.items():
            if re.search(pattern, joined(comment.group()), re.I):
                line = text.count("\n", 0, comment.start()) + 1
                yield f"{path}:{line}: '{words}' needs another comment to be understood"


def documents(root):
    yield from (os.path.join(root, name) for name in ("README.md", "NEWS"))
    for folder in ("docs", "test", "contrib"):
        yield from sorted(glob.glob(os.path.join(root, folder, "**", "*.md"), recursive=True))


def wrong_lines(root):
    for path in filter(os.path.exists, documents(root)):
        place, fenced = os.path.relpath(path, root), False
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file.read().split("\n"), 1):
                is_fence = line.lstrip().startswith("```")
                fenced ^= is_fence
                if fenced or is_fence or line.startswith("    "):
                    continue
                if line.startswith("|"):
                    if SECOND_SENTENCE.search(re.sub("`[^`]*`", "X", line)):
                        yield f"{place}:{number}: a cell with two sentences"
                elif len(line) > MAX_COLUMNS:
                    yield f"{place}:{number}: {len(line)} columns"


def long_comments(path, lines):
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS and re.match(r"\s*(/\*|\*)", line):
            yield f"{path}:{number}: {len(line)} columns"


def wrong_fields(path, lines):
    for number, line in enumerate(lines, 1):
        if VALUE_APART.search(line):
            yield f"{path}:{number}: put the comment above the flag, so that its value is beside it"


def long_functions(path, lines):
    """Bodies: from a brace in column 0 to the next one; or in column 4, within a class."""
    begin = {}
    for number, line in enumerate(lines, 1):
        indent = line[:-1]
        if indent not in ("", "    "):
            continue
        if line.endswith("{"):
            begin[indent] = number
        elif line.endswith("}") and indent in begin:
            length = number - begin.pop(indent) - 1
            if length > MAX_BODY:
                yield f"{path}:{number - length - 1}: a function of {length} lines"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = sys.argv[1]
    wrong = []
    body_of = bodies(root)
    for path, lines in sources(root, "src", (".c", ".h")):
        wrong += long_comments(path, lines)
        if path.endswith(".h"):
            wrong += wrong_functions(path, lines)
            wrong += wrong_parameters(path, lines)
            wrong += wrong_pointers_and_times(path, lines, body_of)
            wrong += wrong_fields(path, lines)
        wrong += long_functions(path, lines)
        wrong += refused_words(path, lines, REFUSED)
    for path, lines in sources(root, "test", (".c", ".h", ".cc")):
        wrong += long_functions(path, lines)
        wrong += refused_words(path, lines, {words: REFUSED[words] for words in REFUSED_IN_TESTS})
    for folder in ("src", "test"):
        for path, lines in sources(root, folder, (".c", ".cc")):
            if len(lines) > HEAD_LINES and not has_head(lines):
                wrong.append(f"{path}: {len(lines)} lines, and no head comment")
    for folder in ("src", "test"):
        for path, lines in sources(root, folder, (".c", ".h", ".cc", ".hh", ".sh", ".test", ".py")):
            if len(lines) - 1 > MAX_LINES:
                wrong.append(f"{path}: {len(lines) - 1} lines")
    wrong += wrong_lines(root)
    print("\n".join(wrong))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

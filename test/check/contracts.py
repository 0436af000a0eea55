# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
"""Whether the comments of functions say what the source does with memory and the worker's lock.

Usage: contracts.py ROOT

src/ucp/core/types/types.h has the rules that hold of all functions. Functions that a header of src
declares or defines, and that are exceptions, have to say so in words of a fixed list:

- A function makes what it returns, by malloc() or by another such function; or its name ends in
  _get or the like, and one beside it in _put. It says whose that is, or what frees it.
- A function frees what it is given, always or sometimes; or it is that in _put. It says that this
  is gone, or given back.
- A function stores a pointer that it is given, in what another parameter points to, and it is no
  object of types.h. It says how long that is kept.
- A function of src/ucp is called without the worker's lock, though it is given something of a
  worker. It says that any thread may call it, that the worker is not locked, that it locks it, or
  that nobody else knows the worker. The lock is followed through all calls by name, from the
  functions that programs call.
- A function calls one that says that it needs the lock of regions, or of the worker for windows,
  and has not locked it. It says that it needs it, too.
"""

import re
import sys

import comments

MAKERS = ("malloc", "calloc", "realloc", "strdup", "strndup", "aligned_alloc", "mmap")
ENDERS = {("free", 0), ("munmap", 0)}
LOCK = {"ri_worker_lock", "ri_worker_enter", "ri_guard_worker", "ri_guard_ep", "rma_enter",
        "rma_enter_conn", "rma_enter_param"}
UNLOCK = {"ri_worker_unlock", "ri_worker_leave", "ri_guard_leave", "rma_leave"}
# Locks that few functions need: what locks, what unlocks, and the words of those that need it
OTHER_LOCKS = (
    ({"ri_window_net_lock"}, {"ri_window_net_unlock"},
     re.compile(r"\b[Tt]he lock (of the worker )?is held\b")),
    ({"ri_region_lock", "ri_region_trylock"}, {"ri_region_unlock"},
     re.compile(r"\b[Tt]he regions are locked\b")),
)
# A worker that has no lock counts as locked: what stands behind "!" of these, up to the end of the
# block or of the branch of "?", and after a block for a worker that has one
FLAGS = r"(!\s*)?[\w>-]*->(?:guarded|observed|multi)\b"

# The words that say it
SAYS_OWNER = re.compile(r"\bfree[sd]?\b|_(free|put|unget|destroy)\(\)|\b(is|are) the \w+'s\b"
                        r"|\bcaller's\b|\bbelongs? to\b|\bowns?\b|\bone reference\b"
                        r"|\b[Aa]s (of )?\w+\(\)")
SAYS_END = re.compile(r"\b[Ff]ree[sd]?\b|\bgone\b|\b[Gg]ive .*\bback\b|\b[Gg]ive up\b"
                      r"|\b[Tt]ake(s|n)?( .*)? over\b|\bdestroy\b|\bnot the caller's\b"
                      r"|'s from here on\b|\bOne user less\b|\bin no list\b")
SAYS_KEPT = re.compile(r"\bkeeps?\b|\bkept\b|\bstays?\b|\buntil\b|\bas long as\b|\bcopied\b"
                       r"|\btaken over\b")
SAYS_LOCK = re.compile(r"\bnot (be )?locked\b|\b[Uu]?n?[Ll]ocks?\b|\bAny thread\b"
                       r"|\b[Nn]obody else knows\b")
SAYS_UNKNOWN = re.compile(r"\b[Nn]obody else knows\b")

# What is left out: comments, attributes, and the contents of strings and character constants
NO_CODE = re.compile(r"/\*.*?\*/|__attribute__\(\(.*?\)\)|"
                     r"'[{}()]'|"
                     r'"(?:[^"\\\n]|\\.)*"', re.S)
DEFINITION = re.compile(r"^(?!typedef|#|extern)((?:[A-Za-z_][\w *\n]*[ *\n])?)(\w+)\(([^{};]*)\)"
                        r"\n\{\n(.*?)^\}", re.M | re.S)
CALL = re.compile(r"(?<![\w.>])(\w+)\(")
# Two functions of one thing, by their names
GIVES = re.compile(r"(.*)_(get|new|make|create|alloc|hold|take)")
TAKES = ("put", "free", "destroy", "unget", "release", "give", "unref")
THREADS = re.compile(r"\b(?:pthread_create\([^,]*,[^,]*, *|atexit\()(\w+)")


class Function:
    """A definition: what it returns, its parameters as text and name, and its calls by name."""

    def __init__(self, path, found):
        self.path, (self.result, self.name, parameters, self.body) = path, found.groups()
        self.parameters = [(text.strip(), (re.findall(r"\w+", text) or [""])[-1])
                           for text in split_arguments(parameters)]
        self.calls = [(call.group(1), split_arguments(self.body[call.end():]))
                      for call in CALL.finditer(self.body)]


def split_arguments(text):
    """What stands between commas, up to the parenthesis that closes the list."""
    depth, found = 0, [""]
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if depth < 0:
            break
        if char == "," and depth == 0:
            found.append("")
        else:
            found[-1] += char
    return [argument.strip() for argument in found]


def read(root):
    """All functions of src by name, and their contracts."""
    functions, contracts = {}, {}
    for path, lines in comments.sources(root, "src", (".c", ".h")):
        text = NO_CODE.sub(" ", "\n".join(lines))
        for found in DEFINITION.finditer(text):
            functions[found.group(2)] = Function(path, found)
        if path.endswith(".h"):
            for line, name, _, comment in comments.functions(lines):
                if comment:
                    contracts[name] = (f"{path}:{line}", comment)
    return functions, contracts


def until_nothing_is_new(step, known):
    """Adds what step finds by what is known, as long as it finds anything."""
    while True:
        size = len(known)
        step(known)
        if len(known) == size:
            return known


def find_makers(functions):
    def step(makers):
        made = rf"(?:\([\w *]+\)\s*)?(?:{'|'.join(makers)})\("
        for function in functions.values():
            body = function.body
            results = r"return\s+%s" if "*" in function.result else r"(?!)%s"
            results += r"|\*\w+_p\s*=\s*%s"
            variables = re.findall(rf"(?:\w \*+|(?<![\w>.*]))(\w+)\s*=\s*{made}", body)
            ways = [made] + [rf"{name}\s*;" for name in variables]
            if any(re.search(results % (way, way), body) for way in ways):
                makers.add(function.name)
    return until_nothing_is_new(step, set(MAKERS))


def find_enders(functions):
    """Pairs of a function and the parameter that it frees."""
    def step(enders):
        for function in functions.values():
            place = {name: i for i, (text, name) in enumerate(function.parameters) if "*" in text}
            for called, arguments in function.calls:
                for i, argument in enumerate(arguments):
                    if (called, i) in enders and argument in place:
                        enders.add((function.name, place[argument]))
    return {name for name, _ in until_nothing_is_new(step, set(ENDERS))}


def find_pairs(functions):
    """Functions that give something, and those of the same name that take such a thing back."""
    gives, takes = set(), set()
    for found in filter(None, map(GIVES.fullmatch, functions)):
        function = functions[found.group()]
        types = set(re.findall(r"(\w+_t) \*$", re.sub(r"\s+", " ", function.result)))
        types |= {kind for text, _ in function.parameters
                  for kind in re.findall(r"(\w+_t) \*\*\w+_p$", text)}
        for word in TAKES:
            taker = functions.get(f"{found.group(1)}_{word}")
            if taker and any(re.search(rf"\b{kind} \*\w+$", text)
                             for text, _ in taker.parameters for kind in types):
                gives.add(function.name)
                takes.add(taker.name)
    return gives, takes


def objects(root):
    """A pattern of pointers to the objects of types.h."""
    for path, lines in comments.sources(root, "src/ucp/core/types", ("types.h",)):
        if path.endswith("/types.h"):
            names = re.findall(r"^typedef struct \w+ (\w+);", "\n".join(lines), re.M)
            return re.compile(rf"\b(?:{'|'.join(names)}) \*")
    return re.compile("(?!)")


def find_keepers(functions, is_object):
    """Functions that store a parameter in what another one points to, with its name."""
    found = {}
    for function in functions.values():
        pointers = [name for text, name in function.parameters if "*" in text]
        for text, name in function.parameters:
            others = "|".join(other for other in pointers if other != name) or "(?!)"
            stored = rf"(?<![\w.>])(?:{others})->[^=;]*[^=!<>;]=\s*{name}\s*;"
            if "*" in text and not is_object.search(text) and re.search(stored, function.body):
                found[function.name] = name
    return found


def walk(function, lock=frozenset(LOCK), unlock=frozenset(UNLOCK)):
    """Each call, with whether the worker is locked if it is not at the start. A block that is left
    by return or goto does not change what holds behind it."""
    locked, outer, body = False, [], function.body
    behind = None  # after a flag, whether the worker is locked behind what it decides
    for token in re.finditer(rf"[{{}}:;]|{FLAGS}|{CALL.pattern}", body):
        called = token.group(2)
        if token.group() == "{":
            outer.append((locked, locked) if behind is None else (before, behind))
            behind = None
        elif token.group() == "}":
            around = outer.pop()
            if re.search(r"\b(return\b[^;]*|goto \w+);\s*$", body[:token.start()]):
                locked = around[1]
            elif around[0] != around[1]:
                locked = around[0]
        elif token.group() in (":", ";"):
            locked = locked if behind is None else behind
            behind = None
        elif called is None:
            before, locked, behind = locked, bool(token.group(1)), not token.group(1)
        elif called in lock:
            locked = True
        elif called in unlock:
            locked = False
        else:
            yield called, locked


def find_unlocked(functions, contracts):
    """Functions that are called without the worker's lock, with who calls them so. Those that are
    given a worker that nobody else knows need no lock for all that they call."""
    called = {name for function in functions.values() for name, _ in function.calls}
    threads = {name for function in functions.values() for name in THREADS.findall(function.body)}
    # Callbacks of stock lock the worker themselves
    new = [(function.name, "programs") for function in functions.values()
           if function.name in threads or function.name.startswith("ucp_") or (
               function.name not in called and (
                   function.path.startswith(("src/ucp/preload", "src/ucp/api")) or
                   any(name in LOCK for name, _ in function.calls)))]
    found = {}
    while new:
        name, by = new.pop()
        if name in functions and name not in found:
            found[name] = by
            if not SAYS_UNKNOWN.search(contracts.get(name, ("", ""))[1]):
                new += [(inner, name) for inner, locked in walk(functions[name]) if not locked]
    return found


def find_without(functions, contracts, lock, unlock, says):
    """Functions that do not say that they need a lock, but call one that does without it. Those
    that no header declares need it if they do that."""
    needs = {name for name, (_, comment) in contracts.items() if says.search(comment)}
    found = {}

    def step(needs):
        for function in functions.values():
            for called, locked in walk(function, lock, unlock):
                if called in needs and not locked and function.name not in needs:
                    if function.name in contracts:
                        found[function.name] = called
                    else:
                        needs.add(function.name)
    until_nothing_is_new(step, needs)
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = sys.argv[1]
    functions, contracts = read(root)
    is_object = objects(root)
    makers, enders = find_makers(functions), find_enders(functions)
    keepers, unlocked = find_keepers(functions, is_object), find_unlocked(functions, contracts)
    gives, takes = find_pairs(functions)
    wrong = []
    for name, (place, comment) in contracts.items():
        if name in makers | gives and not SAYS_OWNER.search(comment):
            wrong.append(f"{place}: {name} makes what it returns, and does not say whose it is")
        if name in enders | takes and not SAYS_END.search(comment):
            wrong.append(f"{place}: {name} may free what it is given, and does not say so")
        if name in keepers and not SAYS_KEPT.search(comment):
            wrong.append(f"{place}: {name} keeps {keepers[name]}, and does not say how long")
        if name in unlocked and functions[name].path.startswith("src/ucp") and \
                any(is_object.search(text) and "ri_context_t" not in text
                    for text, _ in functions[name].parameters) and \
                not SAYS_LOCK.search(comment):
            wrong.append(f"{place}: {name} is called by {unlocked[name]} without the worker's "
                         "lock, and does not say that it may be")
    for lock, unlock, says in OTHER_LOCKS:
        for name, called in find_without(functions, contracts, lock, unlock, says).items():
            wrong.append(f"{contracts[name][0]}: {name} calls {called} without its lock, and "
                         "does not say that it needs that")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
"""Which tests cover which source file.

Usage: tests_map.py TOP [NAME...]

Each source file of src has tests: test_<file>*.cc in its own folder below test/gtest/unit, where
the file's name may have that of its folder before it (uct/ib/ud/test_ud_wire.cc tests ud/ud_wire.c),
or what a line of test/gtest/unit/map.tsv names. A test belongs to the source file with the longest
name that it begins with: test_rtr_state.cc to rtr_state.c, and not to rtr.c. A source file is a .c
file, or a header that has functions and no .c file of its name.

A unit test in a line of map.tsv includes the header of the source, or names a function, a macro or
a table of it, by itself or in a header of the tests that it includes. If it runs the source without
a name of it, a comment there names the file: src/ucp/link/way_use.h, or way_use.h if no other source
file is called so. (gcov tells whether it does run it.) There is no mark for a test that does not.

What comments of tests say of files below src must be there, too.

Prints what is wrong, one line each, and exits with 1 if there is anything. With names of source
files, as conn or ucp/core/conn.c, it prints their tests instead.
"""
import fnmatch
import glob
import os
import re
import sys

sys.dont_write_bytecode = True
from names import functions    # noqa: E402

TABLE = 'test/gtest/unit/map.tsv'
TEST_FOLDERS = ('test', 'test/gtest', 'test/gtest/unit')  # includes begin there, too
PROGRAMS = ('test/gtest/unit', 'test/gtest/ucp')  # a name is looked for in this order
SCRIPTS = 'test/check'


def files_below(folder, ending):
    for path, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith(ending):
                yield os.path.relpath(os.path.join(path, name), folder)


def source_files(top):
    """Paths below src, without their ending."""
    found = {path[:-2] for path in files_below(os.path.join(top, 'src'), '.c')}
    for path in files_below(os.path.join(top, 'src'), '.h'):
        with open(os.path.join(top, 'src', path)) as header:
            if path[:-2] not in found and re.search('^static inline', header.read(), re.M):
                found.add(path[:-2])
    return sorted(found)


def names_of(top, source):
    """What others can name of a source file: functions, macros with arguments, and variables."""
    found = set()
    for ending in ('.c', '.h'):
        path = os.path.join(top, 'src', source + ending)
        if os.path.exists(path):
            with open(path) as file:
                text = file.read()
            found.update(functions(text, ending == '.h'))
            found.update(re.findall(r'^(?:extern|const) [^;(={]*?\b(\w+)(?:\[\w*\])*(?: =|;)', text, re.M))
            if ending == '.h':
                found.update(re.findall(r'^# *define (\w+)\(', text, re.M))
    return found


def text_of(top, path, seen):
    """A test with the headers of tests that it includes, but for ri_cpp.h, which includes all."""
    if path in seen:
        return ''
    seen.add(path)
    with open(os.path.join(top, path)) as file:
        text = file.read()
    for include in re.findall(r'#include "([^"]+)"', text):
        for folder in (os.path.dirname(path),) + TEST_FOLDERS:
            header = os.path.normpath(os.path.join(folder, include))
            if (header.startswith('test/') and os.path.exists(os.path.join(top, header)) and
                    not header.endswith('ri_cpp.h')):
                text += text_of(top, header, seen)
                break
    return text


class Map:
    def __init__(self, top):
        self.top = top
        self.sources = source_files(top)
        self.errors = []
        self.unit = {os.path.basename(path)[:-3]: path
                     for path in files_below(os.path.join(top, PROGRAMS[0]), '.cc')
                     if os.path.basename(path).startswith('test_')}
        self.tests = {source: [] for source in self.sources}  # lists of paths below TOP
        self.by_name()
        self.by_table()
        self.complete()
        self.comments()

    def by_name(self):
        for name, path in sorted(self.unit.items()):
            begun = []  # what it begins with, and of which file that is the name
            for source in self.sources:
                folder, word = os.path.split(source)
                word = word.replace('ucxri_', '')
                if folder == os.path.dirname(path):
                    begun += [(len(w), source)
                              for w in (word, os.path.basename(folder) + '_' + word)
                              if (name + '_').startswith(f'test_{w}_')]
            if begun:
                self.tests[max(begun)[1]].append(os.path.join(PROGRAMS[0], path))

    def find_test(self, name):
        if name in self.unit:
            return os.path.join(PROGRAMS[0], self.unit[name])
        for path in (os.path.join(PROGRAMS[1], name + '.cc'),
                     os.path.join(SCRIPTS, name + '.test')):
            if os.path.exists(os.path.join(self.top, path)):
                return path
        return None

    def find_sources(self, key):
        """key: the end of a path, as conn or core/conn"""
        return [s for s in self.sources if s == key or s.endswith('/' + key)]

    def by_table(self):
        with open(os.path.join(self.top, TABLE)) as table:
            lines = table.read().splitlines()
        seen = set()
        for number, line in enumerate(lines, 1):
            if not line or line.startswith('#'):
                continue
            where = f'{TABLE}:{number}: '
            key, _, names = line.partition('\t')
            sources = self.find_sources(key)
            if len(sources) != 1:
                self.errors.append(
                    where + (f"'{key}' is {' and '.join(sources)}: write more of its path" if sources
                             else f"there is no source file '{key}': write its new name, or take "
                             'the line out'))
                continue
            if key in seen:
                self.errors.append(where + f"'{key}' has a line already: write one")
            seen.add(key)
            for name in names.split():
                test = self.find_test(name)
                if test is None:
                    self.errors.append(
                        where + f"there is no {name}.cc in {' or '.join(PROGRAMS)}, and no "
                        f'{SCRIPTS}/{name}.test: write the name that it has now')
                elif test in self.tests[sources[0]]:
                    self.errors.append(
                        where + f'{name} is of {key} by its name, or named twice: take it out')
                else:
                    self.tests[sources[0]].append(test)
                    self.check_names(where, name, test, sources[0])

    def check_names(self, where, name, test, source):
        """Whether a unit test names anything of a source."""
        if not test.startswith(PROGRAMS[0]):
            return
        text = text_of(self.top, test, set())
        header = re.escape(os.path.basename(source)) + r'\.h"'
        if not (re.search(r'#include "(?:[^"]*/)?' + header, text) or
                any(re.search(rf'\b{word}\b', text) for word in names_of(self.top, source)) or
                self.is_said(text, source)):
            self.errors.append(where + f'{name} neither includes the header of {source} nor names a '
                               'function of it: write its tests, or say in a comment of it that it '
                               f'runs src/{source}.c')

    def is_said(self, text, source):
        """Whether a text names a file of the source."""
        for word in re.findall(r'[\w/*]+(?=\.(?:[ch]\b|\[hc\]))', text):
            if word.startswith('src/'):
                if fnmatch.fnmatch(source, word[len('src/'):]):
                    return True
            elif '*' not in word and self.find_sources(word) == [source]:
                return True
        return False

    def complete(self):
        for source, tests in self.tests.items():
            if not tests:
                word = os.path.basename(source)
                self.errors.append(
                    f'src/{source}: no test: write {PROGRAMS[0]}/{os.path.dirname(source)}/'
                    f"test_{word}.cc, or the line '{word}<tab>test_...' into {TABLE}")
        named = {test for tests in self.tests.values() for test in tests}
        for name, path in sorted(self.unit.items()):
            path = os.path.join(PROGRAMS[0], path)
            if path not in named:
                self.errors.append(
                    f'{path}: of no source file: call it test_<file>*.cc, in the folder of that '
                    f"file, or add '{name}' to the line of what it tests in {TABLE}")

    def comments(self):
        """Paths as src/ucs/log.c, src/ucs/log.[hc] and src/ucp/proto/coop/coop*.c"""
        for path in files_below(os.path.join(self.top, PROGRAMS[0]), ('.cc', '.h')):
            path = os.path.join(PROGRAMS[0], path)
            with open(os.path.join(self.top, path)) as file:
                for number, line in enumerate(file, 1):
                    for name in re.findall(r'\bsrc/[\w/*]+\.(?:\[hc\]|[hc]\b)', line):
                        if not glob.glob(os.path.join(self.top, name)):
                            self.errors.append(f'{path}:{number}: there is no {name}: write its '
                                               'new path')


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    tests = Map(sys.argv[1])
    if len(sys.argv) == 2:
        print('\n'.join(tests.errors), end='\n' if tests.errors else '')
        sys.exit(bool(tests.errors))
    for key in sys.argv[2:]:
        for source in tests.find_sources(re.sub(r'^src/|\.[ch]$', '', key)):
            print(f"src/{source}: {' '.join(tests.tests[source]) or 'none'}")


if __name__ == '__main__':
    main()

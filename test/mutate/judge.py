# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
"""Builds a program with a mutation in it and has the tests judge it.

All of it happens in a directory of its own: a copy of the sources, a build tree, objects.
"""
import fnmatch
import os
import re
import resource
import shutil
import signal
import subprocess
import time

FITTING = ['-Werror=incompatible-pointer-types', '-Werror=int-conversion',
           '-Werror=implicit-function-declaration', '-Werror=return-type']
FAILED = re.compile(r'^(?:\[  FAILED  \] ([\w/.]+)|not ok \d+ - (.+))', re.M)
RUNNING = re.compile(r'^\[ RUN      \] ([\w/.]+)', re.M)
PASSED = re.compile(r'^(?:\[       OK \] |ok \d+ - (?!.*# SKIP))', re.M)

LEAKS = '(status 23)'  # all tests have passed, and LeakSanitizer has found something behind them
UNSTEADY_MAX = 3  # tests that fail without a mutation as well


class Failure(Exception):
    """Nothing can be judged."""


class Suite:
    """A program of tests and how it is run."""

    def __init__(self, name, command, setting=None, paths=('*',), first=(),
                 others=None, script=False, first_only=False, limited=True):
        self.name = name
        self.command = command
        self.setting = setting or {}
        self.paths = paths  # of the sources that it is for
        self.first = first  # parts that are run before the others: filters of GoogleTest
        self.others = others or {}  # filters of tests that concern no sources but some
        self.script = script  # it knows no filters
        self.first_only = first_only
        self.limited = limited  # has the limit of memory
        self.limit = 0

    def concerns(self, path):
        return any(fnmatch.fnmatch(path, pattern) for pattern in self.paths)


class Verdict:
    """What became of a mutation: a state (caught, lived, unclear, broken, same) and by whom."""

    def __init__(self, state, by='', suite=''):
        self.state = state
        self.by = by
        self.suite = suite


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors='replace', check=False, **options)
    return done.returncode, done.stdout


def must(command, what, **options):
    status, output = run(command, **options)
    if status != 0:
        raise Failure('%s failed:\n%s' % (what, '\n'.join(output.split('\n')[-25:])))
    return output


def can_separate():
    """Whether processes and /dev/shm of its own can be given to a test."""
    return shutil.which('unshare') and run(['unshare', '-m', '-p', '-i', '-f', '--kill-child',
                                            '--mount-proc', 'true'])[0] == 0


def objects_equal(one, other):
    """Whether two objects without debug information have the same code and data."""
    with open(one, 'rb') as a, open(other, 'rb') as b:
        return a.read() == b.read()


class Tree:
    """What is common to the library's tree and the example's: a copy, and tests with a limit."""

    def __init__(self, root, directory):
        self.root = root
        self.dir = directory
        self.source = os.path.join(directory, 'source')
        self.env = {name: value for name, value in os.environ.items()
                    if not re.match(r'UCX_|UCXRI_|GTEST_|SOFTHCA_|LD_PRELOAD', name)}
        self.env['CCACHE_BASEDIR'] = directory
        self.env['CCACHE_NOHASHDIR'] = '1'
        self.env['LC_ALL'] = 'C'
        if os.path.isdir('/usr/lib/ccache'):
            self.env['PATH'] = '/usr/lib/ccache:' + self.env['PATH']
        self.separate = can_separate()
        self.chosen = None  # only these tests: a filter of GoogleTest
        self.limit = 0      # seconds in which a suite says nothing; 0: by its longest silence
        self.suites = []
        self.passed = 0     # tests of the latest run
        self.silence = 0    # seconds in which it said nothing, at most
        self.unsteady = []  # tests that were left out
        self.memory = 0     # bytes of addresses that each process of a test may have; 0: any number

    def copy(self, files):
        """Bring the copy up to date; what has not changed keeps its time."""
        wanted = set(files)
        for name in files:
            source, target = os.path.join(self.root, name), os.path.join(self.source, name)
            with open(source, 'rb') as file:
                content = file.read()
            try:
                with open(target, 'rb') as file:
                    if file.read() == content:
                        continue
            except OSError:
                os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(source, target)
            shutil.copymode(source, target)
        listed = os.path.join(self.dir, 'copied')
        if os.path.exists(listed):
            with open(listed, encoding='utf-8') as file:
                for name in set(file.read().split('\n')) - wanted - {''}:
                    if os.path.exists(os.path.join(self.source, name)):
                        os.remove(os.path.join(self.source, name))
        with open(listed, 'w', encoding='utf-8') as file:
            file.write('\n'.join(files))

    def text(self, path):
        with open(os.path.join(self.source, path), encoding='utf-8') as file:
            return file.read()

    def write(self, path, text):
        with open(os.path.join(self.source, path), 'w', encoding='utf-8') as file:
            file.write(text)

    def test(self, suite, limit, filters=None, mutated=True):
        """Run a suite. @return None if it passed, or what failed."""
        command = suite.command(mutated)
        if filters and not suite.script:
            command = command + ['--gtest_filter=' + filters]
        if self.separate:
            command = ['unshare', '-m', '-p', '-i', '-f', '--kill-child', '--mount-proc', 'sh', '-c',
                       'mount -t tmpfs %s tmpfs /dev/shm && exec "$@"' %
                       ('-o size=%d' % self.memory if self.memory else ''), 'sh'] + command
        env = dict(self.env, **suite.setting)
        with open(os.path.join(self.dir, 'test.log'), 'w+', errors='replace',
                  encoding='utf-8') as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                       env=env, cwd=self.dir, start_new_session=True,
                                       preexec_fn=self.limit_memory if suite.limited else None)
            try:
                status = self.wait(process, log, limit)
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except OSError:
                    pass
                process.wait()
            log.seek(0)
            output = log.read()
        failed = FAILED.search(output)
        self.passed = len(PASSED.findall(output))
        running = RUNNING.findall(output)
        last = running[-1] if running else suite.name
        if failed:
            return failed.group(1) or failed.group(2)
        if status is None:
            return last + ' (hangs)'
        if status != 0:
            return '%s (%s)' % (last, 'signal %d' % -status if status < 0 else 'status %d' % status)
        return None

    def limit_memory(self):
        """What a test has mapped ends here: a mutation may make it take all that the machine has."""
        if self.memory:
            resource.setrlimit(resource.RLIMIT_AS, (self.memory, self.memory))

    def wait(self, process, log, limit):
        """Wait for a suite. @return Its exit code, or None: it has said nothing for `limit` seconds."""
        size, since = -1, 0
        self.silence = 0
        while True:
            now = os.fstat(log.fileno()).st_size
            if now != size:
                size, since = now, time.monotonic()
            self.silence = max(self.silence, time.monotonic() - since)
            if self.silence > limit:
                return None
            try:
                return process.wait(0.5)
            except subprocess.TimeoutExpired:
                pass

    def judge(self, mutation):
        """Build and test a mutation."""
        text = self.text(mutation.path)
        try:
            self.write(mutation.path, mutation.apply(text.rstrip('\n').split('\n')))
            state = self.compile(mutation.path)
            if state:
                return Verdict(state)
        finally:
            self.write(mutation.path, text)
        self.link()
        ran = 0
        self.unsteady = []
        for suite in self.suites:
            if not suite.concerns(mutation.path):
                continue
            parts = [self.chosen] if self.chosen else self.parts(suite, mutation.path)
            passed = 0
            for part in parts:
                by = self.failure(suite, part)
                if by:
                    return by
                passed += self.passed
            if not self.chosen and not suite.first_only:
                self.must_have_run(suite, passed)
            ran += passed
        if not any(suite.concerns(mutation.path) for suite in self.suites):
            return Verdict('unclear', 'no suite is for it')
        if not ran and self.chosen:
            raise Failure('no suite has such tests')
        but = ', but %s does now and then' % ', '.join(self.unsteady) if self.unsteady else ''
        return Verdict('lived', 'no test of %d fails%s' % (ran, but))

    def must_have_run(self, suite, passed):
        """A suite that has run nothing says nothing of a mutation."""
        if not passed:
            raise Failure('%s has run no test; its output is in %s/test.log' %
                          (suite.name, self.dir))

    def failure(self, suite, part):
        """Run a part of a suite. @return A verdict, if a test fails because of the mutation.

        A test that fails for other reasons is left out: the tests behind it have not been run."""
        unsteady = []
        while True:
            by = self.test(suite, suite.limit, self.without(suite, part, unsteady))
            if not by:
                self.unsteady += unsteady
                return None
            passed = self.passed
            if self.is_steady(suite, part, by):
                return Verdict('caught', '%s: %s' % (suite.name, by), suite.name)
            self.passed = passed
            unsteady.append(by.split(' ')[0])
            if suite.script or len(unsteady) > UNSTEADY_MAX:
                return Verdict('unclear', '%s fails now and then: %s' %
                               (suite.name, ', '.join(unsteady)))

    @staticmethod
    def without(suite, part, names):
        """The filter of a part, without some tests."""
        if not names:
            return part
        if part is None:
            own = [word for word in suite.command(True) if word.startswith('--gtest_filter=')]
            part = own[-1].split('=', 1)[1] if own else '*'
        return part + (':' if '-' in part else '-') + ':'.join(names)

    def is_steady(self, suite, part, by):
        """Whether what failed passes without the mutation, and does not pass with it."""
        if suite.script:
            return not self.test(suite, suite.limit, None, False) and \
                bool(self.test(suite, suite.limit))
        name = by.split(' ')[0]
        if (name == suite.name) or by.endswith(LEAKS):
            return not self.test(suite, suite.limit, part, False)
        return not self.test(suite, suite.limit, name, False) and \
            bool(self.test(suite, suite.limit, name) or self.test(suite, suite.limit, part))

    def parts(self, suite, path):
        """The filters with which a suite is run, those tests first that concern a file."""
        patterns = self.tests_of(path) or self.tests_by_name(suite, path)
        if not suite.first:
            return [None]
        left_out = [pattern for pattern, sources in suite.others.items()
                    if not any(fnmatch.fnmatch(path, source) for source in sources)]
        if not patterns:
            return ['-' + ':'.join(left_out)]
        others = '-' + ':'.join(patterns + left_out)
        return [':'.join(patterns)] + ([] if suite.first_only else [others])

    def tests_of(self, path):
        """Filters of the tests that are known to concern a file."""
        return []

    @staticmethod
    def tests_by_name(suite, path):
        """Filters of the tests whose names begin like a file's."""
        words = re.sub(r'\.[ch]$', '', os.path.basename(path)).split('_')
        room = os.path.basename(os.path.dirname(path))
        patterns = []
        for name in ['_'.join([room] + words)] + ['_'.join(words[:count])
                                                  for count in range(len(words), 0, -1)]:
            pattern = 'test_' + name
            if any(name.startswith(pattern) for name in suite.first):
                patterns.append('*' + pattern + '*')
                break
        return patterns

    def measure(self):
        """See the suites pass, and how long they say nothing."""
        for suite in self.suites:
            if self.chosen or self.limit:
                suite.limit = self.limit or 300
                continue
            by = self.test(suite, 1800, None, False)
            if by:
                raise Failure('%s fails without a mutation: %s' % (suite.name, by))
            self.must_have_run(suite, self.passed)
            suite.limit = 60 + 5 * self.silence


class Example(Tree):
    """A file and its test program, in test/mutate/example."""

    def __init__(self, root, directory):
        super().__init__(root, directory)
        self.folder = 'test/mutate/example'
        self.program = [os.path.join(directory, name) for name in ('original', 'mutated')]
        self.suites = [Suite('clamp_test', lambda mutated: [self.program[mutated]])]

    def files(self):
        return [self.folder + '/clamp.c']

    def prepare(self):
        names = os.listdir(os.path.join(self.root, self.folder))
        self.copy(sorted(self.folder + '/' + name for name in names))
        self.object('clamp_test.c', 'test.o')
        self.object('clamp.c', 'original.o')
        self.link_one('original.o', self.program[0])
        self.measure()
        for suite in self.suites:
            suite.limit = 5

    def object(self, name, target):
        return run(['gcc', '-O2', '-g0', '-c', '-o', target,
                    os.path.join(self.source, self.folder, name)] + FITTING, cwd=self.dir)

    def link_one(self, name, program):
        must(['gcc', '-o', program, name, 'test.o'], 'the link', cwd=self.dir)

    def compile(self, path):
        status, _ = self.object(os.path.basename(path), 'mutated.o')
        if status != 0:
            return 'broken'
        same = objects_equal(os.path.join(self.dir, 'original.o'),
                             os.path.join(self.dir, 'mutated.o'))
        return 'same' if same else ''

    def link(self):
        self.link_one('mutated.o', self.program[1])

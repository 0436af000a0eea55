# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
"""Builds a program with a mutation in it and has the tests judge it.

All of it happens in a directory of its own: a copy of the sources, a build tree, objects.
"""
import fnmatch
import os
import re
import shlex
import shutil
import signal
import subprocess
import time

FITTING = ['-Werror=incompatible-pointer-types', '-Werror=int-conversion',
           '-Werror=implicit-function-declaration', '-Werror=return-type']
FAILED = re.compile(r'^\[  FAILED  \] ([\w/.]+)', re.M)
RUNNING = re.compile(r'^\[ RUN      \] ([\w/.]+)', re.M)


class Failure(Exception):
    """Nothing can be judged."""


class Suite:
    """A program of tests and how it is run."""

    def __init__(self, name, command, setting=None, paths=('*',), first=(),
                 others=None):
        self.name = name
        self.command = command
        self.setting = setting or {}
        self.paths = paths  # of the sources that it is for
        self.first = first  # parts that are run before the others: filters of GoogleTest
        self.others = others or {}  # tests that concern no sources but these
        self.limit = 0

    def concerns(self, path):
        return any(fnmatch.fnmatch(path, pattern) for pattern in self.paths)


class Verdict:
    """What became of a mutation: a state (caught, lived, broken, same) and by whom."""

    def __init__(self, state, by=''):
        self.state = state
        self.by = by


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
        self.limit = 0      # of a suite, in seconds; 0: by how long it takes
        self.suites = []

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
        if filters:
            command = command + ['--gtest_filter=' + filters]
        if self.separate:
            command = ['unshare', '-m', '-p', '-i', '-f', '--kill-child', '--mount-proc', 'sh', '-c',
                       'mount -t tmpfs tmpfs /dev/shm && exec "$@"', 'sh'] + command
        env = dict(self.env, **suite.setting)
        with open(os.path.join(self.dir, 'test.log'), 'w+', errors='replace',
                  encoding='utf-8') as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                       env=env, cwd=self.dir, start_new_session=True)
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except OSError:
                    pass
                process.wait()
            log.seek(0)
            output = log.read()
        failed = FAILED.search(output)
        running = RUNNING.findall(output)
        last = running[-1] if running else suite.name
        if failed:
            return failed.group(1)
        if status is None:
            return last + ' (hangs)'
        if status != 0:
            return '%s (%s)' % (last, 'signal %d' % -status if status < 0 else 'status %d' % status)
        return None

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
        for suite in self.suites:
            if not suite.concerns(mutation.path):
                continue
            parts = [self.chosen] if self.chosen else self.parts(suite, mutation.path)
            for part in parts:
                by = self.test(suite, suite.limit, part)
                if by and self.is_steady(suite, by):
                    return Verdict('caught', '%s: %s' % (suite.name, by))
        return Verdict('lived')

    def is_steady(self, suite, by):
        """Whether the test that failed passes without the mutation."""
        name = by.split(' ')[0]
        return name == suite.name or not self.test(suite, suite.limit, name, False)

    def parts(self, suite, path):
        """The filters with which a suite is run, those tests first that concern a file."""
        words = re.sub(r'\.[ch]$', '', os.path.basename(path)).split('_')
        patterns = []
        for count in range(len(words), 0, -1):
            pattern = 'test_' + '_'.join(words[:count])
            if any(name.startswith(pattern) for name in suite.first):
                patterns.append('*' + pattern + '*')
                break
        if not suite.first:
            return [None]
        left_out = [pattern for source, pattern in suite.others.items()
                    if not fnmatch.fnmatch(path, source)]
        if not patterns:
            return ['-' + ':'.join(left_out)]
        return [patterns[0], '-' + ':'.join(patterns + left_out)]

    def measure(self):
        """See the suites pass, and how long they take."""
        for suite in self.suites:
            if self.chosen or self.limit:
                suite.limit = self.limit or 300
                continue
            began = time.monotonic()
            by = self.test(suite, 1800, None, False)
            if by:
                raise Failure('%s fails without a mutation: %s' % (suite.name, by))
            suite.limit = 60 + 5 * (time.monotonic() - began)


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


class Library(Tree):
    """The library and its gtest programs."""

    def __init__(self, root, directory, jobs, names, build=None):
        super().__init__(root, directory)
        self.jobs = jobs
        self.names = names
        self.folders = ('src/ucp', 'src/uct')
        self.build = build or os.path.join(directory, 'build')
        self.configured = root if build else self.source
        self.libraries = []
        self.programs = []
        self.objects = {}  # path: the object without and with a mutation
        self.now = {}      # path: the object that is to be linked in place of the original
        self.compiler = []

    def files(self):
        listed = must(['git', '-C', self.root, 'ls-files', '-co', '--exclude-standard'], 'git')
        names = [name for name in listed.split('\n') if name.startswith(self.folders)]
        return [name for name in names if name.endswith(('.c', '.h'))
                and os.path.exists(os.path.join(self.root, name))]

    def make(self, *arguments):
        return must(['make', '-j%d' % self.jobs, '-C', self.build] + list(arguments), 'make',
                    env=self.env)

    def prepare(self):
        listed = must(['git', '-C', self.root, 'ls-files', '-co', '--exclude-standard'], 'git')
        self.copy([name for name in listed.split('\n')
                   if name and os.path.isfile(os.path.join(self.root, name))])
        if self.configured == self.source:
            self.configure()
        ucp = {'ucp', 'ucp_rtr', 'ucp_rc', 'ucp_ud'} & set(self.names)
        self.programs = ['gtest_unit'] + (['libucxri.so'] if ucp else [])
        self.make('-C', 'src')
        needs_hca = {'rc', 'ucp_rc', 'ucp_ud'} & set(self.names)
        self.make('-C', 'test', 'gtest/gtest_unit',
                  *(['gtest/gtest_ucp'] if ucp else []),
                  *(['bin/libsofthca.so'] if needs_hca else []))
        self.find_command()
        self.keep_originals()
        self.link_tests()
        self.set_suites()
        self.measure()

    def configure(self):
        os.makedirs(self.build, exist_ok=True)
        if not os.path.exists(os.path.join(self.source, 'configure')):
            must(['./autogen.sh'], 'autogen.sh', cwd=self.source, env=self.env)
        if not os.path.exists(os.path.join(self.build, 'config.status')):
            must([os.path.join(self.source, 'configure'), 'CXXFLAGS=-O0 -g1', 'CFLAGS=-O2'],
                 'configure', cwd=self.build, env=self.env)

    def source_paths(self):
        with open(os.path.join(self.source, 'src/sources.am'), encoding='utf-8') as file:
            lists = re.sub(r'\\\n', ' ', file.read())
        return re.search(r'^UCXRI_SRCS = (.*)$', lists, re.M).group(1).split()

    def link_tests(self):
        """Put what the unit tests consist of, but for the library, into one object."""
        output = must(['make', '-n', 'V=1', '-W', '../src/libucxri_test.la', '-C',
                       os.path.join(self.build, 'test'), 'gtest/gtest_unit'], 'make -n',
                      env=self.env)
        words = shlex.split([line for line in output.split('\n') if '--mode=link' in line][-1])
        objects = [word for word in words if word.endswith('.o')]
        self.libraries = [word for word in words if re.match(r'-l|-L|-Wl|.*\.so$', word)]
        must(['g++', '-r', '-nostdlib', '-o', os.path.join(self.dir, 'tests.o')] + objects +
             ['-Wl,--whole-archive', '../src/.libs/libucxri_perf.a', '-Wl,--no-whole-archive'],
             'the link of the tests', cwd=os.path.join(self.build, 'test'), env=self.env)
        for name in self.programs:
            for mutated in (False, True):
                self.link_one(name, mutated, {})

    def path(self, name):
        return os.path.join(self.source, name)

    def original(self, name):
        return os.path.join(self.dir, 'objects', name.replace('/', '.') + '.o')

    def keep_originals(self):
        """The build tree may go on meanwhile."""
        os.makedirs(os.path.join(self.dir, 'objects'), exist_ok=True)
        for name in self.source_paths():
            folder, file = os.path.split(name)
            shutil.copyfile(os.path.join(self.build, 'src', folder, '.libs', file[:-2] + '.o'),
                            self.original(name))

    def output(self, name, mutated):
        folder = os.path.join(self.dir, 'mutated' if mutated else 'original')
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, name)

    def link_one(self, name, mutated, changed):
        objects = [changed.get('src/' + source, self.original(source))
                   for source in self.source_paths()]
        target = self.output(name, mutated)
        if name == 'gtest_unit':
            command = ['g++', '-fuse-ld=gold', '-o', target, os.path.join(self.dir, 'tests.o')]
            command += objects + self.libraries + ['-lpthread', '-lm']
        else:
            command = ['gcc', '-shared', '-o', target] + objects
            command += ['-Wl,--version-script=' + self.path('src/libucxri.map'), '-ldl',
                        '-lpthread', '-lrt']
        must(command, 'the link of ' + name, cwd=self.build, env=self.env)

    def find_command(self):
        """Ask once how sources are compiled: the build tree may change meanwhile."""
        name = self.source_paths()[0]
        output = must(['make', '-n', 'V=1', '-W', os.path.join(self.configured, 'src', name), '-C',
                       os.path.join(self.build, 'src'), name[:-2] + '.lo'], 'make -n', env=self.env)
        line = [line for line in output.split('\n') if '--mode=compile' in line][-1]
        words = [word.replace(self.configured + '/src', self.source + '/src')
                 for word in shlex.split(line.split('--mode=compile')[1].split('&&')[0])]
        self.compiler = words[:words.index('-MT')] + ['-fPIC', '-DPIC', '-g0'] + FITTING

    def object(self, name, target):
        return run(self.compiler + ['-c', self.path('src/' + name), '-o', target],
                   cwd=os.path.join(self.build, 'src'), env=self.env)[0]

    def users(self, path):
        """The sources that a change of a file concerns."""
        if path.endswith('.c'):
            return [path[len('src/'):]]
        users = []
        for name in self.source_paths():
            folder, file = os.path.split(name)
            deps = os.path.join(self.build, 'src', folder, '.deps', file[:-2] + '.Plo')
            with open(deps, encoding='utf-8') as listed:
                if '/' + os.path.basename(path) in listed.read():
                    users.append(name)
        return users

    def compile(self, path):
        self.now = {}
        mutated = self.text(path)
        for name in self.users(path):
            stem = os.path.join(self.dir, 'objects', name.replace('/', '.'))
            os.makedirs(os.path.dirname(stem), exist_ok=True)
            if self.object(name, stem + '.mutated.o') != 0:
                return 'broken'
            self.now['src/' + name] = stem + '.mutated.o'
        original = self.reference(path)
        changed = {name: new for name, new in self.now.items()
                   if not objects_equal(original[name], new)}
        self.write(path, mutated)
        self.now = changed
        return '' if changed else 'same'

    def reference(self, path):
        """The objects of a file's users as they are without a mutation."""
        if path not in self.objects:
            with open(os.path.join(self.root, path), encoding='utf-8') as file:
                self.write(path, file.read())
            self.objects[path] = {}
            for name in self.users(path):
                stem = os.path.join(self.dir, 'objects', name.replace('/', '.'))
                self.object(name, stem + '.original.o')
                self.objects[path]['src/' + name] = stem + '.original.o'
        return self.objects[path]

    def link(self):
        for name in self.programs:
            self.link_one(name, True, self.now)

    def set_suites(self):
        def unit(mutated):
            return [self.output('gtest_unit', mutated), '--gtest_fail_fast']

        ucp = [os.path.join(self.build, 'test/gtest/gtest_ucp'), '--gtest_fail_fast']
        hca = os.path.join(self.build, 'test/bin/libsofthca.so')
        listed = must([self.output('gtest_unit', False), '--gtest_list_tests'], 'the unit tests',
                      env=self.env)
        tests = [re.sub(r'.*/', '', line.strip().rstrip('.')) for line in listed.split('\n')
                 if line and not line.startswith(' ')]

        def preload(mutated):
            return ['/usr/bin/env', 'LD_PRELOAD=' + self.output('libucxri.so', mutated)]

        def over_hca(mutated):
            return ['/usr/bin/env', 'LD_PRELOAD=%s %s' % (self.output('libucxri.so', mutated), hca)]

        on = {'UCX_RNDV_SCHEME': 'recv_init'}
        rdma = dict(on, UCXRI_CMA='n', UCXRI_RING_PEERS='0', UCXRI_IB_DEVICES='softhca0')
        every = {
            'unit': Suite('gtest_unit', unit, first=tests, others={
                'src/uct/ib/*': 'test_ud_explore*:*test_ud_random*:test_reg_cache*'}),
            'rc': Suite('gtest_rc', lambda mutated: ['/usr/bin/env', 'LD_PRELOAD=' + hca] +
                        unit(mutated) + ['--gtest_filter=test_rc_p*:test_rc_n*:*test_ud_*'],
                        paths=('src/uct/ib/*',)),
            'ucp': Suite('gtest_ucp', lambda mutated: preload(mutated) + ucp +
                         ['--gtest_filter=-*killed*:*two_process*'], on),
            'ucp_rtr': Suite('gtest_ucp_rtr', lambda mutated: preload(mutated) + ucp +
                             ['--gtest_filter=*early*/shm:*coop*/shm'], dict(on, UCXRI_RTR='y')),
            'ucp_rc': Suite('gtest_ucp_rc', lambda mutated: over_hca(mutated) + ucp +
                            ['--gtest_filter=*rc_faults*:*rc_peers*:*early*/shm'], rdma,
                            paths=('src/uct/ib/*', 'src/ucp/proto/*')),
            'ucp_ud': Suite('gtest_ucp_ud', lambda mutated: over_hca(mutated) + ucp +
                            ['--gtest_filter=*early*/shm:*tag_large*/shm'],
                            dict(rdma, UCXRI_IB_TRANSPORT='ud'),
                            paths=('src/uct/ib/ud*', 'src/ucp/proto/*')),
        }
        for name in self.names:
            if name not in every:
                raise Failure('no suite %s; there are %s' % (name, ', '.join(every)))
        self.suites = [every[name] for name in self.names]

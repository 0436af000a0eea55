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
FAILED = re.compile(r'^(?:\[  FAILED  \] ([\w/.]+)|not ok \d+ - (.+))', re.M)
RUNNING = re.compile(r'^\[ RUN      \] ([\w/.]+)', re.M)
PASSED = re.compile(r'^(?:\[       OK \] |ok \d+ - (?!.*# SKIP))', re.M)

UNSTEADY_MAX = 3  # tests that fail without a mutation as well

# Where messages are sent and received
MESSAGES = tuple(f'src/ucp/{room}/*' for room in ('proto', 'link', 'in', 'order', 'match', 'tag'))

# Scripts of test/check that look at what no gtest program does, or run one with other settings, and
# the sources that they are for
SCRIPTS = {
    'peer_memory': ('src/ucp/core/peer_memory.c', 'src/uct/ib/footprint.c'),
    'report': ('src/ucp/run/report*', 'src/ucp/core/counters.*', 'src/ucp/core/trace.*',
               'src/ucs/output.*', 'src/ucp/api/*'),
    'messages': ('src/ucs/log.*', 'src/ucs/settings.*', 'src/ucp/core/config*', 'src/uct/cma/*', 'src/uct/shm/*'),
    'switch': ('src/ucp/preload/*', 'src/ucp/core/config*', 'src/ucp/core/context.*'),
    'inert': ('src/ucp/preload/*',),
    'mixed_job': ('src/ucp/preload/*', 'src/ucp/core/conn*', 'src/ucp/link/control*', 'src/ucp/in/*'),
    'sender_mask': ('src/ucp/match/sender*', 'src/ucp/proto/rtr/*'),
    'gtest_ucp_memory': MESSAGES + ('src/ucp/preload/*',),
    'gtest_ucp_put': ('src/ucp/link/*', 'src/ucp/proto/*', 'src/uct/cma/*', 'src/uct/shm/*'),
    'gtest_ucp_rtr': MESSAGES + ('src/uct/shm/*',),
    'gtest_ucp_rc': MESSAGES + ('src/uct/ib/*',),
    'gtest_ucp_ud': MESSAGES + ('src/uct/ib/*',),
    'gtest_ucp_rc_rtr': MESSAGES + ('src/uct/ib/rc*',),
    'gtest_ucp_ud_rtr': MESSAGES + ('src/uct/ib/ud*',),
    'gtest_ucp_rc_channel': ('src/ucp/*channel*', 'src/uct/ib/rc*', 'src/uct/ib/channel*'),
}


class Failure(Exception):
    """Nothing can be judged."""


class Suite:
    """A program of tests and how it is run."""

    def __init__(self, name, command, setting=None, paths=('*',), first=(),
                 others=None, script=False):
        self.name = name
        self.command = command
        self.setting = setting or {}
        self.paths = paths  # of the sources that it is for
        self.first = first  # parts that are run before the others: filters of GoogleTest
        self.others = others or {}  # tests that concern no sources but these
        self.script = script  # it knows no filters
        self.limit = 0

    def concerns(self, path):
        return any(fnmatch.fnmatch(path, pattern) for pattern in self.paths)


class Verdict:
    """What became of a mutation: a state (caught, lived, unclear, broken, same) and by whom."""

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
        self.limit = 0      # seconds in which a suite says nothing; 0: by how long it takes
        self.suites = []
        self.passed = 0     # tests of the latest run
        self.unsteady = []  # tests that were left out

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
                       'mount -t tmpfs tmpfs /dev/shm && exec "$@"', 'sh'] + command
        env = dict(self.env, **suite.setting)
        with open(os.path.join(self.dir, 'test.log'), 'w+', errors='replace',
                  encoding='utf-8') as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                       env=env, cwd=self.dir, start_new_session=True)
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

    @staticmethod
    def wait(process, log, limit):
        """Wait for a suite. @return Its exit code, or None: nothing was said for so many seconds."""
        size, since = -1, 0
        while True:
            now = os.fstat(log.fileno()).st_size
            if now != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since > limit:
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
            if not self.chosen:
                self.must_have_run(suite, passed)
            ran += passed
        if not ran:
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
                return Verdict('caught', '%s: %s' % (suite.name, by))
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
        if name == suite.name:
            return not self.test(suite, suite.limit, part, False)
        return not self.test(suite, suite.limit, name, False) and \
            bool(self.test(suite, suite.limit, name) or self.test(suite, suite.limit, part))

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
            self.must_have_run(suite, self.passed)
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
        self.folders = ('src/ucp', 'src/ucs', 'src/uct')
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
        scripts = self.scripts()
        ucp = {'ucp', 'ucp_rtr', 'ucp_rc', 'ucp_ud'} & set(self.names) or scripts
        self.programs = ['gtest_unit'] + (['libucxri.so'] if ucp else [])
        self.programs += ['ucxri_info'] if scripts else []
        self.make('-C', 'src')
        needs_hca = {'rc', 'ucp_rc', 'ucp_ud'} & set(self.names)
        self.make('-C', 'test', 'gtest/gtest_unit',
                  *(['gtest/gtest_ucp'] if ucp else []),
                  *(['bin/libsofthca.so'] if needs_hca else []))
        self.find_command()
        if scripts:
            self.make('-C', 'test', 'check-build-gtest')
            self.make_trees()
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

    def scripts(self):
        """The scripts of test/check that are suites, and the sources that each of them is for."""
        chosen = dict(SCRIPTS) if 'scripts' in self.names else {}
        for name in self.names:
            if os.path.exists(os.path.join(self.root, 'test/check', name + '.test')):
                chosen[name] = ('*',)
        return chosen

    def tree(self, mutated):
        return os.path.join(self.dir, 'tree', 'mutated' if mutated else 'original')

    def make_trees(self):
        """Build trees for scripts, in which all but the library is that of the real one."""
        for mutated in (False, True):
            tree = self.tree(mutated)
            shutil.rmtree(tree, ignore_errors=True)
            os.makedirs(os.path.join(tree, 'src/.libs'))
            os.makedirs(os.path.join(tree, 'test/check'))
            for name in ('libucxri.so', 'ucxri_info'):
                place = os.path.join(tree, 'src', '.libs' if name.endswith('.so') else '', name)
                os.symlink(self.output(name, mutated), place)
            for name in ('bin', 'gtest'):
                os.symlink(os.path.join(self.build, 'test', name), os.path.join(tree, 'test', name))
            with open(os.path.join(self.build, 'test/check/env.sh'), encoding='utf-8') as file:
                settings = file.read()
            with open(os.path.join(tree, 'test/check/env.sh'), 'w', encoding='utf-8') as file:
                file.write(settings.replace("'%s" % self.build, "'%s" % tree))

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
        elif name == 'ucxri_info':
            tools = os.path.join(self.build, 'src/tools')
            command = ['gcc', '-o', target] + objects
            command += [os.path.join(tools, tool) for tool in sorted(os.listdir(tools))
                        if re.match(r'ucxri_info.*\.o$', tool)] + ['-ldl', '-lpthread', '-lrt']
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
        scripts = self.scripts()
        for name in self.names:
            if name not in every and name not in scripts and name != 'scripts':
                raise Failure('no suite %s; there are %s, and the scripts of test/check' %
                              (name, ', '.join(every)))
        self.suites = [every[name] for name in self.names if name in every]
        for name, paths in scripts.items():
            self.suites.append(Suite(name, lambda mutated, name=name: self.script(name, mutated),
                                     paths=paths, script=True))

    def script(self, name, mutated):
        folder = os.path.join(self.root, 'test')
        return ['/usr/bin/env', '-C', os.path.join(self.tree(mutated), 'test'),
                'srcdir=' + folder, 'CHECK_SHORT=1', '%s/check/%s.test' % (folder, name)]

# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
"""The library as a program that is mutated: how it is built, and which tests judge which source."""
import os
import re
import shlex
import shutil

import judge

# Where messages are sent and received
MESSAGES = tuple(f'src/ucp/{room}/*' for room in ('proto', 'link', 'in', 'order', 'match', 'tag'))

# Scripts of test/check that look at what no gtest program does, or run one with other settings, and
# the sources that they are for; those that take seconds before those that take minutes
SCRIPTS = {
    'inert': ('src/ucp/preload/*',),
    'switch': ('src/ucp/preload/*', 'src/ucp/core/settings/config*', 'src/ucp/core/context.*'),
    'messages': ('src/ucs/log.*', 'src/ucs/settings.*', 'src/ucp/core/settings/config*', 'src/uct/cma/*', 'src/uct/shm/*'),
    'sender_mask': ('src/ucp/match/sender*', 'src/ucp/proto/rtr/*'),
    'gtest_ucp_put': ('src/ucp/link/*', 'src/ucp/proto/*', 'src/uct/cma/*', 'src/uct/shm/*'),
    'gtest_ucp_rtr': MESSAGES + ('src/uct/shm/*',),
    'mpi_types': ('src/ucp/dt/*', 'src/ucp/preload/mpi_api*', 'src/ucp/preload/context_api*'),
    'gtest_ucp_ud_rtr': MESSAGES + ('src/uct/ib/ud/*',),
    'gtest_ucp_rc_rtr': MESSAGES + ('src/uct/ib/rc/*',),
    'gtest_ucp_memory': MESSAGES + ('src/ucp/preload/*',),
    'gtest_ucp_rc_channel': ('src/ucp/*channel*', 'src/uct/ib/rc/*'),
    'report': ('src/ucp/run/report*', 'src/ucp/core/notes/counters.*', 'src/ucp/core/notes/trace.*',
               'src/ucs/output.*', 'src/ucp/api/*'),
    'peer_memory': ('src/ucp/run/peer_memory.c', 'src/uct/ib/*/footprint.c'),
    'mixed_job': ('src/ucp/preload/*', 'src/ucp/core/conn*', 'src/ucp/link/control*', 'src/ucp/in/*'),
    'gtest_ucp_rc': MESSAGES + ('src/uct/ib/*',),
    'gtest_ucp_ud': MESSAGES + ('src/uct/ib/*',),
    'windows': ('src/win/*', 'src/ucp/rma/window*', 'src/uct/shm/gate*'),
}

# Unit tests that take seconds, and the sources that they concern; for others they are left out
SLOW = {
    'test_ud_explore*': ('src/uct/ib/*',),
    '*test_ud_random*': ('src/uct/ib/*',),
    'test_reg_cache*': ('src/uct/ib/*',),
    'test_mail_parts*': ('src/ucp/rma/*', 'src/uct/shm/*', 'src/ucs/*'),
    'test_attend*': ('src/ucp/rma/*', 'src/uct/shm/*', 'src/ucs/*'),
    'test_layout_grid*': ('src/ucp/dt/*',),
    'test_check_*': (),
    'test_perf_*': (),
}

# The libraries for windows, which are compiled for an MPI each
MPIS = ('mpich', 'openmpi')


class Unit:
    """A source as a library has it."""

    def __init__(self, name, mpi=''):
        self.name = name  # below src
        self.mpi = mpi    # of the library for windows; none: that for messages

    def __eq__(self, other):
        return (self.name, self.mpi) == (other.name, other.mpi)

    def __hash__(self):
        return hash((self.name, self.mpi))

    def built(self):
        """Its object's path without the end, below the build tree's src, as make has it."""
        folder, file = os.path.split(self.name[:-2])
        return folder, ('libucxri_win_%s_a-' % self.mpi if self.mpi else '') + file

    def kept(self):
        """What its objects are named here, without the end."""
        return (self.mpi + '.' if self.mpi else '') + self.name.replace('/', '.')


class Library(judge.Tree):
    """The library and its gtest programs."""

    def __init__(self, root, directory, jobs, names, build=None):
        super().__init__(root, directory)
        self.jobs = jobs
        self.names = names
        self.folders = ('src/ucp', 'src/ucs', 'src/uct', 'src/win')
        self.build = build or os.path.join(directory, 'build')
        self.configured = root if build else self.source
        self.libraries = []
        self.programs = []
        self.objects = {}    # path: the objects of its users without a mutation
        self.now = {}        # unit: the object that is to be linked in place of the original
        self.known = {}      # path: filters of its tests, by map.tsv
        self.compilers = {}  # MPI, or none: how its library is compiled

    def files(self):
        listed = judge.must(['git', '-C', self.root, 'ls-files', '-co', '--exclude-standard'], 'git')
        names = [name for name in listed.split('\n') if name.startswith(self.folders)]
        return [name for name in names if name.endswith(('.c', '.h'))
                and os.path.exists(os.path.join(self.root, name))]

    def make(self, *arguments):
        return judge.must(['make', '-j%d' % self.jobs, '-C', self.build] + list(arguments), 'make',
                    env=self.env)

    def prepare(self):
        listed = judge.must(['git', '-C', self.root, 'ls-files', '-co', '--exclude-standard'], 'git')
        self.copy([name for name in listed.split('\n')
                   if name and os.path.isfile(os.path.join(self.root, name))])
        if self.configured == self.source:
            self.configure()
        scripts = self.scripts()
        ucp = {'ucp', 'ucp_rtr', 'ucp_rc', 'ucp_ud'} & set(self.names) or scripts
        self.programs = ['gtest_unit'] + (['gtest_leaks'] if 'leaks' in self.names else [])
        self.programs += (['libucxri.so'] if ucp else [])
        self.programs += ['ucxri_info'] if scripts else []
        self.make('-C', 'src')
        for name in [self.windows(mpi) + '.so' for mpi in MPIS if scripts]:
            if os.path.exists(os.path.join(self.build, 'src', name)):
                self.programs.append(name)
        needs_hca = {'rc', 'ucp_rc', 'ucp_ud'} & set(self.names)
        self.make('-C', 'test', 'gtest/gtest_unit',
                  *(['gtest/gtest_ucp'] if ucp else []),
                  *(['bin/libsofthca.so'] if needs_hca else []))
        self.find_commands()
        self.let_sanitizers_map()
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
            judge.must(['./autogen.sh'], 'autogen.sh', cwd=self.source, env=self.env)
        if not os.path.exists(os.path.join(self.build, 'config.status')):
            judge.must([os.path.join(self.source, 'configure'), 'CXXFLAGS=-O0 -g1', 'CFLAGS=-O2'],
                 'configure', cwd=self.build, env=self.env)

    def let_sanitizers_map(self):
        """A sanitizer maps more addresses than any limit allows."""
        with open(os.path.join(self.build, 'test/check/env.sh'), encoding='utf-8') as file:
            if not re.search(r"SAN_NAME='?no\b", file.read()):
                self.memory = 0

    @staticmethod
    def windows(mpi):
        return 'libucxri_win_' + mpi

    def source_paths(self, mpi=''):
        lists = ''
        for name in ('sources', 'Makefile'):
            with open(os.path.join(self.source, 'src', name + '.am'), encoding='utf-8') as file:
                lists += re.sub(r'\\\n', ' ', file.read())
        words = re.search(r'^%s = (.*)$' % ('WIN_SRCS' if mpi else 'UCXRI_SRCS'), lists,
                          re.M).group(1)
        own = re.search(r'^UCXRI_WIN_SRCS = (.*)$', lists, re.M).group(1)
        return [name for name in words.replace('$(UCXRI_WIN_SRCS)', own).split()
                if name.endswith('.c')]

    def units(self, mpi=None):
        """Sources as a library has them, or all that is built has."""
        if mpi is None:
            return [unit for mpi in self.compilers for unit in self.units(mpi)]
        return [Unit(name, mpi) for name in self.source_paths(mpi)]

    def linked(self, folder, program):
        """@return What make links a program with, but for the library: objects, and all else."""
        folder = os.path.join(self.build, folder)
        library = os.path.join(self.build, 'src/libucxri_test.a')
        output = judge.must(['make', '-n', 'V=1', '-W', os.path.relpath(library, folder), '-C', folder,
                             program], 'make -n', env=self.env)
        words = shlex.split([line for line in output.split('\n')
                             if ' -o %s ' % program in line][-1])

        def paths(end):
            return [os.path.normpath(os.path.join(folder, word)) for word in words
                    if word.endswith(end)]

        # Those of windows are made here
        archives = [path for path in paths('.a')
                    if path != os.path.normpath(library) and '_win_' not in path]
        return paths('.o'), archives + [word for word in words
                                        if re.match(r'-l|-L|-Wl|.*\.so$', word)]

    def link_tests(self):
        """Put what the unit tests consist of, but for the library, into one object."""
        objects, self.libraries = self.linked('test', 'gtest/gtest_unit')
        judge.must(['g++', '-r', '-nostdlib', '-o', os.path.join(self.dir, 'tests.o')] + objects,
             'the link of the tests', env=self.env)
        self.info = sum(self.linked('src', 'ucxri_info'), [])
        for name in self.programs:
            for mutated in (False, True):
                self.link_one(name, mutated, {})

    def path(self, name):
        return os.path.join(self.source, name)

    def original(self, unit, kind=''):
        return os.path.join(self.dir, 'objects', unit.kept() + kind + '.o')

    def keep_originals(self):
        """The build tree may go on meanwhile."""
        os.makedirs(os.path.join(self.dir, 'objects'), exist_ok=True)
        for unit in self.units():
            shutil.copyfile(os.path.join(self.build, 'src', *unit.built()) + '.o',
                            self.original(unit))

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
            os.makedirs(os.path.join(tree, 'src'))
            os.makedirs(os.path.join(tree, 'test/check'))
            own = [name for name in self.programs if not name.startswith('gtest')]
            own += [name[:-len('so')] + 'a' for name in own if '_win_' in name]
            for name in own:
                os.symlink(self.output(name, mutated), os.path.join(tree, 'src', name))
            for name in os.listdir(os.path.join(self.build, 'src')):
                if re.fullmatch(r'ucxri_\w+|libucxri_\w+\.so', name) and name not in own:
                    os.symlink(os.path.join(self.build, 'src', name),
                               os.path.join(tree, 'src', name))
            os.symlink(os.path.join(self.build, 'config.h'), os.path.join(tree, 'config.h'))
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

    def archive(self, mpi, mutated, changed):
        """A library for windows as an archive: a program is linked with what it needs of it."""
        target = self.output(self.windows(mpi) + '.a', mutated)
        if os.path.exists(target):
            os.remove(target)
        judge.must(['ar', 'rcs', target] + [changed.get(unit, self.original(unit))
                                            for unit in self.units(mpi)], 'ar', env=self.env)
        return target

    def link_one(self, name, mutated, changed):
        objects = [changed.get(unit, self.original(unit)) for unit in self.units('')]
        target = self.output(name, mutated)
        if name.startswith('gtest_'):
            command = ['g++', '-fuse-ld=gold', '-o', target, os.path.join(self.dir, 'tests.o')]
            command += ['-fsanitize=leak'] if name == 'gtest_leaks' else []
            command += objects
            if 'mpich' in self.compilers:
                command.append(self.archive('mpich', mutated, changed))
            command += self.libraries + ['-lpthread', '-lm']
        elif '_win_' in name:
            mpi = name[len(self.windows('')):-len('.so')]
            command = ['gcc', '-shared', '-o', target, '-Wl,--whole-archive',
                       self.archive(mpi, mutated, changed), '-Wl,--no-whole-archive',
                       '-Wl,--version-script=' + self.path('src/libucxri_win.map'),
                       '-Wl,-soname,' + name, '-Wl,-z,nodelete', '-ldl', '-lpthread']
        elif name == 'ucxri_info':
            command = ['gcc', '-o', target] + objects + self.info
        else:
            command = ['gcc', '-shared', '-o', target] + objects
            command += ['-Wl,--version-script=' + self.path('src/libucxri.map'), '-ldl',
                        '-lpthread', '-lrt']
        judge.must(command, 'the link of ' + name, cwd=self.build, env=self.env)

    def find_commands(self):
        """Ask once how sources are compiled: the build tree may change meanwhile."""
        for mpi in ('',) + MPIS:
            unit = Unit(self.source_paths(mpi)[0], mpi)
            target = os.path.join(*unit.built()) + '.o'
            if mpi and not os.path.exists(os.path.join(self.build, 'src', target)):
                continue
            output = judge.must(['make', '-n', 'V=1', '-W',
                                 os.path.join(self.configured, 'src', unit.name), '-C',
                                 os.path.join(self.build, 'src'), target], 'make -n', env=self.env)
            line = [line for line in output.split('\n') if ' -MT ' in line][-1]
            words = [word.replace(self.configured + '/src', self.source + '/src')
                     for word in shlex.split(line.split('&&')[0])]
            self.compilers[mpi] = words[:words.index('-MT')] + ['-g0'] + judge.FITTING

    def object(self, unit, target):
        return judge.run(self.compilers[unit.mpi] +
                         ['-c', self.path('src/' + unit.name), '-o', target],
                         cwd=os.path.join(self.build, 'src'), env=self.env)[0]

    def users(self, path):
        """The sources that a change of a file concerns, in each library."""
        if path.endswith('.c'):
            return [unit for unit in self.units() if 'src/' + unit.name == path]
        users = []
        for unit in self.units():
            folder, file = unit.built()
            deps = os.path.join(self.build, 'src', folder, '.deps', file + '.Po')
            with open(deps, encoding='utf-8') as listed:
                if '/' + os.path.basename(path) in listed.read():
                    users.append(unit)
        return users

    def compile(self, path):
        self.now = {}
        mutated = self.text(path)
        for unit in self.users(path):
            target = self.original(unit, '.mutated')
            if self.object(unit, target) != 0:
                return 'broken'
            self.now[unit] = target
        original = self.reference(path)
        changed = {unit: new for unit, new in self.now.items()
                   if not judge.objects_equal(original[unit], new)}
        self.write(path, mutated)
        self.now = changed
        return '' if changed else 'same'

    def reference(self, path):
        """The objects of a file's users as they are without a mutation."""
        if path not in self.objects:
            with open(os.path.join(self.root, path), encoding='utf-8') as file:
                self.write(path, file.read())
            self.objects[path] = {}
            for unit in self.users(path):
                target = self.original(unit, '.original')
                self.object(unit, target)
                self.objects[path][unit] = target
        return self.objects[path]

    def link(self):
        for name in self.programs:
            self.link_one(name, True, self.now)

    def of_unit_tests(self):
        """What the unit tests are for: all but those sources of src/win that have none."""
        names = os.listdir(os.path.join(self.root, 'test/gtest/unit/win'))
        tests = [re.match(r'test_(.*)\.cc$', name) for name in names]
        return ('src/u*',) + tuple('src/win/%s.[ch]' % test.group(1) for test in tests if test)

    def set_suites(self):
        def unit(mutated):
            return [self.output('gtest_unit', mutated), '--gtest_fail_fast']

        def leaks(mutated):
            # Those that take the place of malloc() themselves
            return [self.output('gtest_leaks', mutated), '--gtest_fail_fast',
                    '--gtest_filter=-test_reg_cache*']

        ucp = [os.path.join(self.build, 'test/gtest/gtest_ucp'), '--gtest_fail_fast']
        hca = os.path.join(self.build, 'test/bin/libsofthca.so')
        listed = judge.must([self.output('gtest_unit', False), '--gtest_list_tests'], 'the unit tests',
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
            'unit': judge.Suite('gtest_unit', unit, paths=self.of_unit_tests(), first=tests, others=SLOW),
            'leaks': judge.Suite('gtest_leaks', leaks, paths=self.of_unit_tests(), first=tests,
                                 others=dict(SLOW, **{'test_reg_cache*': ()}), first_only=True,
                                 limited=False),
            'rc': judge.Suite('gtest_rc', lambda mutated: ['/usr/bin/env', 'LD_PRELOAD=' + hca] +
                        unit(mutated) + ['--gtest_filter=test_rc_p*:test_rc_n*:*test_ud_*'],
                        paths=('src/uct/ib/*',)),
            'ucp': judge.Suite('gtest_ucp', lambda mutated: preload(mutated) + ucp +
                         ['--gtest_filter=-*killed*:*two_process*'], on, paths=('src/u*',)),
            'ucp_rtr': judge.Suite('gtest_ucp_rtr', lambda mutated: preload(mutated) + ucp +
                             ['--gtest_filter=*early*/shm:*coop*/shm'], dict(on, UCXRI_RTR='y')),
            'ucp_rc': judge.Suite('gtest_ucp_rc', lambda mutated: over_hca(mutated) + ucp +
                            ['--gtest_filter=*rc_faults*:*rc_peers*:*early*/shm'], rdma,
                            paths=('src/uct/ib/*', 'src/ucp/proto/*')),
            'ucp_ud': judge.Suite('gtest_ucp_ud', lambda mutated: over_hca(mutated) + ucp +
                            ['--gtest_filter=*early*/shm:*tag_large*/shm'],
                            dict(rdma, UCXRI_IB_TRANSPORT='ud'),
                            paths=('src/uct/ib/ud/*', 'src/ucp/proto/*')),
        }
        scripts = self.scripts()
        for name in self.names:
            if name not in every and name not in scripts and name != 'scripts':
                raise judge.Failure('no suite %s; there are %s, and the scripts of test/check' %
                              (name, ', '.join(every)))
        self.suites = [every[name] for name in self.names if name in every]
        for name, paths in scripts.items():
            self.suites.append(judge.Suite(name, lambda mutated, name=name: self.script(name, mutated),
                                     paths=paths, script=True))

    def tests_of(self, path):
        if path not in self.known:
            output = judge.run(['python3', 'test/check/tests_map.py', '.',
                                re.sub(r'^src/|\.[ch]$', '', path)], cwd=self.root)[1]
            names = set()
            for name in re.findall(r'test/gtest/unit/\S+\.cc', output):
                with open(os.path.join(self.root, name), encoding='utf-8') as file:
                    names |= set(re.findall(r'^TEST(?:_[FP])?\((\w+),', file.read(), re.M))
            self.known[path] = ['*%s*.*' % name for name in sorted(names)]
        return self.known[path]

    def script(self, name, mutated):
        folder = os.path.join(self.root, 'test')
        return ['/usr/bin/env', '-C', os.path.join(self.tree(mutated), 'test'),
                'srcdir=' + folder, 'CHECK_SHORT=1', '%s/check/%s.test' % (folder, name)]

#!/usr/bin/env python3
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
"""Timelines: checks what ucxri_info --timeline wrote, and makes files for it to read.

Usage: timeline.py check RANKS COMPLETE FILE
           The JSON FILE is of RANKS processes, spans of a line are one in the other, and arrows
           lead from sends to receives, within spans. COMPLETE: yes: the job has come to its end,
           so all have both ends; no: it was killed.
       timeline.py progress FILE
           The JSON FILE is of 4 ranks that computed for 10 s while long messages were on their way,
           some of them by RTR. It has all tracks and curves, and is not longer than such a job
           needs.
       timeline.py page FILE TEMPLATE OUT
           Write to OUT a page that draws the JSON FILE in a browser (timeline_page.html).
       timeline.py drawn FILE
           Print what the page says of the JSON FILE, if it has drawn all of it.
       timeline.py hosts DIR
           Make DIR/a and DIR/b, of two hosts: messages take 5 us, which their clocks hide, as one
           of them is an hour late, and its real-time clock is wrong by a second.
       timeline.py one_way DIR
           The same, but the first one sends nothing.
       timeline.py arrows LEAST MOST FILE
           All arrows of the JSON FILE take from LEAST to MOST microseconds.
       timeline.py again FILE OUT
           Write to OUT what another run of the same rank would have written to FILE.
       timeline.py damage COUNT FILE DIR
           Write COUNT copies of FILE to DIR/1, DIR/2 ...: in each, some bytes are changed, or the
           end is missing, or both. The number of a copy is the seed by which it was made.
"""
import bisect
import collections
import json
import random
import re
import struct
import sys

HEAD = struct.Struct('=8sII16s16s64s64s64s64s')
BLOCK = struct.Struct('=IIQQQQQ')
ENTRY = struct.Struct('=QQQQQQ')
MARK = 0x4b4c4254
SEND, SEND_BY, SEND_END, RECV, RECV_END = range(5)


def fail(text):
    print(text)
    sys.exit(1)


def load(path):
    with open(path) as stream:
        return json.load(stream)['traceEvents']


def check_lines(events):
    lines = collections.defaultdict(list)
    for event in events:
        if event['ph'] == 'X':
            if event['dur'] < 0 or event['ts'] < 0:
                fail(f'a span with a wrong time: {event}')
            lines[event['pid'], event['tid']].append(event)
    for spans in lines.values():
        spans.sort(key=lambda span: (span['ts'], -span['dur']))
        around = []
        for span in spans:
            while around and around[-1] <= span['ts'] + 0.005:
                around.pop()
            end = span['ts'] + span['dur']
            if around and end > around[-1] + 0.005:
                fail(f'a span is in another one in part: {span}')
            around.append(end)
    return lines


def check_end(event, spans):
    """Viewers drop an arrow that does not begin and end within spans of its lines."""
    last = bisect.bisect_right(spans, event['ts'] + 0.002, key=lambda span: span['ts'])
    for span in reversed(spans[:last]):
        if event['ts'] <= span['ts'] + span['dur'] + 0.002:
            return
    fail(f'an arrow that ends at no span: {event}')


def arrows(events):
    ends = {'s': {}, 'f': {}}
    for event in events:
        if event['ph'] in ends:
            if not re.fullmatch('[0-9a-f]{16}', event['id']):
                fail(f'Perfetto takes no such id: {event}')
            if event['id'] in ends[event['ph']]:
                fail(f'two arrows have one end: {event}')
            ends[event['ph']][event['id']] = event
    return ends['s'], ends['f']


# Keys that viewers need, beside the process, and of which type
KEYS = {
    'X': {'tid': int, 'ts': float, 'dur': float, 'name': str},
    's': {'tid': int, 'ts': float, 'id': str, 'cat': str, 'name': str},
    'f': {'tid': int, 'ts': float, 'id': str, 'cat': str, 'name': str, 'bp': str},
    'C': {'ts': float, 'name': str, 'args': dict},
    'M': {'tid': int, 'name': str, 'args': dict},
}
TRACKS = {'application', 'sends', 'receives', 'offers (RTR)', 'copies'}
CURVES = {'messages a second', 'MB sent a second', 'MB of sends under way', 'receives posted',
          'RTRs offered'}


def check_form(events):
    for event in events:
        keys = KEYS.get(event.get('ph'))
        if keys is None or not isinstance(event.get('pid'), int):
            fail(f'no viewer knows this event: {event}')
        for key, kind in keys.items():
            if not isinstance(event.get(key), kind):
                fail(f'{key} of an event is missing or wrong: {event}')
        known = {'ph', 'pid', 'args'} | set(keys)
        if set(event) - known:
            fail(f'an event with more than its keys: {event}')


def check_curves(events, complete):
    """Values are not below zero, and what was under way is over at the end. @return The names."""
    last = {}
    for event in events:
        if event['ph'] == 'C':
            if event['ts'] < 0 or not all(value >= 0 for value in event['args'].values()):
                fail(f'a curve with a wrong value: {event}')
            curve = event['pid'], event['name']
            if curve in last and last[curve]['ts'] > event['ts']:
                fail(f'a curve that goes back: {last[curve]} {event}')
            last[curve] = event
    for (_, name), event in last.items():
        if complete and 'second' not in name and any(event['args'].values()):
            fail(f'it is under way at the end: {event}')
    return {name for _, name in last}


def progress(path):
    with open(path) as stream:
        text = stream.read()
    events = json.loads(text)['traceEvents']
    names = {re.sub(' [0-9]+$', '', event['args']['name'])
             for event in events if event['name'] == 'thread_name'}
    if names != TRACKS:
        fail(f'tracks {names}')
    curves = {event['name'] for event in events if event['ph'] == 'C'}
    if curves != CURVES:
        fail(f'curves {curves}')
    kinds = collections.Counter(event['name'].split(' ')[0]
                                for event in events if event['ph'] == 'X')
    used = sum(event['name'] == 'offered (RTR), used' for event in events)
    if used == 0 or min(kinds[kind] for kind in ('computes', 'waits', 'send', 'receive')) == 0:
        fail(f'{used} RTRs were used; spans: {kinds}')
    end = max(event['ts'] + event['dur'] for event in events if event['ph'] == 'X') * 1e-6
    if end < 8:
        fail(f'only {end} s')
    # Computations bound how many messages there are, and spans of less than 10 us are left out
    if len(text) > 5e6 * end or len(text) > 250 * len(events):
        fail(f'{len(text)} bytes for {end} s and {len(events)} events')
    print(f'{len(text) / 1e6:.1f} MB, {end:.1f} s, {used} RTRs used')


def page(path, template, out):
    with open(path) as stream:
        trace = stream.read().replace('</', '<\\/')
    with open(template) as stream:
        text = stream.read()
    with open(out, 'w') as stream:
        stream.write(text.replace('TRACE', trace, 1))


def drawn(path):
    events = load(path)
    count = collections.Counter(event['ph'] for event in events)
    wanted = {
        'spans': count['X'],
        'arrows': count['s'],
        'ends': count['f'],
        'rows': sum(event['name'] == 'thread_name' for event in events),
        'curves': len({(event['pid'], event['name']) for event in events if event['ph'] == 'C'}),
        'empty': 0,
    }
    body = re.search('<body[^>]*>', sys.stdin.read())
    said = dict(re.findall('data-([a-z]+)="([^"]*)"', body.group(0) if body else ''))
    for name, number in wanted.items():
        if said.get(name) != str(number):
            fail(f'{name}: {said.get(name)} were drawn of {number}; {said.get("error")}')
    print(f'{len(events)} events {said["time"]}')


def check(ranks, complete, path):
    events = load(path)
    check_form(events)
    check_curves(events, complete)
    names = [event['args']['name'] for event in events if event['name'] == 'process_name']
    if len(names) != ranks:
        fail(f'processes {names}')
    lines = check_lines(events)
    named = {(event['pid'], event['tid']): event['args']['name']
             for event in events if event['name'] == 'thread_name'}
    if set(named) != set(lines):
        fail('lines without a name, or names without a line')
    for track in ('application', 'sends', 'receives', 'copies'):
        if not any(name == track for name in named.values()):
            fail(f'nothing on the track {track}')
    starts, ends = arrows(events)
    if not starts or not ends:
        fail('no arrows')
    if complete and set(starts) != set(ends):
        fail(f'{len(set(starts) ^ set(ends))} arrows have one end')
    for event in [*starts.values(), *ends.values()]:
        check_end(event, lines[event['pid'], event['tid']])
    for arrow in set(starts) & set(ends):
        if starts[arrow]['ts'] >= ends[arrow]['ts']:
            fail(f'Perfetto drops this arrow: {starts[arrow]} {ends[arrow]}')
    open_spans = sum(bool(event.get('args', {}).get('unfinished')) for event in events)
    if complete and open_spans:
        fail(f'{open_spans} spans have no end')
    print(f'{len(events)} events, {len(starts)} arrows')


class Process:
    """Writes a file. Its clock is `late` ns later than that of the world, and a tick is 1/3 ns."""

    def __init__(self, path, rank, host, late, real, uid):
        self.late, self.real, self.uid = late, real, uid
        self.entries = []
        self.stream = open(path, 'wb')
        self.stream.write(HEAD.pack(b'ucxritl', 2, 1000 + rank, str(rank).encode(), b'2', b'77', host,
                                    b'boot of ' + host, b'program'))
        self.flush(0)

    def note(self, time, key, event, *args):
        self.entries.append(ENTRY.pack(3 * (time + self.late), (key << 16) | event,
                                       *(args + (0,) * (4 - len(args)))))

    def flush(self, time):
        mono = time + self.late
        self.stream.write(BLOCK.pack(MARK, len(self.entries), self.uid, 3 * mono, mono,
                                     mono + self.real, 0))
        self.stream.write(b''.join(self.entries))
        self.entries = []


def hosts(folder, one_way):
    hour = 3600 * 10**9
    sides = [Process(f'{folder}/a', 0, b'left', 10**9, 10**18, 0xa),
             Process(f'{folder}/b', 1, b'right', hour, 10**18 - hour + 2 * 10**9, 0xb)]
    for i in range(1000):
        time = 1000000 + i * 50000
        sender, receiver = sides[::-1] if one_way or i % 2 else sides
        sender.note(time, 1, SEND, 65536, receiver.uid)
        sender.note(time, 1, SEND_BY, 1 << 32 | (i + 1), int.from_bytes(b'get', 'little'),
                    0, receiver.uid)
        receiver.note(time + 5000, 2, RECV, 65536, sender.uid, 1 << 32 | (i + 1))
        receiver.note(time + 15000, 2, RECV_END)
        sender.note(time + 20000, 1, SEND_END)
        if i % 200 == 199:
            for side in sides:
                side.flush(time + 30000)
    for side in sides:
        side.flush(10**9)


def check_arrows(least, most, path):
    starts, ends = arrows(load(path))
    if not starts or set(starts) != set(ends):
        fail('arrows without an end')
    times = [ends[arrow]['ts'] - starts[arrow]['ts'] for arrow in starts]
    print(f'{len(times)} arrows from {min(times):.2f} to {max(times):.2f} us')
    if min(times) < least or max(times) > most:
        sys.exit(1)


def damage(seed, path, out):
    source = random.Random(seed)
    with open(path, 'rb') as stream:
        content = bytearray(stream.read())
    if source.random() < 0.5:
        del content[source.randrange(len(content)):]
    for _ in range(source.choice((0, 1, 5, 100)) if content else 0):
        place = source.choice((source.randrange(len(content)),
                               source.randrange(min(len(content), 512))))
        content[place] = source.choice((0, 1, 0x7f, 0xff, source.randrange(256)))
    with open(out, 'wb') as stream:
        stream.write(content)


if __name__ == '__main__':
    what, arguments = sys.argv[1], sys.argv[2:]
    if what == 'check':
        check(int(arguments[0]), arguments[1] == 'yes', arguments[2])
    elif what == 'progress':
        progress(*arguments)
    elif what == 'page':
        page(*arguments)
    elif what == 'drawn':
        drawn(*arguments)
    elif what in ('hosts', 'one_way'):
        hosts(arguments[0], what == 'one_way')
    elif what == 'arrows':
        check_arrows(float(arguments[0]), float(arguments[1]), arguments[2])
    elif what == 'again':
        with open(arguments[0], 'rb') as stream:
            content = stream.read()
        with open(arguments[1], 'wb') as stream:
            stream.write(content.replace(struct.pack('=Q', 0xa), struct.pack('=Q', 0xc)))
    elif what == 'damage':
        for number in range(1, int(arguments[0]) + 1):
            damage(number, arguments[1], f'{arguments[2]}/{number}')
    else:
        sys.exit(__doc__)

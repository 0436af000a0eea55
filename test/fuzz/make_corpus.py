#!/usr/bin/env python3
# Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
"""Write the seed corpus of fuzz_dispatch: one input for each message type and for each
situation that a random input would hardly build.

Usage: test/fuzz/make_corpus.py [DIRECTORY]      (default: corpus beside this script)

Inputs that once failed are kept in the same directory under names that start with
"crash-"; this script leaves them alone.
"""
import os
import struct
import sys

# wire.h
EAGER, SAME, SYNC, BULK, FIRST, RTS, POOL, PLACED, FRAG = 1, 2, 3, 4, 5, 6, 7, 8, 9
CONN_REQ, CONN_ACK, SYNC_ACK, RING_OFFER, RING_REFUSE = 16, 17, 18, 19, 20
RING_STOP, RING_CLOSE, BYE, ORDER_REQ, ORDER_ACK, RESET = 21, 22, 23, 24, 25, 26
PLANE_REQ, PLANE_ACK, FIN, NACK, RNDV_DATA = 27, 28, 29, 30, 31
RTR, RELEASE, CTS, WRITTEN, RING_REQ = 32, 33, 34, 35, 36
REVOKE, REVOKED, USED = 37, 38, 39
TARGET, ABANDON = 40, 41
CHANNEL_OFFER, CHANNEL_ACCEPT, CHANNEL_STOP, CHANNEL_CLOSE = 42, 43, 44, 45
CHANNEL_AGAIN, CHANNEL_ALL = 46, 0xff
RTR_UD, CLOSING, RTR_GRID, LAYOUT, RTR_LAYOUT, LAYOUT_REFUSED = range(47, 53)
HELLO = 0x80
LONG = 3000 # a message for the planes
PAD, START, PART = 0xff, 0xfe, 0xfd

# fuzz_dispatch.c
(OP_AM, OP_RECV, OP_PROBE, OP_CANCEL, OP_PROGRESS, OP_RECORD, OP_SMASH, OP_SEND, OP_STOCK,
 OP_CONN, OP_MODE, OP_OFFER, OP_DRAIN, OP_CHANNEL, OP_NET, OP_KEY, OP_RMA, OP_MAIL,
 OP_POST) = range(19)
AM_RNDV, AM_DATA, AM_REPLY, AM_HELLO, AM_ORDER = 1, 2, 4, 8, 16
PEER = 0x2222


def base(kind, ident, value):
    return struct.pack('<B', kind) + struct.pack('<I', ident)[:3] + struct.pack('<I', value)


def hello(conn=1, uid=0, host=1, am_id=0):
    """The target completes it: AM_HELLO"""
    return struct.pack('<IBBHQQII', 0x49524355, 1, 0, am_id, uid, host, conn - 1, 0)


def target(length=LONG):
    return struct.pack('<IIIIIHHQ', 2, 1, 1, 1, 1, 2048, 0, length)


def header(kind, ident, value, tag=0, req=0, total=0, uid=PEER, say_hello=False,
           host=1, who=0, am_id=0):
    out = base(kind | (HELLO if say_hello else 0), ident, value)
    if kind in (EAGER, BULK):
        out += struct.pack('<Q', tag)
    elif kind in (SYNC, RTS, POOL, PLACED):
        out += struct.pack('<QII', tag, req, 0)
    elif kind == FIRST:
        out += struct.pack('<QII', tag, req, total)
    elif kind in (FRAG, CONN_ACK, RING_STOP):
        out += struct.pack('<Q', uid)
    elif kind in (PLANE_REQ, PLANE_ACK):
        out += struct.pack('<BB6s32s', 1, 32, b'', b'plane address')
    elif kind == NACK:
        out += struct.pack('<II', total, 0)
    elif kind == CTS:
        out += struct.pack('<IIQ', total, 0, 0x1000)
    elif kind in (LAYOUT, LAYOUT_REFUSED):
        out += struct.pack('<HH', total, req)
    elif kind in (RTR, RTR_GRID, RTR_LAYOUT): # a grid of two runs, or one element of RUNS
        out += struct.pack('<QQQQIIIIHH', tag, 1, 0x1000, 6144 if kind == RTR_LAYOUT else 300, 7, req,
                           value, value, 0, total) + \
            (struct.pack('<QIqIqIq', 150, 2, 400, 1, 0, 1, 0) if kind == RTR_GRID else b'') + \
            (struct.pack('<QIHH', 1, value, 0, 0) if kind == RTR_LAYOUT else b'')
    elif kind == RTR_UD:
        out += struct.pack('<QQIIIHHIIIIIHHQ', tag, 1, req, value - 1, value, 0, total,
                           2, 1, 1, 1, 1, 2048, 0, LONG)
    elif kind == REVOKE:
        out += struct.pack('<HHIQ', total, 0, 1, uid)
    elif kind == REVOKED:
        out += struct.pack('<HHI', total, req, 0)
    elif kind == USED:
        out += struct.pack('<13I', total, *range(req, req + 12))
    elif kind == TARGET:
        out += struct.pack('<IIII32s', total, 1, req or 1, 0, target())
    elif kind == ABANDON:
        out += struct.pack('<II', total, value)
    elif CHANNEL_OFFER <= kind <= CHANNEL_CLOSE:
        out += struct.pack('<IIQQQII', 1, 1, uid, 0x1000, 7, 1, total)
    elif kind == RELEASE:
        out += struct.pack('<8I', *range(req, req + 8))
    elif kind == RING_OFFER:
        out += struct.pack('<IIIIQQ', 1, 0, 1, 0, 0x5eed, uid)
    return out + (hello(uid=who, host=host, am_id=am_id) if say_hello else b'')


def am(head, data=b'', flags=0, apart=True):
    if not apart:
        head, data = b'', head + data
    return struct.pack('<BBBH', OP_AM, flags, len(head), len(data)) + head + data


def first_contact(value=1, kind=EAGER, data=b'12345678', flags=0, **kw):
    return am(header(kind, 0, value, say_hello=True, **kw), data, flags | AM_HELLO)


def recv(tag=0, mask=1, capacity=100):
    return struct.pack('<BBBH', OP_RECV, tag, mask, capacity)


def probe(tag=0, mask=1, what=0):
    return bytes([OP_PROBE, tag, mask, what])


def segments(*lengths, flags=0, slot=0):
    """The payload of an RTS or POOL"""
    return struct.pack('<HHHH', len(lengths), flags, slot, 0) + b''.join(
        struct.pack('<QQ', 0x1000 * i, length) for i, length in enumerate(lengths))


def rts(*lengths, value=1, flags=0, **kw):
    return first_contact(value, RTS, segments(*lengths), flags, **kw)


def placed(length):
    return struct.pack('<Q', length)


def rtr(mask=0, length=1 << 20, seen=1, ahead=0, grant=0, generation=0):
    """The payload of an RTR"""
    return struct.pack('<QQQIHHI', mask, 0x1000, length, seen, ahead, grant, generation)


def layout(definition, generation=1):
    return record(LAYOUT, len(definition), value=generation, payload=bytes(definition))


def rtr_layout(count, length, slot=0, generation=1):
    data = rtr(generation=1, length=length) + struct.pack('<QIHH', count, generation, slot, 0)
    return record(RTR, len(data), value=1, extra=2, payload=data)
RUNS = (10, 16, 0, 3, 2, 0, 2, 2, 4) # runs of 2 KB, and 4 KB behind a gap of 1 KB; extent 8 KB


def record(kind, length, value=0, extra=0, tag=0, payload=b'', which=0x80):
    return struct.pack('<BBBHBHBB', OP_RECORD, which, kind, length, value, extra, tag,
                       len(payload)) + payload


def send(conn=0, tag=0, flags=0, length=8):
    return struct.pack('<BBBBH', OP_SEND, conn, tag, flags, length)


def stock(which=0):
    return bytes([OP_STOCK, which])


def conn(what, which=0):
    return bytes([OP_CONN, what, which])


def mode(bits):
    return bytes([OP_MODE, bits])


def offer(which=0, stream=1):
    return bytes([OP_OFFER, which, stream])


def channel(stream=1, position=4):
    """A channel whose way has failed, read up to a position"""
    return bytes([OP_CHANNEL, stream - 1, position])


def again(kind, payload=b'', position=4, value=1, extra=1, tag=0, serial=1, way=1):
    """A record of it that is sent again; of a control message, with what follows its base"""
    return am(base(CHANNEL_AGAIN, 1, position) + struct.pack(
        '<IIQIIB7s', serial, way, tag, value, extra, kind, b''), payload)


def drain(count=15):
    return bytes([OP_DRAIN, count])


PROGRESS = bytes([OP_PROGRESS])
SENDS, BY_RTR = 32, 64


def way(kind=0, which=0):
    """A way through the network, by datagrams or (0x40) by connections"""
    return bytes([OP_NET, 0, kind | which])


def ends(which=0, how=0):
    return bytes([OP_NET, 1, which | how << 4]) + PROGRESS


def hears(which=0):
    return bytes([OP_NET, 2, which])


def notifies(which, immediate, length):
    return bytes([OP_NET, 3, which]) + struct.pack('<IH', immediate, length) + PROGRESS


def breaks(which=0):
    return bytes([OP_NET, 4, which]) + PROGRESS


def net_mode(bits):
    return bytes([OP_NET, 5, bits])


def rts_net(flags, value=3, req=7, address=0, tag=0, number=1):
    """An RTS by a way"""
    return am(header(RTS, 1, value, tag, req), struct.pack(
        '<HHHHQQ', 1, flags, 0, number, address, LONG) + struct.pack('<I', 5) *
        bool(flags & 8))
CLOSE, FAIL, RMA, NEW = 2, 1, 3, 0
RING = b''.join(first_contact(sn) for sn in (1, 2, 3))


def inputs():
    yield 'empty', b''
    for name, kind in (('eager', EAGER), ('same', SAME), ('sync', SYNC), ('bulk', BULK)):
        yield name + '-unexpected', first_contact(kind=kind, tag=5, req=9) + recv()
        yield name + '-expected', recv() + first_contact(kind=kind, tag=5, req=9)
        yield name + '-by-id', first_contact() + recv() + recv() + am(
            header(kind, 1, 2, 5, 9), b'abc', 0, False)
        yield name + '-early', first_contact(3, kind) + first_contact(2, kind) + \
            first_contact(1) + recv() * 3
        yield name + '-repeated', first_contact(1, kind) * 2 + first_contact(2, kind) + \
            first_contact(2, kind)
        yield name + '-descriptor', first_contact(1, kind, b'x' * 200, AM_DATA) + \
            first_contact(2, kind, b'y' * 200, AM_DATA) + recv(0, 1, 200)
        yield name + '-truncated', recv(0, 1, 1) + first_contact(kind=kind) + \
            first_contact(2, kind, flags=AM_DATA) + recv(0, 1, 1)
    yield 'rndv', recv(0, 1, 300) + first_contact(1, BULK, b'r' * 300, AM_RNDV) + \
        first_contact(2, BULK, b's' * 300, AM_RNDV) + recv(0, 1, 300) + \
        first_contact(3, BULK, b't' * 300, AM_RNDV)
    yield 'rndv-later', mode(4) + recv(0, 1, 300) + \
        first_contact(1, BULK, b'r' * 300, AM_RNDV) + stock(0)
    yield 'rndv-fails', mode(8) + recv(0, 1, 300) + \
        first_contact(1, BULK, b'r' * 300, AM_RNDV)
    yield 'rndv-early-truncated', first_contact(2, BULK, b'r' * 300, AM_RNDV) + \
        recv() * 2 + first_contact(1)
    yield 'fragments', recv(0, 1, 100) + \
        first_contact(1, FIRST, b'a' * 32, tag=5, req=7, total=100) + \
        am(header(FRAG, 1, 1), b'b' * 38) + am(header(FRAG, 1, 1), b'c' * 30)
    yield 'fragments-interleaved', \
        first_contact(2, FIRST, b'a' * 32, total=40) + \
        first_contact(1, FIRST, b'a' * 32, total=40) + \
        am(header(FRAG, 1, 2), b'b' * 8) + am(header(FRAG, 1, 1), b'c' * 8) + recv() * 2
    yield 'fragments-too-much', first_contact(1, FIRST, b'a' * 32, total=40) + \
        am(header(FRAG, 1, 1), b'b' * 9) + am(header(FRAG, 1, 2), b'b') + \
        first_contact(1, FIRST, b'a' * 32, total=40)
    yield 'fragments-too-many', b''.join(
        first_contact(sn, FIRST, b'a' * 32, total=40) for sn in (2, 3, 4, 5, 6)) + \
        first_contact(1)
    yield 'fragments-by-id', first_contact() + \
        am(header(FIRST, 1, 2, total=40), b'a' * 32) + am(header(FRAG, 1, 2), b'b' * 8)
    yield 'window', first_contact(1) + first_contact(100) + first_contact(2)
    for name, kind in (('conn-req', CONN_REQ), ('bye', BYE), ('order-req', ORDER_REQ),
                       ('ring-refuse', RING_REFUSE), ('ring-stop', RING_STOP),
                       ('conn-ack', CONN_ACK), ('sync-ack', SYNC_ACK),
                       ('order-ack', ORDER_ACK), ('reset', RESET),
                       ('ring-offer', RING_OFFER), ('ring-close', RING_CLOSE),
                       ('plane-req', PLANE_REQ), ('plane-ack', PLANE_ACK), ('fin', FIN),
                       ('nack', NACK), ('rndv-data', RNDV_DATA), ('rtr-am', RTR),
                       ('release', RELEASE), ('cts', CTS), ('written', WRITTEN),
                       ('ring-req', RING_REQ), ('revoke', REVOKE), ('revoked', REVOKED),
                       ('used', USED), ('target', TARGET), ('rtr-ud', RTR_UD),
                       ('rtr-grid', RTR_GRID), ('layout', LAYOUT), ('rtr-elements', RTR_LAYOUT),
                       ('layout-refused', LAYOUT_REFUSED), ('abandon', ABANDON), ('channel-offer', CHANNEL_OFFER),
                       ('channel-accept', CHANNEL_ACCEPT), ('channel-stop', CHANNEL_STOP),
                       ('channel-close', CHANNEL_CLOSE), ('closing', CLOSING)):
        yield name, RING + am(header(kind, 1, 1)) * 2 + am(header(kind, 0, 1))
        yield name + '-hello', am(header(kind, 0, 1, say_hello=True), b'',
                                  AM_HELLO | AM_REPLY)
    yield 'bye-early', first_contact(3, host=0) + am(header(BYE, 1, 3)) + recv() * 3 + \
        first_contact(2, host=0) + first_contact(1, host=0)
    yield 'bye-callback', first_contact(1, host=0) + am(header(BYE, 1, 2)) + recv(9, 0x80) + \
        first_contact(2, tag=9, host=0)
    yield 'ring', RING + recv() * 5 + \
        record(EAGER, 8, payload=b'ringring') + record(SYNC, 4, extra=3, payload=b'sync') + \
        record(SYNC_ACK, 0, value=5, extra=1) + record(PAD, 0) + record(CLOSING, 0) + \
        record(RING_CLOSE, 0)
    yield 'ring-long', RING + record(EAGER, 200, payload=b'l' * 220) + recv(0, 1, 200)
    for name, posted in (('parts', 1), ('parts-unexpected', 0)):
        yield 'ring-' + name, RING + recv(capacity=5000) * 3 + recv(capacity=5000) * posted + \
            record(START, 200, extra=300) + first_contact(5) + record(PART, 100) + \
            recv(capacity=299) + record(START, 60, extra=3000) + record(PART, 2940)
    yield 'ring-parts-early', RING + recv(0, 0x81, 500) * 5 + \
        record(START, 200, value=1, extra=300) + record(PART, 100) + first_contact(4)
    yield 'ring-parts-unfinished', RING + recv(0, 0x81, 500) * 4 + \
        record(START, 200, extra=300) + bytes([OP_CANCEL, 3]) + record(PART, 99)
    yield 'ring-parts-too-much', RING + recv(0, 1, 500) * 4 + \
        record(START, 200, extra=300) + record(PART, 101)
    yield 'ring-parts-after-all', RING + recv(0, 1, 300) * 4 + \
        record(START, 200, extra=300) + record(PART, 100) + record(PART, 100)
    yield 'ring-parts-twice', RING + recv(0, 1, 500) * 4 + \
        record(START, 200, extra=300) + record(START, 200, extra=300)
    yield 'ring-parts-closed', RING + recv(0, 0x81, 500) * 4 + \
        record(START, 200, extra=300) + record(RING_CLOSE, 0)
    yield 'ring-too-long', RING + record(EAGER, 0xffff)
    yield 'ring-unknown', RING + record(77, 0)
    yield 'ring-early', RING + record(EAGER, 8, value=2) + record(EAGER, 8, value=0) + first_contact(5)
    yield 'ring-smash', RING + bytes([OP_SMASH, 0, 0, 0, 16]) + b'\xff' * 16 + record(EAGER, 8)
    yield 'ring-two', RING + am(header(EAGER, 0, 1) + hello(2), b'', AM_HELLO) + \
        am(header(EAGER, 0, 2) + hello(2), b'', AM_HELLO) + \
        am(header(EAGER, 0, 1) + hello(3), b'', AM_HELLO) + \
        am(header(EAGER, 0, 2) + hello(3), b'', AM_HELLO) + record(EAGER, 0)
    yield 'again-none', RING + again(EAGER, value=4)
    for name, kind, value, data in (
            ('eager', EAGER, 2, b'12345678'), ('sync', SYNC, 2, b'12345678'),
            ('rts', RTS, 2, segments(300)), ('pool', POOL, 2, segments(300)),
            ('placed', PLACED, 2, placed(8)), ('bye', BYE, 2, b''),
            ('sync-ack', SYNC_ACK, 1, b''), ('fin', FIN, 1, b''),
            ('nack', NACK, 1, header(NACK, 1, 1, total=1)[8:]),
            ('rtr', RTR, 1, header(RTR, 1, 1)[8:]), ('written', WRITTEN, 1, b''),
            ('release', RELEASE, 8, header(RELEASE, 1, 8, req=1)[8:]),
            ('cts', CTS, 1, header(CTS, 1, 1, total=1)[8:]),
            ('revoke', REVOKE, 1, header(REVOKE, 1, 1)[8:]),
            ('revoked', REVOKED, 1, header(REVOKED, 1, 1)[8:]),
            ('used', USED, 2, header(USED, 1, 2, total=3)[8:])):
        one = first_contact(1) + channel() + recv() * 3
        yield 'again-' + name, one + again(kind, data, value=value) * 2 + \
            again(kind, data, 3, value) + again(kind, data, value=value + 1) + \
            again(CHANNEL_ALL, value=3) + again(kind, data, value=value)
        yield 'again-' + name + '-long', one + again(kind, data + b'x' * 80, value=value)
        yield 'again-' + name + '-short', one + again(kind, data[:-1], value=value)
        yield 'again-' + name + '-id', one + again(kind, data, value=value, extra=0)
        yield 'again-' + name + '-other', one + again(kind, data, value=value, serial=2) + \
            again(kind, data, value=value, way=2)
    plane = first_contact(1, tag=9) + am(header(PLANE_REQ, 1, 0))
    data = am(header(RNDV_DATA, 1, 1), b'd' * 300)
    for name, kind, data in (('pool', POOL, segments(300)),
                             ('pool-low', POOL, segments(300, flags=2)),
                             ('pool-two', POOL, segments(100, 200)),
                             ('rts-put', RTS, segments(300, flags=1)),
                             ('rts-sends', RTS, segments(300, flags=32)),
                             ('rts-by-rtr', RTS, segments(300, flags=96)),
                             ('rts-slot', RTS, segments(300, slot=1)),
                             ('rts-slot-none', RTS, segments(300, slot=16)),
                             ('placed', PLACED, placed(300)),
                             ('placed-empty', PLACED, placed(0)),
                             ('placed-short', PLACED, placed(300)[:7])):
        yield name, plane + recv(0, 0, 300) * 2 + \
            first_contact(2, kind, data, tag=5, req=7)
        yield name + '-unexpected', plane + \
            first_contact(2, kind, data, tag=5, req=7) + recv(0, 1, 8) + recv(0, 1, 300)
        yield name + '-early-repeated', plane + \
            first_contact(3, kind, data, tag=5, req=7) * 2 + \
            first_contact(2, kind, data, tag=5, req=8) * 2 + recv(0, 1, 300) * 3
        yield name + '-fails', plane + mode(16) + recv(0, 1, 300) + \
            first_contact(2, kind, data, tag=5, req=7) + mode(48) + recv(0, 1, 300) + \
            first_contact(3, kind, data, tag=5, req=7)
        yield name + '-ring', RING + am(header(PLANE_REQ, 1, 0)) + recv(0, 1, 300) * 5 + \
            record(kind, len(data), extra=7, tag=5, payload=data) * 2 + \
            record(kind, len(data), value=1, extra=7, tag=5, payload=data) + \
            first_contact(5)
    for name, kind, value in (('cts', CTS, 1), ('written', WRITTEN, 1),
                              ('target', TARGET, 1), ('abandon', ABANDON, 1),
                              ('release', RELEASE, 8)):
        yield name + '-of-send', plane + offer() + am(header(CONN_ACK, 1, 1)) + \
            am(header(PLANE_ACK, 1, 1)) + send(length=600) + send(length=900) + \
            am(header(kind, 1, value, req=1, total=1)) * 2 + am(header(kind, 9, value))
        yield name + '-many', plane + am(header(kind, 1, 9)) + am(header(kind, 1, 0))
    # A conn that is not in mode PEER, with planes both ways, its ring, and a grant in ours
    ready = RING + am(header(PLANE_REQ, 1, 0)) + conn(NEW, 1) + send(1, length=1100) + \
        am(header(CONN_ACK, 2, 1)) + am(header(PLANE_ACK, 2, 1)) + offer(1) + \
        struct.pack('<BBHBQ', OP_SMASH, 0, 2048, 8, 1 << 32 | 1)
    yield 'hybrid', ready + send(1, length=1200) * 9 + drain() + \
        am(header(RELEASE, 2, 8, req=0)) + am(header(RELEASE, 2, 1, req=1)) * 2
    yield 'coop', ready + send(1, length=4000) * 17 + drain() + PROGRESS * 3 + conn(FAIL, 1)
    yield 'rts-of-ours', ready + send(1, length=2500) * 2 + \
        am(header(CTS, 2, 1, total=3)) * 2 + drain()
    yield 'rtr', ready + record(RTR, 36, value=1, extra=2, payload=rtr(generation=1)) * 2 + \
        send(1, length=1200) * 2 + drain()
    yield 'rtr-after-rts', ready + send(1, length=1200) + \
        record(RTR, 36, value=1, extra=2, payload=rtr(generation=1)) + drain()
    yield 'rtr-fails', ready + record(RTR, 36, value=1, extra=2, payload=rtr(generation=1)) + \
        mode(16) + send(1, length=1200) + drain()
    for name, data in (('grant', rtr(generation=1, grant=32)), ('generation', rtr(generation=9)),
                       ('seen', rtr(generation=1, seen=2 ** 31)), ('ahead', rtr(generation=1, ahead=0xffff)),
                       ('short', rtr(generation=1)[:35]), ('long', rtr(generation=1) + b'x'),
                       ('empty', rtr(generation=1, length=0)), ('huge', rtr(generation=1, length=2 ** 64 - 1))):
        yield 'rtr-' + name, ready + \
            record(RTR, len(data), value=1, extra=2, payload=data) + send(1, length=1200)
    yield 'rtr-many', ready + record(RTR, 36, value=1, extra=2, payload=rtr(generation=1, ahead=3)) * 70
    yield 'rtr-layout', ready + layout(RUNS) + (rtr_layout(2, 12288) + send(1, length=9000)) * 3
    yield 'rtr-layout-latest', ready + layout(RUNS) + rtr_layout(1, 6144) + layout((0, 0, 0, 0, 1), 2) + \
        send(1, length=5000) + rtr_layout(1, 1, 0, 2) + rtr_layout(1, 6144) + layout(RUNS) + drain()
    yield 'rtr-layout-tree', ready + layout((4, 128, 128, 4, 1, 4, 3, 0, 1, 3, 144, 3, 0, 64, 128,
        8, 5, 2, 2, 2, 64, 0, 10)) + b''.join(rtr_layout(1, 1024 * k) for k in range(1, 17))
    for name, text in (('empty', ()), ('kind', (0, 0, 0, 9, 1)), ('same', (0, 0, 0, 5)),
                       ('cut', RUNS[:-1]), ('more', RUNS + (0,)), ('shift', (33,) + RUNS[1:]),
                       ('deep', (0,) * 3 + (4, 1, 0) * 33 + (0, 1)), ('number', (0,) * 4 + (255,) * 10),
                       ('overflow', (0, 0, 0, 1) + (0xff,) * 8 + (0x7f, 0, 0, 8))):
        yield 'layout-' + name, ready + layout(text) + rtr_layout(1, 1) + send(1, length=5000)
    for name, text in (('slot', rtr_layout(1, 6144, 64)), ('none', rtr_layout(1, 6144, 1)),
                       ('future', rtr_layout(1, 6144, 0, 2)), ('count', rtr_layout(2, 6144))):
        yield 'rtr-layout-' + name, ready + layout(RUNS) + text + send(1, length=5000)
    yield 'rtr-own', ready + recv(0x10, 0, 600) * 3 + recv(0x10, 3, 900) + drain() + \
        bytes([OP_CANCEL, 0]) + first_contact(4, PLACED, placed(600), req=1) + \
        first_contact(5, tag=0x10)
    yield 'rts', plane + recv(0, 0, 300) * 2 + rts(300, value=2, req=7)
    yield 'rts-unexpected', plane + rts(100, 200, value=2, req=7) + recv(0, 0, 8) + \
        recv(0, 0, 300)
    yield 'rts-early-repeated', plane + rts(300, value=3) * 2 + rts(300, value=2) + \
        rts(300, value=2) + recv(0, 0, 300) * 3
    yield 'rts-truncated', plane + recv(0, 0, 8) + recv(0, 0, 299) + \
        rts(2 ** 61, 2 ** 61, value=2)
    yield 'rts-malformed', plane + rts(0, value=2) + rts(value=2) + \
        rts(*[1] * 17, value=2) + rts(2 ** 62, 1, value=2) + \
        first_contact(2, RTS, segments(1)[:-1])
    yield 'rts-no-plane', first_contact() + recv(0, 0, 300) * 2 + rts(300, value=2) + data
    yield 'rts-read-fails', plane + mode(16) + recv(0, 0x80, 300) * 2 + \
        rts(300, value=2) + bytes([OP_CANCEL, 1]) + data + data
    yield 'rts-unreachable', plane + mode(48) + recv(0, 0, 300) * 3 + rts(300, value=2) + \
        rts(300, value=3) + am(header(RNDV_DATA, 1, 1), b'd' * 300, AM_RNDV) + \
        am(header(RNDV_DATA, 1, 2), b'd' * 299, AM_RNDV)
    yield 'rts-stream-breaks', plane + mode(16) + recv(0, 0x80, 300) * 2 + \
        rts(300, value=2) + rts(300, value=5, tag=3) + first_contact(100) + \
        first_contact(200) + first_contact(7) + data
    yield 'rts-bye', first_contact(1, host=0) + recv(0, 0, 300) * 2 + \
        rts(300, value=2, host=0) + am(header(BYE, 1, 2)) + data
    yield 'rts-endpoint-fails', plane + mode(16) + recv(0, 0x80, 300) * 2 + rts(300, value=2) + conn(FAIL) + data
    yield 'rts-probe', plane + rts(300, value=2) + probe(0, 1, 0x80) + probe(40, 1, 0x40)
    yield 'rts-ring', RING + am(header(PLANE_REQ, 1, 0)) + recv(0, 1, 300) * 5 + \
        record(RTS, 24, extra=7, payload=segments(300)) + \
        record(FIN, 0, value=1, extra=1) + record(RTS, 24, payload=segments(0))
    yield 'rts-ring-length', RING + record(RTS, 300, payload=segments(*[1] * 15))
    # In another error mode than PEER
    asked = first_contact() + conn(NEW, 1) + send(1, length=3000) + \
        am(header(CONN_ACK, 2, 1)) + send(1, length=3000) + am(header(PLANE_ACK, 2, 1))
    fin = am(header(FIN, 2, 1))
    nack = am(header(NACK, 2, 1, total=9))
    yield 'send-rndv', asked + send(1, length=3000) * 2 + fin * 2 + \
        am(header(NACK, 2, 2, total=9)) * 2 + am(header(FIN, 2, 2))
    yield 'send-rndv-later', asked + mode(1) + send(1, length=3000) + nack + stock(0) + \
        stock(0x81)
    yield 'send-rndv-fails', asked + send(1, length=3000) * 2 + mode(2) + nack + \
        send(1, length=3000) + mode(0) + conn(FAIL, 1) + am(header(NACK, 2, 2, total=9))
    yield 'send-rndv-close', asked + send(1, length=3000) + conn(CLOSE, 1) + PROGRESS + \
        rts(300) + recv() + fin + PROGRESS
    yield 'probe', first_contact(1) + probe() + probe(what=0x80) + probe(20, 0, 0x40)
    yield 'cancel', recv() + recv(5, 0) + bytes([OP_CANCEL, 1, OP_CANCEL, 0])
    yield 'send', send() * 6 + am(header(CONN_ACK, 1, 1)) + send() + send(length=2000)
    yield 'send-refused', mode(1) + send() + send(length=500) + send(flags=2) + mode(0) + send() + \
        stock(0) + stock(1) + stock(0x82)
    yield 'send-fails', send() + mode(2) + send(tag=1) + send(tag=1, length=3000) + mode(0) + send(tag=1)
    yield 'send-ring', offer() + send() * 3 + send(length=900) * 6 + drain() + PROGRESS + \
        drain() + PROGRESS + am(header(RING_STOP, 1, 0)) + send()
    yield 'send-ring-close', offer() + send(length=1000) * 6 + conn(CLOSE) + (drain() + PROGRESS) * 2
    yield 'send-sync', send(flags=1) + am(header(SYNC_ACK, 1, 1)) + send(flags=1) + conn(FAIL) + send()
    yield 'send-rma', offer() + conn(RMA) + send() + send() + am(header(ORDER_ACK, 1, 1)) + send()
    yield 'send-reset', offer() + send(flags=1) + send(length=1000) * 6 + am(header(RESET, 1, 1)) + send() + conn(CLOSE)
    # A peer of another host, whose endpoint is not in error mode PEER, and two long messages, from
    # which it is known who sends those of tag 0
    far = conn(NEW, 9) + recv(0, 0, LONG) * 2 + b''.join(
        first_contact(n, BULK, b'x' * 2000, host=0, who=1) for n in (1, 2))
    for kind, name in ((0, 'ud'), (0x40, 'rc')):
        net = far + way(kind, 1)
        offers = net + recv(0, 0, LONG) * 3 + PROGRESS
        yield f'net-{name}-send', net + send(1, length=LONG) + am(header(FIN, 2, 1)) + \
            send(1, length=LONG, flags=1) + breaks() + send(1, length=LONG)
        for how in range(4):
            yield f'net-{name}-target-{how}', net + send(1, length=LONG) + \
                am(header(TARGET, 2, 1, req=1, total=5)) + \
                ends(0, how) + am(header(NACK, 2, 1, total=5)) + PROGRESS
            yield f'net-{name}-rtr-{how}', net + \
                am(header(RTR_UD, 2, 1, 0, 1, 0)) + am(header(RTR, 2, 1, 0, 1, 1)) + \
                am(header(RTR_GRID, 2, 1, 0, 1, 2)) + send(1, length=LONG) * 3 + ends(0, how) + ends(0, how) + \
                am(header(TARGET, 2, 1, req=1, total=5)) + am(header(REVOKE, 2, 1))
            yield f'net-{name}-recv-{how}', offers + hears(0) + rts_net(SENDS) + \
                ends(0, how) + rts_net(8, 4, 8) + ends(0, how) + \
                am(header(ABANDON, 1, 7, total=1))
            yield f'net-{name}-by-rtr-{how}', offers + \
                rts_net(SENDS | BY_RTR, address=1) + ends(0, how) + ends(1, how) + \
                rts_net(SENDS | BY_RTR, 4, 8, address=1 << 32 | 1) + bytes([OP_CANCEL, 2])
        yield f'net-{name}-cancel', offers + bytes([OP_CANCEL, 0]) + hears(1) + \
            bytes([OP_CANCEL, 1, OP_CANCEL, 2]) + PROGRESS
        yield f'net-{name}-waits', net + net_mode(8) + recv(0, 0, LONG) * 2 + \
            rts_net(SENDS) + net_mode(0) + PROGRESS + ends()
        yield f'net-{name}-fails', net_mode(1) + far + way(kind, 1) + net_mode(2) + \
            way(kind, 1) + recv(0, 0, LONG) + send(1, length=LONG) + net_mode(4) + rts_net(SENDS)
        yield f'net-{name}-ends', offers + rts_net(SENDS) + am(header(BYE, 1, 2)) + \
            conn(CLOSE, 1) + net_mode(16) + PROGRESS
        yield f'net-{name}-gone', offers + am(base(PLANE_REQ, 1, 8) + struct.pack(
            '<BBHI32s', 4 if kind == 0 else 2, 8, 1, 1, b'')) + rts_net(SENDS) + PROGRESS
        define = [am(header(LAYOUT, 2, n), bytes(RUNS)) for n in range(4)]
        yield f'net-{name}-layout', net + define[1] + am(header(RTR_LAYOUT, 2, 1, 0, 1, 0)) * 2 + \
            send(1, length=6144) + am(header(RTR_LAYOUT, 2, 2, 0, 1, 1)) + define[2] + define[1] + \
            define[3] + am(header(RTR_LAYOUT, 2, 3, 0, 1, 2)) + ends() + send(1, length=6144) + \
            breaks() + ends() + am(header(LAYOUT, 2, 4), b'\x09') + am(header(LAYOUT, 2, 4, total=64), b'1')
    net = far + way(0x40, 1)
    yield 'net-notified', net + recv(0, 0, LONG) * 3 + PROGRESS + \
        notifies(0, 1 << 22 | 2, LONG) + notifies(0, 1 << 22 | 1 << 17 | 1 << 16 | 3, 5) + \
        am(header(USED, 1, 2, req=0, total=1)) + am(header(REVOKED, 1, 1)) + breaks()
    yield 'net-channel', net + am(header(CHANNEL_OFFER, 2, 4096, total=1)) + PROGRESS + \
        send(1) * 6 + ends() + ends() + send(1, length=200) * 40 + PROGRESS + \
        am(header(CHANNEL_STOP, 2, 0)) + PROGRESS + breaks()
    yield 'net-channel-in', net + b''.join(first_contact(n, host=0, who=1) for n in range(3, 13)) + \
        PROGRESS + am(header(CHANNEL_ACCEPT, 1, 0)) + am(header(CHANNEL_CLOSE, 1, 0)) + \
        breaks() + again(EAGER, b'abc')
    yield 'am-ids', b''.join(
        am(header(CONN_REQ, 0, 0, say_hello=True, who=n, am_id=am_id), b'',
           AM_HELLO | AM_REPLY) for n, am_id in enumerate((0, 1, 4080, 0xffff))) + \
        send(0) + send(1) + send(2, length=3000)
    yield 'self', conn(NEW, 0x41) + send(1) + send(1, length=3000) + send(1, flags=1) + \
        recv() * 2 + conn(CLOSE, 1) + recv()
    yield 'conns', conn(NEW, 1) + conn(NEW, 0x82) + conn(NEW, 0x2b) + send(1) + send(2) + \
        am(header(CONN_ACK, 3, 1)) + conn(FAIL, 1) + conn(CLOSE, 2) + conn(CLOSE, 0)
    yield 'stranger', am(header(EAGER, 0, 1) + b'\0' * 32, b'', 0) + \
        am(b'\x81\0\0\0\1\0\0\0' + b'\5' * 40)
    yield from one_sided()


def patches(*what):
    """(offset, byte) each"""
    return bytes([len(what)]) + b''.join(struct.pack('<HB', *patch) for patch in what)


def key(base, which=0, *what):
    return bytes([OP_KEY, base, which]) + patches(*what)


def rma(kind, which=0, offset=0, length=8, data=b'12345678', value=5):
    return bytes([OP_RMA, kind, which]) + struct.pack('<hHB', offset, length, value) + \
        data.ljust(length, b'.')


def mail(kind, length=8, data_length=8, offset=0, what=0, smash=b'', *entry):
    return bytes([OP_MAIL, what]) + smash + \
        struct.pack('<BHHh', kind, length, data_length, offset) + patches(*entry)


def post(kind, length=8, offset=0, settle=0, *entry):
    return bytes([OP_POST, settle, kind]) + struct.pack('<HH', length, offset) + \
        b'x' * length + (patches(*entry) if kind == 0 else b'')


def one_sided():
    put, get = 0, 1
    atomics = [2 | op << 2 for op in range(8)]
    for name, base in (('own', 0), ('shared', 1), ('file', 0x41), ('foreign', 0x40)):
        yield f'key-{name}', key(base) + rma(put) + rma(get) + rma(put, offset=1000, length=5000) + \
            b''.join(rma(op) for op in atomics) + b''.join(rma(op | 1) for op in atomics)
        yield f'key-{name}-ends', key(base) + rma(put, offset=8191) + rma(put, offset=8184) + \
            rma(get, offset=-1) + rma(get, length=8193) + rma(get, length=0) + \
            b''.join(rma(op, offset=8190) for op in atomics)
        for field, at in (('size', 40), ('size-high', 47), ('address', 32), ('address-high', 39),
                          ('region', 48), ('device', 56), ('inode', 64), ('offset', 72),
                          ('process', 24), ('plane', 88), ('plane-length', 11), ('mailbox', 12)):
            yield f'key-{name}-{field}', key(base, 1, (at, 0xff)) + rma(put, 1) + rma(get, 1) + \
                rma(atomics[0], 1)
    yield 'key-plain', key(0, 0, (0, 0)) + rma(put)
    yield 'key-version', key(0, 0, (8, 9)) + rma(put)
    for length in (0, 9, 10, 119, 121, 255):
        yield f'key-length-{length}', key(0, 0, (9, length)) + rma(put)
    yield 'key-again', key(0) + rma(put) + key(1) + rma(get) + key(0, 0, (8, 9)) + rma(get)
    for kind in range(9):
        yield f'mail-{kind}', mail(kind) + mail(kind, 8, 16) + mail(kind, 4, 4) + \
            mail(kind, 8, 8, 8185) + mail(kind, 8, 8, -1) + mail(kind, 3, 3) + mail(kind, 0, 0)
        yield f'post-{kind}', post(kind) + post(kind, 200) + post(kind, 8, settle=1)
    for length in (96, 97, 4096, 4097, 65535):
        yield f'mail-length-{length}', mail(0, length, length) + mail(1, length, 0) + \
            mail(0, length, 8)
    yield 'mail-no-region', mail(0, 8, 8, 0, 0, b'', (16, 0xff)) + mail(1, 8, 0, 0, 0, b'', (23, 1))
    yield 'mail-two', mail(0, what=0x40) + struct.pack('<BHHh', 1, 8, 0, 0) + patches()
    yield 'mail-state', mail(0, 8, 8, 0, 0, b'', (0, 2)) + mail(0, 8, 8, 0, 1, b'', (1, 7))
    yield 'mail-doorbell', mail(0, 8, 8, 0, 0x80, patches((68, 200), (71, 9))) + mail(0)
    yield 'mail-words', mail(0, 8, 8, 0, 0x80, patches((4, 255), (7, 255))) + mail(0)
    yield 'post-answered', post(0, 8, 0, 1, (0, 3)) + post(0, 8, 0, 1, (0, 4)) + \
        post(0, 8, 0, 1, (0, 0)) + post(0, 8, 0, 1, (0, 77))
    yield 'post-many', post(0) * 30 + post(0, 4096, 4096) * 10 + post(1) + post(0, settle=1)


def main():
    if len(sys.argv) == 2 and sys.argv[1] in ('-h', '--help'):
        print(__doc__)
        return 0
    if len(sys.argv) > 2 or (len(sys.argv) == 2 and sys.argv[1].startswith('-')):
        print(f"make_corpus.py: unknown argument '{sys.argv[-1]}'; see --help", file=sys.stderr)
        return 2
    where = sys.argv[1] if len(sys.argv) == 2 else os.path.join(
        os.path.dirname(os.path.abspath(__file__)), 'corpus')
    os.makedirs(where, exist_ok=True)
    count = 0
    for name, content in inputs():
        with open(os.path.join(where, name), 'wb') as out:
            out.write(content)
        count += 1
    print(f'{count} inputs in {where}')
    return 0


if __name__ == '__main__':
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Other profilers' files read a second time, in Python and without haste: the oracle that the importers are compared with.

`read(path)` gives the spans of a Kineto, ONNX Runtime or Nsight Systems file as parent_rules.Span, with the fields that the
questions need beside them; `relate(trace)` applies the rules of parent_rules.py to them. Run as a program it prints what it
found. Times are exact integers of nanoseconds (decimal, never through floats).
"""
import bisect
import collections
import decimal
import gzip
import json
import os
import re
import sqlite3
import sys

import parent_rules
from parent_rules import APPLICATION, EXECUTION, KERNEL, LAUNCH, LAYER, LIBRARY, MODEL, SYNC, Span

Trace = collections.namedtuple('Trace', 'spans names categories devices')  # all by position of the span in the file

KINETO = {'cpu_op': LAYER, 'operator': LAYER, 'user_annotation': MODEL}
CALLS = {'cuda_runtime', 'cuda_driver', 'runtime', 'driver'}
DEVICE = {'kernel': 'kernel', 'gpu_memcpy': 'memcpy', 'memcpy': 'memcpy', 'gpu_memset': 'memset', 'memset': 'memset',
          'cuda_sync': 'sync'}
OPERATOR = re.compile(r'aten::|.*, (seq|op_id) = \d')


class Builder:
    def __init__(self):
        self.rows, self.names, self.categories, self.devices, self.tracks = [], [], [], [], {}

    def add(self, name, level, kind, category, track, start, end, correlation=0, device=None, process=0):
        number = 0 if track is None else self.tracks.setdefault(track, len(self.tracks) + 1)
        self.rows.append([len(self.rows) + 1, 0, level, kind, category, number, start, end, correlation, '', False,
                          category == 'api', None, False, process])
        self.names.append(name)
        self.categories.append(category)
        self.devices.append(device)

    def finish(self):
        """Of the calls of one correlation id that an execution carries, the outermost is the launch, the rest are sync."""
        carried = {row[8] for row in self.rows if row[3] == EXECUTION and row[8] != 0}
        outermost = {}
        for at, row in enumerate(self.rows):
            if row[4] == 'api' and row[8] in carried:
                key = (row[6], -row[7], at)
                outermost[row[8]] = min(outermost.get(row[8], key), key)
        for _, _, at in outermost.values():
            self.rows[at][3] = LAUNCH
        return Trace([Span(*row) for row in self.rows], self.names, self.categories, self.devices)


def nanoseconds(microseconds):
    return int((decimal.Decimal(microseconds) * 1000).to_integral_value(decimal.ROUND_FLOOR))


def read_kineto(events, base_ns):
    trace = Builder()
    for event in events:
        category = event.get('cat', '').lower()
        if event.get('ph') != 'X' or category.startswith('gpu_user'):
            continue
        start = nanoseconds(event['ts'])
        end = nanoseconds(decimal.Decimal(event['ts']) + decimal.Decimal(event.get('dur', 0)))
        arguments = event.get('args', {})
        host = ('host', str(event['tid']))
        correlation = int(arguments.get('correlation', 0))
        if category in KINETO:
            trace.add(event['name'], KINETO[category], SYNC, category, host, base_ns + start, base_ns + end)
        elif category == 'python_function' and event['name'].startswith('nn.Module: '):
            trace.add(event['name'], LAYER, SYNC, 'module', host, base_ns + start, base_ns + end)
        elif category in CALLS:
            trace.add(event['name'], KERNEL, SYNC, 'api', host, base_ns + start, base_ns + end, correlation)
        elif category in DEVICE:
            device = int(arguments.get('device', event['pid']))
            trace.add(event['name'], KERNEL, EXECUTION, DEVICE[category], (device, arguments.get('stream', event['tid'])),
                      base_ns + start, base_ns + end, correlation, device)
    return trace.finish()


def read_onnxruntime(events):
    trace = Builder()
    for event in events:
        start, host = nanoseconds(event['ts']), (event['pid'], event['tid'])
        end, name = nanoseconds(decimal.Decimal(event['ts']) + decimal.Decimal(event['dur'])), event['name']
        if event['cat'] == 'Node' and name.endswith('_kernel_time'):
            trace.add(event['args']['op_name'], LAYER, SYNC, 'operator', host, start, end)
        else:
            trace.add(name, MODEL if name == 'model_run' else APPLICATION, SYNC, 'session', host, start, end)
    return trace.finish()


def read_nsys(path):
    data = sqlite3.connect(f'file:{path}?immutable=1', uri=True)
    data.row_factory = sqlite3.Row
    tables = {row[0] for row in data.execute("select name from sqlite_master where type = 'table'")}
    strings = dict(data.execute('select id, value from StringIds').fetchall())
    trace, processes = Builder(), {}

    def process_of(row, thread='globalTid'):
        return processes.setdefault((row[thread] or 0) >> 24, len(processes) + 1)

    def correlation(row, thread):
        return process_of(row, thread) << 32 | row['correlationId'] if row['correlationId'] else 0

    for row in data.execute('select * from NVTX_EVENTS where eventType in (59, 60) and "end" is not null'):
        text = row['text'] if row['text'] is not None else strings[row['textId']]
        level = LAYER if OPERATOR.match(text) else APPLICATION
        name = re.sub(r'(, (seq|op_id|sizes|input_op_ids) = .*)$', '', text) if level == LAYER else text
        trace.add(name, level, SYNC, 'range', ('host', row['globalTid']) if row['eventType'] == 59 else None, row['start'],
                  row['end'], process=process_of(row))
    for row in data.execute('select * from CUPTI_ACTIVITY_KIND_RUNTIME'):
        trace.add(strings[row['nameId']], KERNEL, SYNC, 'api', ('host', row['globalTid']), row['start'], row['end'],
                  correlation(row, 'globalTid'), process=process_of(row))
    for kind in ('kernel', 'memcpy', 'memset'):
        table = 'CUPTI_ACTIVITY_KIND_' + kind.upper()
        for row in data.execute(f'select * from {table}') if table in tables else ():
            name = strings[row['demangledName']] if kind == 'kernel' else kind
            trace.add(name, KERNEL, EXECUTION, kind, (row['deviceId'], row['streamId'], row['globalPid']), row['start'],
                      row['end'], correlation(row, 'globalPid'), row['deviceId'], process_of(row, 'globalPid'))
    return trace.finish()


def read(path):
    with (gzip.open if str(path).endswith('.gz') else open)(path, 'rb') as file:
        data = file.read()
    if data.startswith(b'SQLite format 3'):
        return read_nsys(path)
    # numbers stay text: as floats, times since 1970 would lose their nanoseconds
    document = json.loads(data.decode(errors='replace'), parse_float=decimal.Decimal)
    if isinstance(document, list) and document and 'Node' in {event.get('cat') for event in document}:
        return read_onnxruntime(document)
    events = document if isinstance(document, list) else document['traceEvents']
    return read_kineto(events, 0 if isinstance(document, list) else int(document.get('baseTimeNanoseconds', 0)))


def relate(trace):
    """[(parent position or None, basis)]: parent_rules; of many spans, asked only about those that can matter (same track,
    alive), and without several launches with one id."""
    spans, result = trace.spans, [(None, parent_rules.NONE)] * len(trace.spans)
    if len(spans) < 1000:
        return [(None if parent is None else parent - 1, basis) for parent, basis in parent_rules.parents(spans)]
    tracks, launches = collections.defaultdict(list), {}
    for at, span in enumerate(spans):
        if span.track != 0 and span.kind != EXECUTION:
            tracks[span.track].append(at)
    for members in tracks.values():
        order = sorted(members, key=lambda at: (spans[at].start, -spans[at].end))
        alive = []
        starts = [spans[at].start for at in order]
        for at in order:
            alive = [other for other in alive if spans[other].end >= spans[at].start]
            # what starts at the same instant may enclose as well as what started before
            together = order[bisect.bisect_left(starts, spans[at].start):bisect.bisect_right(starts, spans[at].start)]
            some = sorted(set(alive) | set(together))
            parent, basis = parent_rules.by_containment([spans[other] for other in some], some.index(at))
            result[at] = (None if parent is None else parent - 1, basis)
            alive.append(at)
    for at, span in enumerate(spans):
        if span.kind == LAUNCH:
            launches[span.correlation] = at
    for at, span in enumerate(spans):
        if span.kind == EXECUTION and span.correlation in launches:
            result[at] = (result[launches[span.correlation]][0], parent_rules.CORRELATION)
    return result


def layer_of(trace, related, at):
    """The nearest layer above a span, or None."""
    while at is not None and trace.spans[at].level != LAYER:
        at = related[at][0]
    return at


def device_time(trace, related, categories=('kernel',)):
    """{operator: [executions, ns]} of the executions of these categories; None: in no layer."""
    sums = collections.defaultdict(lambda: [0, 0])
    for at, span in enumerate(trace.spans):
        if span.kind == EXECUTION and span.category in categories:
            layer = layer_of(trace, related, at)
            entry = sums[None if layer is None else trace.names[layer]]
            entry[0] += 1
            entry[1] += span.end - span.start
    return {name: tuple(entry) for name, entry in sums.items()}


def data_folder():
    """The folder of real traces, or None."""
    folder = os.environ["XSP_TEST_DATA"]
    return folder if os.path.isdir(folder) else None


if __name__ == '__main__':
    for path in sys.argv[1:]:
        trace = read(path)
        related = relate(trace)
        executions = [s for s in trace.spans if s.kind == EXECUTION]
        print(os.path.basename(path), len(trace.spans), 'spans', collections.Counter(basis for _, basis in related))
        for category, count in collections.Counter(s.category for s in executions).items():
            print(f'  {category}: {count}, {sum(s.end - s.start for s in executions if s.category == category)} ns, without '
                  f'parent {sum(s.category == category and r[0] is None for s, r in zip(trace.spans, related) if s.kind == EXECUTION)}')
        for name, (count, ns) in sorted(device_time(trace, related).items(), key=lambda item: -item[1][1])[:6]:
            print(f'  {ns:>12} ns {count:>6}  {name}')

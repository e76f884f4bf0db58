# SPDX-License-Identifier: Apache-2.0
"""Who is whose parent, word by word and by brute force: the oracle that correlate/ is compared with.

Not fast, not clever: every span looks at every other. Change the rules here first, then in C.
"""
import collections

APPLICATION, MODEL, LAYER, LIBRARY, KERNEL = range(5)
SYNC, LAUNCH, EXECUTION = range(3)
NONE, EXPLICIT, CORRELATION, CONTAINMENT, AMBIGUOUS = 'none', 'explicit', 'correlation', 'containment', 'ambiguous'
FOREVER = 2 ** 63 - 1  # the end of a span that never finished

# recorded_parent, correlation, track: 0 means none. Spans stand in file order. `clock` is the name of a foreign clock, or ''.
Span = collections.namedtuple('Span', 'span_id recorded_parent level kind category track start end correlation clock')


def encloses(outer, outer_at, inner, inner_at):
    if outer.start > inner.start or outer.end < inner.end:
        return False
    if (outer.start, outer.end) == (inner.start, inner.end):
        return outer.level < inner.level or (outer.level == inner.level and outer_at < inner_at)
    if inner.start == inner.end and outer.level == inner.level and outer.start == inner.start:
        return outer_at < inner_at
    return True


def by_containment(spans, at):
    span = spans[at]
    lowest_allowed = LIBRARY if span.level == KERNEL else span.level  # so a host API call is nobody's parent
    candidates = [i for i, other in enumerate(spans)
                  if i != at and span.track != 0 and other.track == span.track and other.clock == span.clock
                  and other.level <= lowest_allowed and encloses(other, i, span, at)]
    if not candidates:
        return None, NONE
    lowest = max(spans[i].level for i in candidates)
    candidates = [i for i in candidates if spans[i].level == lowest]
    inner = max(candidates, key=lambda i: (spans[i].start, -spans[i].end, i))
    for i in candidates:  # all of them overlap in the span itself, so one that starts and ends earlier crosses
        if spans[i].start < spans[inner].start < spans[i].end < spans[inner].end:
            return None, AMBIGUOUS
    return spans[inner].span_id, CONTAINMENT


def launch_of(spans, correlation):
    launches = [i for i, s in enumerate(spans) if s.kind == LAUNCH and s.correlation == correlation and correlation != 0]
    return min(launches, key=lambda i: (spans[i].start, -spans[i].end, i), default=None)


def parents(spans):
    """[(parent id or None, basis)] in the order of `spans`."""
    result = [None] * len(spans)
    for at, span in enumerate(spans):
        if span.recorded_parent != 0:
            result[at] = (span.recorded_parent, EXPLICIT)
        elif span.kind != EXECUTION:
            result[at] = by_containment(spans, at)
    for at, span in enumerate(spans):
        if result[at] is None:
            launch = launch_of(spans, span.correlation)
            result[at] = (None, NONE) if launch is None else (result[launch][0], CORRELATION)
    return without_circles(spans, result)


def without_circles(spans, result):
    """Of spans that would be their own ancestors, the first in the file loses its parent."""
    row = {span.span_id: at for at, span in enumerate(spans)}
    for at in range(len(spans)):
        path = [at]
        while (above := row.get(result[path[-1]][0])) is not None and above not in path:
            path.append(above)
        if above is not None and at == min(path[path.index(above):]):
            result[at] = (None, NONE)
    return result

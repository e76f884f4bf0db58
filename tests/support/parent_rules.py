# SPDX-License-Identifier: Apache-2.0
"""The parent rules, by brute force: the oracle for correlate/.

Slow and simple: every span is compared with every other. Change the rules here first, then in C.
"""
import collections

APPLICATION, MODEL, LAYER, LIBRARY, KERNEL = range(5)
SYNC, LAUNCH, EXECUTION = range(3)
NONE, EXPLICIT, CORRELATION, CONTAINMENT, AMBIGUOUS = 'none', 'explicit', 'correlation', 'containment', 'ambiguous'
FOREVER = 2 ** 63 - 1  # the end of a span that never finished

# recorded_parent, correlation, track: 0 means none. Spans are in file order. `clock` is the name of a foreign clock, or
# ''. placed: an importer laid its times out. call: a host API call, which may turn out to be a launch. basis: what the
# source recorded, or None. step: a framework's step, or a match of --model-range. process: a number for (host, process); 0: none recorded.
# threadless: its track has neither a thread nor a device. device, external_id, kernel: what else is recorded, 0: nothing.
# name: a number for it.
Span = collections.namedtuple('Span', 'span_id recorded_parent level kind category track start end correlation clock '
                                      'placed call basis step process threadless device external_id kernel name',
                              defaults=(False, False, None, False, 0, False, 0, 0, 0, 0))


# ---- kinds
def is_candidate(span):
    return span.correlation != 0 and (span.kind == LAUNCH or (span.call and span.kind == SYNC))


def is_nested_call(spans, at):
    """In another call with the same id on the same thread."""
    span = spans[at]
    return any(i != at and is_candidate(s) and s.correlation == span.correlation and s.track == span.track != 0
               and (s.start, -s.end, i) < (span.start, -span.end, at) and s.end >= span.end for i, s in enumerate(spans))


def process_of(span):
    return span.process if span.track != 0 else 0


def agree(a, b):
    return process_of(a) == process_of(b) or 0 in (process_of(a), process_of(b))


def agree_in_all(a, b):
    """What is recorded of both is equal."""
    return all(x == y or 0 in (x, y) for x, y in ((a.device, b.device), (a.external_id, b.external_id),
                                                  (a.kernel, b.kernel)))


def launches_of(spans, at):
    """The calls that may have launched an execution: of its process, not nested in each other."""
    return [i for i, s in enumerate(spans) if is_candidate(s) and s.correlation == spans[at].correlation
            and agree(s, spans[at]) and not is_nested_call(spans, i)]


def launch_of(spans, at):
    """The call that launched an execution; None: no such call, AMBIGUOUS: of several, not exactly one can have."""
    calls = launches_of(spans, at)
    if len(calls) < 2:
        return calls[0] if calls else None
    if process_of(spans[at]) == 0 and len({process_of(spans[i]) for i in calls} - {0}) > 1:
        calls = [i for i in calls if 0 != spans[i].external_id == spans[at].external_id
                 or 0 != spans[i].kernel == spans[at].kernel]
    before = [i for i in calls if spans[i].start <= spans[at].start and agree_in_all(spans[i], spans[at])]
    return before[0] if len(before) == 1 else AMBIGUOUS


def has_anothers_launch(spans, at):
    """Its launch recorded a kernel of another name, and has that one, too."""
    launch = launch_of(spans, at) if spans[at].kind == EXECUTION and spans[at].correlation else None
    if launch in (None, AMBIGUOUS) or 0 in (spans[launch].kernel, spans[at].kernel):
        return False
    same = [i for i, span in enumerate(spans) if span.kind == EXECUTION and span.correlation == spans[at].correlation
            and launch_of(spans, i) == launch]
    return spans[at].kernel != spans[launch].kernel in [spans[i].kernel for i in same]


def kinds(spans):
    """Of calls with one id that are nested in each other, the outermost is a launch if an execution carries the id."""
    carried = {s.correlation for s in spans if s.kind == EXECUTION and s.correlation}
    result = []
    for at, span in enumerate(spans):
        kind = SYNC if span.call and span.kind == LAUNCH else span.kind
        if is_candidate(span) and span.correlation in carried:
            kind = SYNC if is_nested_call(spans, at) else LAUNCH
        result.append(kind)
    return result


# ---- parents
def nested(spans, resolution):
    """The spans as parents are to be found from them, where a source rounds times to `resolution`: on a thread, what outlasts
    the span it began in by no more than that ends with it. What it truly crosses takes in nothing from there on."""
    result = list(spans)
    open_rows = collections.defaultdict(list)  # by track, each in the one before it
    for at in sorted(range(len(spans)), key=lambda i: (spans[i].start, -spans[i].end, spans[i].level, i)):
        span = spans[at]
        if span.track == 0 or span.threadless or span.kind == EXECUTION:
            continue
        stack = open_rows[span.track]
        while stack and result[stack[-1]].end < span.end:
            outer, limit = spans[stack[-1]], result[stack[-1]].end
            if (span.end != FOREVER and span.end - outer.end <= resolution < limit - span.start
                    and outer.level <= span.level):
                result[at] = span._replace(end=limit)
                break
            stack.pop()
        if span.level < KERNEL and not span.call:
            stack.append(at)
    return result


def encloses(outer, outer_at, inner, inner_at):
    if outer.start > inner.start or outer.end < inner.end:
        return False
    if (outer.start, outer.end) == (inner.start, inner.end):
        return outer.level < inner.level or (outer.level == inner.level and outer_at < inner_at)
    if inner.start == inner.end and outer.level == inner.level and outer.start == inner.start:
        return outer_at < inner_at
    return True


def may_enclose(outer, inner):
    """On the same track, or on one of the same process that has no thread."""
    if inner.track == 0 or outer.track == 0 or outer.clock != inner.clock:
        return False
    return outer.track == inner.track or (outer.threadless and outer.process == inner.process)


def candidates_of(spans, at, lowest_allowed):
    return [i for i, other in enumerate(spans)
            if i != at and may_enclose(other, spans[at]) and other.level <= lowest_allowed and not other.call
            and encloses(other, i, spans[at], at)]


def innermost(spans, rows):
    return max(rows, key=lambda i: (spans[i].start, -spans[i].end, i))


def by_containment(spans, at, result=()):
    """`result`: parents so far, of what starts earlier and of what the source named; for spans of no thread only."""
    span = spans[at]
    candidates = candidates_of(spans, at, LIBRARY if span.level == KERNEL else span.level)
    if not candidates:
        return None, NONE
    lowest = max(spans[i].level for i in candidates)
    candidates = [i for i in candidates if spans[i].level == lowest]
    inner = innermost(spans, candidates)
    for i in candidates:  # all of them overlap in the span itself, so one that starts and ends earlier crosses
        if spans[i].start < spans[inner].start < spans[i].end < spans[inner].end:
            return None, AMBIGUOUS
    threadless = [i for i in candidates if spans[i].threadless]
    if any(not is_above(spans, result, a, b) and not is_above(spans, result, b, a)
           for a in threadless for b in threadless if a != b):
        return None, AMBIGUOUS
    return spans[inner].span_id, CONTAINMENT


def is_above(spans, result, above, below):
    row = {span.span_id: at for at, span in enumerate(spans)}
    seen = set()
    while below is not None and below not in seen:
        seen.add(below)
        below = row.get((result[below] or (None, NONE))[0])
        if below == above:
            return True
    return False


def parents(spans, has_caller=False):
    """[(parent id or None, basis)] in the order of `spans`. has_caller: a span outside the run is the parent of all
    topmost spans above kernel level."""
    result = [None] * len(spans)
    for at, span in enumerate(spans):
        if span.basis is not None:  # recorded with its basis: not resolved again
            result[at] = (span.recorded_parent or None, span.basis)
        elif span.recorded_parent != 0:
            result[at] = (span.recorded_parent, EXPLICIT)
    for at in sorted(range(len(spans)), key=lambda i: (spans[i].start, -spans[i].end, spans[i].level, i)):
        if result[at] is None and spans[at].kind != EXECUTION:
            result[at] = (None, NONE) if spans[at].placed else by_containment(spans, at, result)
    for at, span in enumerate(spans):
        if result[at] is None:
            launch = launch_of(spans, at) if span.correlation else None
            result[at] = ((None, NONE) if launch is None
                          else (None, AMBIGUOUS) if launch == AMBIGUOUS or has_anothers_launch(spans, at)
                          else (result[launch][0], CORRELATION))
    for at, span in enumerate(spans):
        if has_caller and result[at] == (None, NONE) and (span.basis, span.level < KERNEL, span.kind != EXECUTION) == (
                None, True, True):
            result[at] = (None, EXPLICIT)
    return without_circles(spans, result)


def without_circles(spans, result):
    """Of spans that would be their own ancestors, the first in the file loses its parent; of those whose parent the source
    did not name, with a basis or without, if there are any."""
    row = {span.span_id: at for at, span in enumerate(spans)}
    for at in range(len(spans)):
        path = [at]
        while (above := row.get(result[path[-1]][0])) is not None and above not in path:
            path.append(above)
        if above is not None:
            circle = path[path.index(above):]
            result[min(circle, key=lambda i: (spans[i].recorded_parent != 0, i))] = (None, NONE)
    return result


# ---- observations
def observations(spans, related):
    """[which observation a span belongs to, or None], counting them by start; `related` is what parents() gave."""
    row = {span.span_id: at for at, span in enumerate(spans)}
    has_steps = any(span.step for span in spans)
    if not has_steps and all(span.level != MODEL for span in spans):
        clock = '' if any(not span.clock for span in spans) else spans[0].clock
        return [0 if span.clock == clock else None for span in spans]

    def outermost(at):
        """Spans of one name that lie in each other on no thread run side by side: each is one of its own."""
        path = []
        while at is not None:
            path.append(at)
            at = row.get(related[at][0])
        found = None
        for at in reversed(path):
            if spans[at].end != FOREVER and (spans[at].step if has_steps else spans[at].level == MODEL):
                if found is None or (spans[at].threadless and spans[found].threadless
                                     and spans[at].name == spans[found].name and related[at][1] == CONTAINMENT):
                    found = at
        return found

    listed = sorted({outermost(at) for at in range(len(spans))} - {None}, key=lambda at: (spans[at].start, at))

    working = {process_of(span) for span in spans if span.level != MODEL and span.kind != EXECUTION}

    def belongs(at):
        """By time: what a host does is of an observation of its process. Where that did nothing else, or is not recorded, of
        any process."""
        if outermost(at) is not None:
            return listed.index(outermost(at))
        return max((i for i, o in enumerate(listed) if spans[o].clock == spans[at].clock
                    and (spans[at].kind == EXECUTION or process_of(spans[o]) not in working
                         or agree(spans[o], spans[at]))
                    and spans[o].start <= spans[at].start < spans[o].end), default=None)

    def of(at):
        if spans[at].kind == EXECUTION and outermost(at) is None:
            launch = launch_of(spans, at) if spans[at].correlation else None
            return belongs(at if launch in (None, AMBIGUOUS) else launch)
        return belongs(at)

    return [of(at) for at in range(len(spans))]

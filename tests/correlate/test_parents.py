# SPDX-License-Identifier: Apache-2.0
"""correlate/ against the rules in parent_rules.py: random span sets with ties, crossings, circles and all levels."""
import os
import random
import subprocess
import unittest

import parent_rules as rules

PROGRAM = os.path.join(os.environ.get('XSP_BUILD', 'build'), 'test-programs', 'parents_text')
CASES = int(os.environ.get('XSP_PARENT_CASES', '8000'))
OPEN = rules.FOREVER
BASES = (rules.NONE, rules.EXPLICIT, rules.CORRELATION, rules.CONTAINMENT, rules.AMBIGUOUS)  # in the store's order
STEP, PLACED, CALL = 2, 4, 8  # the store's flags


def random_case(random):
    """A few spans on few tracks in little time, so that everything that can coincide does."""
    count = random.randrange(1, 14)
    horizon = random.choice((3, 6, 12, 40))
    tracks = random.choice((1, 1, 2, 3))
    levels = random.choice(([0, 1, 2, 3, 4], [1, 2, 4], [2], [2, 4], [0, 2]))
    plain = random.random()  # which flags there are at all
    threadless = random.choice((frozenset(), frozenset(), {1}, {1, 2}, {2}, {1, 2, 3}))
    processes = random.choice((1, 1, 2, 3))
    offset = random.randrange(3)
    facts = random.random() < 0.5
    spans = []
    for i in range(count):
        start = random.randrange(horizon)
        end = random.randrange(start, horizon)
        if random.random() < 0.04:
            end = OPEN
        kind = random.choices((0, 1, 2), (8, 2, 2))[0]
        correlation = random.randrange(0, 4) if kind or random.random() < 0.2 else 0
        parent = random.randrange(1, count + 3) if random.random() < 0.08 else 0
        track = random.randrange(0 if random.random() < 0.05 else 1, tracks + 1)
        call = plain < 0.6 and kind < 2 and random.random() < 0.35
        if call and random.random() < 0.8:
            kind, correlation = 0, random.randrange(0, 4)
        basis = random.choice(BASES) if random.random() < (0.12 if plain < 0.2 else 0) else None
        spans.append([0, parent, random.choice(levels), kind, 'api' if kind == 1 else '', track, start, end, correlation,
                      'foreign' if track == 3 else '', plain < 0.5 and random.random() < 0.12, call, basis,
                      plain < 0.3 and random.random() < 0.2, (track + offset) % processes, track in threadless,
                      *(random.randrange(3) if facts and random.random() < 0.6 else 0 for _ in range(3)),
                      random.randrange(2)])
    order = random.random()
    if order < 0.35:  # as a thread's ring has them
        spans.sort(key=lambda s: (s[7], -s[6]))
    elif order < 0.5:
        spans.sort(key=lambda s: s[6])
    ids = list(range(1, count + 1))
    if random.random() < 0.3:
        random.shuffle(ids)
    scale = random.choice((1, 1, 1, 10 ** 6 + 7, 10 ** 17))
    for span, span_id in zip(spans, ids):
        span[0] = span_id * scale
        span[1] *= scale
        span[8] *= scale  # sparse, as ids that an importer did not number
    return [rules.Span(*span) for span in spans]


def nested_case(random):
    """Properly nested, in the order of ends: what the backward sweep decides alone, now and then spoilt."""
    spans = []
    call = random.random() < 0.5

    def grow(level, start, end, depth=0):
        at = start
        while depth < 6 and at < end and len(spans) < 40:
            begin = random.randrange(at, end)
            finish = random.randrange(begin, end) + 1
            grow(min(4, level + random.randrange(0, 2)), begin, finish, depth + 1)
            if random.random() < 0.8:
                spans.append([0, 0, level, random.choice((0, 1)) if level == 4 else 0, '', 1, begin, finish, 0, '', False,
                              call and level == 4])
            at = finish + random.randrange(0, 3)
    grow(random.randrange(0, 3), 0, 200)
    if spans and random.random() < 0.3:
        spans.insert(random.randrange(len(spans)), spans.pop(random.randrange(len(spans))))
    return [rules.Span(i + 1, *span[1:]) for i, span in enumerate(spans)] or random_case(random)


def flags_of(span):
    recorded = 0 if span.basis is None else BASES.index(span.basis) + 1
    return STEP * span.step | PLACED * span.placed | CALL * span.call | recorded << 4


def to_text(spans, has_caller, resolution):
    lines = [f'case {len(spans)} {int(has_caller)} {resolution}']
    for s in spans:
        end = 'open' if s.end == OPEN else s.end
        lines.append(f'{s.span_id} {s.recorded_parent} {s.level} {s.kind} {s.track} {s.start} {end} {s.correlation} '
                     f'{int(bool(s.clock))} {flags_of(s)} {s.process} {int(s.threadless)} {s.device} {s.external_id} '
                     f'{s.kernel} {s.name}')
    return '\n'.join(lines) + '\n'


def covered(spans, at, parents):
    """The time of a span that its children on its own track take up, instant by instant."""
    span = spans[at]
    children = [s for s, (parent, _) in zip(spans, parents)
                if parent == span.span_id and s.track == span.track and s.track != 0]
    return sum(any(c.start <= t < c.end for c in children) for t in range(span.start, span.end))


class Parents(unittest.TestCase):
    def test_random_cases_agree_with_the_rules(self):
        generator = random.Random(20)
        cases = [(nested_case if i % 3 == 0 else random_case)(generator) for i in range(CASES)]
        have_callers = [generator.random() < 0.2 for _ in cases]
        resolutions = [generator.choice((0, 0, 1, 2)) for _ in cases]
        output = subprocess.run([PROGRAM], input=''.join(map(to_text, cases, have_callers, resolutions)), capture_output=True, text=True,
                                check=True)
        lines = iter(output.stdout.splitlines())
        seen, became = set(), set()
        for spans, has_caller, resolution in zip(cases, have_callers, resolutions):
            answers = [next(lines).split() for _ in spans]
            expected = rules.parents(rules.nested(spans, resolution), has_caller)
            kinds = rules.kinds(spans)
            observations = rules.observations(spans, expected)
            for at, (answer, (parent, basis)) in enumerate(zip(answers, expected)):
                self.assertEqual((int(answer[0]), answer[1]), (parent or 0, basis),
                                 f'row {at} of\n' + '\n'.join(map(str, spans)))
                seen.add(basis)
                span = spans[at]
                became.add((span.kind, span.call, kinds[at]))
                self.assertEqual(int(answer[5]), kinds[at], f'kind of row {at} of\n' + '\n'.join(map(str, spans)))
                self.assertEqual(int(answer[4]), -1 if observations[at] is None else observations[at],
                                 f'observation of row {at} of\n' + '\n'.join(map(str, spans)))
                if span.end != OPEN:
                    self_ns = span.end - span.start
                    if span.kind != rules.EXECUTION:
                        self_ns -= covered(spans, at, expected)
                    self.assertEqual(int(answer[3]), self_ns, f'self time of row {at} of\n' + '\n'.join(map(str, spans)))
        self.assertEqual(seen, set(BASES))
        self.assertLessEqual({(0, True, 0), (0, True, 1), (1, False, 1), (1, False, 0), (1, True, 0)}, became)


if __name__ == '__main__':
    unittest.main()

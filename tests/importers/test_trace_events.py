# SPDX-License-Identifier: Apache-2.0
"""The reader of Chrome trace events against Python's json: real traces, and small documents that were damaged at random.

Both must accept the same documents, with the same events and values. Exceptions, as the format wants them:
 raw control bytes in strings are let through, invalid UTF-8 becomes U+FFFD, NaN and infinities are null, a bare array
may lack its closing bracket.
"""
import codecs
import fractions
import functools
import glob
import gzip
import json
import math
import os
import pathlib
import random
import re
import subprocess
import tempfile
import unittest

from trace_reader import data_folder

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
DUMP = BUILD / "test-programs" / "dump_events"
FOLDER = data_folder()
FIELDS = ("name", "cat", "ph", "ts", "dur", "pid", "tid", "id", "args")

codecs.register_error("each-byte", lambda error: ("\ufffd", error.start + 1))


class Number(str):
    """A number as written in the text."""


class Refused(Exception):
    pass


class Members(list):
    """An object: its (key, value) pairs in order, repeated keys and all."""

    def last(self, key):
        found = [value for name, value in self if name == key]
        return found[-1] if found else None


SPACES = re.compile(r"[ \t\r\n]*")
QUOTED_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


PLAIN = json.JSONDecoder(strict=False)  # five times as fast
DECODER = json.JSONDecoder(strict=False, parse_int=Number, parse_float=Number, parse_constant=lambda word: None,
                           object_pairs_hook=Members)


def whole_text(text):
    return text if text.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", text)


def plain(value):
    """For comparison: lone surrogates replaced, objects as lists of pairs."""
    if isinstance(value, Members):
        return ["{"] + [(whole_text(key), plain(member)) for key, member in value]
    if isinstance(value, list):
        return ["["] + [plain(element) for element in value]
    if isinstance(value, Number) or not isinstance(value, str):
        return value if not isinstance(value, Number) else ("number", str(value))
    return ("string", whole_text(value))


def nanoseconds(value):
    """µs * 1000 exactly, not yet rounded."""
    whole, point, decimals = value.partition(".")
    if (whole + "0").isdigit() and (not point or decimals.isdigit() and len(decimals) <= 3):
        return int(whole + decimals.ljust(3, "0"))
    mantissa, _, exponent = value.lower().partition("e")
    return fractions.Fraction(mantissa) * fractions.Fraction(10) ** int(exponent or 0) * 1000


def representable(number):
    if not -2**63 <= number < 2**63:
        raise Refused("time")
    return number


def is_time(value):
    """A number, in quotes or not."""
    return isinstance(value, Number) or isinstance(value, str) and QUOTED_NUMBER.fullmatch(value) is not None


def event_of(document):
    if not isinstance(document, Members):
        raise Refused("no object")
    event = {key: document.last(key) for key in FIELDS}
    name, category, phase = (event[key] if type(event[key]) is str else "" for key in ("name", "cat", "ph"))
    result = {"name": whole_text(name), "cat": whole_text(category),
              "ph": phase.encode(errors="replace")[0] if len(whole_text(phase).encode()) == 1 else 0}
    start, duration = (nanoseconds(event[key]) if is_time(event[key]) else None for key in ("ts", "dur"))
    if start is not None:
        result["start"] = representable(math.floor(start))
        if duration is not None:
            result["end"] = representable(math.floor(start + duration))
    elif duration is not None:
        representable(math.floor(duration))
    for key in ("pid", "tid", "id"):
        present = [value for name, value in document if name == key]
        result[key] = plain(present[-1]) if present else None
    arguments = event["args"] if isinstance(event["args"], Members) else []
    result["args"] = [(whole_text(key), plain(value)) for key, value in arguments]
    return result


def thinned(text, step):
    """The document with null for all but each `step`th event."""
    start = re.search(r'"traceEvents"\s*:\s*\[', text)
    if step == 1 or start is None:
        return text
    at, parts = start.end(), []
    while text[at := SPACES.match(text, at).end()] != "]":
        _, end = PLAIN.scan_once(text, at)
        parts.append(text[at:end] if len(parts) % step == 0 else "null")
        at = SPACES.match(text, end).end()
        at += text[at] == ","
    return text[:start.end()] + ",".join(parts) + text[at:]


def expected(data, step=1):
    """The events of a document, or Refused. Only every `step`th event, the others are None."""
    text = thinned(data.decode("utf-8", "each-byte").removeprefix("\ufeff"), step)
    unclosed = False
    try:
        document = DECODER.decode(text)
    except ValueError:
        # Python's json knows no unclosed arrays: whether closing it would help is the question.
        rest = text.rstrip(" \t\r\n")
        try:
            document = DECODER.decode(rest.removesuffix(",") + "]")
        except ValueError as error:
            raise Refused(error) from None
        unclosed = True
        if not isinstance(document, list) or isinstance(document, Members) or not document:
            raise Refused("no unclosed array") from None
    except RecursionError as error:
        raise Refused(error) from None
    items = []
    if isinstance(document, Members):
        for key, value in document:
            if key != "traceEvents":
                items.append((whole_text(key), plain(value)))
            elif isinstance(value, Members) or not isinstance(value, list):
                raise Refused("events are no array")
            else:
                items += [event_of(element) if number % step == 0 else None for number, element in enumerate(value)]
    elif isinstance(document, list):
        items = [event_of(element) if number % step == 0 else None for number, element in enumerate(document)]
    else:
        raise Refused("no container")
    return items, unclosed


@functools.lru_cache(maxsize=100_000)
def text_of(field):
    return bytes.fromhex(field).decode()


@functools.lru_cache(maxsize=100_000)
def value_of(field):
    kind, text = field[0], bytes.fromhex(field[1:]).decode()
    if kind == "-":
        return None
    if kind == "s":
        return ("string", text)
    if kind == "n":
        return ("number", text)
    value = plain(DECODER.decode(text))
    assert value is {"t": True, "f": False, "z": None}[kind] if kind in "tfz" else value[0] == kind, field
    return value


def dumped(lines):
    items, unclosed = [], False
    for line in lines:
        if line == "-":
            items.append(None)
            continue
        head, *fields = line.split(" ")
        pairs = [field.split("=", 1) for field in fields]
        if head == "unclosed":
            unclosed = True
        elif head == "key":
            (_, key), (_, value) = pairs
            items.append((text_of(key), value_of(value)))
        else:
            event = {"args": []}
            for name, value in pairs:
                if name in ("name", "cat"):
                    event[name] = text_of(value)
                elif name == "ph":
                    event["ph"] = int(value, 16)
                elif name in ("start", "end"):
                    event[name] = int(value)
                elif name in ("pid", "tid", "id"):
                    event[name] = value_of(value)
                elif name == "key":
                    event["args"].append((text_of(value), None))
                elif name == "value":
                    event["args"][-1] = (event["args"][-1][0], value_of(value))
            items.append(event)
    return items, unclosed


def dump(*paths, step=1):
    """Exit status, error and lines of each file."""
    done = subprocess.run([DUMP, str(step), *paths], capture_output=True, text=True, timeout=600)
    found, lines = [], []
    for line in done.stdout.split("\n"):
        if line.startswith("end "):
            _, status, error = line.split(" ", 2)
            found.append((int(status), error, lines))
            lines = []
        else:
            lines.append(line)
    if (done.returncode, len(found)) != (0, len(paths)):
        broken = pathlib.Path(paths[len(found)]).read_bytes()[:1000]
        raise AssertionError(f"status {done.returncode} in document {len(found)}: {broken}: {done.stderr}")
    return found


AT_ONCE = 100  # documents of a process


SAMPLE = b'''{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "G"}],
 "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "a\\u00e9\\n\xc3\xa9", "pid": 7, "tid": "stream 7", "ts": 1.5, "dur": 20.0015,
   "args": {"External id": 3, "Input Dims": [[1, 2], []], "e": {}, "s": "x\\\\y"}},
  {"ph": "X", "cat": "cpu_op", "name": "b", "pid": 7, "tid": "stream 7", "ts": 10e-1, "dur": 2,
   "args": {"External id": -4, "Input Dims": [true, null], "e": "f", "s": 0.5E+2}},
  {"name": "n", "ph": "M", "args": {}, "id": null}, {"ts": 9223372036854775.807, "x": false}
 ], "traceName": "t", "last": "q"} '''
ARRAY = b'[{"cat" : "Node","pid" :1,"tid" :2,"dur" :3,"ts" :4,"ph" : "X","name" :"a\tb","args" : {"op" : "C"}},\n{}\n]\n'
PIECES = [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b" ", b"\n", b"0", b"-", b"1", b".", b"e", b"E9", b"true",
          b"nul", b"\xff", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\\ud83d", b"\\ude00", b"\x00", b"\t", b"ts", b'"dur": ',
          b"1e400", b"999999999999999999999", b"0.00099999999", b'"args": {', b'{}, "args": {"again": 1}, "dur": ',
          b"NaN", b"Infinity", b"-Infinity", b"\\u12", b"\xc3"]


class TraceEvents(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.paths = [pathlib.Path(folder.name) / f"{number}.json" for number in range(AT_ONCE)]

    def dump(self, documents):
        """What dump gives of each document."""
        found = []
        for first in range(0, len(documents), AT_ONCE):
            some = documents[first:first + AT_ONCE]
            for path, data in zip(self.paths, some):
                path.write_bytes(data)
            found += dump(*self.paths[:len(some)])
        return found

    def check(self, *documents):
        """Which of them both accept."""
        return [self.is_accepted(data, *found) for data, found in zip(documents, self.dump(documents), strict=True)]

    def is_accepted(self, data, status, error, lines):
        try:
            items, unclosed = expected(data)
        except Refused as reason:
            self.assertEqual(status, 2, f"Python refuses ({reason}): {data!r}")
            self.assertRegex(error, r"\Axsp: .+\Z")
            return False
        self.assertEqual(status, 0, f"{data!r}: {error}")
        self.assertEqual(dumped(lines), (items, unclosed), data)
        return True

    def test_samples(self):
        self.assertEqual(self.check(SAMPLE, ARRAY, b"\xef\xbb\xbf" + SAMPLE), [True] * 3)

    def test_numbers_that_are_none(self):
        places = (b'[{"ts": 1, "dur": 2, "name": "x", "args": {"a": %s, "b": [%s, "%s\\" NaN", {"Infinity": %s}]}}]',
                  b'[{"ts": %s, "dur": 1, "id": %s}, {"ts": 1, "dur":%s}, {"ts":%s}]',
                  b'{"a": %s, "b": [1, [ %s ], "\xff%s", -%s], "traceEvents": []}')
        words = (b"NaN", b"Infinity", b"-Infinity")
        self.check(*(place % (words[i % 3], words[i // 3], words[(i + 1) % 3], words[1]) for place in places for i in range(9)))
        spellings = ((b"nan", b"NaN"), (b"inf", b"Infinity"), (b"-inf", b"-Infinity"), (b"-nan", b"NaN"), (b"-nan(ind)", b"NaN"),
                     (b"nan(snan)", b"NaN"))
        pairs = [(place % (word, word, b"1", b"inf"), place % (same, same, b"1", b"Infinity")) for word, same in spellings for place in places]
        for (_, same), (_, _, lines) in zip(pairs, self.dump([written for written, _ in pairs]), strict=True):
            self.assertEqual(dumped(lines), expected(same))

    def test_damaged(self):
        chance, damaged = random.Random(4), []
        for _ in range(1200):
            data = bytearray(chance.choice((SAMPLE, ARRAY)))
            for _ in range(chance.choice((1, 1, 2, 3))):
                at = chance.randrange(len(data))
                data[at:at + chance.choice((0, 0, 1, 3))] = chance.choice(PIECES)
            damaged.append(bytes(data))
        accepted = sum(self.check(*damaged))
        self.assertGreater(accepted, 100)
        self.assertLess(accepted, 1100)

    def test_truncated(self):
        for data in (SAMPLE.rstrip(), ARRAY.rstrip()):
            accepted = [length for length, both in enumerate(self.check(*(data[:length] for length in range(len(data))))) if both]
            if data[:1] == b"{":
                self.assertEqual(accepted, [])
            else:  # after an event, and after the comma and space
                events = [match.end() for match in re.finditer(rb"\}\}|\{\}", data)]
                self.assertTrue(set(accepted) <= {length for end in events for length in range(end, end + 3)})
                self.assertTrue(set(events) <= set(accepted))

    def test_times(self):
        chance = random.Random(5)
        digits = lambda most: "".join(chance.choice("0123456789") for _ in range(chance.randrange(1, most)))
        def number():
            whole = digits(chance.choice((3, 8, 20))).lstrip("0") or "0"
            fraction = "." + chance.choice((digits(5), "9" * chance.randrange(1, 30), digits(40))) \
                if chance.random() < 0.8 else ""
            exponent = chance.choice(("e", "E")) + chance.choice(("", "+", "-")) + str(chance.randrange(0, 25)) \
                if chance.random() < 0.3 else ""
            return chance.choice(("", "", "-")) + whole + fraction + exponent
        times = [("0", "0"), ("-0", "-0.0"), ("0.9999", "0.0001"), ("-0.0005", "0.0004"), ("-0.0005", "0.0005"),
                 ("-1e-9", "1e-9"), ("1e-300", "-1e-300"), ("9223372036854775.807", "0"), ("-9223372036854775.808", "0.0009"),
                 ("9223372036854775.807", "0.0009999"), ("-9223372036854775.8081", "1"), ("123456789012345.678", "0.001"),
                 ("1234567890123456.789", "1.001"), ("0.0001", "0.00089999999999999999999999999999")]
        times += [(number(), number()) for _ in range(4000)]
        def representable_pair(pair):
            return all(-2**63 <= math.floor(total) < 2**63
                       for total in (nanoseconds(pair[0]), nanoseconds(pair[0]) + nanoseconds(pair[1])))
        good = [pair for pair in times if representable_pair(pair)]
        bad = [pair for pair in times if not representable_pair(pair)][:200]
        self.assertGreater(len(good), 1000)
        self.assertEqual(self.check(("[" + ",".join('{"ts": %s, "dur": %s}' % pair for pair in good) + "]").encode()), [True])
        accepted = self.check(*(b'[{"dur": %s, "ts": %s}]' % (duration.encode(), start.encode()) for start, duration in bad))
        self.assertEqual([pair for pair, both in zip(bad, accepted, strict=True) if both], [])

    def test_huge_exponents(self):
        """Too large for the oracle: must be right, and fast."""
        cases = (("0e999999999", "1", "start=0 end=1000"), ("-1e-999999999", "0", "start=-1 end=-1"),
                 ("-1e-999999999", "1e-999999999", "start=-1 end=0"), ("-1e-99999999999999999999", "1", "start=-1 end=999"),
                 ("1" + "0" * 5000 + "e-5000", "1", "start=1000 end=2000"), ("0." + "0" * 5000 + "1e5001", "1", "start=1000 end=2000"))
        found = self.dump([b'[{"ts": %s, "dur": %s}]' % (start.encode(), duration.encode()) for start, duration, _ in cases])
        for (start, duration, answer), (_, _, lines) in zip(cases, found, strict=True):
            self.assertIn(answer, lines[0], (start[:30], duration))
        self.assertEqual(self.dump([b'[{"ts": 1e999999999}]'])[0][0], 2)

    def test_deep(self):
        # Around the argument's value: object, array, event, args.
        for depth, status in ((508, 0), (509, 2), (1_000_000, 2)):
            shapes = (b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth, b"[" * depth)
            found = self.dump([b'{"traceEvents": [{"args": {"a": ' + shape + b"}}]}" for shape in shapes])
            self.assertEqual([one[0] for one in found], [status, status, 2], depth)
            self.assertEqual([one[1] != "" for one in found], [one[0] != 0 for one in found])
        self.assertEqual([one[0] for one in self.dump([shape * 1_000_000 for shape in (b"[", b'{"a":')])], [2, 2])

    def test_window_ends_anywhere(self):
        """Events of all lengths against the window's edge, and elements longer than a window."""
        chance = random.Random(6)
        events = []
        for number in range(8000):
            text = "x" * chance.choice((0, 1, 7, 15, 16, 17, 31, 33, 300)) + chance.choice(("", "\\n", "é", "\\ud83d\\ude00"))
            events.append('{"ph":"X","name":"%s","ts":%d.%03d,"dur":%d,\n  "args": {"id": %d, "a": [%s], "t": "%s"}}' % (
                text, number, number % 1000, number, number, ",".join(["1.5", "true"] * chance.randrange(3)), text))
        long = '{"name":"%s","args":{"list":[%s]}}' % ("y" * 1_500_000, ",".join(["[1]"] * 300_000))
        document = '{"before": "%s", "traceEvents": [%s], "after": [%s]}' % (
            "z" * 2_500_000, ",\n".join(events[:4000] + [long] + events[4000:]), " " * 2_000_000)
        self.assertEqual(self.check(document.encode()), [True])

    @unittest.skipIf(FOLDER is None, "no real traces: set XSP_TEST_DATA")
    def test_real_files(self):
        paths = [path for pattern in ("kineto/*.json.gz", "ort/*.json", "tf/*.json", "torch/*.json", "trt/*.json",
                                      "mlmodelscope/*.json")
                 for path in sorted(glob.glob(os.path.join(FOLDER, pattern)))]
        self.assertGreaterEqual(len(paths), 15)
        events = 0
        for path in paths:
            with self.subTest(os.path.basename(path)):
                data = pathlib.Path(path).read_bytes()
                data = gzip.decompress(data) if path.endswith(".gz") else data
                step = 1 if len(data) < 10_000_000 else 7
                (status, error, lines), = dump(path, step=step)
                try:
                    answer = expected(data, step)
                except Refused:
                    self.assertEqual(status, 2)
                    continue
                self.assertEqual(status, 0, error)
                found = dumped(lines)
                self.assertEqual(len(found[0]), len(answer[0]))
                for one, other in zip(found[0], answer[0]):
                    self.assertEqual(one, other)
                events += len(found[0])
        self.assertGreater(events, 200_000)


if __name__ == "__main__":
    unittest.main()

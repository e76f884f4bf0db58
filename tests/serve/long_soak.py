# SPDX-License-Identifier: Apache-2.0
"""xsp serve under millions of spans: nothing that was acknowledged is lost, and memory does not grow with the spans.

XSP_SOAK_SPANS (3,000,000) is how many are sent, XSP_SOAK_LOG a file that gets the memory over time, a line of
JSON for each sample."""
import http.client
import json
import os
import struct
import time
import unittest

import otlp
from otlp import START, request, span
from server import PROTO, rows, wait_for
from test_serve import ServeTest

SPANS = int(os.environ.get("XSP_SOAK_SPANS", "3000000"))
FILE_BYTES = min(128 << 20, SPANS * 10)  # of about 110 bytes a span: eleven files and more
A_REQUEST = 512
SAMPLES = 100


class Requests:
    """Requests of one experiment: observations of a model with layers, in one trace. Built once; each gets new ids and times."""

    def __init__(self):
        marks = range(0x5A5A_0000_0000_0001, 0x5A5A_0000_0000_0001 + A_REQUEST)
        spans = [span(mark, name="predict" if at % 32 == 0 else f"layer {at % 32}", parent=None if at % 32 == 0 else
                      marks[at - at % 32], start=at, end=at, level="model" if at % 32 == 0 else "layer")
                 for at, mark in enumerate(marks)]
        body = otlp.to_proto(request(spans, {"xsp.experiment": "soak", "xsp.run": 1}))
        self.body = bytearray(body)
        self.ids = [(place, at) for at, mark in enumerate(marks) for place in places(body, struct.pack(">Q", mark))]
        self.times = [(places(body, b"\x39" + struct.pack("<Q", START + at)), places(body, b"\x41" + struct.pack("<Q", START + at)),
                       at) for at in range(A_REQUEST)]

    def make(self, number):
        first = number * A_REQUEST
        for place, at in self.ids:
            struct.pack_into(">Q", self.body, place, 1 + first + at)
        for (start,), (end,), at in self.times:
            begin = START + (first + at) * 1000
            struct.pack_into("<Q", self.body, start + 1, begin)
            struct.pack_into("<Q", self.body, end + 1, begin + (31_900 if at % 32 == 0 else 900))
        return bytes(self.body)


def places(data, part):
    found, at = [], data.find(part)
    while at >= 0:
        found.append(at)
        at = data.find(part, at + 1)
    return found


class Soak(ServeTest):
    def memory_kb(self, server):
        with open(f"/proc/{server.process.pid}/status", encoding="ascii") as status:
            return int(next(line for line in status if line.startswith("VmRSS")).split()[1])

    def is_kept(self, connection, body):
        connection.request("POST", "/v1/traces", body, PROTO)
        reply = connection.getresponse()
        reply.read()
        self.assertIn(reply.status, (200, 503))  # 503: storing is behind
        return reply.status == 200

    def test_memory_does_not_grow_with_the_spans(self):
        server = self.server("--file-bytes", str(FILE_BYTES))
        requests, count = Requests(), SPANS // A_REQUEST
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
        samples, begin = [], time.monotonic()
        for number in range(count):
            body = requests.make(number)
            wait_for(lambda: self.is_kept(connection, body), "a server that is not behind")
            if (number + 1) * SAMPLES // count != number * SAMPLES // count:
                samples.append({"spans": (number + 1) * A_REQUEST, "seconds": round(time.monotonic() - begin, 1),
                                "rss_kb": self.memory_kb(server)})
        connection.close()
        self.stopped(server)
        if "XSP_SOAK_LOG" in os.environ:
            with open(os.environ["XSP_SOAK_LOG"], "w", encoding="ascii") as log:
                log.write("".join(json.dumps(sample) + "\n" for sample in samples))
        halves = [sorted(sample["rss_kb"] for sample in part) for part in (samples[:SAMPLES // 2], samples[SAMPLES // 2:])]
        quiet, peaks = [half[len(half) // 4] for half in halves], [half[-1] for half in halves]  # between files; while some are made
        print(f"{count * A_REQUEST} spans in {samples[-1]['seconds']} s; lower quartile {quiet[0]} kB, at most {peaks[0]} kB; "
              f"in the second half {quiet[1]} kB and {peaks[1]} kB")
        if SPANS >= 10**7:  # with fewer, memory between files has not settled
            self.assertLess(quiet[1], quiet[0] * 1.1)
            self.assertLess(peaks[1], peaks[0] * 1.5)  # by chance a sample finds a file and a page made at once
        else:
            self.assertLess(peaks[1], peaks[0] * 1.1)
        stored = rows(self.folder, "select count(*), count(distinct span_id), count(parent_id) from span")
        self.assertGreater(len(stored), 5)
        self.assertEqual([sum(column) for column in zip(*stored)],
                         [count * A_REQUEST, count * A_REQUEST, count * A_REQUEST * 31 // 32])


if __name__ == "__main__":
    unittest.main()

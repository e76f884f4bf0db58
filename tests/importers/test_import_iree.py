# SPDX-License-Identifier: Apache-2.0
"""Profile bundles of IREE: those of a CPU as IREE 3.13 writes them, those of a device made here in the form of its headers."""
import os
import pathlib
import struct
import unittest

from imported import Imported

CORPUS = pathlib.Path(os.environ["XSP_SOURCE"]) / "fuzz" / "corpus" / "import_iree"
NONE = 0xFFFFFFFF


def item(layout, *values, after=b""):
    """A record of a payload: its own length first."""
    rest = struct.pack("<" + layout, *values) + after
    return struct.pack("<I", len(rest) + 4) + rest


def function(executable, ordinal, name):
    return item("IQIIII3II2Q", 0, executable, ordinal, 0, 0, 0, 1, 1, 1, len(name), 0, 0, after=name)


def clock(tick, host_ns, flags=11):
    return item("IIIQQQQQqq", flags, 0, 0, tick, tick, host_ns, 0, 0, host_ns - 1, host_ns + 1)


def dispatch(submission, ordinal, start, end):
    return item("IQQQQII3I3IQQ", 1, 1, submission, 7, 1, 0, ordinal, 8, 4, 1, 64, 1, 1, start, end)


def device_event(kind, submission, start, end):
    return item("IIIQQQQQQIIIIQQ", kind, 0, 0, 1, submission, 7, 0, 0, 0, 0, 2, 1, 0, start, end)


def host_event(kind, submission, start, end, index=NONE):
    return item("IIIQQQQQQIIII3I3IqqQQqII", kind, 0, 0, 1, submission, 7, 1, 0, 0, 0, 2, index, 0, 8, 4, 1, 64, 1, 1, start, end, 256, 5,
                99, 1, 0)


def chunk(kind, *items, dropped=0, device=0, queue=2):
    name, payload = b"application/vnd.iree.hal.profile." + kind.encode(), b"".join(items)
    length = 104 + len(name) + 4 + len(payload)
    return struct.pack("<7Q5I4xQQIHH", length, len(payload), 1, 0, 0, 0, 0, 104, len(name), 4, device, queue, 0, dropped, 0, 2, 0) + name + b"test" + payload


def bundle(*chunks, version=(1, 6), length=None):
    body = b"".join(chunks)
    return struct.pack("<4sHHIIQ", b"IRPF", *version, 24, 0, 24 + len(body) if length is None else length) + body


FUNCTIONS = chunk("executable-functions", function(1, 0, b"net_dispatch_0_conv_2d_nchw_fchw_1x8x6x6x3_f32"), function(1, 1, b"relu"))
CLOCKS = chunk("clock-correlations", clock(1000, 500_000), clock(5, 7, flags=1), clock(3000, 520_000))
DISPATCHES = chunk("dispatch-events", dispatch(3, 0, 1100, 1500), dispatch(3, 1, 1500, 1600))


class Iree(Imported):
    def test_a_bundle_of_a_cpu(self):
        """Three inferences of two matrix products; the figures are those that iree-profile lists."""
        report, spans = self.load((CORPUS / "local_task").read_bytes())
        self.assertEqual((report["files"][0]["format"], report["files"][0]["skipped"]), ("iree", {"submission to a queue": 12}))
        executions = [span for span in spans if span["level"] == "model"]
        self.assertEqual([span["duration_ns"] for span in executions], [114171, 81970, 47608])
        layers = [span for span in spans if span["level"] == "layer"]
        self.assertEqual([span["duration_ns"] for span in layers], [85285, 24392, 40040, 18200, 31128, 12755])
        self.assertEqual([span["tags"]["tile_duration_sum_ns"] for span in layers], [85285, 24392, 65300, 35135, 41070, 23303])
        self.assertEqual([span["parent_id"] for span in layers], [execution["span_id"] for execution in executions for _ in range(2)])
        self.assertEqual(layers[0]["name"], "predict_dispatch_0_matmul_64x256x128_f32")
        self.assertEqual([(span["tags"]["layer_index"], span["tags"]["layer_type"]) for span in layers[:2]], [(0, "matmul"), (2, "matmul")])
        self.assertEqual({span["name"]: span["tags"] for span in spans if span["level"] == "library"},
                         {"alloca": {"bytes": 65536}, "dealloca": {"bytes": 65536}})

    def test_a_bundle_of_a_device(self):
        """2,000 ticks are 20 µs; clocks and executions come after what needs them."""
        report, spans = self.load(bundle(DISPATCHES, FUNCTIONS, CLOCKS, chunk("queue-device-events", device_event(3, 3, 1000, 1700),
                                                                            device_event(4, 4, 1700, 1800))))
        self.assertEqual(report["files"][0]["skipped"], {"operation of a queue, on its device": 1})
        convolution, relu, execution = sorted(spans, key=lambda span: (span["level"] == "model", span["start_ns"]))
        self.assertEqual((execution["level"], execution["name"], execution["start_ns"], execution["duration_ns"]),
                         ("model", "command buffer 7", 500_000, 7000))
        self.assertEqual([(span["level"], span["kind"], span["start_ns"], span["duration_ns"], span["parent_id"], span["device_id"],
                           span["stream_id"]) for span in (convolution, relu)],
                         [("kernel", "execution", 501_000, 4000, 1, 0, 2), ("kernel", "execution", 505_000, 1000, 1, 0, 2)])
        self.assertEqual((relu["name"], relu["tags"]), ("relu", {"grid": "[8,4,1]", "block": "[64,1,1]"}))

    def test_types_of_layers(self):
        _, spans = self.load(bundle(FUNCTIONS, chunk("host-execution-events", host_event(2, 1, 10, 30, index=4))))
        self.assertEqual(spans[0]["tags"], {"layer_type": "conv_2d_nchw_fchw", "layer_index": 4, "grid": "[8,4,1]", "tile_count": 5,
                                            "tile_duration_sum_ns": 99})

    def test_executions_of_one_number(self):
        """A damaged file may give one number to several submissions: spans keep ids of their own."""
        _, spans = self.load(bundle(chunk("host-execution-events", host_event(3, 1, 10, 30), host_event(3, 1, 30, 40), host_event(3, 1, 9, 2))))
        self.assertEqual([(span["span_id"], span["duration_ns"]) for span in spans], [(1, 20), (2, 10)])

    def test_what_is_missing(self):
        report, spans = self.load(bundle(DISPATCHES, chunk("clock-correlations", clock(1000, 5)),
                                         chunk("host-execution-events", host_event(11, 1, 10, 30), dropped=4), length=0))
        self.assertEqual(report["files"][0]["skipped"], {"on a device's clock without two samples of it": 2})
        self.assertEqual(spans[0]["name"], "host call")
        self.assertEqual([any(word in note for note in report["files"][0]["notes"]) for word in ("was not ended", "4 records are missing")],
                         [True, True])

    def test_a_process_that_was_killed(self):
        """The last record is cut, in its payload or its head; what was there before is kept."""
        events, last = chunk("host-execution-events", host_event(3, 1, 10, 30)), chunk("host-execution-events", host_event(3, 2, 40, 90))
        for left in (0, 1, 103, 104, len(last) - 1):
            report, spans = self.load(bundle(events, last[:left], length=0))
            self.assertEqual([span["duration_ns"] for span in spans], [20])
            self.assertTrue(any("was not ended" in note for note in report["files"][0]["notes"]))
        self.refuse(bundle(events, last[:-1]), mentions=["it is cut"])

    def test_what_cannot_be_read(self):
        whole = bundle(FUNCTIONS, CLOCKS, DISPATCHES)
        self.refuse(whole[:-1], mentions=["it is cut"])
        self.refuse(bundle(chunk("dispatch-events", item("I", 0)), length=0), mentions=["it is cut"])
        self.refuse(bundle(FUNCTIONS, version=(2, 0)), mentions=["version 2.0"])
        self.refuse(bundle(chunk("dispatch-events", item("I", 0))), mentions=["it is cut"])
        self.refuse(bundle(FUNCTIONS), mentions=["no span"])


if __name__ == "__main__":
    unittest.main()

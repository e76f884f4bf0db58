# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's timelines and RunMetadata: operators as layers, kernels of GPUs once, in whichever of the two forms."""
import json
import unittest

from imported import Imported, real_file

HOST, GPU = "/job:localhost/replica:0/task:0/device:CPU:0", "/device:GPU:1"
LANES = [HOST, "/job:localhost/replica:0/task:0/device:GPU:1", f"{GPU}/stream:all", f"{GPU}/stream:7", f"{GPU}/memcpy"]
# (lane, name, operator, start, duration) in microseconds
NODES = [(1, "net/conv", "Conv2D", 1000, 50), (0, "net/mean", "Mean", 1020, 10), (1, "net/conv", "Conv2D", 2000, 50),
         (2, "net/conv", "Conv2D", 1030, 300), (2, "net/conv", "Conv2D", 2030, 400), (3, "net/conv", "Conv2D", 1030, 300),
         (4, "edge_1_x", "MEMCPYHtoD", 900, 20), (2, "net/other", "Relu", 950, 5)]


def timeline(lanes=LANES, nodes=NODES):
    """As tf.Timeline writes it: a process a device."""
    events = [{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "Allocators"}}]
    for i, device in enumerate(lanes):
        events += [{"ph": "M", "name": "process_name", "pid": 2 * i + 1 + part, "args": {"name": f"{device} {what}"}}
                   for part, what in enumerate(("Compute", "Tensors"))]
    events += [{"ph": "X", "cat": "Op", "name": op, "pid": 2 * lane + 1, "tid": 0, "ts": start, "dur": duration,
                "args": {"name": name, "op": op, "input0": "x"}} for lane, name, op, start, duration in nodes]
    events += [{"ph": "s", "cat": "DataFlow", "name": "x", "pid": 1, "tid": 0, "ts": 1000, "id": 0},
               {"ph": "C", "cat": "Memory", "name": "cpu", "pid": 0, "tid": 0, "ts": 1000, "args": {"cpu": 16}}]
    return {"traceEvents": events}


def varint(number):
    number &= (1 << 64) - 1
    text = b""
    while number > 127:
        text += bytes([number & 127 | 128])
        number >>= 7
    return text + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def node_stats(name, label, start_us, duration_us, *more, nanoseconds=None):
    stats = field(1, name) + field(2, start_us) + field(5, duration_us) + field(8, label)
    if nanoseconds:
        stats += field(13, nanoseconds[0]) + field(16, nanoseconds[1])
    return stats + b"".join(more)


def step_stats(lanes=LANES, nodes=NODES):
    text = b""
    for i, device in enumerate(lanes):
        stats = b"".join(field(2, node_stats(name, f"[gpu 0.1MB 0.1MB] {name} = {op}(x)" if device in LANES[:2] else f"regs@@{name}:{op}#id=1#",
                                             start, duration))
                         for lane, name, op, start, duration in nodes if lane == i)
        text += field(1, field(1, device) + stats)
    return text


class TensorFlow(Imported):
    def check(self, spans):
        """NODES: kernels of one stream are left out, each kernel has the latest operator of its name as its parent."""
        self.assertEqual(len(spans), 7)
        by_start = {(span["start_ns"] // 1000, span["level"]): span for span in spans}
        kernels = [span for span in spans if span["level"] == "kernel"]
        self.assertEqual(sum(span["duration_ns"] for span in kernels if span["category"] == "kernel"), 705_000)
        first, second = by_start[1000, "layer"], by_start[2000, "layer"]
        self.assertEqual((first["name"], first["tags"]["layer_type"]), ("net/conv", "Conv2D"))
        self.assertEqual((by_start[1030, "kernel"]["parent_id"], by_start[1030, "kernel"]["basis"]), (first["span_id"], "explicit"))
        self.assertEqual(by_start[2030, "kernel"]["parent_id"], second["span_id"])
        self.assertIsNone(by_start[950, "kernel"]["parent_id"])  # no operator of this name
        copy = by_start[900, "kernel"]
        self.assertEqual((copy["category"], copy["kind"], copy["device_id"]), ("memcpy", "execution", 1))
        # It lies within net/conv's time, on another device: times alone do not make it a child.
        self.assertIsNone(by_start[1020, "layer"]["parent_id"])

    def test_a_timeline(self):
        report, spans = self.load(timeline())
        self.assertEqual(report["files"][0]["format"], "tf-timeline")
        self.assertEqual(report["files"][0]["skipped"], {"metadata": 11, "flow": 1, "counter": 1,
                                                         "of one stream, also in the lanes of all": 1})
        self.check(spans)
        self.assertEqual(spans[0]["tags"]["input0"], "x")
        rows = self.rows("select framework from experiment")
        self.assertEqual(rows, [{"framework": "tensorflow"}])

    def test_step_stats(self):
        report, spans = self.load(step_stats())
        self.assertEqual(report["files"][0]["format"], "tf-metadata")
        self.check(spans)
        self.check(self.load(field(1, step_stats()))[1])  # in RunMetadata

    def test_single_streams(self):
        """A file without lanes for all streams: its streams are not skipped."""
        nodes = [(0, "net/conv", "Conv2D", 1000, 50), (1, "net/conv", "Conv2D", 1030, 300), (1, "edge", "MEMCPYDtoH", 1500, 5)]
        lanes = [HOST, f"{GPU}/stream:7"]
        for content in (timeline(lanes, nodes), step_stats(lanes, nodes)):
            _, spans = self.load(content)
            self.assertEqual(sorted(span["category"] or "" for span in spans), ["", "kernel", "memcpy"])

    def test_shapes_bytes_and_nanoseconds(self):
        shape = field(3, field(2, field(2, field(1, 4)) + field(2, field(1, 32))))
        stats = field(1, field(1, HOST) + field(2, node_stats(
            "net/a", "net/a = Relu(x)", 1000, 3, field(7, shape), field(6, field(1, "cpu") + field(2, 512)),
            field(6, field(1, "gpu") + field(2, 1024)), nanoseconds=(1_000_123, 2_999))))
        _, (span,) = self.load(stats)
        self.assertEqual((span["start_ns"], span["duration_ns"]), (1_000_123, 2_999))
        self.assertEqual(span["tags"], {"layer_type": "Relu", "layer_shape": "[4,32]", "alloc_bytes": 1536, "layer_index": 0})

    def test_operators_side_by_side_have_lanes(self):
        nodes = [(0, "a", "Relu", 10, 10), (0, "b", "Relu", 15, 10), (0, "c", "Relu", 20, 3)]
        _, spans = self.load(step_stats([HOST], nodes))
        self.assertEqual([span["track"] for span in spans], [HOST, HOST + " 1", HOST])

    def test_what_cannot_be_read(self):
        whole = step_stats()
        self.refuse(whole[:-3], mentions=["byte"])
        self.refuse(field(1, field(1, HOST) + field(2, node_stats("a", "a = B()", 1 << 62, 1))), mentions=["beyond 64 bits"])
        self.refuse(field(1, field(1, HOST)), mentions=["no span"])
        self.refuse(json.dumps(timeline())[:-1], mentions=["byte"])
        report, spans = self.load(timeline(nodes=[*NODES, (0, "bad", "X", 10, -1), (9, "none", "X", 10, 1)]))
        self.assertEqual(len(spans), 7)
        self.assertEqual((report["files"][0]["skipped"]["negative duration"], report["files"][0]["skipped"]["of no device"]), (1, 1))

    def test_published_timelines(self):
        """Figures of an independent reader: kernels and copies of a GPU once, operators of a CPU."""
        self.load_files(real_file("tf", "ikhlestov__GPU_timeline_01.json"))
        self.assertEqual(self.rows("select category, count(*) as n, sum(duration_ns) as ns from span where level = 'kernel'"
                                   " group by 1 order by 1"),
                         [{"category": "kernel", "n": 7, "ns": 5_604_000}, {"category": "memcpy", "n": 2, "ns": 1_216_000}])
        _, spans = self.load_files(real_file("tf", "ikhlestov__CPU_timeline_01.json"))
        self.assertEqual((len(spans), sum(span["duration_ns"] for span in spans)), (12, 1_030_128_000))
        self.assertEqual([span["duration_ns"] for span in spans if span["name"] == "MatMul"], [504_781_000])


if __name__ == "__main__":
    unittest.main()

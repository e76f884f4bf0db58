# SPDX-License-Identifier: Apache-2.0
"""ExecuTorch's ETDump, written by the flatbuffers package in the form of its published schema; figures by hand."""
import os
import pathlib
import unittest

import flatbuffers
from imported import Imported

CORPUS = pathlib.Path(os.environ["XSP_SOURCE"]) / "fuzz" / "corpus" / "import_etdump"


def profile(builder, name, start, end, chain=0, instruction=0, delegate=None):
    text = builder.CreateString(name) if name else 0
    delegate_text = builder.CreateString(delegate) if isinstance(delegate, str) else 0
    builder.StartObject(8)
    builder.PrependUOffsetTRelativeSlot(0, text, 0)
    builder.PrependInt32Slot(1, chain, 0)
    builder.PrependInt32Slot(2, instruction, -1)
    builder.PrependInt32Slot(3, delegate if isinstance(delegate, int) else -1, -1)
    builder.PrependUOffsetTRelativeSlot(4, delegate_text, 0)
    builder.PrependUint64Slot(6, start, 0)
    builder.PrependUint64Slot(7, end, 0)
    made = builder.EndObject()
    builder.StartObject(3)
    builder.PrependUOffsetTRelativeSlot(0, made, 0)
    return builder.EndObject()


def allocation(builder):
    builder.StartObject(2)
    builder.PrependUint64Slot(1, 64, 0)
    made = builder.EndObject()
    builder.StartObject(3)
    builder.PrependUOffsetTRelativeSlot(1, made, 0)
    return builder.EndObject()


def tables(builder, offsets):
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()


def dump(*runs, has_length=True):
    """Runs of events: arguments of profile, or None for an allocation."""
    builder, made = flatbuffers.Builder(0), []
    for events in runs:
        vector = tables(builder, [allocation(builder) if event is None else profile(builder, *event[0:3], **event[3]) for event in events])
        name = builder.CreateString("Execute")
        builder.StartObject(4)
        builder.PrependUOffsetTRelativeSlot(0, name, 0)
        builder.PrependUOffsetTRelativeSlot(3, vector, 0)
        made.append(builder.EndObject())
    vector = tables(builder, made)
    builder.StartObject(2)
    builder.PrependUOffsetTRelativeSlot(1, vector, 0)
    root = builder.EndObject()
    (builder.FinishSizePrefixed if has_length else builder.Finish)(root, b"ED00")
    return bytes(builder.Output())


def event(name, start, end, **more):
    return name, start, end, more


RUN = [event("native_call_add.out", 120, 180, instruction=3), event("OPERATOR_CALL", 110, 190, instruction=3),
       event(None, 230, 260, instruction=4, delegate="Convolution (NHWC, F32) IGEMM #1"), event(None, 7, 9, instruction=4, delegate=12),
       event("DELEGATE_CALL", 200, 300, instruction=4), event("Method::execute", 100, 320, chain=-1), None]


class ETDump(Imported):
    def parents(self, spans):
        names = {span["span_id"]: span["name"] for span in spans}
        return [(span["name"], names.get(span["parent_id"])) for span in spans]

    def test_operators_and_delegates(self):
        for has_length in (True, False):
            report, spans = self.load(dump(RUN, has_length=has_length))
            self.assertEqual((report["files"][0]["format"], report["files"][0]["skipped"]), ("etdump", {"without times": 1}))
            self.assertEqual(self.parents(spans), [
                ("add.out", "Method::execute"), ("DELEGATE_CALL", "Method::execute"), ("native_call_add.out", "add.out"),
                ("Convolution (NHWC, F32) IGEMM #1", "DELEGATE_CALL"), ("delegated 12", "DELEGATE_CALL"), ("Method::execute", None)])
            self.assertEqual([(span["level"], span["start_ns"], span["duration_ns"]) for span in spans],
                             [("layer", 110, 80), ("layer", 200, 100), ("library", 120, 60), ("layer", 230, 30), ("layer", 7, 2),
                              ("model", 100, 220)])
            self.assertEqual(spans[0]["tags"], {"layer_index": 3, "layer_type": "add"})
            self.assertEqual(spans[3]["tags"], {"layer_index": 4, "layer_type": "Convolution (NHWC, F32) IGEMM"})
            self.assertIn("1 operators of delegates lie outside their call", " ".join(report["files"][0]["notes"]))

    def test_an_instruction_that_runs_again(self):
        """In a loop, and in the next run: each call has its own kernel."""
        again = [event("native_call_mul.out", 220, 230, instruction=3), event("OPERATOR_CALL", 210, 240, instruction=3)]
        _, spans = self.load(dump(RUN[:2] + again, again))
        self.assertEqual([span["name"] for span in spans if span["level"] == "layer"], ["add.out", "mul.out", "mul.out"])

    def test_a_clock_of_32_bits(self):
        _, (span,) = self.load(dump([event("Method::execute", 2**32 - 10, 5, chain=-1)]))
        self.assertEqual(span["duration_ns"], 15)

    def test_a_file_of_executorch(self):
        """1.5.1, three inferences of a small network with XNNPACK: what its Inspector lists."""
        report, spans = self.load((CORPUS / "delegate").read_bytes())
        self.assertEqual((report["files"][0]["kept"], report["files"][0]["skipped"]), (32, {}))
        self.assertEqual([span["duration_ns"] for span in spans if span["name"] == "Method::execute"], [81624, 16188, 11148])
        calls = {span["span_id"]: span["tags"]["layer_index"] for span in spans if span["name"] == "DELEGATE_CALL"}
        delegated = [span for span in spans if span["category"] == "delegated"]
        self.assertEqual([calls[span["parent_id"]] for span in delegated], [0, 0, 0, 2, 2] * 3)
        self.assertEqual([span["tags"]["layer_type"] for span in delegated][:3],
                         ["Transpose (ND, X32)", "Convolution (NHWC, F32) IGEMM", "Transpose (ND, X32)"])

    def test_what_cannot_be_read(self):
        whole = dump(RUN)
        self.refuse(whole[:60], mentions=["it is cut"])
        self.refuse(whole[:4] + b"\xff\xff\xff\x7f" + whole[8:], mentions=["it is cut"])
        self.refuse(whole.replace(b"ED00", b"ED99"), mentions=["not known"])
        self.refuse(dump([None]), mentions=["no span"])
        self.refuse(dump([event("Method::execute", 2**63, 5)]), mentions=["no span"])


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""PyTorch's execution traces: they describe the operators of a Kineto file."""
import json
import unittest

from imported import Imported


def operator(name, record, start):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": 5,
            "args": {"Record function id": record, "External id": record}}


def node(number, name, record, shapes, **attributes):
    return {"id": number, "name": name, "ctrl_deps": 1, "inputs": {"values": [], "shapes": shapes, "types": ["Tensor(float)"]},
            "outputs": {"values": [], "shapes": [[8, 32], [1]], "types": []},
            "attrs": [{"name": key, "type": "", "value": value} for key, value in {"rf_id": record, **attributes}.items()]}


TRACE = {"schemaVersion": 1, "traceEvents": [operator("aten::mm", 5, 10), operator("aten::t", 6, 20), operator("aten::relu", 7, 30)]}
GRAPH = {"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [
    node(2, "[pytorch|profiler|execution_trace|thread]", 0, []),
    node(9, "aten::t", 6, [[32, 16]], fw_parent=0, seq_id=3, tid=1, kernel_file=""),
    node(4, "aten::mm", 5, [[8, 16], [16, 32]], fw_parent=2, op_schema="aten::mm(Tensor self, Tensor mat2) -> Tensor")]}


class Chakra(Imported):
    def test_operators_are_described(self):
        for contents in ((TRACE, GRAPH), (GRAPH, TRACE)):
            report, (mm, t, relu) = self.load(*contents)
            account = report["files"][contents.index(GRAPH)]
            self.assertEqual((account["format"], account["events"], account["kept"], account["skipped"]),
                             ("chakra", 3, 2, {"not in the trace": 1}))
            self.assertEqual({key: mm["tags"][key] for key in mm["tags"] if key not in ("layer_index", "layer_type")}, {
                "Record function id": 5, "external_id": 5, "et_node": 4, "et_input_shapes": "[[8,16],[16,32]]",
                "et_input_types": '["Tensor(float)"]', "layer_shape": "[8,32]", "fw_parent": 2,
                "op_schema": "aten::mm(Tensor self, Tensor mat2) -> Tensor"})
            self.assertEqual((t["tags"]["et_node"], "fw_parent" in t["tags"], "kernel_file" in t["tags"]), (9, False, False))
            self.assertNotIn("et_node", relu["tags"])

    def test_what_cannot_be_read(self):
        self.refuse(GRAPH, mentions=["describes a trace (kineto)"])
        self.refuse(TRACE, json.dumps(GRAPH)[:-9], mentions=["1.dat", "byte"])
        self.refuse(TRACE, {"ctrl_deps": 1, "nodes": []}, mentions=["1.dat", "no nodes"])
        self.refuse(TRACE, {"ctrl_deps": 1, "nodes": [7]}, mentions=["1.dat", "byte"])


if __name__ == "__main__":
    unittest.main()

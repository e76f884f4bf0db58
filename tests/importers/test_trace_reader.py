# SPDX-License-Identifier: Apache-2.0
"""The parent rules in Python over real traces: what trace_reader.py finds is what independent readers of them found."""
import glob
import json
import os
import unittest

import trace_reader
from trace_reader import EXECUTION

FOLDER = trace_reader.data_folder()

# file: {category: (executions, ns, of them without a parent)}, {operator: ns of its kernels; None: in no layer}
KNOWN = {
    'kineto/hta__amd_trace__mi250*': ({'kernel': (14, 110881, 0), 'memcpy': (2, 38161, 0)}, {'aten::addmm': 24480}),
    'kineto/hta__cpu_only*': ({}, {}),
    'kineto/hta__critical_path__alexnet*': ({'kernel': (79, 10692000, 0)},
                                            {'aten::cudnn_convolution': 5371000, 'aten::addmm': 2660000}),
    'kineto/hta__critical_path__cuda_event_sync*': ({'kernel': (4, 49000, 0)}, {None: 36000}),
    'kineto/hta__triton_example*': ({'kernel': (1, 1760, 0)}, {'triton_poi_fused_add_cos_sin_0': 1760}),
    'kineto/hta__trace_diff__control*': ({'kernel': (8568, 446813000, 0)}, {}),
    'kineto/hta__nccl_parser_config*': ({'kernel': (2700, 162532340, 0)}, {'record_param_comms': 46876493}),
    'kineto/kineto__tb_plugin__samples__resnet50*': ({'kernel': (8772, 591532000, 0)}, {}),
    'nsys/nsys-ai__h100_2gpu*': ({'kernel': (3442, 44829522, 1810)}, {None: 21682293}),
    'nsys/pipit__saxpy*': ({'kernel': (5, 88573480, 0), 'memcpy': (15, 284699600, 15)}, {None: 88573480}),
}


@unittest.skipIf(FOLDER is None, 'no real traces: set XSP_TEST_DATA')
class RealTraces(unittest.TestCase):
    def load(self, pattern):
        path, = glob.glob(os.path.join(FOLDER, pattern + ('' if pattern.endswith('.json') else '[ze]')))
        trace = trace_reader.read(path)
        return trace, trace_reader.relate(trace)

    def test_executions_and_operators(self):
        for pattern, (executions, operators) in KNOWN.items():
            with self.subTest(pattern):
                trace, related = self.load(pattern)
                for category, expected in executions.items():
                    found = [at for at, s in enumerate(trace.spans) if s.kind == EXECUTION and s.category == category]
                    self.assertEqual((len(found), sum(trace.spans[at].end - trace.spans[at].start for at in found),
                                      sum(related[at][0] is None for at in found)), expected)
                if not executions:
                    self.assertFalse([s for s in trace.spans if s.kind == EXECUTION])
                sums = trace_reader.device_time(trace, related)
                for operator, expected in operators.items():
                    self.assertEqual(sums[operator][1], expected, operator)

    def test_resnet50_agrees_with_the_table_of_another_tool(self):
        trace, related = self.load('kineto/kineto__tb_plugin__samples__resnet50*')
        sums = trace_reader.device_time(trace, related, ('kernel', 'memset', 'memcpy'))
        with open(os.path.join(FOLDER, 'kineto', 'kineto__tb_plugin__test__result_check_file.txt')) as file:
            lines = file.read().splitlines()
        rows = json.loads(lines[2])['data']
        self.assertGreater(len(rows), 40)
        for row in rows:
            self.assertEqual(sums.get(row['name'], (0, 0))[1], row['device_self_duration'] * 1000, row['name'])
        self.assertEqual([row['calls'] for row in rows if row['name'] == 'aten::cudnn_convolution_backward_weight'], [318])

    def test_both_gpus(self):
        trace, _ = self.load('nsys/nsys-ai__h100_2gpu*')
        kernels = [(s, trace.devices[at]) for at, s in enumerate(trace.spans) if s.category == 'kernel']
        for device, expected in ((0, 22385163), (1, 22444359)):
            self.assertEqual(sum(s.end - s.start for s, where in kernels if where == device), expected)

    def test_onnxruntime(self):
        for name, models, layers in (('ort1.30_ppocr_det_320_session.json', [37195000, 29208000, 15655000], 1200),
                                     ('ort1.30_ppocr_cls_session.json', None, 705),
                                     ('ort1.30_ppocr_cls_run0.json', None, 235)):
            with self.subTest(name):
                trace, related = self.load('ort/' + name)
                found = [at for at, s in enumerate(trace.spans) if s.level == trace_reader.LAYER]
                self.assertEqual(len(found), layers)
                # every layer's parent chain reaches a prediction
                self.assertTrue(all(self.model_of(trace, related, at) is not None for at in found))
                if models is not None:
                    durations = [s.end - s.start for s in trace.spans if s.level == trace_reader.MODEL]
                    self.assertEqual(durations, models)
                    convolutions = sum(trace.spans[at].end - trace.spans[at].start for at in found if trace.names[at] == 'Conv')
                    self.assertEqual(convolutions, 30675000)

    def model_of(self, trace, related, at):
        while at is not None and trace.spans[at].level != trace_reader.MODEL:
            at = related[at][0]
        return at


if __name__ == '__main__':
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""A1 to A15 of random experiments, imported as OTLP, against a second implementation (tests/support/analysis_*.py).
XSP_RANDOM_EXPERIMENTS=N takes N experiments instead of 40; a difference names its seed and command. And of real traces."""
import glob
import json
import os
import pathlib
import unittest

import analysis_answers
import analysis_tables
import scripted
import trace_reader
from analysis_layers import Impossible
from random_check import ANALYSES, STATISTICS, Check

FOLDER = trace_reader.data_folder()
COUNT = int(os.environ.get("XSP_RANDOM_EXPERIMENTS", 40))


class RandomExperimentsTest(unittest.TestCase):
    def test_every_figure(self):
        folder = scripted.temporary_folder()
        self.addCleanup(folder.cleanup)
        check, found = Check(scripted.XSP, folder.name), []
        for seed in range(COUNT):
            found += check.differences(seed)
        shown = "\n".join(f"{command}\n    {text[:400]}" for command, text in found[:20])
        self.assertEqual(len(found), 0, f"differences, the first of them:\n{shown}")
        # They have met every analysis and every rule.
        for met in (*ANALYSES, *STATISTICS, "host", "device", "M/L/K", "M/L/K@serial", "A/M/L/Lib/K", ("A9", "impossible")):
            self.assertGreater(check.tally[met], 0, met)


@unittest.skipIf(FOLDER is None, "no real traces: set XSP_TEST_DATA")
class RealTracesTest(unittest.TestCase):
    def test_every_figure(self):
        folder = scripted.temporary_folder()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "real.xsp"
        for pattern, modes in (("kineto/hta__amd_trace__mi250*", ("outermost", "innermost")),
                               ("kineto/hta__critical_path__alexnet*", ("innermost",)),
                               ("kineto/hta__critical_path__cuda_event_sync*", ("outermost", "innermost")),
                               ("ort/ort1.30_ppocr_cls_run0.json", ("outermost",)), ("nsys/pipit__saxpy*", ("outermost",))):
            [source] = glob.glob(os.path.join(FOLDER, pattern))
            scripted.xsp("import", source, "-o", path, "--force", check=0)
            experiment = analysis_tables.read(scripted.XSP, path)
            for mode in modes:
                for analysis in set(ANALYSES) - {"A14"}:  # it has analytic work too, which is not known here
                    with self.subTest(source=os.path.basename(source), mode=mode, analysis=analysis):
                        self.compare(experiment, path, analysis, mode)

    def compare(self, experiment, path, analysis, mode):
        result = scripted.xsp("analyze", analysis, path, "--layer", mode, "--json")
        got = json.loads(result.stdout) if result.returncode == 0 else None
        try:
            rows, summary = analysis_answers.answer(analysis, experiment, None, got, mode=mode)
        except Impossible:
            self.assertEqual(result.returncode, 1)
            return
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(analysis_answers.differences(analysis, got, rows, summary), [])


if __name__ == "__main__":
    unittest.main()

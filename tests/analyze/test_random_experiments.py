# SPDX-License-Identifier: Apache-2.0
"""A1 to A15 of random experiments, imported as OTLP, against a second implementation (tests/support/analysis_*.py).
XSP_RANDOM_EXPERIMENTS=N takes N experiments instead of 40; a difference names its seed and command."""
import os
import unittest

import scripted
from random_check import ANALYSES, STATISTICS, Check

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


if __name__ == "__main__":
    unittest.main()

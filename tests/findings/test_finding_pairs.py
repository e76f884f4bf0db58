# SPDX-License-Identifier: Apache-2.0
"""Pairs of programs on the simulated GPU: the finding is about the bad one, not about the mended one."""
import pathlib
import tempfile
import unittest

import cuda_simulator
import finding_pairs
from run_programs import SANITIZED


@unittest.skipIf(cuda_simulator.WHY_NOT, cuda_simulator.WHY_NOT)
@unittest.skipIf(SANITIZED, "the simulator's programs are not sanitized")
class FindingPairs(unittest.TestCase):
    def check(self, name):
        """The work grows until what else runs on the machine takes little beside it, by the program's own clock: the time of the
        host is real, that of the device is not."""
        with tempfile.TemporaryDirectory(prefix="xsp-findings-") as folder:
            for times in (1, 4, 16):
                files, is_quiet = [pathlib.Path(folder) / f"{variant}.xsp" for variant in ("bad", "mended")], True
                for file, alone_ms in zip(files, finding_pairs.DEVICE_STEPS_MS[name]):
                    taken_ms = finding_pairs.record(finding_pairs.device_command(name, times)(file.stem), file,
                                                    **finding_pairs.device_environment(times))
                    is_quiet &= taken_ms < 1.4 * times * alone_ms
                if is_quiet:
                    break
            bad, mended = (finding_pairs.findings(file, "--only", finding_pairs.DEVICE_PAIRS[name]) for file in files)
        self.assertEqual(len(bad), 1)
        self.assertEqual(mended, [])
        return bad[0]

    def test_host_bound(self):
        self.assertEqual(self.check("host_bound")["context"], "prepare")

    def test_copies(self):
        self.assertEqual(self.check("copies")["context"], "Memcpy HtoD (Pageable -> Device)")

    def test_waits(self):
        self.assertEqual(self.check("waits")["context"], "cuStreamSynchronize")

    def test_gaps(self):
        self.assertEqual(self.check("gaps")["context"], "cuLaunchKernel")


if __name__ == "__main__":
    unittest.main()

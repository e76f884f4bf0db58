# SPDX-License-Identifier: Apache-2.0
"""The tracer of CUDA on a simulated GPU: 1,000 random combinations of program, version and faults (test_cuda.py has 30)."""
import unittest

import cuda_runs


class RandomFaultsTest(cuda_runs.CudaTest):
    def test_random_faults(self):
        for seed in range(1000):
            self.check_random(seed)


if __name__ == "__main__":
    unittest.main(verbosity=2)

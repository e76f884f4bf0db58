# SPDX-License-Identifier: Apache-2.0
"""A thousand runs under xsp of programs that fork, exec, crash, exit from threads and close libraries, each compared with
itself without xsp (run_guests.py has the cases)."""
import itertools
import tempfile
import unittest

from run_guests import all_cases

RUNS = 1000


class Guests(unittest.TestCase):
    def test_a_thousand_end_as_without_xsp(self):
        cases = all_cases()
        with tempfile.TemporaryDirectory() as folder:
            for number, case in zip(range(RUNS), itertools.cycle(cases)):
                with self.subTest(case.name, number=number):
                    self.assertIsNone(case.compare(folder))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Symbol lookups give the same with and without frameworks.so."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from run_programs import BUILD, COMPILER, SANITIZED, SOURCE, WAIT_S


@unittest.skipIf(COMPILER is None or SANITIZED, "no C compiler, or preloading sanitized libraries")
class Lookups(unittest.TestCase):
    """dlsym behaves like the loader's, for every caller."""

    def test_every_way_to_look_up(self):
        with tempfile.TemporaryDirectory() as name:
            program, wrapper = pathlib.Path(name) / "lookups", pathlib.Path(name) / "wrapper.so"
            source = SOURCE / "tests/frameworks/run_lookups.c"
            subprocess.run([COMPILER, "-D_GNU_SOURCE", "-rdynamic", source, "-o", program, "-ldl", "-lpthread"],
                           check=True)
            subprocess.run([COMPILER, "-D_GNU_SOURCE", "-DWRAPPER", "-shared", "-fPIC", source, "-o", wrapper, "-ldl"],
                           check=True)
            ours = f"{BUILD / 'libxsp.so'} {BUILD / 'tracers/frameworks.so'}"
            for argument in ((), ("",), ("x",)):
                results = {}
                for preload in ("", f"{wrapper}", ours, f"{wrapper} {ours}", f"{ours} {wrapper}"):
                    done = subprocess.run([program, *argument], capture_output=True, text=True, timeout=WAIT_S,
                                          env={**os.environ, "LD_PRELOAD": preload})
                    # The one difference: who did not find it.
                    out = re.sub(r"error \S*: undefined symbol: OrtGetApiBase", "error: OrtGetApiBase", done.stdout)
                    results.setdefault("wrapper" in preload, []).append((done.returncode, out, done.stderr))
                for found in results.values():
                    self.assertIn("thread: ", found[0][1])
                    for other in found[1:]:
                        self.assertEqual(other, found[0])


if __name__ == "__main__":
    unittest.main()

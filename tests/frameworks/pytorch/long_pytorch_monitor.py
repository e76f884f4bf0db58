# SPDX-License-Identifier: Apache-2.0
"""A client of xsp/monitor.h (examples/monitor) in a program that uses PyTorch: every operator with its arguments, results and
call path, and compilations."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import torch_environment

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
COMPILER = shutil.which(os.environ.get("CC", "cc"))
PROGRAM = """
import torch

def calculate(a, b):
    return torch.add(a, b, alpha=3)

def main():
    with torch.no_grad():
        calculate(torch.ones(2, 3), torch.ones(3))

main()
"""
COMPILE = """
import torch
fast = torch.compile(torch.sin, backend="aot_eager")
for i in range(2):
    fast(torch.ones(3))
"""


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "a sanitizer's library would have to come first in the interpreter")
@unittest.skipUnless(COMPILER, "no C compiler")
class Monitor(unittest.TestCase):
    def events_of(self, text):
        """What the client printed, and the program's path."""
        python = torch_environment.torch_python()
        with tempfile.TemporaryDirectory(prefix="xsp-monitor-") as name:
            folder = pathlib.Path(name)
            client, program = folder / "operators.so", folder / "program.py"
            subprocess.run([COMPILER, "-shared", "-fPIC", "-fvisibility=hidden", "-I", SOURCE / "include", "-o", client,
                            SOURCE / "examples/monitor/operators.c", "-L", BUILD, "-lxsp"], check=True, timeout=600)
            program.write_text(text)
            done = subprocess.run([BUILD / "xsp", "run", "-q", "-t", f"pytorch,{client}", "-o", folder / "out.xsp", "--", python,
                                   program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        return done.stderr.splitlines(), program

    def test_operators(self):
        lines, program = self.events_of(PROGRAM)
        begin = lines.index('pytorch aten::add[{"type":"float","shape":[2,3]},{"type":"float","shape":[3]},3]')
        self.assertEqual([line.strip() for line in lines[begin + 1:begin + 5]],
                         [f"<module> ({program}:11)", f"main ({program}:9)", f"calculate ({program}:5)", "aten::add (-:0)"])
        self.assertEqual(lines[begin + 5], 'pytorch aten::add returned [{"type":"float","shape":[2,3]}]')
        events = [line for line in lines if line.startswith("pytorch ")]
        self.assertEqual(sum(" returned" in line for line in events) * 2, len(events))

    def test_compilation(self):
        """Its begin and end, and nothing of its thread between them; the second call has none."""
        lines, _ = self.events_of(COMPILE)
        events = [line for line in lines if line.startswith("pytorch ")]
        begin = events.index("pytorch torch.compile")
        self.assertEqual(events[begin + 1], "pytorch torch.compile returned ")
        self.assertEqual(sum(line.startswith("pytorch torch.compile") for line in events), 2)


if __name__ == "__main__":
    unittest.main()

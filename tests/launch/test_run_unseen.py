# SPDX-License-Identifier: Apache-2.0
"""What the summary of `xsp run` says of programs that announce nothing: which framework they had loaded, what the user can do."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

from scripted import BUILD, TIMEOUT_S, XSP, temporary_folder

WORKLOAD = BUILD / "test-programs" / "run_workload"
# Maps a file as the loader maps a library, then waits for the test.
PROGRAM = """\
import mmap, sys
with open(sys.argv[1], "rb") as library:
    mapped = mmap.mmap(library.fileno(), 0, prot=mmap.PROT_READ)
print("mapped", file=sys.stderr, flush=True)
open(sys.argv[2]).read()
"""


def summary(folder, command, *options):
    """Of a command that prints "mapped" to stderr and then reads folder/go: it ends when xsp has looked at its libraries."""
    if not (folder / "go").exists():
        os.mkfifo(folder / "go")
    process = subprocess.Popen([XSP, "run", "-o", folder / "out.xsp", "--force", *options, "--", *map(str, command)],
                               stderr=subprocess.PIPE, text=True, env={**os.environ, "XSP_DEBUG": "launch"})
    is_mapped = False
    for line in process.stderr:
        is_mapped |= line == "mapped\n"
        look = re.search("looked at the libraries of .*: frameworks (0x[0-9a-f]+|0)$", line)
        if look and (is_mapped or look[1] != "0"):
            break
    (folder / "go").write_text("")
    rest = process.communicate(timeout=TIMEOUT_S)[1]
    if process.returncode != 0:
        raise AssertionError(f"{command}: status {process.returncode}: {rest}")
    return rest[rest.index("\nxsp: "):]


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an instrumented libxsp.so cannot be preloaded into programs that are not")
class Unseen(unittest.TestCase):
    def setUp(self):
        made = temporary_folder()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        (self.folder / "program.py").write_text(PROGRAM)

    def summary(self, library, *options, command=None):
        path = self.folder / library
        path.write_bytes(bytes(4096))
        program = [sys.executable, self.folder / "program.py", path, self.folder / "go"]
        return summary(self.folder, program if command is None else ["sh", "-c", command, "sh", *program], *options)

    def test_frameworks(self):
        for library, name in (("libtorch_cpu.so", "PyTorch"), ("libjax_common.so", "JAX"), ("xla_extension.so", "JAX"),
                              ("libtensorflow_framework.so.2", "TensorFlow")):
            text = self.summary(library)
            self.assertIn(f"not seen {name}'s operat", text)
            self.assertEqual(text.count("not seen"), 2, text)


    def test_in_a_child(self):
        self.assertIn("not seen PyTorch's operators", self.summary("libtorch_cpu.so", command='"$@"; true'))

    def test_ways(self):
        text = self.summary("libtorch_cpu.so", "--sample-rate", "0")  # samples of a long wait would be another cause
        for way in ("docs/tracers.md", "xsp report trace.json", "nvtx.annotate", "--model-range step", "--functions FILE"):
            self.assertIn(way, text)
        self.assertIn("\ncause    100 % of the time is in no recorded range, layer or kernel\n", text)

    def test_other_libraries(self):
        text = self.summary("libtorchvision.so")
        self.assertNotIn("PyTorch", text)
        self.assertIn("not seen the program's own code", text)

    def test_nothing_is_missing(self):
        """Layers were recorded; only the model level was asked for; recording was limited."""
        layers = f'"$@" && exec {WORKLOAD} layers 2'
        for options in ([], ["--levels", "M"], ["--delay", "600"], ["-t", "nvtx"]):
            command = layers if not options else None
            self.assertNotIn("PyTorch", self.summary("libtorch_cpu.so", *options, command=command), options)


if __name__ == "__main__":
    unittest.main()

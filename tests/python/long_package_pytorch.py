# SPDX-License-Identifier: Apache-2.0
"""Package xsp on a training program of PyTorch: the sets of the tree, backward times against SQL, the paper's listings, and
spans of the program's own."""
import collections
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch_environment
from scripted import BUILD, XSP, xsp_json

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
sys.path.insert(0, str(SOURCE / "answers/python" / "src"))
LISTINGS = pathlib.Path(__file__).parent / "listings.py"
STEPS = 5
PROGRAM = f"""
import torch, xsp
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
optimizer, loss_of = torch.optim.SGD(net.parameters(), lr=.1), torch.nn.CrossEntropyLoss()
table = torch.randn(1000, 64, requires_grad=True)
@xsp.trace
def choose():
    return table[torch.randint(0, 10, (400_000,))].sum()
for _ in range({STEPS}):
    optimizer.zero_grad()
    loss = loss_of(net(torch.randn(32, 64)), torch.randint(0, 10, (32,))) + choose()
    loss.backward()
    optimizer.step()
net.eval()
with torch.no_grad():
    net(torch.randn(32, 64))
"""
# By the forward operator's name: backward operators that are in no other of the same.
BACKWARD = """select f.name as name, sum(b.duration_ns) as ns from span b join span f on f.run_id = b.run_id and f.span_id = b.forward_id
    left join span p on p.run_id = b.run_id and p.span_id = b.parent_id where p.forward_id is null group by 1"""


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "the libraries are built with a sanitizer")
class PyTorch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="xsp-package-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder, cls.file = pathlib.Path(folder.name), pathlib.Path(folder.name) / "out.xsp"
        (cls.folder / "train.py").write_text(PROGRAM)
        cls.environment = {**os.environ, "PYTHONPATH": str(SOURCE / "answers/python" / "src"),
                           "XSP_LIBRARY_READ": str(BUILD / "libxsp_read.so"), "XSP_LIBRARY_PYTHON": str(BUILD / "xsp_python.so")}
        os.environ["XSP_LIBRARY_READ"] = cls.environment["XSP_LIBRARY_READ"]
        subprocess.run([XSP, "run", "-q", "-o", cls.file, "--", torch_environment.torch_python(), cls.folder / "train.py"],
                       check=True, timeout=600, env=cls.environment, stdin=subprocess.DEVNULL)
        import xsp
        cls.tree = xsp.open(cls.file).tree()

    def test_sets(self):
        names = {key: [node.name for node in getattr(self.tree, key)]
                 for key in ("training", "inference", "forward", "backward", "optimizer", "loss")}
        self.assertEqual(names["training"], ["training step"])
        self.assertEqual(names["inference"], ["Sequential"])
        self.assertLessEqual({"Sequential", "CrossEntropyLoss"}, set(names["forward"]))
        self.assertEqual(names["backward"], ["backward"])
        self.assertTrue(any(name.startswith("Optimizer.step") for name in names["optimizer"]))
        self.assertEqual(names["loss"], ["CrossEntropyLoss"])
        chosen = [node for node in self.tree.nodes if node.name == "choose" and node.kind == "span"]
        self.assertEqual([node.calls for node in chosen], [STEPS])

    def test_backward_times(self):
        found = collections.Counter()
        for node in self.tree.operators:
            if not node.is_backward and not math.isnan(node.backward.time):
                below = [child.backward.time for child in node.children if not child.is_backward]
                found[node.name] += node.backward.time - sum(time for time in below if not math.isnan(time))
        expected = {row["name"]: row["ns"] for row in xsp_json("sql", self.file, BACKWARD, "--json")}
        self.assertEqual({name: ns for name, ns in found.items() if ns}, expected)
        self.assertIn("aten::addmm", expected)

    def test_listings(self):
        done = subprocess.run([sys.executable, "-m", "xsp.findings", LISTINGS, self.file], env=self.environment, timeout=600,
                              stdout=subprocess.PIPE, check=True)
        rules = collections.defaultdict(set)
        for finding in json.loads(done.stdout):
            rules[finding["rule"]].add(finding["context"])
            self.assertTrue(finding["file"] is None or finding["file"].endswith(".py"))
        backward = {row["name"]: row["ns"] for row in xsp_json("sql", self.file, BACKWARD, "--json")}["aten::index"]
        forward = xsp_json("sql", self.file, "select sum(duration_ns) as ns from span where name = 'aten::index'", "--json")
        is_slow = backward > 2 * forward[0]["ns"]  # it adds up rows one by one: three times
        self.assertEqual("aten::index" in rules["Backward_abnormality"], is_slow)
        self.assertEqual(set(rules) - {"Backward_abnormality", "hotspot"}, set())  # no device, so nothing about one


if __name__ == "__main__":
    unittest.main()

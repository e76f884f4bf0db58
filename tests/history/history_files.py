# SPDX-License-Identifier: Apache-2.0
"""Files for tests of `xsp history` and `xsp publish`: known latencies, machines, times, and figures of evaluations."""
import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

import scripted
from scripted import XSP

MS, DAY_NS = 10**6, 86400 * 10**9
FIRST_NS = 1_760_000_000 * 10**9  # 2025-10-09T08:53:20Z


def write(path, latencies, day=0, name="net", framework="onnxruntime", version="1.31.1", batch=1, host="alpha", cpu="EPYC", gpu=None,
          model_version="1.0", evaluation=None, workload=None, levels="M"):
    """One experiment; `evaluation`: its figures."""
    script = scripted.Script()
    script.system(**{key: value for key, value in (("host", host), ("cpu_model", cpu), ("gpus", gpu)) if value})
    script.experiment(name, framework=framework, version=version)
    script.workload(model_name=name, model_version=model_version, **(workload or {}))
    script.run(1, levels, batch)
    script.track(1)
    for number, ms in enumerate(latencies):
        script.span("predict", scripted.UNIX_START + number * 1000 * MS, round(ms * MS))
    script.write(path)
    with sqlite3.connect(path) as database:
        database.execute("update experiment set created_ns = ?", (FIRST_NS + round(day * DAY_NS),))
        database.executemany("insert into evaluation values (1, ?, ?)", (evaluation or {}).items())
    database.close()
    return path


def evaluated(top1, latency_ms, batch=1, **more):
    """Figures as xsp evaluate keeps them."""
    return {"data_set": "digits", "batch": batch, "inputs": 200, "labelled": 200, "top1_pct": top1, "top5_pct": min(100, top1 + 20),
            "latency_ms": latency_ms, "p99_ms": 2 * latency_ms, "throughput_per_s": 1000 * batch / latency_ms, **more}


class HistoryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xsp-history-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.files = self.folder / "files"
        self.files.mkdir()

    def run_xsp(self, *arguments, status=0, environment=None):
        done = subprocess.run([XSP, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, **(environment or {})})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def table(self, *arguments, status=0):
        return json.loads(self.run_xsp("history", *arguments, "--json", status=status).stdout)

    def rows(self, *arguments):
        return self.table(*arguments)["rows"]

    def refused(self, word, *arguments, status=2):
        done = self.run_xsp(*arguments, status=status)
        self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("", 1), done.stderr)
        self.assertIn(word, done.stderr)

    def zoo(self):
        """Two models in two frameworks on two hosts; one on three batch sizes."""
        for framework, (fast, top1) in {"onnxruntime": (1, 70), "openvino": (0.5, 72.5)}.items():
            for host, slow in {"alpha": 1, "beta": 3}.items():
                for batch in (1, 2, 4):
                    ms = 4 * batch * fast * slow
                    write(self.files / f"resnet-{framework}-{host}-{batch}.xsp", [ms] * 9, batch, "resnet", framework, "2.1", batch, host,
                          evaluation=evaluated(top1, ms, batch))
                write(self.files / f"vgg-{framework}-{host}.xsp", [9, 10, 11], 20, "vgg", framework, "2.1", 1, host, gpu="H100" if slow == 1 else None,
                      evaluation=evaluated(top1 - 10, 10 * slow, scenario="offline"))

# SPDX-License-Identifier: Apache-2.0
"""A Python program that runs a model in ONNX Runtime; with `--own-profiler` it has ONNX Runtime profile itself. Prints one
JSON object: the CPU times of its inferences, all threads."""
import json
import os
import sys
import tempfile
import time

import numpy
import onnxruntime
from nvtx import annotate

RUNS, WARMUPS = 100, 20


def main():
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # a second one would compete with what else there is
    folder = tempfile.TemporaryDirectory(prefix="xsp-bench-")
    options.enable_profiling = "--own-profiler" in sys.argv
    options.profile_file_prefix = os.path.join(folder.name, "profile")
    session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    picture = numpy.random.default_rng(0).standard_normal((1, 3, 224, 224)).astype(numpy.float32)
    taken = []
    for run in range(WARMUPS + RUNS):
        started = time.process_time_ns()
        with annotate("inference"):
            session.run(None, {name: picture})
        taken.append((time.process_time_ns() - started) / 1e6)
    print(json.dumps({"cpu_ms": taken[WARMUPS:]}))
    folder.cleanup()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""DeepContext's Figure 6 (figure6.py) of ten JAX models (workloads/jax_models.py), with JAX's profiler and under `xsp run`: the profile
alone, and with samples of call paths. Called by bench/run.py; prints one JSON object per line."""
import json
import os
import pathlib
import tempfile

import figure6
from workloads import made_python

WAYS = {"jax.profiler": (None, "jax", None, None),
        "records": (["-t", "jax"], "none", None, "jax.profiler"),
        "samples": (["-t", "jax,cpu"], "none", None, "jax.profiler")}


def main():
    os.environ["JAX_PLATFORMS"] = "cpu"
    options, program = figure6.arguments(__doc__, WAYS), [made_python("jax"), figure6.FOLDER / "jax_models.py"]
    with tempfile.TemporaryDirectory(prefix="xsp-bench-") as name:
        for line in figure6.lines("jax", lambda model: [*program, model], options, pathlib.Path(name)):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    figure6.run_bench("jax", main)

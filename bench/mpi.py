# SPDX-License-Identifier: Apache-2.0
"""What the span of a collective of MPI costs: an all-reduce of a library that does nothing, plain, traced, and with a wrapper around PMPI as
profilers of MPI have (the peer), in turns, in processor time. gloo's is in bench/workloads/collectives.py. Called by bench/run.py, or by hand
with XSP_BUILD=build-bench; prints one JSON object per line."""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.setdefault("XSP_BUILD", str(SOURCE / "build-bench")))
REPETITIONS, MOST_NS = 5, 2000


def figure(command, **environment):
    done = subprocess.run(command, env={**os.environ, "PMI_SIZE": "2", "PMI_RANK": "0", **environment}, stdout=subprocess.PIPE, text=True, check=True, timeout=200)
    return float(done.stdout)


def put(case, value, floor, target):
    print(json.dumps({"bench": "mpi/collective", "case": case, "value": round(value, 1), "unit": "ns", "floor": round(floor, 1),
                      "ratio": round(value / floor, 4), "target": target}), flush=True)


def main():
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        library, program, peer, out = [os.path.join(folder, name) for name in ("libmpi.so", "program", "libpeer.so", "out.xsp")]
        source = SOURCE / "bench" / "workloads" / "mpi_program.c"
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", SOURCE / "tests" / "frameworks" / "mpi" / "mpi_stand_in.c", "-o", library], check=True)
        subprocess.run([compiler, "-O2", source, "-o", program, library], check=True)
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-DPEER", source, "-o", peer], check=True)
        traced = [BUILD / "xsp", "run", "-q", "--force", "-o", out, "--", program]
        rounds = [(figure([program]), figure(traced), figure([program], LD_PRELOAD=peer)) for _ in range(REPETITIONS)]
    plain, traced, wrapped = map(statistics.median, zip(*rounds))
    put("a call, against the most that is allowed", traced - plain, MOST_NS, 1)
    put("a call, against a wrapper around PMPI", traced - plain, wrapped - plain, None)


if __name__ == "__main__":
    main()

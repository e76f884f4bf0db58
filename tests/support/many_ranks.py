# SPDX-License-Identifier: Apache-2.0
"""Makes the file of a job of many ranks, each a run, as files of ranks that were imported together. Used by tests and bench."""
import subprocess

from scripted import MAKE_TRACE, UNIX_START

MS = 1_000_000
OPERATORS, COLLECTIVES = 40, 4  # of a step
SPANS = 1 + OPERATORS + 2 * COLLECTIVES


def write_rank(out, rank, ranks, steps, late_ns):
    run, span = rank + 1, 0

    def put(*fields):
        out.write("\t".join(map(str, fields)) + "\n")

    put("run", run, 1, "M/L/Lib", "-", 0, "unix")
    for track in (1, 2):
        put("track", run, track, "thread", "box", "-", 100, 99 + track, "-", "-", rank, ranks)
    for step in range(steps):
        start = UNIX_START + 100 * step * MS
        span += 1
        put("span", run, span, "-", start, 100 * MS, "-", 1, "model", "sync", "-", "pytorch", "training step")
        for i in range(OPERATORS):
            span += 1
            put("span", run, span, "-", start + i * MS, MS, "-", 1, "layer", "sync", "-", "pytorch", f"aten::op{i % 7}")
        for i in range(COLLECTIVES):
            at = start + (42 + 10 * i) * MS + rank % 5 * MS // 10 + late_ns
            put("span", run, span + 1, "-", at, MS // 10, "-", 1, "layer", "sync", "-", "pytorch", "c10d::allreduce_")
            put("span", run, span + 2, span + 1, at + MS // 10, 5 * MS, "-", 2, "library", "sync", "collective", "pytorch", "gloo:all_reduce")
            put("tag", run, span + 2, "bytes", "int", 1 << 20)
            put("tag", run, span + 2, "sequence", "int", COLLECTIVES * step + i + 1)
            span += 2


def make_many_ranks(file, ranks, steps, last_late_ns=0):
    """Each step lasts 100 ms; rank r starts its collectives 0.1 · (r mod 5) ms late, and each takes 5 ms after its start. The last rank
    is `last_late_ns` later than that."""
    with subprocess.Popen([MAKE_TRACE, file], stdin=subprocess.PIPE, text=True) as maker:
        maker.stdin.write("experiment\t1\tjob\t-\tpytorch\t2.15\n")
        for rank in range(ranks):
            write_rank(maker.stdin, rank, ranks, steps, last_late_ns if rank == ranks - 1 else 0)
    assert maker.returncode == 0

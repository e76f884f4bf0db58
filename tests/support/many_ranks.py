# SPDX-License-Identifier: Apache-2.0
"""Makes the file of a job of many ranks, each a run, as files of ranks that were imported together. Used by tests and bench."""
import functools
import subprocess

from scripted import MAKE_TRACE, UNIX_START

MS = 1_000_000
OPERATORS, COLLECTIVES = 40, 4  # of a step
SPANS = 1 + OPERATORS + 2 * COLLECTIVES


@functools.lru_cache(maxsize=5)
def spans_of(steps, late_ns):
    """Of a rank, as lines with "@" for its run."""
    lines, span = [], 0

    def put(what, *fields):
        lines.append("\t".join(map(str, (what, "@", *fields))) + "\n")

    for step in range(steps):
        start = UNIX_START + 100 * step * MS
        span += 1
        put("span", span, "-", start, 100 * MS, "-", 1, "model", "sync", "-", "pytorch", "training step")
        for i in range(OPERATORS):
            span += 1
            put("span", span, "-", start + i * MS, MS, "-", 1, "layer", "sync", "-", "pytorch", f"aten::op{i % 7}")
        for i in range(COLLECTIVES):
            at = start + (42 + 10 * i) * MS + late_ns
            put("span", span + 1, "-", at, MS // 10, "-", 1, "layer", "sync", "-", "pytorch", "c10d::allreduce_")
            put("span", span + 2, span + 1, at + MS // 10, 5 * MS - late_ns, "-", 2, "library", "sync", "collective", "pytorch", "gloo:all_reduce")
            put("tag", span + 2, "bytes", "int", 1 << 20)
            put("tag", span + 2, "sequence", "int", COLLECTIVES * step + i + 1)
            span += 2
    return "".join(lines)


def write_rank(out, rank, ranks, steps, late_ns):
    run = rank + 1
    out.write(f"run\t{run}\t1\tM/L/Lib\t-\t0\tunix\n")
    for track in (1, 2):
        out.write(f"track\t{run}\t{track}\tthread\tbox\t-\t100\t{99 + track}\t-\t-\t{rank}\t{ranks}\n")
    out.write(spans_of(steps, rank % 5 * MS // 10 + late_ns).replace("@", str(run)))


def make_many_ranks(file, ranks, steps, last_late_ns=0):
    """Each step lasts 100 ms; rank r starts its collectives 0.1 · (r mod 5) ms late, and each ends at one time for all. The last rank
    is `last_late_ns` later than that."""
    with subprocess.Popen([MAKE_TRACE, file], stdin=subprocess.PIPE, text=True) as maker:
        maker.stdin.write("experiment\t1\tjob\t-\tpytorch\t2.15\n")
        for rank in range(ranks):
            write_rank(maker.stdin, rank, ranks, steps, last_late_ns if rank == ranks - 1 else 0)
    assert maker.returncode == 0

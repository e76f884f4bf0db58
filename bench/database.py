# SPDX-License-Identifier: Apache-2.0
"""What xsp analyze takes for spans in ClickHouse, beside the same spans in a file: the whole command, in alternation. The engine is
the one that the long tests fetch into XSP_TEST_CACHE; without it nothing is measured. Called by bench/run.py, or by hand with
XSP_BUILD=build-bench; XSP_DATABASE_SPANS=1000000,10000000 are the sizes. Sizes above 10^7 are copies of it as further runs, in the
database alone and with its columns, as such a file would take too long to make. Prints one JSON object per line."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("XSP_BUILD", SOURCE / "build-bench"))
os.environ["XSP_BUILD"] = str(BUILD)
sys.path.insert(0, str(SOURCE / "tests" / "support"))
SIZES = [int(size) for size in os.environ.get("XSP_DATABASE_SPANS", "1000000,10000000").split(",")]
ANALYSES, MOST = {"A10": 5, "A2": 1}, 10**7  # how many times each
LAYERS, KERNELS = 100, 5
TARGETS = {"A10": 1.0}
XSP = BUILD / "xsp"


def check_kernels(source):
    """Only answers about all kernels are compared."""
    done = subprocess.run([XSP, "analyze", "A10", "--json", str(source)], stdout=subprocess.PIPE, timeout=1500, check=True)
    found = json.loads(done.stdout)["summary"]["kernels"]
    if found != LAYERS * KERNELS:
        raise RuntimeError(f"A10 of {source} has {found} kernels an observation, not {LAYERS * KERNELS}")


def seconds(*arguments):
    started = time.monotonic()
    done = subprocess.run([XSP, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=1500)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return time.monotonic() - started


def put(case, value, peer, target):
    print(json.dumps({"bench": "database", "case": case, "value": round(value, 3), "unit": "s", "floor": None,
                      "ratio": round(value / peer, 3) if peer else None, "target": target if peer else None,
                      "peers": {"the same spans in a file": round(peer, 3)} if peer else {}}), flush=True)


def compare(address, file, about):
    for analysis, count in ANALYSES.items():
        if file is None and analysis != "A10":  # more would come back than xsp takes
            continue
        times = []
        for _ in range(count):
            times.append((seconds("analyze", analysis, address), seconds("analyze", analysis, file) if file else None))
        of_database, of_file = zip(*times)
        peer = statistics.median(of_file) if file else None
        put(f"{analysis}, {about}", statistics.median(of_database), peer, TARGETS.get(analysis))


def columns():
    """The statement of docs/clickhouse.md."""
    text = (SOURCE / "docs" / "clickhouse.md").read_text(encoding="utf-8")
    return text[text.index("    ALTER TABLE otel_traces\n"):text.index("\n\n`ALTER TABLE")]


def measure(server, folder, spans):
    import clickhouse
    import large_trace
    observations = min(spans, MOST) // large_trace.in_one(LAYERS, KERNELS)
    file, lines = folder / "trace.xsp", folder / "trace.jsonl"
    large_trace.write(file, observations, LAYERS, KERNELS)
    seconds("export", file, "--to", "otlp", "-o", lines)
    kernels = observations * LAYERS * KERNELS * 2 * max(1, spans // MOST)
    for table in ("maps", "columns") if spans <= MOST else ("columns",):
        server.query(clickhouse.TABLE.format(name=table))
        if table == "columns":
            server.query(columns().replace("otel_traces", table))
        started = time.monotonic()
        server.load(lines, table)
        for run in range(2, spans // MOST + 1):
            server.query(f"INSERT INTO {table} SELECT * REPLACE (mapUpdate(ResourceAttributes, map('xsp.run', '{run}')) AS "
                         f"ResourceAttributes) FROM {table} AS old WHERE old.ResourceAttributes['xsp.run'] = '1'")
        server.query(f"OPTIMIZE TABLE {table} FINAL")  # else it merges while it answers
        print(f"database: {table} of {spans} spans filled in {time.monotonic() - started:.0f} s", file=sys.stderr)
        for source in (f"{server.address}?table={table}", file)[:2 if spans <= MOST else 1]:
            check_kernels(source)
        about = f"{kernels:.2g} kernel spans of {spans:.2g}, {table}"
        compare(f"{server.address}?table={table}", file if spans <= MOST else None, about)
        server.query(f"DROP TABLE {table} SYNC")
    file.unlink()
    lines.unlink()


def main():
    import clickhouse
    with tempfile.TemporaryDirectory(prefix="xsp-bench-") as place:
        folder = pathlib.Path(place)
        try:
            server = clickhouse.Server(folder / "engine")
        except unittest.SkipTest as reason:
            print(f"database: {reason}", file=sys.stderr)
            return
        try:
            for spans in SIZES:
                measure(server, folder, spans)
        finally:
            server.close()


if __name__ == "__main__":
    main()

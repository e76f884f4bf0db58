# SPDX-License-Identifier: Apache-2.0
"""What a span costs the server: xsp serve, which stores it as a file, and the OpenTelemetry Collector, which decodes it and drops it
(exporter nop), or sends it on to an xsp serve. The same client sends the same requests of 512 spans to each. Processor time of
the server alone, until all is stored. The Collector is the one that the long tests build; without it nothing is measured."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("XSP_BUILD", SOURCE / "build-bench"))
ROUNDS, SPANS = 5, 600 * 512  # a round: what bench/serve.c sends
TIMES = 3
WAIT_S = 120

sys.path[:0] = [str(SOURCE / "tests" / folder) for folder in ("support", "otlp", "serve")]
os.environ.setdefault("XSP_SOURCE", str(SOURCE))


def cpu_s(process):
    """Of all its threads, those that ended included."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cost(process, port, is_done):
    """(CPU ns of a span in the server, wall ns of a span for the client)"""
    before = cpu_s(process)
    client = subprocess.run([BUILD / "bench-programs" / "serve", str(port), str(ROUNDS)], check=True, stdout=subprocess.PIPE,
                            text=True, timeout=WAIT_S)
    end = time.monotonic() + WAIT_S
    while not is_done() and time.monotonic() < end:
        time.sleep(0.05)
    return (cpu_s(process) - before) * 1e9 / ROUNDS / SPANS, statistics.median(map(float, client.stdout.split()))


def measure():
    import collector
    import server
    figures = {"xsp serve": [], "collector": [], "collector, gzip": []}
    with tempfile.TemporaryDirectory(prefix="xsp-bench-") as place:
        folder = pathlib.Path(place)
        with server.Server(folder / "own", "--file-quiet", "1") as own, server.Server(folder / "behind", "--file-quiet", "1") as behind:
            def is_stored(at):
                return not server.files(at, ".journal")
            send_on = {"otlp_http": {"endpoint": f"http://127.0.0.1:{behind.port}"}}
            with collector.Collector(folder, {"nop": {}}) as discards:
                for _ in range(TIMES):
                    figures["xsp serve"].append(cost(own.process, own.port, lambda: is_stored(folder / "own")))
                    figures["collector"].append(cost(discards.process, discards.port, lambda: True))
            with collector.Collector(folder, send_on, processors={"batch": {}}) as relay:
                for _ in range(TIMES):
                    figures["collector, gzip"].append(cost(relay.process, relay.port, lambda: is_stored(folder / "behind")))
    return {name: [statistics.median(column) for column in zip(*pairs)] for name, pairs in figures.items()}


def main():
    import collector
    if not collector.cached().exists():
        print("collector: not built; tests/serve/long_collector.py builds it", file=sys.stderr)
        return
    figures = measure()
    for at, what in enumerate(("processor time of the server", "wall time of the client")):
        own, discards, relay = (round(figures[name][at], 1) for name in ("xsp serve", "collector", "collector, gzip"))
        print(json.dumps({"bench": "serve/collector", "case": f"512 spans a request, {what}", "value": own, "unit": "ns/span",
                          "floor": None, "ratio": round(own / discards, 3), "target": None,
                          "peers": {"collector that drops": discards, "collector that sends on": relay}}))


if __name__ == "__main__":
    main()

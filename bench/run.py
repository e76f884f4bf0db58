# SPDX-License-Identifier: Apache-2.0
"""Run all benches and their peers, write one JSON object per line, print a table with the targets that were reached.

Called by `make bench`. The bench programs (bench/*.c) print JSON lines; this adds the peers' figures, measured in the
same run on the same machine, and the lines whose target is a peer. The only verdict is ratio <= target.
"""
import argparse
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
PEER_SPANS, PEER_REPETITIONS = 300_000, 9
LTTNG_TARGET = 1 / 7
IMPORT_EVENTS = 1_000_000
IMPORT_TARGETS = {("one core", "simdjson"): 1.3, ("two cores", "simdjson"): 0.8, ("one core", "json.load"): 0.1}
IMPORT_REPEATS = 5
PYTHON_BENCHES = ["frames", "python_spans", "samples", "samplers", "truth", "predictors", "workloads", "page", "served_page", "pytorch",
                  "jax_models", "whole_run", "collector", "database", "data", "ranks", "mpi", "exports"]


def log(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def run_program(program, build, *arguments, timeout=240):
    """The JSON lines that a bench program prints."""
    environment = dict(os.environ, XSP_BUILD=str(build), XSP_SOURCE=str(SOURCE), XSP_PYTHON=sys.executable)
    command = [sys.executable, "-B", program] if program.suffix == ".py" else [program]
    result = subprocess.run([*command, *arguments], env=environment, stdout=subprocess.PIPE, text=True, timeout=timeout)
    if result.returncode != 0:
        raise RuntimeError(f"{program.name} ended with status {result.returncode}")
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


def peer_figures(output):
    """{"1 thread": ns, "2 threads": ns} of what a peer's program printed."""
    found = re.findall(r"^([12]) ([0-9.]+) [0-9.]+$", output, re.MULTILINE)
    return {"1 thread" if threads == "1" else "2 threads": float(median) for threads, median in found}


def quiet(command, **options):
    return subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120, **options).stdout


def measure_lttng(programs):
    """LTTng-UST without a session and in snapshot (overwrite) mode, where only the tracing itself runs."""
    program = programs / "peer_lttng"
    for tool in ("lttng", "lttng-sessiond"):
        if not shutil.which(tool):
            raise RuntimeError(f"{tool} is not installed")
    if not program.exists():
        raise RuntimeError("built without LTTng-UST's library")
    with tempfile.TemporaryDirectory(prefix="xsp-bench-") as folder:
        # Root's session daemon serves the whole machine; user nobody's has its sockets in a home of its own.
        options = {"env": {"PATH": os.environ["PATH"], "HOME": folder, "LTTNG_HOME": folder}, "cwd": folder}
        copy = shutil.copy(program, folder)
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            options.update(user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])
        arguments = [copy, str(PEER_SPANS), str(PEER_REPETITIONS)]
        off = peer_figures(quiet(arguments, **options))
        pidfile = pathlib.Path(folder) / "sessiond.pid"
        quiet(["lttng-sessiond", "--daemonize", "--no-kernel", "--pidfile", str(pidfile)], **options)
        try:
            for command in (["create", "bench", "--snapshot", f"--output={folder}/trace"],
                            ["enable-channel", "-u", "-s", "bench", "channel", "--overwrite", "--subbuf-size=2M",
                             "--num-subbuf=4"],
                            ["enable-event", "-u", "-s", "bench", "-c", "channel", "xsp_bench:*"],
                            ["start", "bench"]):
                quiet(["lttng", *command], **options)
            snapshot = peer_figures(quiet(arguments, **options))
            quiet(["lttng", "snapshot", "record", "-s", "bench"], **options)
            recorded = sum(file.stat().st_size for file in (pathlib.Path(folder) / "trace").rglob("*")
                           if file.is_file())
            quiet(["lttng", "destroy", "bench"], **options)
        finally:
            os.kill(int(pidfile.read_text()), signal.SIGTERM)
        if recorded < 1_000_000:
            raise RuntimeError(f"its session recorded {recorded} bytes: it was not tracing")
    return {"on": snapshot, "off": off}


def measure_uftrace(programs):
    """uftrace with -finstrument-functions, writing to memory."""
    if not shutil.which("uftrace"):
        raise RuntimeError("uftrace is not installed")
    with tempfile.TemporaryDirectory(prefix="xsp-bench-", dir="/dev/shm") as folder:
        output = quiet(["uftrace", "record", "--no-libcall", "-d", f"{folder}/trace", str(programs / "peer_uftrace"),
                        str(PEER_SPANS // 3), "5"])
        return {"on": peer_figures(output)}


def measure_simdjson(program, trace):
    """(ns per event, peak MiB) of reading eight fields of each event with simdjson On-Demand, file in memory."""
    if not program.exists():
        raise RuntimeError("built without simdjson")
    events, each, peak, version, *_ = quiet(["taskset", "-c", "0", str(program), str(trace), str(IMPORT_REPEATS)]).split()
    log(f"peer simdjson {version}, {events} events")
    return float(each), int(peak) / 1024


def measure_json_load(trace, events):
    """ns per event of CPython's json.load."""
    code = ("import json, sys, time\nstart = time.process_time()\nwith open(sys.argv[1]) as file:\n    json.load(file)\n"
            "print(time.process_time() - start)")
    return float(quiet([sys.executable, "-c", code, str(trace)])) * 1e9 / events


def measure_import(programs, build, events, problems):
    """The import's own lines and its peers', all over one generated file."""
    with tempfile.TemporaryDirectory(prefix="xsp-bench-", dir="/dev/shm") as folder:
        trace = pathlib.Path(folder) / "trace.json"
        quiet([str(programs / "make_kineto"), str(events), str(trace)])
        lines = run_program(programs / "import", build, str(trace), timeout=1200)
        peers = {}
        for name, measure in (("simdjson", lambda: measure_simdjson(programs / "peer_simdjson", trace)),
                              ("json.load", lambda: (measure_json_load(trace, events), None))):
            if name == "json.load" and events > 2 * IMPORT_EVENTS:
                continue  # needs more memory than the machine has
            try:
                peers[name] = measure()
            except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
                problems.append(f"peer {name}: {error}")
    derived = []
    for line in lines:
        if line["bench"] in ("import/events", "import/kineto"):
            line["peers"] = {name: round(each, 1) for name, (each, _) in peers.items()}
        elif line["bench"] == "import/memory":
            line["peers"] = {name: round(peak) for name, (_, peak) in peers.items() if peak}
        for (cores, name), target in IMPORT_TARGETS.items():
            if line["bench"] == "import/kineto" and line["case"].endswith(cores) and name in peers:
                derived.append({**line, "case": f"{line['case']}, against {name}",
                                "ratio": round(line["value"] / peers[name][0], 4), "target": target})
    return lines + derived


def case_threads(line):
    for threads in ("1 thread", "2 threads"):
        if threads in line["case"]:
            return threads
    return None


def add_peers(lines, peers):
    """Each peer's figure with the capture line that measures the same thing."""
    for line in lines:
        line.setdefault("peers", {})
        if line["bench"] not in ("capture/span", "capture/disabled"):
            continue
        off = line["bench"] == "capture/disabled"
        for name, figures in peers.items():
            value = figures.get("off" if off else "on", {}).get("1 thread" if off else case_threads(line))
            if value is not None:
                line["peers"][name] = round(value, 3)


def against_limits(lines):
    """The join's target is a time, not a peer: the limit takes the floor's place."""
    derived = []
    for line in lines:
        if line["bench"].startswith("sql/join") and line.get("design_ms"):
            derived.append({**line, "case": f"{line['case']}, against the limit", "floor": line["design_ms"],
                            "ratio": round(line["value"] / line["design_ms"], 4), "target": 1})
    return derived


def say_missing_peers(lines):
    """The design names Perfetto's trace_processor for SQL; its program is in no Debian package, so it has no figures."""
    for line in lines:
        if line["bench"] in ("sql/count and sum", "sql/group by name") and not line["peers"]:
            line["note"] = "peer not measured: perfetto's trace_processor is in no package"


def against_lttng(lines):
    """The design's second target of a span: seven times faster than LTTng-UST, in the same run."""
    derived = []
    for line in lines:
        peer = line["peers"].get("lttng-ust")
        if line["bench"] == "capture/span" and peer and case_threads(line) and line.get("value"):
            derived.append({"bench": line["bench"], "case": f"{line['case']}, against lttng-ust", "value": line["value"],
                            "unit": line["unit"], "floor": line.get("floor"), "ratio": round(line["value"] / peer, 4),
                            "target": round(LTTNG_TARGET, 4), "peers": {"lttng-ust": peer}})
    return derived


def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    commit = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(SOURCE), "describe", "--always", "--dirty"],
                            capture_output=True, text=True).stdout.strip() or "no commit"
    return f"{os.cpu_count()} × {model.group(1) if model else 'unknown CPU'}, Linux {os.uname().release}, commit {commit}"


def number(value):
    return "-" if value is None else f"{value:.4g}"


def verdict(line):
    if line.get("target") is None or line.get("ratio") is None:
        return "no target"
    return "met" if line["ratio"] <= line["target"] else "MISSED"


def table(lines):
    rows = [("bench", "case", "value", "unit", "floor", "ratio", "target", "", "peers")]
    for line in lines:
        rows.append((line["bench"], line["case"], number(line.get("value")), line["unit"], number(line.get("floor")),
                     number(line.get("ratio")), number(line.get("target")), verdict(line),
                     ", ".join(f"{name} {number(value)}" for name, value in line["peers"].items())))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build-bench")
    parser.add_argument("--output", type=pathlib.Path, default=SOURCE / "build" / "bench.jsonl")
    parser.add_argument("--import-events", type=int, default=IMPORT_EVENTS,
                        help="events of the generated trace (295 bytes each in /dev/shm); 10500000 shows the memory of 3 GB")
    parser.add_argument("--only", help="only the benches whose name matches this pattern")
    options = parser.parse_args()
    build = options.build.resolve()
    programs = build / "bench-programs"
    names = sorted(source.stem for source in (SOURCE / "bench").glob("*.c") if not source.stem.startswith("make_"))
    names += PYTHON_BENCHES
    if options.only:
        names = [name for name in names if re.search(options.only, name)]
    lines, problems, peers = [], [], {}
    started = time.monotonic()
    log(machine())
    for position, name in enumerate(names, 1):
        log(f"{position} of {len(names)}: {name}")
        try:
            lines += measure_import(programs, build, options.import_events, problems) if name == "import" \
                else run_program(SOURCE / f"bench/{name}.py", build, timeout=1800) if name in PYTHON_BENCHES \
                else run_program(programs / name, build)
        except (OSError, RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
            problems.append(f"{name}: {error}")
    for name, measure in (("lttng-ust", measure_lttng), ("uftrace", measure_uftrace)):
        log(f"peer {name}")
        try:
            peers[name] = measure(programs)
        except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
            problems.append(f"peer {name}: {error} {getattr(error, 'output', '') or ''}".strip())
    add_peers(lines, peers)
    say_missing_peers(lines)
    lines += against_lttng(lines) + against_limits(lines)
    partial = options.output.with_suffix(".partial")
    partial.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    partial.replace(options.output)
    log(f"{time.monotonic() - started:.0f} s; {options.output}\n\n{table(lines)}\n")
    for problem in problems:
        log(f"not measured: {problem}")
    missed = [line for line in lines if verdict(line) == "MISSED"]
    log(f"{sum(verdict(line) == 'met' for line in lines)} targets met, {len(missed)} missed, {len(problems)} not measured")
    return 1 if any(not problem.startswith("peer") for problem in problems) else 0


if __name__ == "__main__":
    sys.exit(main())

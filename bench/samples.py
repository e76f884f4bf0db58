# SPDX-License-Identifier: Apache-2.0
"""The CPU sampler: what a sample costs, and what a program costs more that is sampled. Called by bench/run.py; prints
one JSON object per line.

`samples/record` runs this file under `xsp run -t cpu`, where workloads/sampled_stack.c calls the sampler's handler as
the kernel does, in this interpreter; the signal itself is not in it. The floor is the clock reading that each sample
needs, and the target the time of the design over that. `samples/run` is the CPU time of workloads/sampled_program.py,
as workloads.py measures it."""
import ctypes
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

from workloads import PROGRAMS, PYTHON, SOURCE, XSP, Bench

DEPTH, NATIVE_CALLS = 20, 14  # ctypes and libffi are the other native functions
NEW_LINES, ROUNDS = 1000, 9
KNOWN, NEW_INSTRUCTION, ONCE = range(3)
KNOWN_NS, NEW_NS, RUN_TARGET = 600, 3000, 1.01
FRAMES = """
with recursive up(leaf, next, kind) as (
  select context_id, context_id, null from (select distinct context_id from sample)
  union all
  select leaf, parent_id, frame.kind from up join context on context_id = next join frame using (frame_id))
select python, native, count(*) as paths from (
  select count(case kind when 'python' then 1 end) as python, count(case kind when 'native' then 1 end) as native
  from up group by leaf)
group by python, native order by paths desc"""


def measure_records(module):
    """In a process that is sampled, on a Python stack of DEPTH frames."""
    take, median, floor = module.samples_take, module.samples_median, module.samples_floor
    median.restype = floor.restype = ctypes.c_double
    module.samples_begin.restype = ctypes.c_bool
    if not module.samples_begin():
        sys.exit("samples bench: this process is not sampled")

    def same_stack():
        take(KNOWN, NATIVE_CALLS)
        result["known"] = median()
        take(NEW_INSTRUCTION, NATIVE_CALLS)
        result["new_instruction"] = median()
        take(NEW_INSTRUCTION, NATIVE_CALLS)  # from another line, so that paths are new and their native frames are not
        result["new_path"] = median()

    def new_lines():
        lines = compile("\n".join([f"take({ONCE}, {NATIVE_CALLS})"] * 20), "new lines", "exec")
        for i in range(NEW_LINES // 20):
            exec(lines.replace(co_filename=f"file {i}"), {"take": take})
        result["new_line"] = median()

    def down(depth, function):
        return down(depth - 1, function) if depth > 0 else function()
    result = {"floor": floor()}
    down(DEPTH - 4, same_stack)  # besides: <module>, this function, and same_stack
    down(DEPTH - 5, new_lines)  # and the new line's <module>
    print(json.dumps(result))


def ask(path, query):
    """The first row."""
    out = subprocess.run([XSP, "sql", path, query, "--json"], capture_output=True, text=True, timeout=120, check=True)
    return json.loads(out.stdout)[0]


def records(folder):
    path = folder / "record.xsp"
    command = [XSP, "run", "-t", "cpu", "-o", path, "--", PYTHON, "-B", __file__, "cost"]
    ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120)
    if ran.returncode != 0:
        raise RuntimeError(ran.stderr[-300:])
    found = json.loads(ran.stdout.splitlines()[-1])
    frames = ask(path, FRAMES)
    if frames["paths"] < NEW_LINES:
        raise RuntimeError(f"{frames['paths']} call paths were recorded")
    stack = f"{frames['python']} Python and {frames['native']} native frames, %d.%d" % sys.version_info[:2]
    for key, case, target in (("known", "known path", KNOWN_NS), ("new_path", "new path of known frames", NEW_NS),
                              ("new_instruction", "new innermost instruction", NEW_NS),
                              ("new_line", "new line of Python", NEW_NS)):
        yield {"bench": "samples/record", "case": f"{case}, {stack}", "value": round(found[key], 1), "unit": "ns",
               "floor": round(found["floor"], 1), "ratio": round(found[key] / found["floor"], 3),
               "target": round(target / found["floor"], 3), "peers": {}}


class Sampled(Bench):
    def recorded(self, path):
        query = ("select (select count(*) from sample where kind = 'cpu') as samples, sum(dropped_count) as dropped"
                 " from run")
        found = ask(path, query)
        if found["samples"] == 0:
            raise RuntimeError("no samples were taken")
        return found


def runs(folder):
    for program in ("python", "numpy"):
        if program == "numpy" and importlib.util.find_spec(program) is None:
            raise RuntimeError("this Python has no NumPy")
        ways = {"plain": ([], [], {}), "99": (["-t", "cpu", "--sample-rate", "99"], [], {}),
                "999": (["-t", "cpu", "--sample-rate", "999"], [], {})}
        bench = Sampled(folder, [PYTHON, SOURCE / "bench/workloads/sampled_program.py", program], ways, ROUNDS,
                        {"OPENBLAS_NUM_THREADS": "1"})
        for rate in ("99", "999"):
            case = f"{program}, {rate} samples a second"
            yield bench.line("samples/run", case, rate, "CPU ms/step", target=RUN_TARGET)


def main():
    with tempfile.TemporaryDirectory(prefix="xsp-bench-samples-") as name:
        for bench, measure in (("samples/record", records), ("samples/run", runs)):
            try:
                for line in measure(pathlib.Path(name)):
                    print(json.dumps(line), flush=True)
            except (OSError, RuntimeError, ValueError, LookupError, subprocess.SubprocessError) as error:
                print(f"{bench}: {error}", file=sys.stderr)
                print(json.dumps({"bench": bench, "case": "all", "value": None, "unit": "",
                                  "floor": None, "ratio": None, "target": None, "peers": {},
                                  "note": f"not measured: {error}"}), flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["cost"]:
        measure_records(ctypes.PyDLL(str(PROGRAMS / "sampled_stack.so")))
    else:
        main()

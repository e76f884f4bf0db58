# SPDX-License-Identifier: Apache-2.0
"""Text of perf script: samples with and without call paths, in the forms of its default fields."""
import unittest

from imported import Imported
from scripted import xsp_json

STACKS = """# captured on: Sun Nov 29
#
net  1234/1235  [001]   512.345678:     250000 cpu-clock:P:
\t    7f3a81c04f45 sgemm_kernel+0x25 (/usr/lib/libblas.so.3)
\t    7f3a81c04f00 [unknown] (/usr/lib/libblas.so.3)
\t    55d0c0001234 main+0x12 (/usr/bin/net)

net  1234/1235  [001]   512.345928:     250000 cpu-clock:P:
\t    7f3a81c04f49 sgemm_kernel+0x29 (/usr/lib/libblas.so.3)
\t    7f3a81c04f00 [unknown] (/usr/lib/libblas.so.3)
\t    55d0c0001234 main+0x12 (/usr/bin/net)

worker thread 2  1234/1236 [000]   512.346000:     125000 cpu-clock:P:
\t    7f3a81c04f10 py::train:/home/me/train.py (/tmp/perf-1234.map)

worker thread 2  1234/1236 [000]   512.346100:          1 page-faults:
\t    7f3a81c04f10 fault+0x1 (/usr/bin/net)

"""
FLAT = """         python3    77 12345.000001:     100000 cycles:  ffffffff8104f45a native_write_msr+0xa ([kernel.kallsyms])
         python3    77 12345.001001:     120000 cycles:      7f1122334455 dot+0x5 (/usr/lib/libm.so.6)
         python3    77 12345.009001:     120000 cycles:      7f1122334455 dot+0x5 (inlined)
"""


class Perf(Imported):
    def samples(self):
        return self.rows("select s.time_ns, s.duration_ns, s.kind, t.thread_id, t.name as thread, f.name as frame, f.module, f.kind as of,"
                         " s.context_id from sample s join track t using (run_id, track_id) left join context using (context_id)"
                         " left join frame f using (frame_id) order by time_ns")

    def test_call_paths(self):
        report, (process,) = self.load(STACKS)
        self.assertEqual((report["files"][0]["format"], report["files"][0]["skipped"]),
                         ("perf", {"not a sample": 2, "of another event than the first": 1}))
        first, second, python = self.samples()
        # 512.345678 s; periods of cpu-clock are nanoseconds
        self.assertEqual((first["time_ns"], first["duration_ns"], first["kind"]), (512_345_678_000, 250_000, "cpu"))
        self.assertEqual((first["thread"], first["thread_id"], first["frame"], first["module"], first["of"]),
                         ("net", 1235, "sgemm_kernel", "/usr/lib/libblas.so.3", "native"))
        self.assertEqual(first["context_id"], second["context_id"])
        self.assertEqual((python["thread"], python["frame"], python["module"], python["of"]),
                         ("worker thread 2", "train", "/home/me/train.py", "python"))
        # main called what has no name but its library, which called sgemm_kernel
        path = self.rows(f"with recursive p(id, depth) as (select {first['context_id']}, 0 union all select parent_id, depth + 1 from p"
                         " join context on context_id = id where parent_id is not null) select name from p join context on context_id = id"
                         " join frame using (frame_id) order by depth")
        self.assertEqual([row["name"] for row in path], ["sgemm_kernel", None, "main"])
        # From where the first sample's time begins to the last sample
        self.assertEqual((process["name"], process["level"], process["start_ns"], process["end_ns"]),
                         ("net", "application", 512_345_428_000, 512_346_000_000))

    def test_libraries_that_were_removed(self):
        """As of code that was made at run time; a library's name may have parentheses of its own."""
        self.load(FLAT + "         python3    77 12345.010001:     120000 cycles:      7f1122334455 run(int)+0x5 (/memfd:jit (deleted))\n"
                         "         python3    77 12345.011001:     120000 cycles:      7f1122334455 [unknown] (/tmp/a (1).so)\n")
        self.assertEqual([(s["frame"], s["module"]) for s in self.samples()[3:]],
                         [("run(int)", "/memfd:jit (deleted)"), (None, "/tmp/a (1).so")])

    def test_a_header_of_many_processors(self):
        """As --header writes, several lines for each of them."""
        report, _ = self.load("".join(f"# CPU {number}: Core ID 0\n" for number in range(500)) + STACKS)
        self.assertEqual((report["files"][0]["format"], len(self.samples())), ("perf", 3))

    def test_lines_of_sources(self):
        """-F +srcline has them between frames, which stay one call path."""
        self.load(STACKS)
        plain = self.rows("select parent_id, name, module from context join frame using (frame_id) order by context_id")
        self.load(STACKS.replace(")\n", ")\n  net.c:7\n"))
        self.assertEqual(self.rows("select parent_id, name, module from context join frame using (frame_id) order by context_id"), plain)

    def test_time_by_function(self):
        self.load(STACKS)
        rows = {row["function"]: row for row in xsp_json("analyze", "A22", self.out, "--json")["rows"]}
        self.assertEqual((rows["sgemm_kernel"]["samples"], rows["sgemm_kernel"]["native_ms"], rows["train"]["python_ms"]),
                         (2, 0.5, 0.125))

    def test_an_event_that_counts_no_time(self):
        """Gaps of 1 ms and 8 ms: of two the lower is the median."""
        report, _ = self.load(FLAT)
        self.assertEqual([(s["time_ns"], s["duration_ns"], s["frame"], s["module"]) for s in self.samples()],
                         [(12_345_000_001_000, 1_000_000, "native_write_msr", "[kernel.kallsyms]"),
                          (12_345_001_001_000, 1_000_000, "dot", "/usr/lib/libm.so.6"),
                          (12_345_009_001_000, 1_000_000, "dot", None)])
        self.assertIn("cycles: counts no time", " ".join(report["files"][0]["notes"]))

    def test_two_kinds_of_processors(self):
        """Their cycles are two events; a thread is on one of them at a time."""
        core, atom = (FLAT.replace("cycles:", f"cpu_{kind}/cycles/P:") for kind in ("core", "atom"))
        report, _ = self.load(core + atom.replace("12345.", "12346."))
        self.assertEqual((len(self.samples()), report["files"][0]["skipped"]), (6, {}))
        report, _ = self.load(core + atom.replace("/cycles/", "/instructions/"))
        self.assertEqual((len(self.samples()), report["files"][0]["skipped"]), (3, {"of another event than the first": 3}))

    def test_what_cannot_be_read(self):
        far = FLAT.replace("12345.000001", "99999999999.000001")
        self.refuse(far, mentions=["beyond 64 bits"])
        report, _ = self.load(FLAT + "python3 77 12345.5: sched:sched_switch: prev_comm=a\nhello\n")
        self.assertEqual((len(self.samples()), report["files"][0]["skipped"]), (3, {"not a sample": 2}))
        self.refuse("PERFILE2" + "\0" * 64, mentions=["perf script"])


if __name__ == "__main__":
    unittest.main()

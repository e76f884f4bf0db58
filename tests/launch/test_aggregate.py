# SPDX-License-Identifier: Apache-2.0
"""xsp run --aggregate: the calling context tree instead of spans, equal to that of the spans; kills of xsp and of the program;
what the other verbs say of such a file."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
XSP = BUILD / "xsp"
TREE = """select m.context_id, metric, count, sum, min, max, mean, variance, exclusive_sum, f.kind, f.name, f.file, f.line, c.parent_id
    from context_metric m join context c using (context_id) join frame f using (frame_id) where metric <> 'range_ns' order by 1, 2"""
COMPILER = shutil.which(os.environ.get("CC", "cc"))
# Writes one span of site `work` per line that it reads, answers each line, and ends with its input. The call path of every
# second one differs.
GUEST = r"""
#include <stdio.h>
#include <stdlib.h>
#include <xsp/call_path.h>
static struct xsp_site *site(const char *caller, unsigned variant)
{
  struct xsp_frame frame = {.size = sizeof frame, .kind = XSP_FRAME_PYTHON, .name = caller, .file = "guest.py", .line = 7};
  uint32_t path = xsp_call_path(0, &frame);
  frame = (struct xsp_frame){.size = sizeof frame, .kind = XSP_FRAME_FRAMEWORK, .name = "work"};
  struct xsp_site *made = xsp_site_create_variant("guest", XSP_LEVEL_LAYER, "work", NULL, variant);
  xsp_site_call_path(made, xsp_call_path(path, &frame));
  return made;
}
static struct xsp_site *device(const char *category)
{
  struct xsp_frame frame = {.size = sizeof frame, .kind = XSP_FRAME_DEVICE, .name = category};
  struct xsp_site *made = xsp_site_create("guest", XSP_LEVEL_KERNEL, category, category);
  xsp_site_tag_string(made, "grid", "[7,2,1]");
  xsp_site_tag_int(made, "registers", 32);
  xsp_site_call_path(made, xsp_call_path(0, &frame));
  return made;
}
static void execute(struct xsp_site *made, int samples)
{
  uint64_t now = xsp_clock_ticks();
  struct xsp_interval interval = {.size = sizeof interval, .kind = XSP_KIND_EXECUTION, .start = now, .end = now};
  struct xsp_span span = xsp_span_emit(made, &interval);
  if (samples != 0)
    xsp_span_tag_int(&span, "samples_wait", samples);
}
int main(void)
{
  struct xsp_site *sites[] = {site("even", 1), site("odd", 2)};
  struct xsp_site *kernel = device("kernel"), *wait = device("sync"), *samples = device("samples");
  XSP_SITE(step, XSP_LEVEL_MODEL, "step");
  char line[64];
  printf("%s\n", getenv("XSP_SESSION"));
  fflush(stdout);
  for (unsigned i = 0; fgets(line, sizeof line, stdin) != NULL; i++) {
    struct xsp_span outer = xsp_span_start(&step), span = xsp_span_start(sites[i % 2]);
    xsp_span_finish(&span);
    xsp_span_finish(&outer);
    if (i < 2) {
      execute(kernel, 0);
      execute(wait, 0);
      execute(samples, 5);
    }
    puts("done");
    fflush(stdout);
  }
  return 0;
}
"""


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "a sanitizer's library would have to come first in the guest")
@unittest.skipUnless(COMPILER, "no C compiler")
class Aggregate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory(prefix="xsp-aggregate-")
        cls.guest = pathlib.Path(cls.shared.name) / "guest"
        source = cls.guest.with_suffix(".c")
        source.write_text(GUEST)
        subprocess.run([COMPILER, "-O1", "-o", cls.guest, source, "-I", pathlib.Path(os.environ["XSP_SOURCE"]) / "include",
                        "-L", BUILD, "-lxsp", f"-Wl,-rpath,{BUILD}"], check=True, timeout=600)

    @classmethod
    def tearDownClass(cls):
        cls.shared.cleanup()

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="xsp-aggregate-")
        self.folder = pathlib.Path(self.temporary.name)
        self.out = self.folder / "out.xsp"

    def tearDown(self):
        self.temporary.cleanup()

    def xsp(self, *arguments, status=0, **options):
        done = subprocess.run([str(part) for part in (XSP, *arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=600, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def sql(self, query, path=None):
        return json.loads(self.xsp("sql", path or self.out, query, "--json").stdout)

    def counts(self, path=None):
        rows = self.sql("select p.name as caller, m.count from context_metric m join context c using (context_id) join frame f "
                        "using (frame_id) left join context d on d.context_id = c.parent_id left join frame p on p.frame_id = "
                        "d.frame_id where f.name in ('work', 'step') order by 1", path)
        return {row["caller"]: row["count"] for row in rows}

    def test_the_tree_of_the_spans(self):
        """The same rings twice: as spans, and folded."""
        session = self.folder / "session"
        subprocess.run([self.guest], input="\n" * 1001, env={**os.environ, "XSP_SESSION": str(session)}, check=True,
                       stdout=subprocess.DEVNULL, text=True, timeout=600)
        whole, folded = self.folder / "whole.xsp", self.folder / "folded.xsp"
        shutil.copytree(session, self.folder / "copy")
        self.xsp("recover", session, "-o", whole)
        self.xsp("recover", self.folder / "copy", "--aggregate", "-o", folded)
        tree = self.sql(TREE, whole)
        self.assertEqual(tree, self.sql(TREE, folded))
        self.assertEqual([(row["name"], row["count"]) for row in tree if row["metric"] == "host_ns"],
                         [("even", 501), ("work", 501), ("odd", 500), ("work", 500)])
        # Kernels have a shape, samples what was sampled; a wait is no work and has nothing.
        self.assertEqual([(row["name"], row["metric"], row["count"], row["sum"]) for row in tree if row["kind"] == "device"],
                         [("kernel", "device_ns", 2, 0), ("kernel", "grid_size", 2, 28), ("kernel", "registers", 2, 64),
                          ("samples", "samples_wait", 2, 10)])
        self.assertEqual(self.sql("select count(*) as n from span", folded), [{"n": 0}])
        # A span without a call path counts by name: it is not in the tree of the spans.
        self.assertEqual(self.counts(folded), {"even": 501, "odd": 500, None: 1001})
        self.assertEqual(self.sql("select sum(duration_ns) as ns from span where name = 'step'", whole),
                         self.sql("select sum as ns from context_metric where metric = 'range_ns'", folded))

    def test_xsp_run(self):
        done = self.xsp("run", "--aggregate", "-o", self.out, "--", self.guest, input="\n" * 10)
        self.assertIn("10 model, 10 layer", done.stderr)
        self.assertIn("A17", done.stderr)
        self.assertEqual(self.counts(), {"even": 5, "odd": 5, None: 10})
        self.assertEqual(self.sql("select name, category from span"), [{"name": "guest", "category": "program"}])
        rows = json.loads(self.xsp("analyze", "A17", self.out, "--json").stdout)["rows"]
        self.assertEqual(sorted((row["name"], row["called_from"], row["count"]) for row in rows if row["name"] == "work"),
                         [("work", "guest.py:7 even", 5), ("work", "guest.py:7 odd", 5)])
        self.assertIn("A17", self.xsp("analyze", "A2", self.out, status=1).stderr)
        stacks = dict(line.rsplit(" ", 1) for line in self.xsp("export", self.out, "--to", "folded", "-o", "-").stdout.splitlines())
        sums = {row["name"]: row["sum"] for row in self.sql(TREE) if row["name"] in ("even", "odd")}
        self.assertEqual({name: int(own) for name, own in stacks.items()},
                         {f"{name} (guest.py:7);work": own for name, own in sums.items()})
        self.xsp("report", self.out, "-o", self.folder / "out.html")
        self.assertTrue('id="xsp-0-contexts"' in (self.folder / "out.html").read_text())
        self.assertIn("10 layer", self.xsp("info", self.out).stdout)
        with open(self.out, "rb") as file:  # in the file, for any SQLite
            self.assertIn(b"TABLE context_metric", file.read())

    def test_options_that_need_spans(self):
        for option in ("--leveled", "--resolve", "--runs=2", "--flight-recorder=1M"):
            done = self.xsp("run", "--aggregate", option, "-o", self.out, "--", self.guest, status=125)
            self.assertIn(option.split("=")[0], done.stderr)

    def test_a_killed_xsp(self):
        """What was committed and what is still in the rings make the whole, each span once."""
        process = subprocess.Popen([XSP, "run", "-q", "--aggregate", "--snapshot", "0.1", "-o", self.out, "--", self.guest],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        session = process.stdout.readline().strip()
        partial = pathlib.Path(f"{self.out}.partial")
        spans = 0

        def work():
            nonlocal spans
            process.stdin.write("\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "done\n")
            spans += 1

        def is_committed():
            done = subprocess.run([XSP, "sql", partial, "select 1 from context_metric", "--json"], capture_output=True, text=True,
                                  timeout=600)
            return done.returncode == 0 and "1" in done.stdout

        for _ in range(100_000):
            work()
            if is_committed():
                break
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=600)
        with self.assertRaises(OSError):  # the guest is another process: it goes on until its input ends
            os.kill(process.pid, 0)
        process.stdin.close()
        process.stdout.read()
        process.stdout.close()
        self.xsp("recover", session)
        self.assertEqual(self.counts(), {"even": (spans + 1) // 2, **({"odd": spans // 2} if spans > 1 else {}), None: spans})


if __name__ == "__main__":
    unittest.main()

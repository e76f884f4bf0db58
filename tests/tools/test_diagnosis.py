# SPDX-License-Identifier: Apache-2.0
"""tools/diagnosis: the scorer on made-up answers, and the tool on tiny programs that it runs under `xsp run`."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from scripted import BUILD, XSP, temporary_folder

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
sys.path.insert(0, str(SOURCE / "tools"))
import diagnosis_score  # noqa: E402

EXPECTED = {"lines": [7, 9], "words": "checkpoint|save"}


def finding(title="x", saving_pct=50.0, file="/there/bad.py", line=7, advice="y", share_pct=60.0):
    return {"id": "F1", "title": title, "advice": advice, "file": file, "line": line, "saving_pct": saving_pct,
            "share_pct": share_pct}


def answer(cause=None, findings=(), rows=()):
    return {"cause": cause, "findings": list(findings), "tables": [{"rows": list(rows)}]}


class Scores(unittest.TestCase):
    def score(self, *arguments, **keywords):
        return diagnosis_score.score_fault(answer(*arguments, **keywords), EXPECTED, "bad.py")

    def test_first_sentence_by_its_fields_or_its_text(self):
        self.assertEqual(self.score({"text": "Save takes 90 %", "file": "bad.py", "line": 9}), 2)
        self.assertEqual(self.score({"text": "save takes 90 % at bad.py:9"}), 2)

    def test_words_without_the_line_and_the_line_without_words(self):
        self.assertEqual(self.score({"text": "save takes 90 %", "file": "bad.py", "line": 8}), 0)
        self.assertEqual(self.score({"text": "loading takes 90 %", "file": "bad.py", "line": 9}), 0)
        self.assertEqual(self.score({"text": "save takes 90 %", "file": "other.py", "line": 9}), 0)

    def test_line_numbers_are_whole(self):
        self.assertEqual(self.score({"text": "save takes 90 % at bad.py:97"}), 0)

    def test_top_finding_scores_two_and_others_one(self):
        cause = finding(title="save takes 50 %")
        self.assertEqual(self.score(findings=[cause, finding()]), 2)
        self.assertEqual(self.score(findings=[finding(), cause]), 1)

    def test_row_of_a_table_scores_one(self):
        self.assertEqual(self.score(rows=[{"function": "save", "file": "/there/bad.py", "line": 9}]), 1)
        self.assertEqual(self.score(rows=[{"function": "save", "file": "/there/bad.py", "line": 10}]), 0)

    def test_false_alarms_claim_five_per_cent(self):
        alarms = diagnosis_score.false_alarms(answer(findings=[finding(saving_pct=5.0), finding(saving_pct=4.9)]))
        self.assertEqual(len(alarms), 1)

    def test_without_a_bound_the_share_counts(self):
        self.assertEqual(len(diagnosis_score.false_alarms(answer(findings=[finding(saving_pct=None)]))), 1)


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an instrumented libxsp.so cannot be preloaded into programs")
class Programs(unittest.TestCase):
    """The tool on programs that import nothing."""

    def setUp(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.put("01-quiet", {"lines": [1], "words": "nothing says this", "python_options": ["-B"]}, bad="print('LOOP_S', 2.0)",
                 mended="print('LOOP_S', 0.5)")
        self.put("H01-quiet", {"healthy": True}, healthy="print('LOOP_S', 1.0)")

    def put(self, name, expected, **programs):
        folder = self.folder / "programs" / name
        folder.mkdir(parents=True)
        (folder / "expect.json").write_text(json.dumps(expected))
        for program, text in programs.items():
            (folder / f"{program}.py").write_text(text + "\n")

    def diagnose(self, *options, status):
        result = subprocess.run([sys.executable, "-B", SOURCE / "tools" / "diagnosis", self.folder / "programs", *options],
                                capture_output=True, text=True, timeout=600,
                                env={**os.environ, "XSP": str(XSP), "XSP_BUILD": str(BUILD),
                                     "XSP_DIAGNOSIS_PYTHON": sys.executable})
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def test_score_of_real_runs(self):
        result = json.loads(self.diagnose("--json", status=1).stdout)
        fault, healthy = result["programs"]
        self.assertEqual((result["score"], result["of"], result["false_alarms"]), (0, 2, 0))
        self.assertEqual((fault["name"], fault["score"], fault["gain_pct"]), ("01-quiet", 0, 75.0))
        self.assertIn("cause", fault["said"])
        self.assertEqual((healthy["name"], healthy["score"], healthy["false_alarms"]), ("H01-quiet", None, []))

    def test_healthy_programs_alone_succeed(self):
        self.assertIn("score 0 of 0, 0 false alarms", self.diagnose("--only", "H*", status=0).stdout)

    def test_kept_traces_are_read_again(self):
        kept = self.folder / "kept"
        self.diagnose("--keep", kept, status=1)
        self.assertEqual(sorted(file.name for file in kept.glob("*.xsp")),
                         ["01-quiet.bad.xsp", "01-quiet.mended.xsp", "H01-quiet.healthy.xsp"])
        for program in self.folder.glob("programs/*/*.py"):
            program.write_text("raise SystemExit('run again')\n")
        self.assertIn("score 0 of 2", self.diagnose("--from", kept, status=1).stdout)

    def test_program_that_fails_is_named(self):
        self.put("02-fails", EXPECTED, bad="raise SystemExit('no such model')", mended="")
        message = self.diagnose("--only", "02*", status=2).stderr
        self.assertIn("02-fails/bad.py", message)
        self.assertIn("status 1", message)

    def test_folder_without_programs(self):
        self.assertIn("expect.json", self.diagnose("--only", "99*", status=2).stderr)


if __name__ == "__main__":
    unittest.main()

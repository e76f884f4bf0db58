# SPDX-License-Identifier: Apache-2.0
"""xsp's extension in a real VS Code (code-server, Chromium): a profile of PyTorch is shown, a click on a context opens its
source line, lines have times, findings are problems. XSP_SHOTS names a folder for screenshots."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import browser
from editor import SOURCE, Editor
from scripted import XSP, xsp_json
from torch_environment import torch_python

PROGRAM = pathlib.Path(__file__).parent / "train.py"
SHOTS = os.environ.get("XSP_SHOTS")


def record(folder, name, steps):
    subprocess.run([XSP, "run", "-o", folder / f"{name}.xsp", "--", torch_python(), "train.py", str(steps)], cwd=folder,
                   check=True, timeout=300, stderr=subprocess.PIPE)


def text_of(ns):
    """As the margin has a time: three digits."""
    unit, name = next((unit, name) for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")) if ns >= unit)
    return f"{ns / unit:.{max(0, 2 - len(str(int(ns / unit))) + 1)}f} {name}"


def margin_of(file):
    """The margin of train.py by SQL: none of its lines calls itself, so that no context is in another one of its line."""
    of_lines = "select f.line, sum(m.sum) ns from context_metric m join context using (context_id) join frame f using (frame_id) " \
               "where m.metric = 'host_ns' and f.file like '%/train.py' group by f.line"
    of_all = "select sum(m.sum) ns from context_metric m join context c using (context_id) " \
             "where m.metric = 'host_ns' and c.parent_id is null"
    (total,) = xsp_json("sql", "--json", file, of_all)
    return {row["line"]: f"{text_of(row['ns'])} · {100 * row['ns'] / total['ns']:.1f} %"
            for row in xsp_json("sql", "--json", file, of_lines) if row["ns"] > 0}


class EditorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if browser.missing():
            raise unittest.SkipTest(browser.missing())
        made = subprocess.run([SOURCE / "tools" / "editor"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        if made.returncode != 0:
            raise unittest.SkipTest(f"the extension cannot be built here: {made.stdout[-500:]}")
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="xsp-editor-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        shutil.copy(PROGRAM, cls.folder)
        for name, steps in (("train", 5), ("longer", 8)):
            record(cls.folder, name, steps)

    def editor(self, folder, scheme="dark", settings=None):
        data = pathlib.Path(tempfile.mkdtemp(prefix="xsp-code-"))
        settings = {"security.workspace.trust.enabled": False, "xsp.path": str(XSP), **(settings or {})}
        made = Editor(SOURCE / "answers/editor" / "dist" / "xsp.vsix", folder, data, settings, scheme=scheme)
        self.addCleanup(made.close)
        return made

    def workspace(self, *files):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="xsp-workspace-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        for file in files:
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.folder / target.name, target)
        return folder

    def shot(self, editor, name):
        if SHOTS:
            editor.page.screenshot(path=pathlib.Path(SHOTS) / f"{name}.png")

    def click_a_context(self, editor, scheme):
        """Clicks on a function of train.py in the flame graph; its line opens."""
        view = editor.webview(".flame-canvas")
        self.assertEqual(view.locator("html").get_attribute("data-theme"), scheme)
        view.get_by_role("button", name="Left-heavy").click()  # what is clicked is at the left then
        for row in (2, 4):  # all, python3, training step; in it the heaviest range, <module>, main, step
            view.locator(".flame-canvas").first.click(position={"x": 5, "y": (row + 0.5) * 20})
            view.locator(".flame-path .source" if row > 2 else ".flame-path [aria-current]:has-text('training step')").wait_for()
        name = view.locator(".flame-path [aria-current]").inner_text()
        line = int(re.search(r"\(train\.py:(\d+)\)$", name).group(1))
        view.locator(".flame-line strong").wait_for()  # figures of what is shown, or under the pointer
        editor.tab("train.py").wait_for()
        editor.wait_for(lambda: editor.line() == line, f"line {line}")

    def has_margin(self, editor, file):
        expected = margin_of(file)
        editor.wait_for(lambda: editor.margin() != {}, "times of lines")
        for line, text in editor.margin().items():
            self.assertEqual(text, expected[line], line)
        self.assertGreater(len(editor.margin()), 5)

    def test_a_click_opens_the_line_with_its_time(self):
        folder = self.workspace("train.xsp")
        editor = self.editor(folder)
        editor.open("train.xsp")
        self.click_a_context(editor, "dark")
        self.has_margin(editor, folder / "train.xsp")
        self.has_problems(editor, folder / "train.xsp")
        self.shot(editor, "editor-dark")
        before = editor.margin()
        editor.command("xsp: Show/Hide Line Times")
        editor.wait_for(lambda: editor.margin() == {}, "the end of the times")
        editor.command("xsp: Show/Hide Line Times")
        editor.wait_for(lambda: editor.margin() == before, "the times")
        (self.folder / "longer.xsp").replace(folder / "train.xsp")
        editor.wait_for(lambda: editor.margin() not in ({}, before), "the times of the new file")
        self.has_margin(editor, folder / "train.xsp")
        view = editor.webview(".flame-path .source")  # the page is new, and shows the same context
        self.assertRegex(view.locator(".flame-path [aria-current]").inner_text(), r"\(train\.py:\d+\)$")

    def has_problems(self, editor, file):
        found = xsp_json("analyze", "findings", file, "--json")["rows"]
        self.assertGreater(len(found), 0)
        self.assertIn(f"train.xsp: {len(found)} finding", editor.page.locator(".part.statusbar").inner_text())
        editor.command("Problems: Focus on Problems View")
        editor.wait_for(editor.problems, "problems")
        shown = [re.match(r"(.*) xsp (F\d+) \[Ln (\d+),", row) for row in editor.problems()]  # those that have room
        shown = {(row.group(1), row.group(2), int(row.group(3))) for row in shown if row}
        self.assertLessEqual(shown, {(row["title"], row["id"], row["line"] or 1) for row in found})
        self.assertTrue(any(line > 1 for _, _, line in shown), shown)

    def test_sources_are_found_in_the_workspace(self):
        """The recorded files are elsewhere: of two train.py, the one in the recorded folder's namesake is meant."""
        folder = self.workspace("train.xsp", f"copies/{self.folder.name}/train.py", "copies/other/train.py")
        shutil.copy(folder / "train.xsp", folder / "again.xsp")
        away = self.folder / "away.py"
        (self.folder / "train.py").rename(away)
        self.addCleanup(away.rename, self.folder / "train.py")
        editor = self.editor(folder, scheme="light")
        editor.open("train.xsp")
        self.click_a_context(editor, "light")
        self.assertIn(self.folder.name, editor.page.locator(".editor-group-container .breadcrumbs-control").last.inner_text())
        self.has_margin(editor, folder / "train.xsp")
        self.shot(editor, "editor-light")
        editor.tab("train.py").click()
        self.open_path(editor, "copies/other/train.py")  # where the right one was
        editor.wait_for(lambda: "other" in editor.page.locator(".breadcrumbs-control").last.inner_text(), "the other file")
        editor.tab("train.xsp").click()
        editor.open("again.xsp")
        self.has_findings(editor, folder / "again.xsp")  # shown after the times
        self.assertEqual(editor.margin(), {})

    def open_path(self, editor, path):
        editor.offers("")
        editor.page.locator(".quick-input-box input").fill(path)
        editor.page.locator(".quick-input-list .monaco-list-row").filter(has_text="train.py").first.click()

    def has_findings(self, editor, file):
        """Waits until the profile has been read."""
        expected = f"{file.name}: {len(xsp_json('analyze', 'findings', file, '--json')['rows'])} finding"
        editor.wait_for(lambda: expected in editor.page.locator(".part.statusbar").inner_text(), expected)

    def test_a_request_that_was_ended_is_no_error(self):
        folder = self.workspace("train.xsp")
        program, started = folder / "program", folder / "started"  # the first search for findings does not end
        program.write_text(f'#!/bin/sh\n[ "$1" = analyze ] && mkdir {started} && exec sleep 300\nexec {XSP} "$@"\n')
        program.chmod(0o755)
        editor = self.editor(folder, settings={"xsp.path": str(program)})
        for command in ("xsp: Refresh", "View: Close Editor"):
            editor.open("train.xsp")
            editor.wait_for(started.exists, "the search for findings")
            editor.command(command)
            editor.open("train.xsp")
            self.has_findings(editor, folder / "train.xsp")
            self.assertEqual(editor.page.locator(".notification-toast").filter(has_text="xsp").count(), 0)
            editor.command("View: Close Editor")
            started.rmdir()

    def test_an_untrusted_workspace_starts_nothing(self):
        folder = self.workspace("train.xsp")
        program, started = folder / "program", folder / "started"
        program.write_text(f"#!/bin/sh\ntouch {started}\n")
        program.chmod(0o755)
        editor = self.editor(folder, settings={"security.workspace.trust.enabled": True, "xsp.path": str(program)})
        editor.open("train.xsp")
        view = editor.webview("p[role=status]")
        self.assertIn("not trusted", view.locator("p").inner_text())
        self.assertFalse(started.exists())

    def test_a_missing_program_is_named(self):
        editor = self.editor(self.workspace("train.xsp"), settings={"xsp.path": "/nowhere/xsp"})
        editor.open("train.xsp")
        view = editor.webview("p[role=status]")
        editor.wait_for(lambda: "xsp.path" in view.locator("p").inner_text(), "the message")
        self.assertIn("/nowhere/xsp", view.locator("p").inner_text())


if __name__ == "__main__":
    unittest.main()

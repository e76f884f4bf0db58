# SPDX-License-Identifier: Apache-2.0
"""The checks of the source find what they look for: commit_lint, check_includes.sh and check_names on trees made for it."""
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(os.environ["XSP_SOURCE"]) / "tools"


class CommitLint(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.repository = pathlib.Path(folder.name)
        self.git("init", "-q")

    def git(self, *arguments):
        settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *settings, *arguments], cwd=self.repository, check=True, capture_output=True)

    def lint(self, message, file="trace/store/write.c", revision="HEAD"):
        path = self.repository / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(message)
        self.git("add", ".")
        self.git("commit", "-q", "-m", message)
        environment = dict(os.environ, XSP_LINT_REPOSITORY=str(self.repository))
        return subprocess.run([TOOLS / "commit_lint", revision], env=environment, capture_output=True, text=True)

    def test_good(self):
        for message, file in (("store: write chunks", "trace/store/write.c"), ("xsp: lay out the rooms", "a/b"),
                              ("guest/tracers/nvtx: read payloads", "guest/tracers/nvtx/payload.c"),
                              ("tools: why\n\nA body, with its reasons.", "tools/setup")):
            result = self.lint(message, file)
            self.assertEqual((result.returncode, result.stdout), (0, ""), message)

    def test_bad(self):
        for message, word in (("write chunks", "must read"), ("store: " + "x" * 70, "characters"),
                              ("store: write chunks.", "full stop"), ("collect: drain", "is touched"),
                              ("Store: write chunks", "must read")):
            result = self.lint(message)
            self.assertEqual(result.returncode, 1, message)
            self.assertIn(word, result.stdout)

    def test_range_names_each_bad_commit(self):
        self.lint("store: first")
        self.lint("second")
        result = self.lint("third", revision="HEAD~2..HEAD")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(len(result.stdout.splitlines()), 2)

    def test_no_such_commit(self):
        self.assertEqual(self.lint("store: first", revision="nothing").returncode, 2)


class SecurityPage(unittest.TestCase):
    """docs/security.md names a test for each promise: all of them exist."""

    def test_named_tests_exist(self):
        source = TOOLS.parent
        page = (source / "docs" / "security.md").read_text(encoding="utf-8")
        rows = [row.split(" | ")[1] for row in page.split("## Promises and their tests")[1].splitlines()
                if row.startswith("| ") and "`" in row]
        self.assertGreater(len(rows), 5)
        for row in rows:
            for file, name in re.findall(r"`([\w/]+\.(?:py|c))`|((?:\w+\.)?test_\w+)", row):
                if file:
                    text = (source / file).read_text(encoding="utf-8")
                    continue
                *holder, test = name.split(".")
                pattern = rf"class {holder[0]}\(.*?def {test}\(" if holder else rf"void {test}\("
                self.assertRegex(text, re.compile(pattern, re.DOTALL), name)


class NamedPaths(unittest.TestCase):
    """Files that README, ARCHITECTURE, CONTRIBUTING and docs/ name in backticks exist: from the root, or a header as #include writes it."""

    @classmethod
    def setUpClass(cls):
        cls.source = TOOLS.parent
        listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=cls.source, capture_output=True, text=True, check=True)
        cls.files = set(filter(None, listed.stdout.split("\0")))
        cls.names = cls.files | {str(folder) for name in cls.files for folder in pathlib.PurePath(name).parents}
        cls.tops = {name.split("/")[0] for name in cls.files if "/" in name}
        wings = re.findall(r"(?m)^wing (\w+)", (TOOLS / "include_rules.txt").read_text())
        cls.rooms = {name.split("/")[1]: name.split("/")[0] for name in cls.files if name.split("/")[0] in wings and name.count("/") > 1}

    def is_there(self, path):
        """Names in capitals and {a,b} are any text."""
        path = re.sub(r"\{[^}]*\}|(?<![A-Za-z])[A-Z]{3,}(?![A-Za-z])", "*", path.rstrip("/"))
        return path in self.names or "*" in path and any(fnmatch.fnmatchcase(name, path) for name in self.names)

    def problem(self, path, page=""):
        top, _, rest = path.partition("/")
        room = pathlib.PurePath(page).stem # a page of docs/internals/ names files from its room, too
        if "/dist/" in path or self.is_there(f"{self.rooms.get(room)}/{room}/{path}"): # dist: what is made
            return None
        if top in self.tops: # a page of docs/howto/ makes new files
            is_made = page.startswith("docs/howto/") and self.is_there(os.path.dirname(path.rstrip("/")))
            return None if is_made or self.is_there(path) or self.is_there(f"{path}.c") else "is not there"
        if top not in self.rooms or not rest:
            return None
        full = f"{self.rooms[top]}/{path}"
        if self.is_there(full):
            return None if path.endswith(".h") else f"is {full}"
        return "is not there" if re.search(r"\.(c|h|py|ts|tsx|md|json)$", path) else None

    def test_problems(self):
        for path, there in (("tools/build", True), ("trace/store/store.h", True), ("store/store.h", True), ("tests/ROOM/test_TOPIC.py", True),
                            ("store/", True), ("tools/bild", False), ("store/write.c", False), ("store/stare.h", False)):
            self.assertEqual(self.problem(path) is None, there, path)

    def test_named_files_exist(self):
        pages = [name for name in self.files if re.fullmatch(r"(README|ARCHITECTURE|CONTRIBUTING)\.md|docs/.*\.md", name)]
        self.assertGreater(len(pages), 50)
        for page in sorted(pages):
            text = re.sub(r"(?ms)^```.*?^```", "", (self.source / page).read_text(encoding="utf-8"))
            made = set(re.findall(r"(?m)^```\w+ file=(\S+)", (self.source / page).read_text(encoding="utf-8")))
            for path in set(re.findall(r"`([\w.-]+/[\w./*{},-]*)`", text)) - made:
                with self.subTest(page=page, path=path):
                    self.assertIsNone(self.problem(path, page))


class Openers(unittest.TestCase):
    """Files of others are opened in one place each. A new opener is a decision: it belongs into this list, with a reason."""

    ALLOWED = {
        "services/agent/queue_run.c",           # an evaluation's own files, in a new folder
        "services/agent/job_folder.c",      # the lock and the list of the agent's own folder
        "services/agent/models.c",          # manifests that are published
        "services/agent/remote.c",          # an output
        "base/folder.c",           # folders that are removed, and those of the user's own state
        "base/input_file.c",       # what a person names, and what lies next to it
        "base/proc.c",             # /proc
        "base/python_package.c",   # of installed packages
        "base/root.c",             # below a folder that a stranger filled
        "base/small_file.c",       # files of the system
        "trace/collect/place.c",         # session folders
        "guest/frameworks/jax/tracer_profile.c", # JAX's profile, a new file in the session's folder
        "guest/frameworks/mxnet/tracer_profile.c", # MXNet's profile, which the traced program makes
        "guest/frameworks/onnxruntime/onnx_layers.c", # a copy of the model, in the runner's own folder
        "lab/launch/attach.c",         # /proc
        "lab/launch/executable.c",     # the program that is started
        "lab/launch/runner_process.c", # its own folder, to lock it
        "lab/launch/streams.c",        # its own copy, by /proc/self/fd
        "programs/xsp/verb_merge.c", # its own file, in a new folder of TMPDIR
        "services/publish/spool.c",         # its own files, in a folder of the caller's
        "answers/report/exports/file.c",   # outputs
        "answers/report/exports/sqlite.c", # an output
        "services/serve/journal_folder.c",  # journals in the server's own folder
        "services/serve/kept.c",            # that folder, and new files in it
        "services/serve/pages/live.c",      # a journal in that folder, which it imports and removes
        "trace/store/database.c",        # any SQLite file, for reading
        "trace/store/finish.c",          # the output's folder, to sync it
        "trace/store/private_copy.c",    # the copy, and the folder of the original
        "trace/store/write.c",           # an output
        "trace/symbols/symbols.c",       # libraries of the traced process, and their debug information
    }

    def test_nobody_else_opens_files(self):
        source = TOOLS.parent
        calls = re.compile(r"(?<![\w.>])(?:open|fopen|openat|sqlite3_open(?:_v2|16)?)\((?!\"/(?:proc|dev)/)")
        found = set()
        for room in ("services/agent", "answers/analyze", "lab/assets", "base", "trace/collect", "trace/correlate", "lab/data", "guest/frameworks", "net/http", "trace/importers", "lab/launch", "lab/manifests", "trace/otlp",
                     "programs/xsp", "services/publish", "answers/report", "services/serve", "trace/store", "trace/symbols", "answers/table"):
            for path in (source / room).rglob("*.[ch]"):
                if path.stem.endswith("_test") or path.stem.startswith("test_"):
                    continue
                code = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
                if calls.search(code):
                    found.add(str(path.relative_to(source)))
        self.assertEqual(found, self.ALLOWED)


class Version(unittest.TestCase):
    """CMakeLists.txt has the version. Files that other tools read name the same."""

    def test_files_agree(self):
        texts = {"CMakeLists.txt": r"(?m)^project\(xsp VERSION (\S+)", "CHANGELOG.md": r"(?m)^## (\S+)",
                 "answers/python/pyproject.toml": r'(?m)^version = "(.+)"', "answers/editor/package.json": r'"version": "(.+?)"',
                 "answers/editor/package-lock.json": r'"version": "(.+?)"', "docs/cuda.md": r"xsp-([\d.]+)-linux"}
        found = {name: re.search(pattern, (TOOLS.parent / name).read_text(encoding="utf-8"))[1] for name, pattern in texts.items()}
        self.assertEqual(len(set(found.values())), 1, found)


class CheckIncludes(unittest.TestCase):
    def check(self, path, line, rules=None, **others):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            (tree / "tools").mkdir()
            for name in ("check_includes.sh", "include_rules.txt"):
                shutil.copy(TOOLS / name, tree / "tools" / name)
            if rules is not None:
                (tree / "tools" / "include_rules.txt").write_text(rules)
            file = tree / path
            file.parent.mkdir(parents=True)
            file.write_text(line + "\n")
            for name, text in others.items():
                (file.parent / f"{name}.h").write_text(text + "\n")
            return subprocess.run([tree / "tools" / "check_includes.sh"], capture_output=True, text=True)

    def test_allowed(self):
        for path, line in (("answers/report/a.c", '#include "analyze/analyze.h"'), ("guest/capture/a.c", "#include <xsp/span.h>"),
                           ("guest/capture/a.c", "#include <stdio.h>"), ("programs/xsp/a.c", '#include "store/chunk.h"')):
            result = self.check(path, line)
            self.assertEqual((result.returncode, result.stdout), (0, ""), (path, line))

    def test_forbidden(self):
        for path, line in (("guest/capture/a.c", '#include "collect/collect.h"'), ("answers/report/a.c", '#include "store/store.h"'),
                           ("guest/tracers/x/a.c", '#include "capture/ring.h"'), ("base/a.h", '#include "format/level.h"'),
                           ("answers/analyze/a.c", '#include "correlate/sweep.h"'), ("misc/a.c", '#include "base/error.h"')):
            result = self.check(path, line)
            self.assertEqual(result.returncode, 1, (path, line, result.stdout))
            self.assertIn(path + ":1:", result.stdout)

    def test_circles(self):
        for wing_and_room in ("answers/analyze", "trace/store", "guest/tracers", "programs"):
            room = wing_and_room.split("/")[-1]
            line = f'#include "{room}/b.h"'
            path = f"{wing_and_room}/a.c" if (TOOLS.parent / wing_and_room).is_dir() else f"{room}/a.c"
            result = self.check(path, line, b=f'#include "{room}/c.h"', c=f'#include "{room}/a.h"', a="")
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stdout.count("in a circle"), 3)
            result = self.check(path, line, b=f'#include "{room}/c.h"', c="", a=f'#include "{room}/c.h"')
            self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_a_private_header_is_no_circle(self):
        result = self.check("programs/a.c", '#include "programs/a_private.h"', a_private='#include "programs/a.h"', a="")
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_wings(self):
        rules = "wing low a : base\nwing high b c : base a\na a b\nb a b\nc c low\nbase base\n"
        for path, included, problem in (("high/b/x.c", "a/a.h", ""), ("low/a/x.c", "a/a.h", ""), ("low/a/x.c", "b/b.h", "wing low/ may not"),
                                        ("high/c/x.c", "a/a.h", "c/ may not"), ("low/b/x.c", "b/b.h", "belongs into high/"),
                                        ("b/x.c", "b/b.h", "belongs into high/"), ("low/base/x.c", "base/b.h", "belongs into the root")):
            result = self.check(path, f'#include "{included}"', rules=rules)
            self.assertEqual((result.returncode, problem in result.stdout), (1 if problem else 0, True), (path, included, result.stdout))


class CheckNames(unittest.TestCase):
    RULES = "* main xsp_*\ncapture ring\ncollect collect ring_read\ntracers/cuda cuda\nprograms/alone *\n"
    GOOD = {
        "guest/capture/ring.c": "static int count;\nconst char *ring_names[] = {\n  \"a\",\n};\n"
                                "void ring_put(int a,\n              int b)\n{\n  int lost = 0;\n}\n",
        "trace/collect/rings.c": "struct rings {\n  int a;\n};\nextern int other;\n"
                                 "static void put(void)\n{\n}\nvoid ring_read_all(void)\n{\n}\nint collect(void)\n{\n}\n",
        "guest/tracers/cuda/records.c": "__attribute__((noinline)) void cuda_put(void)\n{\n}\nint xsp_entry(void)\n{\n}\n",
        "programs/alone/main.c": "int anything(void)\n{\n}\n",
        "guest/capture/ring.h": "struct ring {\n  int a;\n};\nenum state { STATE_NONE };\nstruct other;\n",
    }

    def check(self, **files):
        """Of GOOD and these files, by path."""
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            for path, text in (self.GOOD | {"tools/name_rules.txt": self.RULES} | files).items():
                (tree / path).parent.mkdir(parents=True, exist_ok=True)
                (tree / path).write_text(text)
            shutil.copy(TOOLS / "check_names", tree / "tools" / "check_names")
            subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
            subprocess.run(["git", "add", "."], cwd=tree, check=True)
            return subprocess.run([tree / "tools" / "check_names"], capture_output=True, text=True)

    def test_good(self):
        result = self.check()
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_bad(self):
        for path, text, wanted in (
                ("trace/collect/a.c", "int collect;\nvoid ring_put(void)\n{\n}\n", "a.c:2: ring_put begins with a word of capture"),
                ("trace/collect/a.c", "int drained[2];\n", "a.c:1: drained begins without a word of collect"),
                ("guest/tracers/cuda/a.c", "struct list *records_of(\n    int a)\n{\n}\n", "a.c:1: records_of begins without"),
                ("trace/collect/a.c", "static int ring_put;\n", "a.c:1: static ring_put has the name of an external one of capture"),
                ("trace/collect/a.h", "  enum ring { RING_A };\n", "guest/capture/ring.h, trace/collect/a.h: tag ring is in 2 headers"),
                ("misc/a.c", "int a_b;\n", "misc/a.c:1: its folder has no line"),
                ("tools/name_rules.txt", self.RULES + "format level\n", "no name of format begins with level"),
                ("tools/name_rules.txt", self.RULES + "format rings\n", "rings is a word of capture and of format")):
            result = self.check(**{path: text})
            self.assertEqual((result.returncode, len(result.stdout.splitlines())), (1, 1), (path, text, result.stdout))
            self.assertIn(wanted, result.stdout)

    def test_tests_are_free(self):
        for path in ("trace/collect/a_test.c", "trace/collect/test_a.c", "tests/collect/a.c", "fuzz/a.c"):
            self.assertEqual(self.check(**{path: "int ring_put;\nint b;\n"}).returncode, 0, path)


if __name__ == "__main__":
    unittest.main()

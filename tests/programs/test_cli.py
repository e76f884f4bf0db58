"""The command line as a user and a script see it: exit statuses, one-line errors, output forms, goldens.

`--update` as the only argument rewrites tests/programs/golden/."""
import contextlib
import csv
import io
import json
import os
import pathlib
import pty
import re
import select
import shutil
import sqlite3
import subprocess
import sys
import unittest

import scripted
from scripted import UNIX_START, XSP, Script, asynchronous, leveled, temporary_folder, xsp, xsp_json

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
UPDATE = "--update" in sys.argv
READERS = ("analyze", "compare", "history", "info", "sql", "check", "version")


def verbs():
    text = xsp("help", check=0).stdout.decode()
    return re.findall(r"^  (\w+) {2,}", text.split("Verbs:")[1].split("Options may")[0], re.M)


class CliTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = temporary_folder()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.file = leveled().write(cls.folder / "leveled.xsp")
        cls.asynchronous = asynchronous().write(cls.folder / "async.xsp")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def fails(self, status, *arguments, mentions=(), **options):
        """One line on stderr, nothing on stdout."""
        result = xsp(*arguments, check=status, **options)
        error = result.stderr.decode()
        self.assertEqual(result.stdout, b"")
        self.assertTrue(error.startswith("xsp: ") and error.endswith("\n"), error)
        self.assertEqual(error.count("\n"), 1, error)
        self.assertRegex(error, r"^xsp: [^:]+: .+; try: .+")
        for part in mentions:
            self.assertIn(part, error)
        return error

    def golden(self, name, text):
        path = GOLDEN / name
        text = text.replace(str(self.folder), "FOLDER")
        text = re.sub(r"format 1, [0-9.]+ .B", "format 1, SIZE", text)
        if UPDATE:
            path.write_text(text, encoding="utf-8")
        self.assertEqual(text, path.read_text(encoding="utf-8"), f"see tests/programs/golden/{name}")


class WrongUseTest(CliTest):
    def test_verbs(self):
        text = xsp(check=2).stdout.decode()  # a script whose verb is empty fails
        for verb in ("run", "profile", "report"):
            self.assertRegex(text, rf"(?m)^  xsp {verb} .{{3,}}  .+")
        self.assertIn("`xsp help`", text)
        self.assertTrue(all(len(line) <= 100 for line in text.splitlines()), text)
        self.fails(2, "anlyze", mentions=["anlyze", "`xsp analyze`"])
        self.fails(2, "help", "inof", mentions=["`xsp help info`"])

    def test_options(self):
        for verb in verbs():
            wrong_use = 125 if verb == "run" else 2
            self.fails(wrong_use, verb, "--no-such-option-at-all",
                       mentions=["--no-such-option-at-all", f"xsp help {verb}"])
        self.fails(2, "info", self.file, "--jason", mentions=["--json"])
        self.fails(2, "info", self.file, "--format", "yaml", mentions=["yaml", "markdown"])
        self.fails(2, "info", self.file, "--format", mentions=["--format=text|markdown|csv|json"])
        self.fails(2, "info", self.file, "--json=1", mentions=["--json"])
        self.fails(2, "info", self.file, "--json", "--format", "csv", mentions=["contradicts"])
        self.fails(2, "analyze", "A2", self.file, "--top", "0", mentions=["--top"])
        self.fails(2, "analyze", "A2", self.file, "--batch", "x", mentions=["--batch=x"])
        self.fails(2, "analyze", "A2", self.file, "--by", "colour", mentions=["colour", "--by=layer"])

    def test_arguments(self):
        self.fails(2, "info", mentions=["xsp info FILE"])
        self.fails(2, "info", self.file, "more", mentions=["more"])
        self.fails(2, "sql", self.file, mentions=["xsp sql FILE"])
        self.fails(2, "export", self.file, mentions=["-o OUT"])
        self.fails(2, "export", self.file, "--to", "csv", "-o", "", mentions=["-o", "name"])
        model = self.folder / "model.onnx"
        model.touch()
        self.fails(2, "profile", model, "-o", "", mentions=["empty"])
        self.fails(2, "demo", "-o", "-", mentions=["-o FOLDER"])
        self.fails(2, "analyze", "A2", mentions=["missing"])
        self.fails(2, "analyze", self.file, "A2", mentions=["analysis"])
        self.fails(2, "analyze", "A2", "B7", self.file, mentions=["B7"])

    def test_the_nearest_name_is_suggested(self):
        model = self.folder / "model.onnx"
        model.touch()
        out = self.folder / "out"
        for arguments, nearest in ((["analyze", "finding", self.file], "findings"), (["analyze", "sumary", self.file], "summary"),
                                   (["analyze", "implementation", self.file], "implementations"),
                                   (["analyze", "layres", self.file], "layers"),
                                   (["analyze", "A2", self.file, "--batch", "1", "--sort", "latncy_ms"], "--sort latency_ms"),
                                   (["export", self.file, "--to", "perfeto", "-o", out], "perfetto"),
                                   (["import", self.file, "--from", "kinetto", "-o", out], "--from kineto"),
                                   (["check", "onnxruntme"], "onnxruntime"),
                                   (["analyze", "findings", self.file, "--only", "hotspt"], "--only hotspot"),
                                   (["analyze", "findings", self.file, "--fail-on", "smal_kernels"], "--fail-on small_kernels"),
                                   (["analyze", "findings", self.file, "--threshold", "hotspot-shar=3"], "--threshold hotspot-share=10%"),
                                   (["analyze", "findings", self.file, "--threshold", "hotspot-share=abc"], "--threshold hotspot-share=10%"),
                                   (["data", "mak"], "xsp data make"),
                                   (["profile", model, "--framework", "onnxruntim"], "--framework onnxruntime")):
            with self.subTest(arguments[-1]):
                self.fails(2, *arguments, mentions=[f"try: {nearest}, or "])
        self.fails(2, "profile", self.file, mentions=["a trace", "xsp analyze"])
        self.fails(125, "run", "-t", "pytorh", "--", "true", mentions=["try: -t pytorch, or "])

    def test_wrong_use_names_an_option_as_it_is_typed(self):
        for where, *arguments in (("--since=tomorrow", "history", self.file, "--since", "tomorrow"), ("--list", "data", "make", "a", "b", "--list"),
                                  ("--json", "export", self.file, "-o", "x.csv", "--json"), ("--retention=7", "serve", "--retention", "7"),
                                  ("--fail-on", "analyze", "findings", self.file, "--fail-on", "F1:x")):
            with self.subTest(where):
                self.fails(2, *arguments, mentions=[f"xsp: wrong use: {where}: "])

    def test_the_nearest_file_is_suggested(self):
        (self.folder / "training.xsp").touch()
        for name, advice in (("trainin.xsp", f"{self.folder}/training.xsp, or a look at the name"), ("quite-another", "a look at the name"),
                             ("missing/training.xsp", "a look at the name")):
            with self.subTest(name):
                self.fails(2, "info", self.folder / name, mentions=[f"No such file or directory; try: {advice}\n"])

    def test_the_nearest_word_is_suggested(self):
        for advice, arguments in (("try: --by=line, or", ("analyze", "lines", self.file, "--by", "lien")),
                                  ("try: framework, or", ("profile", "net.onnx", "--levels", "framwork")),
                                  ("try: `xsp help evaluate`", ("evaluate", "net.yml", "--top", "3"))):  # not --on
            with self.subTest(arguments):
                self.fails(2, *arguments, mentions=[advice])
        self.fails(2, "info", "a", cwd=self.folder, mentions=["try: a look at the name"])  # not the folder itself

    def test_wrong_use_comes_before_an_output_that_exists(self):
        out = self.folder / "kept.xsp"
        out.touch()
        for status, mention, arguments in ((2, "perfeto", ("export", "missing.xsp", "--to", "perfeto", "-o", out)),
                                           (2, "kinetto", ("import", "missing", "--from", "kinetto", "-o", out)),
                                           (2, "--batch=x", ("import", self.file, "--batch", "x", "-o", out)),
                                           (2, "level", ("profile", "missing.onnx", "--levels", "Q", "-o", out)),
                                           (2, "onnxrntime", ("profile", "missing.onnx", "--framework", "onnxrntime", "-o", out)),
                                           (2, "--runs=x", ("profile", "missing.onnx", "--runs", "x", "-o", out)),
                                           (2, "--batch=0", ("profile", "missing.onnx", "--batch", "0", "-o", out)),
                                           (2, "level", ("evaluate", "missing.yml", "--data", "none", "--levels", "Q", "-o", out)),
                                           (2, "much", ("evaluate", "missing.yml", "--data", "none", "--tolerance", "much", "-o", out)),
                                           (2, "modus", ("compare", "missing.xsp", "missing.xsp", "--stat", "modus", "-o", out)),
                                           (2, "modus", ("analyze", "A2", "missing.xsp", "--stat", "modus")),
                                           (2, "host", ("history", "missing", "--by", "nonsense")),
                                           (2, "--table=list", ("history", "missing", "--table", "lits")),
                                           (2, "-o FOLDER", ("demo", "-o", "")),
                                           (125, "pytorh", ("run", "-t", "pytorh", "-o", out, "--", "true")),
                                           (125, "level", ("run", "--levels", "Q", "-o", out, "--", "true"))):
            with self.subTest(arguments[0]):
                self.fails(status, *arguments, mentions=[mention])
        self.assertEqual(out.read_bytes(), b"")

    def test_no_input_is_replaced(self):
        for verb in ("import", "merge", "recover"):
            with self.subTest(verb):
                before = self.file.read_bytes()
                self.fails(2, verb, self.file, "-f", "-o", self.file, mentions=["one of the inputs"])
                self.assertEqual(self.file.read_bytes(), before)

    def test_errors_name_the_output_as_it_was_given(self):
        out = self.folder / "nowhere" / "out.xsp"
        for arguments in (("run", "-o", out, "--", "true"), ("merge", self.file, "-o", out)):
            with self.subTest(arguments[0]):
                self.assertNotIn(".partial", self.fails(3, *arguments, mentions=[f"{out}: "]))

    def test_hostile_arguments_are_escaped(self):
        error = self.fails(2, "info", "\x1b[31m\nFOLDER", mentions=["\\x1b[31m\\n"])
        self.assertNotIn("\x1b", error)
        self.fails(2, b"\xff\n", mentions=["\\xff"])


class BrokenFileTest(CliTest):
    def test_each_reader_says_what_is_wrong_with_a_file(self):
        text = self.folder / "text.xsp"
        text.write_text("not a database\n" * 100)
        empty = self.folder / "empty.xsp"
        empty.write_bytes(b"")
        cut = self.folder / "cut.xsp"
        cut.write_bytes(self.file.read_bytes()[:5000])
        for file in (text, empty, cut, self.folder / "missing.xsp", self.folder):
            for arguments in (["info", file], ["analyze", "A1", file], ["sql", file, "select count(*) from span"],
                              ["export", file, "-o", self.folder / "out.json"]):
                self.fails(2, *arguments, mentions=[file.name])
        self.assertFalse((self.folder / "out.json").exists())

    def test_a_folder_where_a_file_is_wanted(self):
        self.fails(2, "info", self.folder, mentions=["xsp compare"])
        self.fails(2, "recover", self.folder, "-o", self.folder / "out.xsp", mentions=["try: `xsp recover`"])

    def test_an_sqlite_file_that_is_no_trace(self):
        path = self.folder / "other.xsp"
        with sqlite3.connect(path) as database:
            database.execute("create table x(y)")
        self.fails(2, "info", path, mentions=["other.xsp"])

    def test_a_newer_format_is_refused_clearly(self):
        path = self.folder / "newer.xsp"
        path.write_bytes(self.file.read_bytes())
        database = sqlite3.connect(path)
        version = database.execute("pragma user_version").fetchone()[0]
        self.assertEqual(version, 1, "the format version is kept in user_version")
        database.execute("pragma user_version = 99")
        database.commit()
        database.close()
        self.fails(2, "info", path, mentions=["99"])

    def test_a_negative_batch_size_is_unknown(self):
        path = self.folder / "negative.xsp"
        path.write_bytes(self.file.read_bytes())
        database = sqlite3.connect(path)
        database.execute("update run set batch_size = -9223372036854775808 where batch_size = 4")
        database.commit()
        database.close()
        rows = xsp_json("analyze", "A1", path, "--json")["rows"]
        self.assertEqual([row["batch_size"] for row in rows], [1, 4])  # the model spans have it, too

    def test_a_damaged_file_never_crashes_a_reader(self):
        data = bytearray(self.file.read_bytes())
        path = self.folder / "damaged.xsp"
        for start in range(100, len(data), max(1, len(data) // 40)):
            damaged = bytearray(data)
            damaged[start:start + 64] = bytes(b ^ 0xa5 for b in damaged[start:start + 64])
            path.write_bytes(damaged)
            for arguments in (["info", path, "--json"], ["analyze", "A2", path, "--json"],
                              ["export", path, "-o", self.folder / "damaged.pftrace", "--force"],
                              ["sql", path, "select * from span natural join tag"]):
                result = xsp(*arguments)
                self.assertIn(result.returncode, (0, 1, 2), f"{arguments[0]} {start}: {result.stderr}")
                if result.returncode == 2:
                    self.assertEqual(result.stderr.count(b"\n"), 1)
        self.assertEqual(list(self.folder.glob("*.partial")), [])


def shown(terminal):
    """What programs wrote that have ended. One read may give a part of it."""
    parts = []
    with contextlib.suppress(OSError), open(terminal, "rb", buffering=0) as file:  # EIO: no more
        while part := file.read(1 << 16):
            parts.append(part)
    return b"".join(parts).decode()


class OutputTest(CliTest):
    def test_stdout_is_data_and_stderr_is_talk(self):
        for arguments in (["info", self.file], ["analyze", "A2", self.file], ["version"], ["help"]):
            result = xsp(*arguments, check=0)
            self.assertTrue(result.stdout)
            self.assertEqual(result.stderr, b"")

    def test_json_everywhere(self):
        for arguments in (["info", self.file], ["analyze", "A1", self.file], ["sql", self.file, "select 1 as one"],
                          ["version"]):
            short, long = xsp(*arguments, "--json", check=0), xsp(*arguments, "--format=json", check=0)
            json.loads(short.stdout)
            self.assertEqual(short.stdout, long.stdout)

    def test_options_may_stand_anywhere(self):
        expected = xsp("analyze", "A2", self.file, "--batch", "4", "--json", check=0).stdout
        for arguments in (["--json", "A2", "--batch=4", self.file], ["--batch", "4", "A2", "--json", "--", self.file]):
            self.assertEqual(xsp("analyze", *arguments, check=0).stdout, expected)

    def test_a_full_disk_is_status_3(self):
        for arguments in (["info", self.file], ["help"], ["sql", self.file, "select * from span", "--json"]):
            with open("/dev/full", "wb") as full:
                result = subprocess.run([XSP, *arguments], stdout=full, stderr=subprocess.PIPE,
                                        timeout=scripted.TIMEOUT_S)
            self.assertEqual(result.returncode, 3)
            self.assertIn(b"stdout", result.stderr)
            self.assertEqual(result.stderr.count(b"\n"), 1)

    def test_a_closed_stdout_is_status_3(self):
        for arguments in (["info", self.file], ["help"], ["export", self.file, "--to", "csv", "-o", "-"]):
            result = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", XSP, *arguments], stderr=subprocess.PIPE,
                                    timeout=scripted.TIMEOUT_S)
            self.assertEqual(result.returncode, 3)
            self.assertRegex(result.stderr, rb"^xsp: cannot write.*: stdout: it is closed; try: .*FILE\n$")

    def test_a_reader_that_leaves_is_no_error(self):
        query = "with recursive n(x) as (select 1 union all select x + 1 from n limit 1000000) select x from n"
        process = subprocess.Popen([XSP, "sql", self.file, query, "--json"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        process.stdout.read(1)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertEqual(process.wait(timeout=scripted.TIMEOUT_S), 0)

    def test_colors_on_a_terminal_only(self):
        for variables, is_colored in (({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
            with self.subTest(variables):
                master, slave = pty.openpty()
                environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
                subprocess.run([XSP, "info", "missing.xsp"], stderr=slave, env={**environment, **variables}, check=False,
                               timeout=scripted.TIMEOUT_S)
                os.close(slave)
                text = shown(master)
                self.assertTrue(text.startswith("\x1b[1;31mxsp:\x1b[0m " if is_colored else "xsp: "), text)
        self.assertTrue(xsp("info", "missing.xsp", environment={"TERM": "xterm"}).stderr.startswith(b"xsp: "))

    def test_progress_on_a_terminal_only(self):
        query = "with recursive n(x) as (select 1 union all select x + 1 from n limit 4000) " \
                "select count(*) from span cross join n a cross join n b"
        environment = {**{key: value for key, value in os.environ.items() if key != "NO_COLOR"}, "TERM": "xterm"}
        texts = {}
        with contextlib.ExitStack() as stack:
            for options in ((), ("-q",)):
                master, slave = pty.openpty()
                texts[options] = master
                process = stack.enter_context(subprocess.Popen([XSP, "sql", self.file, query, *options], env=environment,
                                                               stdout=subprocess.PIPE, stderr=slave))
                stack.callback(process.kill)
                os.close(slave)
            text = b""
            while b"left" not in text and select.select([texts[()]], [], [], scripted.TIMEOUT_S)[0]:
                text += os.read(texts[()], 1 << 12)
        self.assertRegex(text.decode(), r"leveled.xsp: \d+ % of \d+ rows, \d+ rows/s, about \d+ s left")
        self.assertEqual(shown(texts[("-q",)]), "")
        os.close(texts[()])

    def test_a_terminal_narrower_than_the_table(self):
        master, slave = pty.openpty()
        subprocess.run(["stty", "cols", "72"], stdin=slave, check=True, timeout=scripted.TIMEOUT_S)
        environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
        subprocess.run([XSP, "analyze", "A2", self.file], stdout=slave, stderr=subprocess.DEVNULL, env=environment,
                       check=True, timeout=scripted.TIMEOUT_S)
        os.close(slave)
        text = shown(master)
        self.assertIn("terminal", text)
        self.assertLessEqual(max(len(line.rstrip("\r")) for line in text.split("\n")), 72)


class HelpTest(CliTest):
    def test_help_of_every_verb_in_both_ways(self):
        for verb in verbs():
            text = xsp("help", verb, check=0).stdout
            self.assertEqual(text, xsp(verb, "--help", check=0).stdout)
            self.assertEqual(text, xsp(verb, "-h", check=0).stdout)
            self.assertIn(f"Usage: xsp {verb}".encode(), text)
            self.assertLessEqual(max(map(len, text.decode().splitlines())), 160)

    def test_every_option_is_in_help_man_and_completion(self):
        completion = xsp("help", "--completion", "bash", check=0).stdout.decode()
        for verb in verbs():
            text = xsp("help", verb, check=0).stdout.decode()
            options = re.findall(r"^  (?:-\w, )?--([\w-]+)", text, re.M)
            self.assertIn("help", options)
            man = xsp("help", verb, "--man", check=0).stdout.decode()
            line = re.search(rf"^    {verb}\) options=\"(.*)\" ;;$", completion, re.M).group(1)
            self.assertEqual(line.split(), [f"--{option}" for option in options])
            for option in options:
                self.assertIn("\\fB\\-\\-" + option.replace("-", "\\-"), man)
            self.assertEqual(".SH EXIT STATUS" in man, verb != "run", verb) # those of run are the program's
            if verb in READERS:
                self.assertLessEqual({"format", "json"}, set(options))

    def test_man_pages_are_well_formed(self):
        if not any(os.access(os.path.join(p, "man"), os.X_OK) for p in os.environ.get("PATH", "").split(":")):
            self.skipTest("man is not installed")
        for page in [None, *verbs()]:
            text = xsp("help", *([page] if page else []), "--man", check=0).stdout
            result = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-"], input=text, capture_output=True,
                                    timeout=scripted.TIMEOUT_S)
            self.assertEqual((result.returncode, result.stderr), (0, b""), page)

    def test_completion_completes(self):
        script = 'eval "$("$0" help --completion bash)"; COMP_WORDS=(xsp "$@"); COMP_CWORD=$#; _xsp; ' \
                 'printf "%s\\n" "${COMPREPLY[@]}"'
        def complete(*words):
            result = subprocess.run(["bash", "-c", script, XSP, *words], capture_output=True, check=True,
                                    timeout=scripted.TIMEOUT_S)
            return result.stdout.decode().split()
        self.assertEqual(complete("ana"), ["analyze"])
        self.assertEqual(complete("export", "--fo"), ["--force"])
        self.assertEqual(complete("analyze", "A1"), ["A1", "A10", "A11", "A12", "A13", "A14", "A15", "A16", "A17", "A18", "A19"])
        self.assertEqual(complete("analyze", "A1", str(self.file)[:-1]), [str(self.file)])
        self.assertEqual(complete("export", "--to", "otlp-pr"), ["otlp-proto", "otlp-profiles"])
        for words in (["--format", "m"], ["--format", "=", "m"]):
            self.assertEqual(complete("info", *words), ["markdown"])
        self.assertEqual(complete("info", "--format", "="), ["text", "markdown", "csv", "json"])

    def test_every_shell_has_verbs_options_analyses_and_formats(self):
        for shell, check in (("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")):
            script = xsp("help", "--completion", shell, check=0).stdout
            words = set(re.findall(r"[\w-]+", script.decode()))
            self.assertLessEqual({*verbs(), "L0", "A15", "T11", "perfetto", "markdown", "kineto", "overhead-threshold"},
                                 {word.removeprefix("--") for word in words})
            if shutil.which(shell):
                result = subprocess.run([shell, check], input=script, capture_output=True, timeout=scripted.TIMEOUT_S)
                self.assertEqual((result.returncode, result.stderr), (0, b""), shell)
        self.fails(2, "help", "--completion", "tcsh", mentions=["tcsh", "fish"])

    def test_zsh_and_fish_complete(self):
        zsh = 'compdef() { }; _files() { print FILES }; compadd() { shift; print -l -- $@ }; compset() { }; ' \
              'eval "$("$0" help --completion zsh)"; words=(xsp "$@"); CURRENT=$#words; PREFIX=$words[-1]; _xsp'
        fish = '$argv[1] help --completion fish | source; complete -C "xsp $argv[2..]" | string replace -r "\\t.*" ""; true'
        def complete(shell, *words):
            start = ["-f", "-c"] if shell == "zsh" else ["--no-config", "-c"]
            result = subprocess.run([shell, *start, zsh if shell == "zsh" else fish, XSP, *words], capture_output=True,
                                    check=True, cwd=self.folder, timeout=scripted.TIMEOUT_S)
            return result.stdout.decode().split()
        for shell in filter(shutil.which, ("zsh", "fish")):
            with self.subTest(shell):
                self.assertIn("analyze", complete(shell, "ana"))
                self.assertIn("--force", complete(shell, "export", "--fo"))
                self.assertIn("A10", complete(shell, "analyze", "A"))
                self.assertIn("FILES" if shell == "zsh" else "leveled.xsp", complete(shell, "analyze", "l"))
                self.assertIn("otlp-proto", complete(shell, "export", "--to", "otlp-"))
                self.assertIn("markdown" if shell == "zsh" else "--format=markdown", complete(shell, "info", "--format=m"))

    def test_completed_values_are_taken(self):
        script = xsp("help", "--completion", "bash", check=0).stdout.decode()
        found = re.findall(r'^    (\w+):(--[\w-]+)\) values="(.*)" ;;$', script, re.M)
        arguments = {"analyze": ["A2", self.file], "compare": [self.file, self.file], "history": [self.file], "info": [self.file], "sql": [self.file, "select 1"], "help": [],
                     "export": [self.file, "-o", self.folder / "none" / "out"], "import": [self.file, "-o", self.folder / "no.xsp"], "check": ["script"], "version": [],
                     "profile": [self.folder / "none.onnx"], "evaluate": [self.folder / "none.yml", "--data", self.folder],
                     "data": ["generate", self.folder / "none" / "x.xspd"], "run": [], "manifest": ["init", self.folder / "none.onnx"],
                     "agent": ["--list", "--registry", "http://127.0.0.1:1"]}
        self.assertEqual({verb for verb, _, _ in found}, set(arguments))
        for verb, option, values in found:
            refusal = xsp(verb, *arguments[verb], option, "nonsense", check=125 if verb == "run" else 2).stderr
            self.assertIn(b"nonsense", refusal)
            for value in values.split():
                result = xsp(verb, *arguments[verb], option, value)
                self.assertNotEqual(result.stderr, refusal.replace(b"nonsense", value.encode()))

    def test_goldens(self):
        for verb in ("analyze", "export", "sql"):
            self.golden(f"help-{verb}.txt", xsp("help", verb, check=0).stdout.decode())

    def test_help_of_sql_has_the_tables(self):
        text = re.sub(r"\n {5,}", " ", xsp("help", "sql", check=0).stdout.decode())
        listed = {name: columns.split(", ") for name, columns in re.findall(r"^  (\w+)\((.+)\)$", text, re.M)}
        path = self.folder / "tables.sqlite"
        xsp("export", self.file, "-o", path, check=0)
        with contextlib.closing(sqlite3.connect(path)) as database:
            names = [name for name, in database.execute("select name from sqlite_master where type = 'table'")]
            tables = {name: [row[1] for row in database.execute(f"pragma table_info({name})")] for name in names}
        self.assertEqual(listed, tables)

    def test_version(self):
        document = xsp_json("version", "--json")
        self.assertEqual(xsp("--version", check=0).stdout, xsp("version", check=0).stdout)
        self.assertEqual(xsp("--version", check=0).stdout.split()[:2], [b"xsp", document["version"].encode()])
        self.assertEqual(document["format_version"], 1)


class InfoTest(CliTest):
    def test_json_has_the_contract_keys(self):
        document = xsp_json("info", self.asynchronous, "--json")
        self.assertEqual(document["file"]["format_version"], 1)
        experiment, = document["experiments"]
        self.assertEqual((experiment["experiment_id"], experiment["name"], experiment["workload"]),
                         (1, "async", "/models/tiny.onnx"))
        self.assertEqual((experiment["framework"], experiment["framework_version"]), ("onnxruntime", "1.31.1"))
        self.assertEqual(experiment["system"], {"cpus": 2, "machine": "scripted"})
        run, = experiment["runs"]
        self.assertEqual((run["run_id"], run["levels"], run["metrics"], run["batch_size"]),
                         (1, ["model", "layer", "kernel"], False, 1))
        self.assertEqual(run["spans"], {"model": 2, "layer": 1, "kernel": 8})
        self.assertEqual((run["dropped"], run["open"]), (0, 1))
        self.assertEqual(sum(run["parents"].values()), 11)
        self.assertEqual(set(run["parents"]), {"explicit", "correlation", "containment", "ambiguous", "none"})

    def test_observations_and_runs(self):
        runs = xsp_json("info", self.file, "--json")["experiments"][0]["runs"]
        self.assertEqual([(r["run_id"], r["levels"], r["batch_size"]) for r in runs],
                         [(1, ["model"], 1), (2, ["model"], 4), (3, ["model", "layer"], 1), (4, ["model", "layer"], 4)])
        self.assertEqual({(r["observations"], r["warmup_observations"]) for r in runs}, {(5, 1)})
        self.assertEqual(runs[3]["spans"], {"model": 5, "layer": 15})

    def test_goldens(self):
        self.golden("info.txt", xsp("info", self.file, check=0).stdout.decode())
        self.golden("info-80.txt", xsp("info", self.asynchronous, environment={"COLUMNS": "80"}, check=0).stdout.decode())


class AnalyzeTest(CliTest):
    def test_one_id_is_an_object_several_are_an_array(self):
        one = xsp_json("analyze", "A2", self.file, "--batch", "1", "--json")
        self.assertEqual(one["analysis"], "A2")
        several = xsp_json("analyze", "a1", "A2", self.file, "--batch", "1", "--json")
        self.assertEqual([table["analysis"] for table in several], ["A1", "A2"])
        self.assertEqual(several[1], one)

    def test_json_is_exact_and_complete(self):
        table = xsp_json("analyze", "A2", self.file, "--batch", "4", "--json")
        self.assertEqual(set(table) & {"analysis", "title", "run_set", "statistic", "columns", "rows", "summary", "notes"},
                         {"analysis", "title", "run_set", "statistic", "columns", "rows", "summary", "notes"})
        self.assertEqual(table["run_set"], {"batch_size": 4, "levels": "M/L", "run_ids": [4], "observations": 4})
        keys = [column["key"] for column in table["columns"]]
        self.assertEqual([row["latency_ms"] for row in table["rows"]], [4, 8, 12])
        self.assertEqual([row["alloc_bytes"] for row in table["rows"]], [400000, 800000, 1200000])
        for row in table["rows"]:
            self.assertEqual(list(row), keys)

    def test_csv_agrees_with_json(self):
        table = xsp_json("analyze", "A2", self.file, "--batch", "4", "--json")
        rows = list(csv.DictReader(io.StringIO(xsp("analyze", "A2", self.file, "--batch", "4", "--format", "csv",
                                                   check=0).stdout.decode(), newline="")))
        for row, expected in zip(rows, table["rows"], strict=True):
            for key, value in expected.items():
                if value is None:
                    self.assertEqual(row[key], "")
                elif isinstance(value, bool):
                    self.assertEqual(row[key], str(value).lower())
                elif isinstance(value, (int, float)):
                    self.assertEqual(float(row[key]), value)
                else:
                    self.assertEqual(row[key], value)

    def test_what_a_file_lacks_is_status_1(self):
        script = Script()
        script.experiment()
        script.run(1, "M")
        script.track()
        script.span("net", UNIX_START, 1000, tags={"batch_size": 1})
        path = script.write(self.folder / "model-only.xsp")
        self.fails(1, "analyze", "A2", path, "--json", mentions=["A2"])
        self.fails(1, "analyze", "A2", path, mentions=["A2"])
        result = xsp("analyze", "A1", "A2", "A6", path, "--json", check=1)
        self.assertEqual([table["analysis"] for table in json.loads(result.stdout)], ["A1"])
        lines = result.stderr.decode().splitlines()
        self.assertEqual(len(lines), 2)
        self.assertTrue("A2" in lines[0] and "A6" in lines[1])

    def test_several_files_and_experiments(self):
        two = leveled(experiments=2).write(self.folder / "two.xsp")
        tables = xsp_json("analyze", "A1", two, "--json")
        self.assertEqual([table["experiment"] for table in tables], ["tiny", "tiny 2"])
        self.assertEqual(len(xsp_json("analyze", "A1", self.file, two, "--json")), 3)

    def test_wrong_values_are_status_2(self):
        for option, value in (("--stat", "p101"), ("--stat", "modus"), ("--sort", "beauty"), ("--layer", "inmost")):
            self.fails(2, "analyze", "A2", self.file, option, value)

    def test_a_word_names_an_analysis(self):
        for word, name in (("layers", "A2"), ("kernels", "A10")):
            self.assertEqual(xsp("analyze", word, self.file, "--batch", "1", "--json", check=None).stdout,
                             xsp("analyze", name, self.file, "--batch", "1", "--json", check=None).stdout)

    def test_sort_and_top(self):
        table = xsp_json("analyze", "A2", self.file, "--batch", "1", "--sort", "latency_ms", "--top", "2", "--json")
        self.assertEqual([row["latency_ms"] for row in table["rows"]], [3, 2])
        for option in (["--sort", "latency"], ["--sort", "Latency"], []):
            same = xsp_json("analyze", "A2", self.file, "--batch", "1", *option, "--top", "2", "--json")
            self.assertEqual(same["rows"], table["rows"])
        first, = xsp_json("analyze", "A1", self.file, "--top", "1", "--json")["rows"]
        self.assertEqual(first["batch_size"], 1, "batch sizes keep their order")
        self.fails(2, "analyze", "A13", self.asynchronous, "--sort", "GPU", mentions=["gpu_latency_ms", "gpu_pct"])

    def test_a_summary_without_an_analysis(self):
        summary = xsp_json("analyze", self.asynchronous, "--json")
        self.assertEqual(set(summary), {"causes", "A1", "A2", "A10", "findings", "analyses"})
        for name in ("A1", "A2", "A10"):
            top = [] if name == "A1" else ["--top", "5"]
            self.assertEqual(summary[name], xsp_json("analyze", name, *top, self.asynchronous, "--json"))
        codes = [row["id"] for row in summary["analyses"]]
        self.assertEqual(codes, ["L0", *(f"A{n}" for n in (*range(1, 26), 27)), "T8", "T9", "T10", "T11", "ranges", "requests", "findings"])
        self.assertEqual(summary["analyses"][2], {"id": "A2", "title": "layer information", "needs": "L"})
        self.assertEqual(set(xsp_json("analyze", self.file, "--json")), {"causes", "A1", "A2", "findings", "analyses"}, "it has no kernels")
        two = leveled(experiments=2).write(self.folder / "two_in_summary.xsp")
        self.assertEqual([table["experiment"] for table in xsp_json("analyze", two, "--json")["A1"]], ["tiny", "tiny 2"])
        text = xsp("analyze", self.file, check=0)
        for code in codes:
            self.assertRegex(text.stdout.decode(), rf"(?m)^{code} +\w")
        self.assertIn(f"xsp report {self.file}", text.stderr.decode().split("next:")[1])
        self.assertEqual(len(xsp_json("analyze", self.file, "--top", "1", "--json")["A2"]["rows"]), 1)
        self.fails(2, "analyze", self.folder / "nothing.xsp", mentions=["nothing.xsp"])
        self.fails(2, "analyze", self.file, "A2", mentions=["before the files"])
        self.fails(2, "analyze", "B7", mentions=["no such analysis"])
        self.assertEqual(xsp("analyze", "summary", self.file, check=0).stdout, text.stdout)
        self.fails(2, "analyze", "summary", mentions=["file is missing"])
        self.fails(2, "analyze", "summary", "A2", self.file, mentions=["A2", "summary"])

    def test_a_summary_of_a_program_is_that_of_its_run(self):
        script = Script()
        script.experiment("a program")
        script.run(1, "A/M")
        script.track(1)
        step = script.context("step", file="/home/me/train.py", line=3)
        for number in range(4):
            start = UNIX_START + number * 10**9
            script.span("step", start, 900_000_000)
            script.span("load", start + 1000, 500_000_000, "application")
            script.sample("cpu", start + 500_000_000, 450_000_000, step)
        file = script.write(self.folder / "program.xsp")
        text = xsp("analyze", "summary", file, check=0).stdout.decode()
        self.assertRegex(text, r"(?m)^lines .*: train\.py:3 step ")
        self.assertRegex(text, r"(?m)^load +application +4 ")
        self.assertIn("ranges", xsp_json("analyze", file, "--json"))

    def test_a_trace_without_steps_names_the_remedy(self):
        for levels, level in (("A/L", "layer"), ("A/M", "application")):
            script = Script()
            script.experiment("no steps")
            script.run(1, levels)
            script.track(1)
            script.span("one", 0, 5000, level)
            file = script.write(self.folder / f"no_steps_{level}.xsp")
            if level == "layer":
                self.fails(1, "analyze", "A1", file, mentions=["p.step()", "--model-range"])
                self.assertIn("p.step()", xsp("analyze", file, check=0).stderr.decode())
            else:
                notes = xsp_json("analyze", "A1", file, "--json")["notes"]
                self.assertEqual(sum("p.step()" in note and "--model-range" in note for note in notes), 1, notes)
        self.assertNotIn("p.step()", str(xsp_json("analyze", "A1", self.file, "--json")["notes"]))

    def test_top_of_all_kernels(self):
        script = Script()
        script.experiment("two kernels")
        script.run(1, "M/K")
        script.track(1, "main")
        script.track(2, "stream", thread=None, device=0, stream=7)
        script.span("model", 0, 9000)
        for number, (name, duration_ns) in enumerate((("short", 100), ("long", 500)), 1):
            script.span("launch", number * 1000, 50, "kernel", correlation=number, category="api", flags="call")
            script.span(name, number * 1000 + 100, duration_ns, "kernel", "execution", track=2, correlation=number,
                        category="kernel")
        file = script.write(self.folder / "two_kernels.xsp")
        names = [row["kernel_name"] for row in xsp_json("analyze", "A8", file, "--json")["rows"]]
        self.assertEqual(names, ["short", "long"])
        top, = xsp_json("analyze", "A8", file, "--top", "1", "--json")["rows"]
        self.assertEqual(top["kernel_name"], "long")

    def test_goldens(self):
        everything = ["L0", "A1", "A2", "A3", "A4", "A5", "A6", "A7"]
        for columns in ("80", "160"):
            text = xsp("analyze", *everything, self.file, environment={"COLUMNS": columns}, check=0).stdout.decode()
            self.assertLessEqual(max(map(len, text.splitlines())), int(columns))
            self.golden(f"analyze-{columns}.txt", text)
        self.golden("analyze.md", xsp("analyze", "A1", "A2", self.file, "--format", "markdown", check=0).stdout.decode())

    def test_hostile_names_cannot_steer_the_terminal(self):
        script = Script()
        script.experiment("\x1b]0;owned\x07")
        script.run(1, "M/L")
        script.track()
        script.span("net", UNIX_START, 1_000_000, tags={"batch_size": 1})
        names = [b"\x1b[2J\x1b[31m", b"a\nb\r\tc", b"\xff\xfe", "‮gnp.exe".encode(), b"", "層層".encode(), b"w" * 5000]
        for number, name in enumerate(names):
            script.span(name, UNIX_START + number * 1000, 900, "layer", tags={"layer_index": number, "layer_type": name})
        path = script.write(self.folder / "hostile.xsp")
        for form in ("text", "markdown"):
            text = xsp("analyze", "A2", path, "--format", form, environment={"COLUMNS": "100"}, check=0).stdout.decode()
            self.assertFalse(re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f‮]", text), repr(text))
            self.assertIn("\\x1b", text.replace("\\\\", "\\"))
        text = xsp("analyze", "A2", path, environment={"COLUMNS": "100"}, check=0).stdout.decode()
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        rows = xsp_json("analyze", "A2", path, "--json")["rows"]
        self.assertEqual([row["layer_name"] or "" for row in rows], [name.decode(errors="replace") for name in names])


class SqlTest(CliTest):
    def test_json_is_an_array_of_objects(self):
        rows = xsp_json("sql", self.file, "select 1 as one, 2.5 as two, 'x' as text, null as none, x'00ff' as bytes", "--json")
        self.assertEqual(rows, [{"one": 1, "two": 2.5, "text": "x", "none": None, "bytes": "00ff"}])
        self.assertEqual(xsp_json("sql", self.file, "select * from run where 0", "--json"), [])

    def test_columns_of_one_name_keep_their_values(self):
        result = xsp("sql", self.file, "select 1 as a, 2 as b, 3 as a, 4 as a, 5 as 'a:1'", "--json", check=0)
        pairs = json.loads(result.stdout, object_pairs_hook=list)[0]
        self.assertEqual(pairs, [("a", 1), ("b", 2), ("a:1", 3), ("a:2", 4), ("a:1:0", 5)])

    def test_spans_have_the_contract_columns(self):
        row = xsp_json("sql", self.file, "select * from span where level = 'layer' and run_id = 4 limit 1", "--json")[0]
        self.assertEqual(list(row)[:19], "run_id span_id trace_id parent_id model_id layer_id level kind category tracer track_id "
                                         "name start_ns end_ns duration_ns self_ns correlation_id basis depth".split())
        self.assertEqual((row["name"], row["basis"], row["depth"]), ("block/conv_0", "containment", 1))

    def test_the_contract_query_runs(self):
        rows = xsp_json("sql", self.asynchronous, "select l.name, sum(e.duration_ns) as ns from span e join span l on l.run_id"
                        " = e.run_id and l.span_id = e.layer_id where e.kind = 'execution' and e.category = 'kernel' "
                        "group by 1 order by 2 desc", "--json")
        self.assertEqual(rows, [{"name": "conv", "ns": 5000}])

    def test_only_reading(self):
        before = self.file.read_bytes()
        for statement in ("delete from run", "create table x(y)", "attach ':memory:' as other", "drop table run",
                          "pragma user_version = 3", "select load_extension('x')", "select 1; select 2", "", "vacuum",
                          "update run set batch_size = 9", "selec 1", "select nothing from span", "insert into run values (1)"):
            self.fails(2, "sql", self.file, statement)
        self.assertEqual(self.file.read_bytes(), before)

    def test_csv_and_text(self):
        query = "select 'a,\"b\"' as t, 7 as n union all select null, 1234"
        self.assertEqual(xsp("sql", self.file, query, "--format", "csv", check=0).stdout, b't,n\r\n"a,""b""",7\r\n,1234\r\n')
        self.assertEqual(xsp("sql", self.file, query, check=0).stdout.decode().splitlines(),
                         ['t         n', '───────────', 'a,"b"     7', '-      1234'])


class CheckTest(CliTest):
    def test_json(self):
        rows = xsp_json("check", "--json")
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual(len({"tracer", "predictor"} & set(row)), 1)
            keys = {"usable", "library", "version", "reason", "advice"} | ({"untold"} if "predictor" in row else set())
            self.assertEqual(set(row) - {"tracer", "predictor"}, keys)
            self.assertIsInstance(row["usable"], bool)
            self.assertTrue(row["usable"] or row["reason"])
        self.assertIn("onnxruntime", [row.get("predictor") for row in rows])
        self.assertIn("onnxruntime", [row.get("tracer") for row in rows])
        self.assertEqual([row["untold"] for row in rows if row.get("predictor") == "onnxruntime"], [None])

    def test_a_library_that_was_named_and_does_not_open_is_status_3(self):
        missing = self.folder / "libnothing.so"
        result = xsp("check", "onnxruntime", "--library", f"onnxruntime={missing}", "--json", check=3)
        self.assertEqual([row["usable"] for row in json.loads(result.stdout)], [False, False], "the tracer looks there, too")
        self.assertIn(b"libnothing.so", result.stderr)
        xsp("check", "onnxruntime", environment={"XSP_LIBRARY_ONNXRUNTIME": str(missing)}, check=3)

    def crashing_library(self, body):
        source = self.folder / "crash.c"
        source.write_text("#include <stdlib.h>\n#include <signal.h>\n#include <unistd.h>\n"
                          "__attribute__((constructor)) static void start(void) { %s }\n" % body)
        library = self.folder / "libcrash.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True, timeout=scripted.TIMEOUT_S)
        return library

    def test_a_library_that_crashes_or_exits_is_contained(self):
        for body, mentions in (("signal(SIGSEGV, SIG_DFL); raise(SIGSEGV);", "signal 11"), ("_exit(7);", "status 7"),
                           ("write(1, \"noise\", 5); abort();", "signal 6")):
            library = self.crashing_library(body)
            result = xsp("check", "onnxruntime", "--library", f"onnxruntime={library}", "--json", check=3)
            predictor = [row for row in json.loads(result.stdout) if "predictor" in row][0]
            self.assertFalse(predictor["usable"])
            self.assertIn(mentions, predictor["reason"])

    def test_names(self):
        xsp("check", "script", check=0)
        self.fails(2, "check", "onnxruntim", mentions=["onnxruntime"])
        self.fails(2, "check", "--library", "onnxruntime", mentions=["NAME=PATH"])
        self.fails(2, "check", "--library", "nothing=/x.so", mentions=["nothing"])

    def test_text_tells_about_the_machine(self):
        text = xsp("check", check=0).stdout.decode()
        for word in ("CPUs", "clock", "/dev/shm", "perf"):
            self.assertRegex(text, rf"(?m)^{word} ")


if __name__ == "__main__":
    if UPDATE:
        sys.argv.remove("--update")
        GOLDEN.mkdir(exist_ok=True)
    unittest.main()

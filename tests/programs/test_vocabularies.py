# SPDX-License-Identifier: Apache-2.0
"""A vocabulary is one table, and every face has it: options of analyses in help, man page, completion, the C API and the server's
OpenAPI; importers in help, completion and docs; levels in C, Python and TypeScript. Figures: tests/report/test_words.py."""
import ast
import collections
import json
import os
import pathlib
import re
import sys
import unittest

import scripted
import server
from scripted import leveled, temporary_folder

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
sys.path.insert(0, str(SOURCE / "answers/python" / "src"))
os.environ.setdefault("XSP_LIBRARY_READ", str(scripted.BUILD / "libxsp_read.so"))


def source(name):
    return (SOURCE / name).read_text()


def xsp(*arguments, **options):
    return scripted.xsp(*arguments, text=True, check=0, **options).stdout


def completed(verb, option, script):
    """The values that bash offers; none: []."""
    found = re.search(rf'^    {verb}:--{option}\) values="(.*)" ;;$', script, re.M)
    return found.group(1).split() if found else []


class AnalysisOptions(unittest.TestCase):
    """Those of answers/analyze/options.h."""
    ROW = re.compile(r'^  X\("([a-z-]+)", ([A-Z]+), \w+, \w+, \w+, (NULL|"[^"]*"), (?:NULL|"[^"]*"), \w+, \\\n((?:    ".*\n)+)', re.M)
    TYPES = {"COUNT": "integer", "TEXT": "string", "PERCENT": "number", "FLAG": "boolean", "LIST": "string"}

    @classmethod
    def setUpClass(cls):
        text = source("answers/analyze/options.h")
        cls.table = {name: (form, None if value == "NULL" else value.strip('"'),
                            "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', lines)).replace('\\"', '"'))
                     for name, form, value, lines in cls.ROW.findall(text)}
        assert len(cls.table) == text.count('\n  X("') > 15

    def test_help_and_man(self):
        text, man = xsp("help", "analyze"), xsp("help", "analyze", "--man").replace("\\-", "-")
        for name, (_, value, words) in self.table.items():
            self.assertRegex(text, rf"(?m)^  (-\w, )?--{name}" + (f"={re.escape(value)}" if value else " "))
            self.assertIn(" ".join(words.split()), " ".join(text.split()))
            self.assertIn(words, man.replace("\\e", "\\").replace("\\&", ""))

    def test_completion(self):
        script = xsp("help", "--completion", "bash")
        options = re.search(r'^    analyze\) options="(.*)" ;;$', script, re.M).group(1).split()
        for name, (_, value, _) in self.table.items():
            self.assertIn(f"--{name}", options)
            self.assertEqual(completed("analyze", name, script), value.split("|") if value and "|" in value else [], name)

    def test_the_servers_parameters(self):
        with temporary_folder() as folder, server.Server(pathlib.Path(folder)) as running:
            document = running.ask(None, path="/api/v1/openapi.json", method="GET")[2]
        found = json.loads(document)["paths"]["/api/v1/files/{file}/analyses/{analysis}"]["get"]["parameters"]
        query = {one["name"]: (one["schema"]["type"], one["description"]) for one in found if one["in"] == "query"}
        self.assertEqual(query, {name: (self.TYPES[form], words) for name, (form, _, words) in self.table.items()})

    @unittest.skipIf(os.environ.get("XSP_SANITIZE"), "Python cannot load a library that is built with a sanitizer")
    def test_the_c_api(self):
        import xsp as package
        with temporary_folder() as folder:
            path = pathlib.Path(folder) / "leveled.xsp"
            leveled().write(path)
            with package.open(str(path)) as trace:
                for name, (form, value, _) in self.table.items():
                    given = True if form == "FLAG" else 1 if form in ("COUNT", "PERCENT") else value.split("|")[0]
                    try:
                        trace.analyze("findings", **{name: given})
                    except package.Error as error:
                        self.assertNotIn("no such option", str(error))
                with self.assertRaisesRegex(package.Error, "host|device"):
                    trace.analyze("A2", latency_basis="moon")
                with self.assertRaisesRegex(package.Error, "no such option"):
                    trace.analyze("A2", batsch=1)

    def test_words_that_an_option_does_not_have(self):
        for name, (_, value, _) in self.table.items():
            if value and "|" in value:
                done = scripted.xsp("analyze", "A2", "none.xsp", f"--{name}", "moon", text=True)
                self.assertEqual(done.returncode, 2)
                self.assertIn(value, done.stderr)


class Importers(unittest.TestCase):
    """Those of trace/importers/importer.h, by their descriptors."""
    def test_all_faces(self):
        listed = re.search(r"define IMPORTERS\(X\)(.*?)\n\n", source("trace/importers/importer.h"), re.S).group(1)
        descriptors = "".join(path.read_text() for path in (SOURCE / "trace/importers").glob("*/*.c"))
        table = [(re.search(rf'struct importer importer_{name} = \{{\s*\.name = "(.*?)",\s*\.summary = "(.*?)"', descriptors).groups())
                 for name in re.findall(r"X\((\w+)\)", listed)]
        self.assertGreater(len(table), 7)
        lines = re.findall(r"^  ([a-z-]+) {1,} *(\S.*)$", xsp("help", "import").split("Options:")[0], re.M)
        self.assertEqual(lines, table)
        man = xsp("help", "import", "--man").replace("\\-", "-")
        docs = source("docs/importers.md")
        for name, summary in table:
            self.assertRegex(man, rf"(?m)^  {name} +{re.escape(summary)}$")
            self.assertIn(f"`{name}`", docs)
        self.assertEqual(completed("import", "from", xsp("help", "--completion", "bash")), [name for name, _ in table])


class Verbs(unittest.TestCase):
    """An option means the same wherever it is."""
    @classmethod
    def setUpClass(cls):
        cls.options = {}  # by verb: letter or "" by name
        for verb in re.findall(r"^  ([a-z]+) ", xsp("help"), re.M):
            cls.options[verb] = {name: letter for letter, name in
                                 re.findall(r"^  (?:-(\w), )?--([a-z-]+)", xsp("help", verb), re.M)}

    def test_a_letter_is_one_option(self):
        names, letters = {}, {}
        for options in self.options.values():
            for name, letter in options.items():
                letters.setdefault(name, set()).add(letter)
                if letter:
                    names.setdefault(letter, set()).add(name)
        self.assertEqual({letter: of for letter, of in names.items() if len(of) > 1}, {})
        self.assertEqual({name: of for name, of in letters.items() if len(of) > 1}, {})

    def test_words_of_an_option_are_those_of_other_verbs(self):
        """A verb may take fewer, in the same order."""
        words = {}
        for name, values in re.findall(r'^    [a-z]+:--([a-z-]+)\) values="(.*)" ;;$', xsp("help", "--completion", "bash"), re.M):
            words.setdefault(name, []).append(values.split())
        self.assertGreater(sum(len(lists) > 1 for lists in words.values()), 4)
        for name, lists in words.items():
            longest = max(lists, key=len)
            for listed in lists:
                self.assertEqual([word for word in longest if word in listed], listed, name)

    def test_the_table_of_options(self):
        """docs/options.md has the letter and the verbs of each option that several verbs share, and no other."""
        table = {}
        verbs_of = collections.Counter(name for options in self.options.values() for name in options)
        for name, letter, verbs in re.findall(r"^\| `--([a-z-]+)` \| (?:`-(\w)`)? ?\| ([a-z, ]+) \|", source("docs/options.md"), re.M):
            kept = {verb for verb, options in self.options.items() if name in options}
            left_out = verbs.removeprefix("all but ").split(", ") if verbs.startswith("all but ") else []
            listed = set(self.options) - set(left_out) if verbs.startswith("all") else set(verbs.split(", "))
            table[name] = (letter, listed)
            with self.subTest(name):
                self.assertEqual((listed, letter), (kept, self.options[min(kept)][name]))
        self.assertEqual(set(table), {name for name, count in verbs_of.items() if count > 1} | {"from"})
        self.assertEqual(table["json"][1], set(self.options) - {"demo", "help"})
        self.assertEqual(table["force"][1], table["output"][1])

    def test_pages_use_options_that_there_are(self):
        """In commands of README and docs/; docs/howto/ adds an option."""
        found = 0
        for page in ("README.md", *sorted(str(path.relative_to(SOURCE)) for folder in ("docs", "docs/studies")
                                          for path in (SOURCE / folder).glob("*.md"))):
            for verb, rest in re.findall(rf"\bxsp ({'|'.join(self.options)})\b([^`\n]*)", source(page).replace("\\\n", " ")):
                named = re.findall(r"(?<![\w-])--([a-z-]+)", re.split(r" -- | # |[|;&]", rest)[0])
                self.assertEqual(set(named) - set(self.options[verb]), set(), (page, verb, rest))
                found += len(named)
        self.assertGreater(found, 300)

    def test_earlier_names_are_taken(self):
        self.assertRegex(scripted.xsp("history", "missing.xsp", "--limit", "x", text=True).stderr, "--top=x")
        self.assertRegex(scripted.xsp("data", "generate", "out.xspd", "--items", "x", text=True).stderr, "--count=x")
        for verb in "history", "publish": # not a version of xsp on standard output, with status 0
            self.assertIn(b"--model-version", scripted.xsp(verb, "--version", ">=1.0", "missing.xsp", check=2).stderr)
        self.assertRegex(scripted.xsp("import", "missing", "--format", "klingon", "-o", "out.xsp", text=True).stderr, "klingon")

    def test_accounts_as_json(self):
        with temporary_folder() as folder:
            path = pathlib.Path(folder) / "leveled.xsp"
            leveled().write(path)
            page = path.with_suffix(".html")
            done = scripted.xsp("report", path, "-o", page, "--json", "-q", check=0)
            self.assertEqual(json.loads(done.stdout), {"output": str(page), "bytes": page.stat().st_size})
            self.assertIn(b"--json", scripted.xsp("report", path, "-o", "-", "--json", check=2).stderr)
            again = path.with_name("again.xsp")
            account = json.loads(scripted.xsp("recover", path, "-o", again, "--json", "-q", check=0).stdout)
            self.assertEqual((account["output"], account["source"], account["spans"]), (str(again), str(path), 0))
            self.assertGreater(account["committed_spans"], 0)
            self.assertIn("rows", json.loads(scripted.xsp("recover", "--json", check=0).stdout))

    def test_the_version(self):
        for arguments in (("-V",), ("--version",), *((verb, letter) for verb in self.options for letter in ("-V", "--version"))):
            self.assertEqual(xsp(*arguments), xsp("version"), arguments)

    def test_quiet(self):
        with temporary_folder() as folder:
            path = pathlib.Path(folder) / "leveled.xsp"
            leveled().write(path)
            for options, said in (((), "wrote"), (("-q",), "")):
                done = scripted.xsp("merge", path, "-o", path.with_name("merged.xsp"), "-f", *options, text=True)
                self.assertEqual("xsp: wrote" in done.stderr, bool(said), done.stderr)


class Levels(unittest.TestCase):
    """Those of the public header, in its order."""
    def test_every_list(self):
        names = [name.lower() for name in re.findall(r"^  XSP_LEVEL_(\w+) = \d,", source("include/xsp/span.h"), re.M)]
        self.assertEqual(len(names), 5)
        for path, start, end in (("include/xsp/span.h", "#define XSP_LEVEL_NAMES ", " //"),
                                 ("answers/python/src/xsp/file.py", 'NAMES = {"level": (', ")"),
                                 ("answers/web/src/data.ts", "LEVELS = [", "]")):
            with self.subTest(path):
                text = source(path)
                self.assertEqual(text.count(start), 1)
                self.assertEqual(list(ast.literal_eval(f"[{text.split(start)[1].split(end)[0]}]")), names)

    def test_kinds(self):
        names = [name.lower() for name in re.findall(r"^  XSP_KIND_(\w+) = \d,", source("include/xsp/span.h"), re.M)]
        self.assertEqual(len(names), 3)
        for path, start, end in (("answers/python/src/xsp/file.py", '"kind": (', ")"), ("answers/web/src/data.ts", "KINDS = [", "]")):
            with self.subTest(path):
                self.assertEqual(list(ast.literal_eval(f"[{source(path).split(start)[1].split(end)[0]}]")), names)

    def lists_of_c(self, name):
        return ast.literal_eval(re.search(rf"{name}\[\w*\] = {{(.*?)}}", source("trace/format/level.c")).group(1))

    def test_bases(self):
        listed = source("answers/web/src/data.ts").split("BASES = [")[1].split("]")[0]
        self.assertEqual(ast.literal_eval(listed), self.lists_of_c("basis_names"))

    def test_letters(self):
        listed = re.findall(r'^  (\w+): \["\w+", (\d)\],$', source("answers/web/src/pages/waterfall.tsx"), re.M)
        self.assertEqual(listed, [(letter, str(level)) for level, letter in enumerate(self.lists_of_c("level_letters"))])


class RunOptions(unittest.TestCase):
    """What acts on a program's start, or needs spans, is refused where there is no start, or are no spans: by its description."""
    def refused(self, flag, *before):
        table = re.findall(r'\{"([a-z-]+)",\s*(?:0|\'.\'), (NULL|"[^"]*"), (?:NULL|"[^"]*"), ([A-Z_ |0]+),',
                           source("programs/xsp/verb_run/verb_run.c") + source("programs/xsp/verb.h").replace("\\\n", "\n"))
        marked = {name: value.strip('"') for name, value, flags in table if flag in flags}
        for name, value in marked.items():
            word = [] if value == "NULL" else [value.split("|")[0] if value.islower() else "1"]
            done = scripted.xsp("run", *before, f"--{name}", *word, *(["--", "true"] if "--pid" not in before else []), text=True)
            self.assertEqual(done.returncode, 125, name)
            yield name, done.stderr

    def test_at_start(self):
        found = list(self.refused("OPTION_AT_START", "--pid", "1"))
        self.assertGreater(len(found), 12)
        for name, text in found:
            if name not in ("functions", "cuda", "tracer", "leveled", "serialize"): # whose values are looked at before
                self.assertIn(f"--{name} acts on a program's start", text)

    def test_by_span(self):
        found = list(self.refused("OPTION_BY_SPAN", "--aggregate"))
        self.assertGreater(len(found), 4)
        for name, text in found:
            self.assertIn(f"--{name} needs spans", text)


if __name__ == "__main__":
    unittest.main()

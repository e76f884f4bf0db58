# SPDX-License-Identifier: Apache-2.0
"""docs/README.md leads to every page, each page to files that exist, and .gitattributes names what is there. Rooms' pages name their files."""
import collections
import functools
import os
import pathlib
import re
import subprocess
import unittest

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
DOCS = SOURCE / "docs"


def links(page):
    return {(page.parent / link).resolve() for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))}


class Pages(unittest.TestCase):
    def test_each_page_is_on_one_shelf(self):
        shelves = re.findall(r"\]\(([^)]+)\)", (DOCS / "README.md").read_text(encoding="utf-8"))
        self.assertEqual(len(shelves), len(set(shelves)))
        pages = {str(path.relative_to(DOCS)) for folder in (DOCS, DOCS / "studies") for path in folder.glob("*.md")}
        self.assertEqual(pages - set(shelves), {"README.md"})

    def test_links_lead_to_files(self):
        for page in (*DOCS.rglob("*.md"), *SOURCE.glob("*.md")):
            with self.subTest(page.name):
                self.assertEqual([str(path) for path in links(page) if not path.exists()], [])

    def test_generated_files_are_there(self):
        for line in (SOURCE / ".gitattributes").read_text().splitlines():
            if line and not line.startswith("#"):
                with self.subTest(line):
                    self.assertTrue(any(SOURCE.glob(line.split()[0])))


ALSO = {"report": ["page"], "frameworks": ["predictors"], "programs": ["predictors"]} # rooms with parts on pages of other names
SOURCE_FILE = r"\.(c|h|S|py|ts|tsx)$"


def of_pair(name):
    """A .c and its .h are one."""
    return re.sub(r"\.[ch]$", "", name)


@functools.lru_cache(maxsize=None)
def ending(name):
    """Paths that end with this name or pattern; * stays in its folder."""
    return re.compile("(.*/)?" + "[^/]*".join(map(re.escape, name.split("*"))))


def named_files(text):
    """Names and patterns in backticks. In a table's first column the folder is that of the name before, else that of the column's head."""
    head, was_row = "", False
    for line in re.sub(r"(?ms)^```.*?^```", "", text).splitlines():
        is_row = line.startswith("|")
        if is_row and not was_row:
            head = "".join(re.findall(r"`([\w/]+)/`", line.split("|")[1])[:1])
        was_row = is_row
        for place, cell in enumerate(line.split("|")):
            folder = head if is_row and place == 1 else ""
            for name in re.findall(r"`([\w./*-]+)`", cell):
                if not re.search(SOURCE_FILE, name):
                    continue
                if is_row and place == 1 and "/" in name:
                    folder = os.path.dirname(name)
                yield name if "/" in name or not folder else f"{folder}/{name}"


class Rooms(unittest.TestCase):
    """The page of a room in docs/internals/ names the room's source files: a .c and its .h once, files of one kind by a pattern."""

    @classmethod
    def setUpClass(cls):
        listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=SOURCE, capture_output=True, text=True, check=True)
        cls.names = {name for name in listed.stdout.split("\0") if re.search(SOURCE_FILE, name)}
        cls.files = {name for name in cls.names if not (name.endswith(".h") and of_pair(name) + ".c" in cls.names)}
        wings = re.findall(r"(?m)^wing (\w+)", (SOURCE / "tools/include_rules.txt").read_text())
        cls.rooms = {}
        for name in cls.files:
            parts = name.split("/")
            room = "/".join(parts[:2]) if parts[0] in wings and len(parts) > 2 else parts[0]
            others = {"tests", "test", "bench", "fuzz", "examples", "tools", "docs"}
            if len(parts) > 1 and not others & set(parts) and not re.search(r"_test\.(c|h|ts)$", name):
                cls.rooms.setdefault(room, set()).add(name)

    @staticmethod
    def pages(room):
        name = os.path.basename(room)
        pages = sorted((DOCS / "internals").glob(f"{name}.md")) + sorted((DOCS / "internals").glob(f"{name}-*.md"))
        return pages + [DOCS / "internals" / f"{other}.md" for other in ALSO.get(name, [])]

    @staticmethod
    def matches(file, name):
        return ending(of_pair(name)).fullmatch(of_pair(file)) is not None

    def unnamed(self, room):
        """A file name that several folders of the room have needs its folder, and so does a pattern, except on the folder's own page."""
        names = collections.Counter(os.path.basename(file) for file in self.rooms[room])
        left = set(self.rooms[room])
        for page in self.pages(room):
            own = page.stem.replace("-", "/") if "-" in page.stem else " " # frameworks-mxnet.md: frameworks/mxnet
            for name in named_files(page.read_text(encoding="utf-8")):
                for file in {file for file in left if self.matches(file, name)}:
                    is_unique = "*" not in name and names[os.path.basename(file)] == 1
                    is_own = f"/{own}/" in f"/{file}" and not name.startswith("*")
                    if "/" in name or is_unique or is_own or of_pair(file) == of_pair(f"{room}/{name}"):
                        left.discard(file)
        return sorted(left)

    def test_each_file_is_named(self):
        self.assertGreater(len(self.rooms), 30)
        for room in sorted(self.rooms):
            with self.subTest(room):
                self.assertNotEqual(self.pages(room), [])
                self.assertEqual(self.unnamed(room), [])

    def test_named_files_exist(self):
        """From the root, the room or its folder; tests/tools/test_source_checks.py has paths. Names in capitals are any text."""
        others = {"sqlite3ext.h", "lib/xsp/pytorch_predictor.py", "lib/xsp/jax_predictor.py"} # SQLite's; where they are installed
        for page in sorted((DOCS / "internals").glob("*.md")):
            for name in set(named_files(page.read_text(encoding="utf-8"))) - others:
                with self.subTest(page=page.name, name=name):
                    pattern = re.sub(r"(?<![A-Za-z])[A-Z]{3,}(?![A-Za-z])", "*", name)
                    self.assertTrue(any(map(ending(pattern).fullmatch, self.names)))


if __name__ == "__main__":
    unittest.main()

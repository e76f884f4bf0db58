# SPDX-License-Identifier: Apache-2.0
"""Follows each page of docs/howto/ on a copy of the checkout: applies its files and changes, builds, runs its commands and
compares what they print. Checks too that a page touches few files.

Blocks of a page that count:
    ```c file=PATH      a new file (any language)
    ```diff             changes without line numbers; the old lines must occur once in the file
    ```console          commands after "$ ", and what they print; "..." is any text. `make` builds the page's targets only."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import typed_commands

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
PAGES = sorted((SOURCE / "docs" / "howto").glob("*.md"))
FILES_MOST = 5  # besides the new part's own folder, tests and docs
TARGETS = ("xsp", "xsp-runner")
TIMEOUT_S = 600


def changes(lines):
    """{file: [(old lines, new lines)]} of a diff block."""
    found, path = {}, None
    for line in lines:
        if line.startswith("--- "):
            path = line[4:]
            hunks = found.setdefault(path, [([], [])])
        elif line == "@@":
            hunks.append(([], []))
        else:
            old, new = hunks[-1]
            if line[:1] in ("-", " ", ""):
                old.append(line[1:])
            if line[:1] in ("+", " ", ""):
                new.append(line[1:])
    return found


class HowTo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.checkout = pathlib.Path(cls.folder.name) / "xsp"
        listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                cwd=SOURCE, capture_output=True, text=True, check=True).stdout
        for name in filter(None, listed.split("\0")):
            if (SOURCE / name).is_file():
                (cls.checkout / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(SOURCE / name, cls.checkout / name)
        cls.build(*TARGETS)

    @classmethod
    def build(cls, *targets):
        # Without optimisation, as the compiler takes most of the time.
        subprocess.run("cmake -G Ninja -S . -B build -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS='-O0 -Werror' >cmake.log"
                       f" && ninja -C build {' '.join(targets)} >ninja.log || {{ cat cmake.log ninja.log; exit 1; }}",
                       shell=True, cwd=cls.checkout, check=True, timeout=TIMEOUT_S)

    def write(self, name, text):
        path = self.checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            self.addCleanup(path.write_bytes, path.read_bytes())
        else:
            self.addCleanup(path.unlink)
        path.write_text(text)

    def change(self, name, hunks):
        text = (self.checkout / name).read_text()
        for old, new in hunks:
            old, new = "".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new)
            self.assertEqual(text.count(old), 1, f"{name} has these lines so often:\n{old}")
            text = text.replace(old, new)
        self.write(name, text)

    def run_console(self, lines, targets):
        environment = {**os.environ, "PATH": f"{self.checkout / 'build'}:{os.environ['PATH']}", "COLUMNS": "120"}
        for command, expected in typed_commands.commands(lines):
            if command == "make":
                self.build(*TARGETS, *targets)
                continue
            done = subprocess.run(command, shell=True, cwd=self.checkout, env=environment, text=True, timeout=TIMEOUT_S,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            printed = "\n".join(line.rstrip() for line in done.stdout.splitlines())
            pattern = re.escape("\n".join(expected)).replace(re.escape("..."), ".*")
            self.assertRegex(printed, re.compile(rf"\A{pattern}\Z", re.S), command)

    def follow(self, page):
        created, changed = [], set()
        for kind, name, lines in typed_commands.blocks(page.read_text()):
            if name is not None:
                created.append(name)
                self.write(name, "".join(f"{line}\n" for line in lines))
            elif kind == "diff":
                for path, hunks in changes(lines).items():
                    changed.add(path)
                    self.change(path, hunks)
            elif kind == "console":
                self.run_console(lines, [f"xsp_tracer_{name.split('/')[2]}" for name in created
                                         if name.startswith("guest/tracers/") and name.endswith(".c")])
        own = {str(pathlib.Path(name).parent) for name in created if not (SOURCE / name).parent.exists()}
        counted = {name for name in {*changed, *created}
                   if not name.startswith(("tests/", "docs/")) and str(pathlib.Path(name).parent) not in own}
        self.assertLessEqual(len(counted), FILES_MOST, sorted(counted))
        done = subprocess.run(["tools/check_includes.sh"], cwd=self.checkout, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_there_are_pages(self):
        self.assertGreaterEqual(len(PAGES), 5)


def test_of(page):
    return lambda self: self.follow(page)


for one in PAGES:
    setattr(HowTo, f"test_{one.stem}", test_of(one))


if __name__ == "__main__":
    if os.environ.get("XSP_SANITIZE"):
        print("skipped: the pages are followed without sanitizers")
    elif shutil.which("ninja") is None:
        print("skipped: no ninja")
    else:
        unittest.main()

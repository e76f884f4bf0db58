# SPDX-License-Identifier: Apache-2.0
"""The README's commands, typed in order with the build at hand; long_readme.py types them on a fresh clone."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import typed_commands

SOURCE, BUILD = pathlib.Path(os.environ["XSP_SOURCE"]), pathlib.Path(os.environ["XSP_BUILD"])
README = (SOURCE / "README.md").read_text(encoding="utf-8")
# Building again takes minutes: what was built is installed.
INSTEAD = {"make demo": "true", "make install PREFIX=$HOME/.local": f"cmake --install '{BUILD}' --prefix $HOME/.local"}


class Comparison(unittest.TestCase):
    """What counts as printed, so that the test below can fail."""
    SHOWN = ["layer   latency", "            µs", "────────", "conv_1  434.666", "", "sum  12 ms", "...", "layers  3"]

    def test_figures_names_units_and_widths_may_differ(self):
        for left_out in ([], ["note: noisy"], ["", "note: quiet", "B1"]):
            printed = ["layer  latency", "  ms", "──────────", "pool, of two  1.5", "", "sum  9 s,", *left_out, "layers  41"]
            self.assertTrue(typed_commands.is_printed(self.SHOWN, printed))

    def test_words_and_lines_may_not(self):
        for number, other in ((0, ["layer   time"]), (0, []), (1, ["  %"]), (2, ["no rule"]), (3, ["conv_1  1.5  2"]), (3, []),
                              (3, ["conv_1  1.5", "pool  1.5"]), (4, []), (5, ["mean  12 ms"]), (7, ["layers"]),
                              (7, ["layers  3", "types  2"])):
            printed = [*self.SHOWN[:number], *other, *self.SHOWN[number + 1:]]
            self.assertFalse(typed_commands.is_printed(self.SHOWN, printed), printed)

    def test_blocks(self):
        page = "```console\n$ a\nb\n$ c\n```\n```sh\n$ d\n```\n```python file=e.py\nf\n```\n```console\n$ g\n```\n"
        self.assertEqual(typed_commands.commands_of(page), [("a", ["b"]), ("c", []), ("g", [])])
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(typed_commands.write_files(page, pathlib.Path(folder)), ["e.py"])
            self.assertEqual((pathlib.Path(folder) / "e.py").read_text(), "f\n")


class Readme(unittest.TestCase):
    def test_what_it_names_exists(self):
        for name in re.findall(r"`((?:docs|lab|examples)/[^` ]*|[A-Z]+\.md)`|\]\(([^)]*)\)", README):
            self.assertTrue((SOURCE / "".join(name)).exists(), name)
        verbs = subprocess.run([BUILD / "xsp", "help"], check=True, capture_output=True, text=True, timeout=600).stdout
        for verb in set(re.findall(r"`xsp ([a-z]+)", README)):
            self.assertRegex(verbs, rf"\n  {verb} ")
        targets = (SOURCE / "Makefile").read_text(encoding="utf-8")
        for target in set(re.findall(r"(?:`|\$ )make ([a-z0-9-]+)", README)):
            self.assertRegex(targets, rf"\n{target}:.*## ")

    @unittest.skipIf(os.environ.get("XSP_SANITIZE"), "a newcomer's build has no sanitizer")
    @unittest.skipUnless((SOURCE / ".venv/bin/activate").exists(), "needs the .venv of `make setup`")
    def test_commands(self):
        shown = typed_commands.commands_of(README)
        self.assertLess(set(INSTEAD), {text for text, _ in shown})
        with tempfile.TemporaryDirectory(prefix="xsp-readme-") as temporary:
            folder, home = pathlib.Path(temporary, "xsp"), pathlib.Path(temporary, "home")
            folder.mkdir()
            home.mkdir()
            for name in ("lab", ".venv"):
                (folder / name).symlink_to(SOURCE / name)
            typed_commands.write_files(README, folder)
            answers = typed_commands.typed([INSTEAD.get(text, text) for text, _ in shown], folder,
                                           {**os.environ, "HOME": str(home)}, 1200)
            self.assertEqual(len(answers), len(shown))
            for (text, lines), (status, printed) in zip(shown, answers):
                with self.subTest(command=text):
                    self.assertEqual(status, 0, "\n".join(printed))
                    self.assertTrue(not lines or typed_commands.is_printed(lines, printed), "\n".join(printed))


if __name__ == "__main__":
    unittest.main()

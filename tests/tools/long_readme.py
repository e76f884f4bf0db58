# SPDX-License-Identifier: Apache-2.0
"""The README's commands, typed in order on a fresh clone of the last commit. `make demo` downloads Python packages."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import typed_commands

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])


class FreshClone(unittest.TestCase):
    @unittest.skipUnless((SOURCE / ".git").exists(), "needs a git checkout")
    @unittest.skipIf(os.environ.get("XSP_SANITIZE"), "the clone is built without sanitizers")
    def test_readme(self):
        with tempfile.TemporaryDirectory(prefix="xsp-readme-") as temporary:
            clone, home = pathlib.Path(temporary, "xsp"), pathlib.Path(temporary, "home")
            home.mkdir()
            subprocess.run(["git", "-c", "safe.directory=*", "clone", "-q", SOURCE, clone], check=True, timeout=600)
            readme = (clone / "README.md").read_text(encoding="utf-8")
            shown = typed_commands.commands_of(readme)
            self.assertGreater(len(shown), 5)
            written = typed_commands.write_files(readme, clone)
            environment = {key: value for key, value in os.environ.items() if not key.startswith(("XSP_", "MAKE"))}
            answers = typed_commands.typed([text for text, _ in shown], clone, {**environment, "HOME": str(home)}, 3600)
            self.assertEqual(len(answers), len(shown))
            for (text, lines), (status, printed) in zip(shown, answers):
                with self.subTest(command=text):
                    self.assertEqual(status, 0, "\n".join(printed[-40:]))
                    self.assertTrue(not lines or typed_commands.is_printed(lines, printed), "\n".join(printed))
            changed = subprocess.run(["git", "-c", "safe.directory=*", "status", "--porcelain"], cwd=clone, check=True,
                                     capture_output=True, text=True, timeout=600).stdout.splitlines()
            self.assertEqual(set(changed), {f"?? {name}" for name in (*written, "model.html")},
                             "what git does not ignore is what the commands name")


if __name__ == "__main__":
    unittest.main()

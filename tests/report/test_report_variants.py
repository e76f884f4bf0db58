# SPDX-License-Identifier: Apache-2.0
"""The page of a file in which `xsp profile` measured several variants and cold starts, in real Chromium: experiments of one
name are distinct, each shows its own figures."""
import pathlib
import subprocess
import tempfile
import unittest

import browser
from scripted import XSP, xsp_json

MODEL = """\
input data float N,8
layer conv1 Conv 300us shape=N,64,112,112
layer relu1 Relu 100us shape=N,64,112,112
batch-factor 0.25
"""


class ReportVariantsTest(browser.BrowserTest):
    def test_experiments_of_one_name(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            model, trace, page = folder / "net.xspscript", folder / "net.xsp", folder / "net.html"
            model.write_text(MODEL)
            subprocess.run([XSP, "profile", model, "--library", "script=/a", "--library", "script=/b", "--batch", "1,4",
                            "--runs", "2", "--cold", "2", "--quiet", "-o", trace], check=True, capture_output=True, timeout=600)
            subprocess.run([XSP, "report", trace, "-o", page], check=True, capture_output=True, timeout=600)
            names = [table["experiment"] for table in xsp_json("analyze", "A1", trace, "--json")]
            window = self.open(page)
            chooser = window.page.locator("select.experiment")
            self.assertEqual(chooser.locator("option").all_inner_texts(), names)
            for name in names:
                chooser.select_option(label=name)
                window.frames()
                self.assertEqual(window.page.locator("h1").inner_text(), name)
                window.page.get_by_text("in 2 fresh processes at batch 1: median").wait_for()
                # Predictions stay topmost next to stages; the model has its name, not that of its file.
                self.assertNotIn("below the topmost level", window.text())
                self.assertEqual(window.page.locator(".lead-title").inner_text(), "net")
                self.assertEqual(window.problems, [])


if __name__ == "__main__":
    unittest.main()

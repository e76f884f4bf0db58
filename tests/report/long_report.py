# SPDX-License-Identifier: Apache-2.0
"""The report's page of every real trace at hand (XSP_TEST_DATA), in real Chromium: no page has an error, none is cut
off, axe finds nothing, and the tables equal those of `xsp analyze`."""
import pathlib
import unittest

import browser
import report_files
import test_report_tables
from browser import PAGES, SIZES
from scripted import xsp

ENDINGS = (".json", ".json.gz", ".sqlite", ".pb")


def traces():
    return sorted(path for path in report_files.DATA.glob("*/*") if path.name.endswith(ENDINGS))


@unittest.skipIf(not traces(), f"no real traces in {report_files.DATA}: set XSP_TEST_DATA")
class EveryTraceTest(test_report_tables.ReportTablesTest):
    def page_of(self, source):
        """The trace and its page, or None where no importer takes it."""
        path = pathlib.Path(report_files.folder()) / f"{source.parent.name}-{source.name[:60]}.xsp"
        if xsp("import", source, "-o", path, "--force").returncode != 0:
            return None
        return path, report_files.report(path)

    def test_every_trace(self):
        opened = 0
        for number, source in enumerate(traces()):
            files = self.page_of(source)
            if files is None:
                continue
            with self.subTest(source.name):
                opened += 1
                window = self.open(files[1], size=SIZES[number % 3], scheme=("light", "dark")[number % 2])
                for name in PAGES:
                    window.open_page(name)
                    self.assertEqual(window.cut_off() + browser.violations(window), [], name)
                self.check_tables(*files)
                self.quiet()
            for window in self.windows:
                window.close()
            self.windows.clear()
        self.assertGreater(opened, 5)


del test_report_tables.ReportTablesTest  # its own tests run elsewhere


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Each export, imported again: what comes back is what docs/importers.md states. With --update: writes its table."""
import sys
import unittest

import formats
import round_trips


class RoundTrips(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.table = round_trips.table()

    def test_the_table_is_that_of_the_page(self):
        self.assertEqual(formats.PAGE.read_text(encoding="utf-8"), formats.page_with(self.table, round_trips.BEGIN, round_trips.END))

    def test_what_must_come_back(self):
        """Whatever the page states: OpenTelemetry's form is complete but for samples, timelines have all spans, pprof their sums."""
        rows = {row.split("|")[1].strip(" `"): [cell.strip() for cell in row.split("|")[2:-1]] for row in self.table.splitlines()[2:]}
        self.assertEqual(rows["otlp"][1:], rows["otlp-proto"][1:])
        for name in ("otlp", "perfetto", "chrome"):
            self.assertEqual(rows[name][1:4], ["same"] * 3, name)
        self.assertEqual(rows["pprof"][1:4], ["sums"] * 3)


if __name__ == "__main__":
    if "--update" in sys.argv:
        formats.PAGE.write_text(formats.page_with(round_trips.table(), round_trips.BEGIN, round_trips.END), encoding="utf-8")
    else:
        unittest.main()

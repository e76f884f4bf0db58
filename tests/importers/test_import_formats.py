# SPDX-License-Identifier: Apache-2.0
"""docs/importers.md lists each format with the analyses that it answers and the limits of its writers. With --update: writes it."""
import sys
import unittest

import formats


class Formats(unittest.TestCase):
    maxDiff = None

    def test_each_format_has_a_row(self):
        self.assertEqual(sorted(formats.formats()), sorted(formats.WRITERS))

    def test_the_table_is_that_of_the_page(self):
        """What the inputs of the fuzz corpora answer."""
        page = formats.PAGE.read_text(encoding="utf-8")
        self.assertEqual(page, formats.page_with(formats.table()))


if __name__ == "__main__":
    if "--update" in sys.argv:
        formats.PAGE.write_text(formats.page_with(formats.table()), encoding="utf-8")
    else:
        unittest.main()

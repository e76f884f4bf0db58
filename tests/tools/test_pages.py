# SPDX-License-Identifier: Apache-2.0
"""docs/README.md leads to every page, each page to files that exist, and .gitattributes names what is there."""
import os
import pathlib
import re
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


if __name__ == "__main__":
    unittest.main()

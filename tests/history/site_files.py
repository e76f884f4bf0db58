# SPDX-License-Identifier: Apache-2.0
"""Sites that `xsp publish` wrote, read without a browser; names that strangers could choose."""
import hashlib
import html.parser
import subprocess
from urllib.parse import unquote

from history_files import HistoryTest
from scripted import XSP

HOSTILE = ("</script><script>alert(1)</script>", "../../../../tmp/evil", "\"><img src=x onerror=alert(1)>", "a" * 5000, "javascript:alert(1)",
           "index.html", "..", "/etc/passwd", "x\n\t\x01\x7f", "\u202emodel", "%2e%2e%2f", "&lt;b&gt;")


class Page(html.parser.HTMLParser):
    """Links, scripts, styles, and the cells of tables by their id."""

    def __init__(self, path):
        super().__init__()
        self.links, self.tags, self.tables, self.cell, self.policy, self.heading = [], [], {}, None, None, ""
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag == "a":
            self.links.append(attributes["href"])
        if tag == "meta" and "http-equiv" in attributes:
            self.policy = attributes["content"]
        if tag == "table":
            self.rows = self.tables.setdefault(attributes.get("data-table"), [])
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.cell = attributes.get("data-value")
            self.rows[-1][-1] = self.cell or ""
        self.last = tag

    def handle_data(self, data):
        if getattr(self, "last", None) in ("td", "th", "a", "time", "span", "small") and self.cell is None and self.tables and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data
        if getattr(self, "last", None) == "h1":
            self.heading += data


def tree(folder):
    """What is in a folder: names and contents, without a publisher's own."""
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*"))
            if path.is_file() and ".xsp-publish" not in path.parts}


class SiteTest(HistoryTest):
    def setUp(self):
        super().setUp()
        self.site = self.folder / "site"

    def publish(self, *arguments, status=0, **options):
        done = subprocess.run([XSP, "publish", self.site, *map(str, arguments or [self.files])], capture_output=True, text=True, timeout=300,
                              check=False, **options)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        return done

    def pages(self):
        return sorted(self.site.rglob("*.html"))

    def check_links(self):
        """Each leads to a page of the site, and each page has a link to it."""
        found = {self.site / "index.html"}
        for path in self.pages():
            if path.parent.name == "reports":
                continue
            for link in Page(path).links:
                target = (path.parent / unquote(link)).resolve()
                self.assertTrue(target.is_file() and target.is_relative_to(self.site.resolve()), link)
                found.add(target)
        self.assertEqual({path.resolve() for path in self.pages()}, {path.resolve() for path in found})

# SPDX-License-Identifier: Apache-2.0
"""xsp publish: the pages and their figures; names of strangers; and that nobody else's file, and no old page, is lost."""
import fcntl
import os
import resource
import signal
import sqlite3
import subprocess
import time
import unittest

from history_files import evaluated, write
from scripted import XSP
from site_files import HOSTILE, Page, SiteTest, tree


class Content(SiteTest):
    def test_pages(self):
        self.zoo()
        self.publish()
        names = [str(path.relative_to(self.site)) for path in self.pages()]
        self.assertEqual({kind: sum(name.startswith(kind) for name in names) for kind in ("index", "models/", "systems/", "reports/")},
                         {"index": 1, "models/": 2, "systems/": 2, "reports/": 16})
        self.check_links()

    def test_figures_are_those_of_the_history(self):
        self.zoo()
        self.publish()
        table = self.table(self.files)
        head, *rows = Page(self.site / "index.html").tables["list"]
        for row, expected in zip(reversed(rows), table["rows"], strict=True):
            cells = dict(zip(head, row, strict=True))
            self.assertEqual((cells["model"], cells["host"], cells["framework"]), (expected["model"], expected["host"], expected["framework"]))
            self.assertEqual([float(cells[label]) for label in ("top 1 %", "latency ms", "throughput 1/s", "batch")],
                             [expected[key] for key in ("top1_pct", "latency_ms", "throughput_per_s", "batch")])
        resnet, = (path for path in self.pages() if path.name.startswith("resnet-") and path.parent.name == "models")
        self.assertEqual(len(Page(resnet).tables["list"]), 1 + 12)
        self.assertEqual(Page(resnet).tables["latency"][1][-1], "2")

    def test_the_policy_allows_nothing_from_elsewhere(self):
        self.zoo()
        self.publish()
        for path in self.pages():
            if path.parent.name != "reports":
                page = Page(path)
                self.assertNotIn("unsafe", page.policy)
                self.assertTrue(page.policy.startswith("default-src 'none'; script-src 'sha256-"), page.policy)
                self.assertEqual([tag for tag, attributes in page.tags if "style" in attributes or "src" in attributes or tag == "link"], [])

    def test_constraints_choose(self):
        self.zoo()
        self.publish(self.files, "--model", "vgg", "--system", "alpha")
        self.assertEqual({path.parent.name: len(list(path.parent.glob("*.html"))) for path in self.pages()},
                         {"site": 1, "models": 1, "systems": 1, "reports": 2})
        self.publish(self.files, self.files / "vgg-openvino-beta.xsp")  # twice
        self.publish(self.files, "--without-reports")
        self.assertEqual(list((self.site / "reports").iterdir()), [])
        self.check_links()

    def test_names_of_strangers(self):
        for number, name in enumerate(HOSTILE):
            path = write(self.files / f"{number}.xsp", [3.0] * 9, number, host="h", evaluation=evaluated(50 + number, 3 + number))
            with sqlite3.connect(path) as database:
                for table in ("workload", "system"):
                    database.execute(f"update {table} set value = ? where key in ('model_name', 'host', 'cpu_model')", (name,))
                database.execute("update experiment set framework = ?", (name,))
                database.execute("update evaluation set value = ? where key = 'data_set'", (name,))
                database.execute("insert into evaluation values (1, ?, 1.5)", (name,))
        before = tree(self.folder)
        self.publish()
        after = {name: value for name, value in tree(self.folder).items() if not name.startswith("site/")}
        self.assertEqual((before, os.path.exists("/tmp/evil")), (after, False))
        self.check_links()
        for path in self.pages():
            self.assertRegex(path.name, r"^[a-z0-9-][a-z0-9.-]*\.html$")
            self.assertLess(len(path.name), 80)
            if path.parent.name != "reports":
                page = Page(path)
                self.assertEqual([tag for tag, attributes in page.tags if tag in ("img", "b") or any(name.startswith("on") for name in attributes)], [])
                self.assertEqual(sum(tag == "script" for tag, _ in page.tags), 1)


class Folder(SiteTest):
    def setUp(self):
        super().setUp()
        write(self.files / "a.xsp", [3.0] * 9, name="first")
        write(self.files / "b.xsp", [4.0] * 9, 1, name="second", host="beta")

    def test_files_of_others_stay(self):
        self.publish()
        others = [self.site / "notes.txt", self.site / "models" / "mine.html", self.site / "reports" / ".keep"]
        for path in others:
            path.write_text("mine")
        (self.files / "b.xsp").unlink()
        self.publish()
        self.assertEqual([path.read_text() for path in others], ["mine"] * 3)
        self.assertEqual([path.name[:5] for path in sorted((self.site / "models").iterdir())], ["first", "mine."])
        self.assertEqual((len(list((self.site / "reports").glob("*.html"))), len(list((self.site / "systems").iterdir()))), (1, 1))

    def test_a_page_of_another_is_not_replaced(self):
        self.site.mkdir()
        (self.site / "index.html").write_text("mine")
        before = tree(self.site)
        self.assertIn("did not write it", self.publish(status=2).stderr)
        self.assertEqual((tree(self.site), sorted(os.listdir(self.site))), (before, ["index.html"]))

    def test_a_list_that_lies(self):
        """Lines of it name what to remove; only names of pages count."""
        victim = self.folder / "victim.html"
        victim.write_text("mine")
        self.publish()
        with open(self.site / ".xsp-site", "a") as file:
            file.write("../victim.html\nmodels/../../victim.html\n/etc/x.html\nmodels/UPPER.html\n\n" + "x" * 100000 + "\n")
        self.publish()
        self.assertEqual(victim.read_text(), "mine")
        (self.site / ".xsp-site").unlink()
        os.mkfifo(self.site / ".xsp-site")
        self.publish(status=2)

    def test_places_that_are_none(self):
        (self.folder / "file").write_text("x")
        for place in (self.folder / "file", self.folder / "missing" / "site"):
            done = subprocess.run([XSP, "publish", place, self.files], capture_output=True, text=True, timeout=600, check=False)
            self.assertIn(done.returncode, (2, 3))
            self.assertEqual(len(done.stderr.splitlines()), 1)
        self.site.mkdir()
        (self.site / "models").symlink_to(self.folder)
        self.assertIn("not a folder", self.publish(status=2).stderr)
        self.assertEqual(list(self.folder.glob("*.html")), [])

    def test_two_at_once(self):
        self.publish()
        (self.site / ".xsp-publish").mkdir()
        descriptor = os.open(self.site / ".xsp-publish", os.O_RDONLY)
        self.addCleanup(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        before = tree(self.site)
        self.assertIn("another xsp", self.publish(status=2).stderr)
        self.assertEqual(tree(self.site), before)

    def test_a_killed_one_leaves_the_old_site(self):
        self.publish()
        before = tree(self.site)
        for number in range(40):
            write(self.files / f"more{number}.xsp", [5.0] * 9, number, name=f"model{number}")
        process = subprocess.Popen([XSP, "publish", self.site, self.files], stderr=subprocess.DEVNULL)
        staged = self.site / ".xsp-publish" / "reports"
        while not (staged.is_dir() and any(staged.iterdir())):
            self.assertIsNone(process.poll())
            time.sleep(0)
        process.send_signal(signal.SIGKILL)
        self.assertEqual(process.wait(600), -signal.SIGKILL)
        self.assertEqual(tree(self.site), before)
        self.publish()
        self.assertEqual(len(list((self.site / "models").iterdir())), 42)
        self.assertFalse((self.site / ".xsp-publish").exists())
        self.check_links()

    def test_a_full_disk_leaves_the_old_site(self):
        self.publish()
        before = tree(self.site)
        write(self.files / "c.xsp", [5.0] * 9, 3, name="third")

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))
        done = self.publish(status=3, preexec_fn=limit)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertEqual((tree(self.site), (self.site / ".xsp-publish").exists()), (before, False))

    def test_nothing_to_publish(self):
        self.publish()
        before = tree(self.site)
        self.publish(self.files, "--model", "none", status=1)
        self.assertEqual(tree(self.site), before)


if __name__ == "__main__":
    unittest.main()

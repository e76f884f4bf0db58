# SPDX-License-Identifier: Apache-2.0
"""The site of xsp publish in real Chromium: sort, filter, follow links, plots with their numbers, accessibility, names of strangers."""
import sqlite3
import unittest

from browser import BrowserTest, violations
from history_files import evaluated, write
from site_files import HOSTILE, SiteTest


class Browser(BrowserTest, SiteTest):
    def setUp(self):
        SiteTest.setUp(self)
        BrowserTest.setUp(self)
        self.zoo()
        for day in range(6):
            write(self.files / f"net{day}.xsp", [10.0 + 2 * (day > 3), 10.1 + 2 * (day > 3)] * 6, day)
        self.publish()

    def page(self, folder, name):
        found, = (self.site / folder).glob(f"{name}-{'?' * 16}.html")
        return found

    def column(self, window, label, table="list"):
        """The cells of a column, of rows that are shown."""
        return window.page.evaluate("""([id, label]) => {
          const table = document.querySelector(`table[data-table=${id}]`);
          const at = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent.startsWith(label));
          return [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.cells[at].textContent);
        }""", [table, label])

    def test_sort_and_filter(self):
        window = self.open(self.site / "index.html")
        head = window.page.locator("table[data-table=list] th", has_text="top 1")
        for direction, is_falling in (("ascending", False), ("descending", True)):
            head.get_by_role("button").click()
            self.assertEqual(head.get_attribute("aria-sort"), direction)
            values = self.column(window, "top 1")
            known = [float(value) for value in values if value != "–"]
            self.assertEqual((known, len(known), values[len(known):]), (sorted(known, reverse=is_falling), 16, ["–"] * 6))
        window.page.locator("table[data-table=list] th", has_text="model").first.get_by_role("button").press("Enter")
        models = self.column(window, "model")
        self.assertEqual(models, sorted(models))
        window.page.get_by_role("searchbox").first.fill("OpenVINO beta")
        self.assertEqual((set(self.column(window, "framework")), set(self.column(window, "host")), len(self.column(window, "host"))),
                         ({"openvino"}, {"beta"}, 4))
        self.assertEqual(window.page.get_by_role("status").first.inner_text(), "4 of 22 rows")
        window.page.get_by_role("searchbox").first.fill("")
        self.assertEqual(len(self.column(window, "model")), 22)

    def test_links(self):
        window = self.open(self.site / "index.html")
        for name, heading in (("resnet", "resnet"), ("All evaluations", "Evaluations"), ("beta", "beta"), ("All evaluations", "Evaluations")):
            window.page.get_by_role("link", name=name, exact=True).first.click()
            window.page.get_by_role("heading", level=1, name=heading, exact=True).wait_for()
        window.page.get_by_role("link", name="open").first.click()
        window.page.locator("main#page-overview").wait_for()
        for problem in window.problems:
            self.assertRegex(problem, rf"^request: {self.site.resolve().as_uri()}/(index|(models|systems|reports)/[a-z0-9.-]+)\.html")
        window.problems.clear()

    def test_labels_of_axes_are_apart(self):
        for number in range(2):
            write(self.files / f"tiny{number}.xsp", [0.00384 + 0.0006 * number] * 5, number * 6 / 86400, name="tiny")
        self.publish()
        labels = self.open(self.page("models", "tiny")).page.locator("figure", has_text="over time").locator("svg[role=img] text")
        boxes = [(labels.nth(number).text_content(), labels.nth(number).bounding_box()) for number in range(labels.count())]
        self.assertEqual(len({text for text, _ in boxes}), len(boxes), "no two are the same")
        for at, (text, a) in enumerate(boxes):
            for other, b in boxes[at + 1:]:
                self.assertTrue(a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"] or a["y"] + a["height"] <= b["y"] or
                                b["y"] + b["height"] <= a["y"], (text, a, other, b))

    def test_plots_have_their_numbers(self):
        window = self.open(self.page("models", "net"))
        figure = window.page.locator("figure", has_text="over time")
        self.assertEqual(figure.locator("svg[role=img] circle").count(), 6)
        figure.get_by_text("Numbers").click()
        self.assertEqual(figure.locator("tbody tr td:last-child").all_inner_texts(), ["10.05"] * 4 + ["12.05"] * 2)
        self.assertIn("slower", self.column(window, "verdict"))
        figures = self.open(self.page("models", "resnet")).page.locator("figure")
        self.assertEqual([figures.nth(number).locator("svg[role=img] circle").count() for number in range(3)], [4, 12, 12])

    def test_a_profile_is_no_evaluation(self):
        """Of one batch size both have a latency: two lines, none of them upright."""
        write(self.files / "profile.xsp", [4.0] * 9, name="both")
        write(self.files / "evaluation.xsp", [5.0] * 9, name="both", evaluation=evaluated(80, 5))
        self.publish()
        figure = self.open(self.page("models", "both")).page.locator("figure", has_text="over batch sizes")
        self.assertEqual(len(set(figure.locator(".legend li").all_inner_texts())), 2)

    def test_circles_show_graph_sizes(self):
        """A graph of four times the bytes has a circle of twice the radius; one of unknown size has the smallest."""
        for name, size in (("small", 10_000_000), ("large", 40_000_000)):
            write(self.files / f"{name}.xsp", [5.0] * 9, name=name, evaluation=evaluated(80, 5), workload={"graph_bytes": size})
        self.publish()
        figure = self.open(self.site / "index.html").page.locator("figure", has_text="areas are graph sizes")
        circles = figure.locator("svg[role=img] circle")
        radii = {circles.nth(number).text_content(): float(circles.nth(number).get_attribute("r")) for number in range(circles.count())}
        of = {name: [radius for title, radius in radii.items() if title.startswith(f"{name},")] for name in ("small", "large", "resnet")}
        self.assertEqual((of["small"][0] * 2, of["large"]), (of["large"][0], [18]))
        self.assertEqual(of["resnet"], [4] * 4)
        figure.get_by_text("Numbers").click()
        sizes = figure.locator("tbody tr td:last-child").all_inner_texts()
        self.assertEqual(sorted(sizes), [""] * 8 + ["10", "40"])

    def test_speed_ups_have_colours(self):
        window = self.open(self.site / "index.html")
        self.assertEqual({cell.get_attribute("class") for cell in window.page.locator("table[data-table=systems] td[class*=slower]").all()},
                         {"number slower3"})
        self.assertEqual(window.page.locator("table[data-table=systems] td[class*=faster]").count(), 0)

    def test_every_page_is_accessible(self):
        for path in (self.site / "index.html", self.page("models", "resnet"), self.page("systems", "alpha")):
            for size, scheme in (((1440, 900), "light"), ((390, 844), "dark")):
                with self.subTest(path.name, size=size):
                    window = self.open(path, size=size, scheme=scheme, offline=True)
                    self.assertEqual((violations(window), window.cut_off()), ([], []))
                    first, second = (window.page.locator("figure").nth(number).bounding_box() for number in range(2))
                    self.assertEqual(first["y"] == second["y"], size[0] > 1200)

    def test_names_of_strangers(self):
        """No script of theirs runs."""
        for number, name in enumerate(HOSTILE):
            path = write(self.files / f"hostile{number}.xsp", [3.0] * 9, number, evaluation=evaluated(50, 3))
            with sqlite3.connect(path) as database:
                database.execute("update workload set value = ? where key = 'model_name'", (name,))
                database.execute("update experiment set framework = ?", (name,))
        self.publish()
        models = [path for path in self.pages() if path.parent.name == "models" and path.name[:3] in ("--s", "---", "aaa")]
        self.assertEqual(len(models), 4)
        for path in (self.site / "index.html", *models):
            self.assertEqual(self.open(path, size=(390, 844)).cut_off(), [])


if __name__ == "__main__":
    unittest.main()

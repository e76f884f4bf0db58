# SPDX-License-Identifier: Apache-2.0
"""The report's page in real Chromium: every page opens without an error, fits at three sizes, is accessible, runs
only its own script, requests nothing, and reports when it is damaged."""
import itertools
import re
import unittest

import browser
import report_files
from browser import PAGES, SIZES, violations
from report_files import HOSTILE
from scripted import asynchronous, leveled


class ReportPageTest(browser.BrowserTest):
    def check_pages(self, page, size, scheme, is_accessible=True):
        window = self.open(page, size=size, scheme=scheme)
        found = []
        for name in PAGES:
            window.open_page(name)
            self.assertGreater(len(window.text().strip()), 20, f"{name} is empty")
            found += [f"{name}: {line}" for line in window.cut_off() + (violations(window) if is_accessible else [])]
        self.assertEqual(found, [], f"{size} {scheme}")
        self.quiet()

    def test_pages_are_whole_and_accessible(self):
        _, page = report_files.profiled()
        for size, scheme, is_accessible in zip(SIZES, ("light", "dark", "light"), (False, True, True)):
            with self.subTest(size=size, scheme=scheme):
                self.check_pages(page, size, scheme, is_accessible)

    def test_pages_with_rooflines_and_streams(self):
        self.check_pages(report_files.written(report_files.metrics, "metrics")[1], SIZES[2], "dark")

    def test_imported_traces(self):
        for (name, size) in zip(report_files.IMPORTED, SIZES):
            with self.subTest(name):
                files = report_files.imported(name)
                if files is None:
                    self.skipTest(f"no real traces in {report_files.DATA}: set XSP_TEST_DATA")
                self.check_pages(files[1], size, "light")

    def test_drawings_fit_on_paper(self):
        """Print layout does not draw anew: drawings shrink with the page."""
        _, page = report_files.written(report_files.metrics, "metrics")
        window = self.open(page)
        for name in ("overview", "layers", "kernels", "roofline", "batch", "memory", "runs"):
            window.page.emulate_media(media="screen")
            window.open_page(name)
            window.page.emulate_media(media="print")
            window.frames(4)
            wide = window.page.evaluate("""() => {
              document.body.style.width = "500px";
              const drawings = [...document.querySelectorAll("main canvas, main svg.chart")];
              const wide = drawings.map((one) => one.getBoundingClientRect().right).filter((right) => right > 500);
              document.body.style.width = "";
              return wide;
            }""")
            self.assertEqual(wide, [], name)

    def test_hostile_names_are_text(self):
        """No text of a trace becomes an element or runs; each name is shown unchanged."""
        _, page = report_files.written(report_files.hostile, "hostile")
        window = self.open(page)
        for name in PAGES:
            window.open_page(name)
            elements = window.page.evaluate("""() => [...document.querySelectorAll("#app *")].filter((element) =>
              /^(SCRIPT|IFRAME|IMG|STYLE|OBJECT|EMBED|LINK|META|BASE)$/.test(element.tagName) ||
              [...element.attributes].some((one) => /^on/.test(one.name) ||
                /^(href|src|action|formaction)$/.test(one.name) && /^\\s*javascript:/i.test(one.value))
              ).map((element) => element.outerHTML)""")
            self.assertEqual(elements, [], name)
        window.open_page("layers")
        layers = [row["layer_name"] for row in browser.rows_of(window.table("A2"))]
        self.assertEqual(layers, list(HOSTILE))
        texts = [row[1]["text"] for row in window.table("A2")["rows"]]
        self.assertEqual([text.strip() for text in texts], list(HOSTILE))
        self.assertEqual(window.page.title().count(HOSTILE[0]), 1)
        self.assertTrue(window.page.evaluate("() => ({}).constructor === Object && [].__proto__ === Array.prototype"))

    def test_foreign_script_and_style_do_not_run(self):
        """The content security policy works: injected content does nothing, and the browser reports it."""
        _, page = report_files.written(leveled, "leveled")
        window = self.open(page)
        ran = window.page.evaluate("""async () => {
          const seen = [];
          document.addEventListener("securitypolicyviolation", (event) => seen.push(event.effectiveDirective));
          const script = document.createElement("script");
          script.textContent = "window.evil = 1";
          document.body.append(script);
          const holder = document.createElement("div");
          holder.innerHTML = "<i style='color: rgb(1, 2, 3)'>x</i><img src='https://example.org/x.png'>";
          document.body.append(holder);
          const color = getComputedStyle(holder.firstChild).color;
          const fetched = await fetch("https://example.org/").then(() => true, () => false);
          for (let i = 0; i < 50 && new Set(seen).size < 4; i++) await new Promise(requestAnimationFrame);
          holder.remove();
          return {evil: window.evil === 1, color, fetched, seen: [...new Set(seen)].sort()};
        }""")
        self.assertEqual((ran["evil"], ran["fetched"]), (False, False))
        self.assertNotEqual(ran["color"], "rgb(1, 2, 3)")
        self.assertEqual(ran["seen"], ["connect-src", "img-src", "script-src-elem", "style-src-attr"])
        self.assertTrue(window.problems, "the browser said nothing of it")
        window.problems.clear()

    def test_nothing_is_loaded(self):
        _, page = report_files.profiled()
        window = self.open(page, offline=True)
        for name in PAGES:
            window.open_page(name)
        self.assertEqual([url for url in window.requests if not re.match("data:|blob:", url)], [window.url])

    def test_a_file_that_was_cut_short_says_so(self):
        _, page = report_files.profiled()
        text = page.read_text(encoding="utf-8")
        parts = [match.start() for match in re.finditer(r'<script type="application/octet-stream"', text)]
        self.assertGreater(len(parts), 6)
        script = re.search(r'<script type="module"', text).start()
        if script < parts[0]:  # the page's own script comes first: the rest may be missing
            broken = {"after the document": text[:parts[1]], "inside of a run": text[:parts[3] + 300]}
        else:
            end = max(match.end() for match in re.finditer(r"</script>", text[:script]))
            broken = {"without runs": text[:parts[1]] + text[end:],
                      "without the document": text[:parts[0]] + text[parts[1]:]}
        for name, content in broken.items():
            with self.subTest(name):
                path = report_files.folder() / f"broken-{len(content)}.html"
                path.write_text(content, encoding="utf-8")
                window = self.open(path, "#page=timeline")
                window.page.get_by_role("alert").wait_for()
                self.assertRegex(window.page.get_by_role("alert").inner_text(), "cut short|damaged")

    def test_a_file_cut_anywhere_says_one_thing(self):
        _, page = report_files.profiled()
        text = page.read_text(encoding="utf-8")
        parts = {match[1]: match.start() for match in re.finditer(r'<script type="application/octet-stream" id="([^"]*)"', text)}
        tags = [at for name, at in parts.items() if "-tags-" in name]
        self.assertGreater(min(tags), parts["xsp-document"], "tags are not last: opening waits for them")
        cuts = [parts["xsp-0-gap"] - 2, parts["xsp-0-gap"] + 80, parts["xsp-document"] + 100, tags[0] - 1, tags[-1] + 100,
                text.index('id="xsp-end"') - 30]
        for cut, name in zip(cuts, itertools.cycle(("overview", "timeline"))):
            with self.subTest(cut=cut, page=name):
                path = report_files.folder() / "cut.html"
                path.write_text(text[:cut], encoding="utf-8")
                window = self.open(path, f"#page={name}")
                window.page.get_by_role("alert").wait_for()
                self.assertEqual(window.page.get_by_role("alert").all_inner_texts(),
                                 ["this report is damaged: it was cut short; write it again with xsp report"])
                window.close()
                self.windows.remove(window)

    def test_theme_is_the_systems_until_it_is_chosen(self):
        _, page = report_files.written(leveled, "leveled")
        lightness = "() => getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).slice(0, 3).map(Number)"
        window = self.open(page, scheme="dark")
        dark = window.page.evaluate(lightness)
        self.assertLess(sum(dark), 200)
        window.page.get_by_role("button", name=re.compile("light", re.I)).first.click()
        window.frames()
        self.assertGreater(sum(window.page.evaluate(lightness)), 600)
        for name in PAGES:
            window.open_page(name)
            self.assertEqual(violations(window), [], name)

    def test_print_is_on_white_without_controls(self):
        _, page = report_files.profiled()
        window = self.open(page, scheme="dark")
        for name in ("overview", "layers", "runs"):
            window.open_page(name)
            window.page.emulate_media(media="print")
            window.frames()
            background = window.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
            self.assertIn(background, ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"), name)
            seen = window.page.get_by_role("navigation", name="Pages")
            self.assertEqual(seen.count() and seen.is_visible(), 0 if not seen.count() else False, name)
            window.page.emulate_media(media="screen")
        self.assertGreater(len(window.page.pdf(format="A4")), 10_000)

    def test_keys_alone_reach_everything(self):
        _, page = report_files.profiled()
        window = self.open(page)
        reached = set()
        for _ in range(40):
            window.page.keyboard.press("Tab")
            reached.add(window.page.evaluate("""() => {
              const one = document.activeElement;
              if (one === document.body) return "|true"; // once around
              const style = getComputedStyle(one);
              const box = one.getBoundingClientRect();
              const seen = style.outlineStyle !== "none" && style.outlineWidth !== "0px" || style.boxShadow !== "none";
              return `${one.getAttribute("aria-label") ?? one.innerText}|${box.width > 0 && seen}`; }"""))
        names = {line.rsplit("|", 1)[0].strip() for line in reached}
        for name in PAGES:
            self.assertIn(name.capitalize(), names)
        self.assertEqual({line for line in reached if line.endswith("|false")}, set(), "focus that is not seen")
        window.page.evaluate("() => document.activeElement.blur()")  # a field would take the digits
        for number, name in enumerate(PAGES[:9], 1):
            window.page.keyboard.press(str(number))
            window.page.locator(f"main#page-{name}").wait_for()
        window.page.get_by_role("navigation", name="Pages").get_by_role("link", name="Kernels").focus()
        window.page.keyboard.press("Enter")
        window.page.locator("main#page-kernels").wait_for()

    def test_help_opens_and_closes_by_keys(self):
        _, page = report_files.written(leveled, "leveled")
        window = self.open(page)
        window.page.keyboard.press("?")
        dialog = window.page.get_by_role("dialog")
        dialog.wait_for()
        self.assertEqual(violations(window), [])
        for key in ("W", "Esc", "?", "/"):
            self.assertIn(key, dialog.inner_text())
        self.assertTrue(window.page.evaluate("() => document.querySelector('dialog').contains(document.activeElement)"))
        window.page.keyboard.press("Escape")
        dialog.wait_for(state="hidden")

    def test_pages_go_back_and_forward_with_their_state(self):
        _, page = report_files.profiled()
        window = self.open(page)
        window.open_page("layers")
        window.section("A2").locator('th[data-key="latency_ms"] button').click()
        state = window.state()
        window.open_page("runs")
        window.open_page("kernels")
        for name in ("runs", "layers"):
            window.page.go_back()
            window.page.locator(f"main#page-{name}").wait_for()
        self.assertEqual(window.state(), state)
        for name in ("runs", "kernels"):
            window.page.go_forward()
            window.page.locator(f"main#page-{name}").wait_for()

    def test_several_files_in_one_page(self):
        first, _ = report_files.written(leveled, "leveled")
        second, _ = report_files.written(asynchronous, "asynchronous")
        page = report_files.report([first, second], "both")
        window = self.open(page)
        self.assertIn("leveled.xsp", window.page.inner_text("body") + window.page.content())
        self.assertIn("asynchronous.xsp", window.page.inner_text("body") + window.page.content())
        for name in PAGES:
            window.open_page(name)
        self.assertEqual(violations(window), [])


if __name__ == "__main__":
    unittest.main()

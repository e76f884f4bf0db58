# SPDX-License-Identifier: Apache-2.0
"""Real Chromium for the tests of the report's page: launched once per process, opens reports from disk, reads the tables on
the screen. A message in the console, an error of the script and a request for anything but the file itself fail the test."""
import atexit
import functools
import os
import pathlib
import re
import shutil
import unittest

PAGES = ("overview", "timeline", "flame", "lines", "layers", "kernels", "roofline", "batch", "memory", "runs")
SIZES = ((1920, 1080), (1280, 800), (400, 850))
WAIT_MS = 600_000  # bounds what hangs


def program():
    """XSP_CHROMIUM, else the first browser of PATH, or None."""
    names = [os.environ.get("XSP_CHROMIUM")] if os.environ.get("XSP_CHROMIUM") else \
        ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
    return next((path for path in map(shutil.which, names) if path), None)


@functools.cache
def missing():
    """The reason why there is no browser, or None."""
    if os.environ.get("XSP_SANITIZE"):
        return "the page is the same in a build with a sanitizer: it is tested in the plain one"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError as error:
        return f"no Playwright ({error}): make setup"
    return None if program() else "no Chromium: neither XSP_CHROMIUM nor chromium or google-chrome in PATH; make setup"


def playwright_error():
    from playwright.sync_api import Error
    return Error


@functools.cache
def chromium():
    from playwright.sync_api import sync_playwright
    playwright = sync_playwright().start()
    # As root, which CI often is, Chromium's sandbox refuses to work; what it opens here is our own file.
    browser = playwright.chromium.launch(executable_path=program(), args=["--no-sandbox", "--disable-gpu"])

    def close():
        browser.close()
        playwright.stop()
    atexit.register(close)
    return browser


READ_TABLES = """async (wanted) => {
  const frame = () => new Promise(requestAnimationFrame);
  const read = async (section) => {
    const table = section.querySelector("table"), box = table.parentElement;
    const keys = [...table.querySelectorAll("th")].map((head) => head.dataset.key);
    const heads = [...table.querySelectorAll("th button")].map((head) => head.firstChild.textContent);
    const total = Number(table.getAttribute("aria-rowcount")) - 1, rows = new Map();
    const was = box.scrollTop;
    box.scrollTop = 0;
    for (let steps = 0; rows.size < total && steps < 1000; steps++) {
      await frame(); await frame();
      for (const row of table.querySelectorAll("tbody tr[aria-rowindex]"))
        rows.set(Number(row.getAttribute("aria-rowindex")) - 2,
                 [...row.children].map((cell) => ({title: cell.title, text: cell.innerText})));
      if (rows.size < total) box.scrollTop += box.clientHeight;
    }
    box.scrollTop = was;
    return {id: section.dataset.table, caption: section.getAttribute("aria-label"), keys, heads, total,
            rows: [...rows].sort((a, b) => a[0] - b[0]).map(([, cells]) => cells)};
  };
  const tables = [];
  for (const section of document.querySelectorAll("[data-table]"))
    if (wanted === null || section.dataset.table === wanted) tables.push(await read(section));
  return tables;
}"""

# What a reader would see as broken: the page wider than the window, controls out of reach, text cut without a way to have it.
CUT_OFF = """() => {
  const found = [], width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width + 1)
    found.push(`the page is ${document.documentElement.scrollWidth} px wide in a window of ${width}`);
  for (const element of document.querySelectorAll("button, select, input, a, h1, h2, h3, p, dt, dd, summary")) {
    const box = element.getBoundingClientRect();
    if (box.width <= 1) continue;
    let left = 0, right = width, isNamed = false, scrolls = false;
    for (let one = element; one && one !== document.body; one = one.parentElement) {
      const overflow = getComputedStyle(one).overflowX, limits = one.getBoundingClientRect();
      isNamed ||= one.title !== "" || one.hasAttribute("aria-label") && one.matches("button, a, [role=img]");
      scrolls ||= one !== element && /auto|scroll/.test(overflow);
      if (/hidden|clip/.test(overflow)) { left = Math.max(left, limits.left); right = Math.min(right, limits.right); }
    }
    const style = getComputedStyle(element);
    const isCut = box.right > right + 1 || box.left < left - 1 ||
      /hidden|clip/.test(style.overflowX) && element.scrollWidth > element.clientWidth + 1;
    if (isCut && !isNamed && !scrolls)
      found.push(`${element.tagName} "${element.innerText.slice(0, 40)}" is cut: ${box.left} to ${box.right} in ${left} to ${right}`);
  }
  return found;
}"""


class Shown:
    """A report in a window of its own: a file, or the address of a server's page, which asks its server for parts."""

    def __init__(self, path, fragment="", size=(1280, 800), scheme="light", offline=False, **context):
        self.is_served = str(path).startswith("http://")
        self.path, self.url = (None, path) if self.is_served else (pathlib.Path(path), pathlib.Path(path).resolve().as_uri())
        self.problems, self.requests = [], []
        self.context = chromium().new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme,
                                              offline=offline, **context)
        self.context.set_default_timeout(WAIT_MS)
        self.page = self.context.new_page()
        self.page.on("console", self.on_console)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("dialog", self.on_dialog)
        self.page.on("request", self.on_request)
        self.page.goto(self.url + fragment)
        self.wait()

    def on_console(self, message):
        if message.type in ("error", "warning"):
            self.problems.append(f"console: {message.text}")

    def on_dialog(self, dialog):
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def on_request(self, request):
        self.requests.append(request.url)
        is_part = self.is_served and request.url.startswith(f"{self.url}/")
        if request.url.split("#")[0] != self.url and not is_part and not re.match(r"data:|blob:", request.url):
            self.problems.append(f"request: {request.url}")

    def close(self):
        self.context.close()

    def wait(self):
        """Waits until the page is unpacked and drawn, or reports an error."""
        self.page.locator("main:not([aria-busy=true]), [role=alert]").first.wait_for()
        self.frames()

    def frames(self, count=2):
        """Waits for this many frames: changes of signals are then in the document."""
        self.page.evaluate("async (count) => { for (let i = 0; i < count; i++) await new Promise(requestAnimationFrame); }", count)

    def go(self, fragment):
        """Follows a link to another state of the same page."""
        self.page.evaluate("(hash) => { location.hash = hash; }", fragment)
        self.wait()

    def open_page(self, name):
        self.page.get_by_role("navigation", name="Pages").get_by_role("link", name=name.capitalize(), exact=True).click()
        self.page.locator(f"main#page-{name}").wait_for()
        self.wait()

    def state(self):
        """The fragment of the URL as a dict, once it has the state of the page (it is written a moment later)."""
        self.page.evaluate("() => new Promise((done) => setTimeout(done, 200))")
        return dict(self.page.evaluate("() => [...new URLSearchParams(location.hash.slice(1))]"))

    def tables(self, table_id=None):
        """The tables of the page shown, or those of this id: id, caption, keys, heads, rows of {title, text}."""
        return self.page.evaluate(READ_TABLES, table_id)

    def table(self, table_id):
        self.section(table_id).wait_for(state="attached")
        return self.tables(table_id)[0]

    def section(self, table_id):
        return self.page.locator(f'[data-table="{table_id}"]').first

    def text(self):
        return self.page.locator("main").inner_text()

    def cut_off(self):
        return self.page.evaluate(CUT_OFF)


def range_ns(text):
    """A range in the page's address, "FROM-TO": it may begin before 0, where the view has room around the run."""
    return tuple(int(part) for part in re.fullmatch(r"(-?\d+)-(-?\d+)", text).groups())


def rows_of(table):
    """The exact values by column, from the cells' titles."""
    return [dict(zip(table["keys"], (cell["title"] for cell in row))) for row in table["rows"]]


def is_value(title, value):
    """Whether a cell's title is exactly this value of a JSON table."""
    if value is None:
        return title == "not measured"
    if isinstance(value, bool):
        return title == ("true" if value else "false")
    if isinstance(value, (int, float)):
        try:
            return float(title) == float(value)
        except ValueError:
            return False
    return title == value


@functools.cache
def axe_source():
    import axe_playwright_python
    return (pathlib.Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def violations(shown):
    """What axe finds wrong, a line each."""
    if not shown.page.evaluate("() => 'axe' in window"):
        shown.page.evaluate(axe_source())
    found = shown.page.evaluate("() => axe.run(document, {resultTypes: ['violations']}).then((result) => result.violations)")
    return [f"{rule['id']}: {node['target']} {node['failureSummary'].splitlines()[-1].strip()}"
            for rule in found for node in rule["nodes"]]


class BrowserTest(unittest.TestCase):
    """A test that opens reports; any error of theirs fails it."""

    def setUp(self):
        if missing():
            self.skipTest(missing())
        self.windows = []
        self.addCleanup(lambda: [window.close() for window in self.windows])

    def open(self, path, fragment="", **options):
        window = Shown(path, fragment, **options)
        self.windows.append(window)
        return window

    def quiet(self):
        """Asserts that no window has had an error."""
        self.assertEqual([problem for window in self.windows for problem in window.problems], [])

    def run(self, result=None):
        # At the end of each test that did not fail by itself, before its windows are closed.
        method = getattr(self, self._testMethodName)

        @functools.wraps(method)
        def checked(*arguments):
            method(*arguments)
            self.quiet()
        setattr(self, self._testMethodName, checked)
        return super().run(result)

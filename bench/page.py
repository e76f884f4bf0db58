# SPDX-License-Identifier: Apache-2.0
"""The report's page with 10^6 spans in Chromium: bytes per span, time to open, heap, script per frame. Called by
bench/run.py, or by hand with XSP_BUILD=build-bench; prints one JSON object per line. The floor for opening is the same
browser on a page that only decodes and inflates the same bytes; the other limits are from the design."""
import gzip
import base64
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("XSP_BUILD", SOURCE / "build-bench"))
EVENTS = int(os.environ.get("XSP_PAGE_SPANS", "1000000"))
OPEN_LIMIT_MS, HEAP_LIMIT_MB, BYTES_LIMIT, FRAME_LIMIT_MS, FULL_LIMIT_MS = 500, 80, 5, 2, 4
REPETITIONS = 5
PART = re.compile(r'<script type="application/octet-stream" id="([a-z0-9-]+)">([A-Za-z0-9+/=]*)</script>\n?')

# One frame after another; the page measures each frame's script time as "xsp-frame".
DRIVE = """async ([name, count]) => {
  const canvas = document.querySelector("[role=application] canvas"), box = canvas.getBoundingClientRect();
  const at = {clientX: box.left + box.width * 0.6, clientY: box.top + 40, bubbles: true, cancelable: true};
  const wheel = (options) => canvas.dispatchEvent(new WheelEvent("wheel", {...at, ...options}));
  const steps = {
    zoom: (i) => wheel({ctrlKey: true, deltaY: i < count / 2 ? -30 : 30}),
    pan: (i) => wheel({shiftKey: true, deltaY: i % 60 < 30 ? 20 : -20}),
    full: (i) => wheel({ctrlKey: true, deltaY: i % 2 ? 0.4 : -0.4}),
  };
  if (name === "pan") for (let i = 0; i < 60; i++) wheel({ctrlKey: true, deltaY: -30});
  const frame = () => new Promise(requestAnimationFrame);
  for (let i = 0; i < 60; i++) await frame();
  performance.clearMeasures();
  for (let i = 0; i < count; i++) { steps[name](i); await frame(); }
  return performance.getEntriesByName("xsp-frame").map((entry) => entry.duration);
}"""
FLOOR = """<!doctype html><meta charset="utf-8"><title>floor</title>%s<script>
(async () => {
  for (const part of document.querySelectorAll("script[type]")) {
    const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(part.textContent)
      : Uint8Array.from(atob(part.textContent), (c) => c.charCodeAt(0));
    await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  }
  performance.measure("xsp-frame");
})();
</script>"""


def put(case, value, unit, floor=None, target=None, **more):
    ratio = round(value / floor, 4) if floor else None
    print(json.dumps({"bench": "page", "case": case, "value": round(value, 4), "unit": unit, "floor": floor, "ratio": ratio,
                      "target": target, **more}), flush=True)


def make(folder):
    """The page of a generated trace, and what is in it."""
    trace, file, page = folder / "trace.json", folder / "trace.xsp", folder / "page.html"
    subprocess.run([BUILD / "bench-programs" / "make_kineto", str(EVENTS), trace], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([BUILD / "xsp", "import", trace, "-o", file], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    trace.unlink()
    started = time.monotonic()
    subprocess.run([BUILD / "xsp", "report", file, "-o", page, "--max-spans", "4000000"], check=True, stderr=subprocess.DEVNULL)
    return page, time.monotonic() - started


class Opened:
    """The page in a window: time until the first frame of the timeline and until its tables are drawn, and the peak
    of script memory."""

    def __init__(self, browser, url):
        self.page = browser.new_page(viewport={"width": 1920, "height": 1080})
        cdp = self.page.context.new_cdp_session(self.page)
        self.page.goto(url, wait_until="commit")
        self.peak_bytes = 0
        drawn = "() => performance.getEntriesByName('xsp-frame').map((entry) => entry.startTime + entry.duration)[0] ?? null"
        settled = "() => document.querySelector('main[aria-busy=true], #loading') === null ? performance.now() : null"
        deadline = time.monotonic() + 60
        self.first_ms = self.settled_ms = None
        while self.settled_ms is None:
            self.first_ms = self.first_ms or self.page.evaluate(drawn)
            if self.first_ms is not None:
                self.settled_ms = self.page.evaluate(settled)
            heap = cdp.send("Runtime.getHeapUsage")
            self.peak_bytes = max(self.peak_bytes, heap["usedSize"] + heap.get("backingStorageSize", 0))
            if time.monotonic() > deadline:
                raise RuntimeError(f"no frame of {url} within a minute")


def frames(window):
    for name, limit in (("zoom", FRAME_LIMIT_MS), ("pan", FRAME_LIMIT_MS), ("full", FULL_LIMIT_MS)):
        taken = sorted(window.page.evaluate(DRIVE, [name, 240]))
        case = {"zoom": "script a frame, zooming", "pan": "script a frame, panning", "full": "script a frame, full view"}[name]
        put(case, statistics.median(taken), "ms", limit, 1, p95=round(taken[int(len(taken) * 0.95)], 4), frames=len(taken))
        window.page.reload()
        window.page.wait_for_selector("[role=application] canvas")


def main():
    sys.path.insert(0, str(SOURCE / "tests" / "support"))
    import browser
    if browser.missing():
        sys.exit(f"page: {browser.missing()}")
    with tempfile.TemporaryDirectory(prefix="xsp-bench-", dir="/dev/shm") as folder:
        folder = pathlib.Path(folder)
        page, seconds = make(folder)
        text = page.read_text(encoding="utf-8")
        parts = {match[1]: match[0] for match in PART.finditer(text)}
        document = json.loads(gzip.decompress(base64.b64decode(PART.match(parts["xsp-document"])[2])))
        [run] = document["runs"]
        columns = [f"xsp-{run['run']}-{name}" for name in run["columns"]]
        size = lambda names: sum(len(parts[name]) for name in names if name in parts)
        others = [name for name in parts if name.startswith(f"xsp-{run['run']}-") and name not in columns]
        put("bytes a span, columns", size(columns) / run["spans"], "B", BYTES_LIMIT, 1, spans=run["spans"])
        put("bytes a span, tags and ids", size(others) / run["spans"], "B")
        put("bytes a span, whole file", len(text) / run["spans"], "B")
        put("writing", seconds * 1e9 / run["spans"], "ns/span")
        floor = folder / "floor.html"
        floor.write_text(FLOOR % "".join(parts[name] for name in ["xsp-document", *columns] if name in parts))
        chromium = browser.chromium()
        opened, settled, floors, peaks = [], [], [], []
        for _ in range(REPETITIONS):
            window = Opened(chromium, floor.as_uri())
            floors.append(window.first_ms)
            window.page.close()
            window = Opened(chromium, page.as_uri() + "#page=timeline")
            opened.append(window.first_ms)
            settled.append(window.settled_ms)
            peaks.append(window.peak_bytes / 1e6)
            window.page.close()
        put("opening", statistics.median(opened), "ms", round(statistics.median(floors), 1))
        put("opening, against the limit", statistics.median(opened), "ms", OPEN_LIMIT_MS, 1)
        put("opening, with the tables below the tracks", statistics.median(settled), "ms")
        put("heap at its peak while opening", max(peaks), "MB", HEAP_LIMIT_MB, 1)
        frames(Opened(chromium, page.as_uri() + "#page=timeline"))


if __name__ == "__main__":
    main()

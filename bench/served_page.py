# SPDX-License-Identifier: Apache-2.0
"""Pages of `xsp serve` in Chromium: the first view of a file with 10^7 spans and a zoom into it, and how far the live page is
behind a job that publishes 100,000 spans a second. Called by bench/run.py, or by hand with XSP_BUILD=build-bench; prints one JSON
object per line. Floors: the same browser fetches the same number of bytes from the same server, and does nothing with them."""
import json
import os
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("XSP_BUILD", SOURCE / "build-bench"))
os.environ["XSP_BUILD"] = str(BUILD)
sys.path.insert(0, str(SOURCE / "tests" / "support"))
SPANS = int(os.environ.get("XSP_SERVED_SPANS", "10000000"))
RATE = int(os.environ.get("XSP_LIVE_RATE", "100000"))
LIVE_SECONDS = 20
VIEW_LIMIT_MS, ZOOM_LIMIT_MS, LAG_LIMIT_MS = 500, 100, 1000
OPENED, ZOOMS = 5, 30
DRAWN = "() => performance.getEntriesByName('xsp-frame').map((entry) => entry.startTime + entry.duration)[0] ?? null"
SETTLED = "() => document.querySelector('main[aria-busy=true], #loading') === null ? performance.now() : null"
FETCH = """async (urls) => {
  const start = performance.now();
  await Promise.all(urls.map(async (url) => (await fetch(url)).arrayBuffer()));
  return performance.now() - start;
}"""
# Sets the range in view; until a window's answer is drawn.
ZOOM = """async (range) => {
  const [from, to] = range.split("-").map(Number), start = performance.now();
  const isThere = () => {
    const [first, last] = (document.querySelector(".timeline canvas").dataset.window ?? "0_0").split("_").map(Number);
    return first <= from && last >= to && last - first <= 3 * (to - from);
  };
  location.hash = `#page=timeline&view=${range}`;
  while (!isThere()) {
    if (performance.now() - start > 20000) return null;
    await new Promise((done) => { const channel = new MessageChannel(); channel.port1.onmessage = done; channel.port2.postMessage(0); });
  }
  await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""
LAG = """(seconds) => new Promise((done) => {
  const bar = document.querySelector(".live-bar"), lags = [];
  const look = () => lags.push(Date.now() - Number(BigInt(bar.dataset.until) / 1000n) / 1000);
  new MutationObserver(look).observe(bar, {attributes: true, attributeFilter: ["data-version"]});
  setTimeout(() => done(lags), 1000 * seconds);
})"""


def put(case, value, unit, floor=None, target=None, **more):
    ratio = round(value / floor, 4) if floor else None
    print(json.dumps({"bench": "served_page", "case": case, "value": round(value, 4), "unit": unit, "floor": floor, "ratio": ratio,
                      "target": target, **more}), flush=True)


def put_limit(case, value_ms, limit_ms):
    put(f"{case}, against the limit", value_ms, "ms", limit_ms, 1)


# ---- a large file ------------------------------------------------------------------------------------------------------
def measure_large(folder, browser):
    import large_trace
    from server import Server
    observations = SPANS // large_trace.IN_ONE
    large_trace.write(folder / "large.xsp", observations)
    with Server(folder) as server:
        started = time.monotonic()
        status, _, document = server.ask(None, path="/files/large.xsp/page/parts/document", method="GET")
        assert status == 200, document
        spans = observations * large_trace.IN_ONE
        parts, = (folder / ".pages").glob("*.parts")
        put("preparing a page, once", time.monotonic() - started, "s", spans=spans)
        put("bytes of a span in the page's cache", parts.stat().st_size / spans, "B", file=(folder / "large.xsp").stat().st_size)
        url = f"{server.about['url']}/files/large.xsp/page"
        views, settled, floors = [], [], []
        for _ in range(OPENED):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(url + "#page=timeline", wait_until="commit")
            settled.append(page.wait_for_function(SETTLED).json_value())
            views.append(page.evaluate(DRAWN))
            urls = page.evaluate("() => performance.getEntriesByType('resource').map((entry) => entry.name)")
            floors.append(page.evaluate(FETCH, [url, *urls]))
            if len(views) < OPENED:
                page.close()
        put("first view, the timeline is drawn", statistics.median(views), "ms", statistics.median(floors), spans=spans)
        put_limit("first view, the timeline is drawn", statistics.median(views), VIEW_LIMIT_MS)
        put("first view, with the tables below", statistics.median(settled), "ms", statistics.median(floors), spans=spans)
        measure_zooms(page, observations)
        page.close()


def measure_zooms(page, observations):
    chosen = random.Random(7)
    whole, zooms, floors = observations * 10**6, [], []
    for number in range(ZOOMS):
        width = int(whole / 2 ** (1 + number % 15))
        at = chosen.randrange(whole - width)
        took = page.evaluate(ZOOM, f"{at}-{at + width}")
        assert took is not None, (at, width)
        zooms.append(took)
        url = page.evaluate("() => performance.getEntriesByType('resource').filter((one) => one.name.includes('/spans')).at(-1).name")
        floors.append(page.evaluate(FETCH, [url]))
    put("zoom", statistics.median(zooms), "ms", statistics.median(floors))
    put_limit("zoom", statistics.median(zooms), ZOOM_LIMIT_MS)
    put_limit("zoom, the slowest of 20", sorted(zooms)[int(0.95 * len(zooms))], ZOOM_LIMIT_MS)


# ---- live --------------------------------------------------------------------------------------------------------------
IN_ONE, IN_REQUEST, EACH_S = 50, 20, 0.01  # spans of an observation, observations of a request


def template():
    """A request in protobuf, and where its spans have id, parent, start and end."""
    import otlp
    mark = [0x1122334455000000 + i for i in range(IN_ONE * IN_REQUEST)]
    spans = []
    for i, identity in enumerate(mark):
        level = "model" if i % IN_ONE == IN_ONE - 1 else "layer"
        one = otlp.span(identity, "predict" if level == "model" else f"layer_{i % IN_ONE}", 0, 0, level=level)
        one["parentSpanId"] = "7766554433221100"
        one["startTimeUnixNano"], one["endTimeUnixNano"] = str(0x0102030405060708), str(0x0807060504030201)
        spans.append(one)
    body = bytearray(otlp.to_proto(otlp.request(spans, {"service.name": "job"})))
    places, at = [], 0
    for identity in mark:
        at = body.index(struct.pack(">Q", identity), at)
        places.append((at, body.index(bytes.fromhex("7766554433221100"), at), body.index(struct.pack("<Q", 0x0102030405060708), at),
                       body.index(struct.pack("<Q", 0x0807060504030201), at)))
    return body, places


def publish(port, rate, seconds):
    """In a process of its own: requests at this rate."""
    import http.client
    body, places = template()
    connection = http.client.HTTPConnection("127.0.0.1", port)
    big, little, identity = struct.Struct(">Q").pack_into, struct.Struct("<Q").pack_into, 1
    spans = IN_ONE * IN_REQUEST
    begin = time.monotonic()
    for number in range(int(seconds * rate / spans)):
        now, length = time.time_ns(), spans * 10**9 // rate
        for i, (place, parent, start, end) in enumerate(places):
            first = now - length + i // IN_ONE * (length // IN_REQUEST)
            is_model = i % IN_ONE == IN_ONE - 1
            step = length // IN_REQUEST // IN_ONE
            big(body, place, identity + i)
            big(body, parent, 0 if is_model else identity + i // IN_ONE * IN_ONE + IN_ONE - 1)
            little(body, start, first if is_model else first + i % IN_ONE * step)
            little(body, end, first + (IN_ONE * step if is_model else (i % IN_ONE + 1) * step - 1))
        identity += spans
        connection.request("POST", "/v1/traces", bytes(body), {"Content-Type": "application/x-protobuf"})
        assert connection.getresponse().read() == b""
        time.sleep(max(0, begin + (number + 1) * spans / rate - time.monotonic()))
    print((number + 1) * spans / (time.monotonic() - begin), flush=True)


def measure_live(folder, browser):
    from server import Server
    with Server(folder) as server:
        job = subprocess.Popen([sys.executable, "-B", __file__, "publish", str(server.port), str(RATE), str(LIVE_SECONDS + 12)],
                               stdout=subprocess.PIPE, text=True)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{server.about['url']}/live#page=layers", wait_until="commit")
        page.locator(".live-bar").wait_for()
        lags = page.evaluate(LAG, LIVE_SECONDS)
        text = page.locator(".live-bar").inner_text().replace("\n", " ")
        page.close()
        rate = float(job.communicate()[0])
    put("live, behind the job", statistics.median(lags), "ms", spans_per_s=round(rate), versions=len(lags), about=text)
    put_limit("live, behind the job, the slowest of 20", sorted(lags)[int(0.95 * len(lags))], LAG_LIMIT_MS)


def main():
    if sys.argv[1:2] == ["publish"]:
        publish(int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
        return
    import browser
    if browser.missing():
        print(f"served_page: {browser.missing()}", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory(prefix="xsp-bench-") as folder:
        folder = pathlib.Path(folder)
        (folder / "large").mkdir()
        measure_live(folder / "live", browser.chromium())
        measure_large(folder / "large", browser.chromium())


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Reads parts of the report's page as the page itself does: gzip, planes of bytes, differences (docs/internals/page.md)."""
import base64
import gzip


def planes(data, width):
    count = len(data) // width
    return [sum(data[plane * count + i] << 8 * plane for plane in range(width)) for i in range(count)]


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


def summed(steps):
    """Values of differences."""
    at, values = 0, []
    for step in steps:
        at += unzigzag(step)
        values.append(at)
    return values


def spans_of(rows, names, raw):
    """Spans by place, as dicts, and their parents' places. `raw`: values by column."""
    spans, ids = [], summed(raw["id"])
    for row, (lane, depth, first, count) in enumerate(rows):
        before = 0
        for i in range(first, first + count):
            start, duration = before + unzigzag(raw["gap"][i]), raw["duration"][i]
            spans.append({"row": row, "lane": lane, "depth": depth, "start": start, "duration": duration, "id": ids[i],
                          "name": names[raw["name"][i]], "level": raw["attributes"][i] & 7,
                          "busy": duration - unzigzag(raw["idle"][i]) if "idle" in raw else duration,
                          "merged": raw["merged"][i] if "merged" in raw else 1})
            before = start + duration
    return spans, summed(raw["parent"])


def window_of(answer, names):
    """The same of a window's answer."""
    raw = {key: planes(gzip.decompress(base64.b64decode(text)), answer["columns"][key])
           for key, text in answer["parts"].items()}
    return spans_of(answer["rows"], names, raw)

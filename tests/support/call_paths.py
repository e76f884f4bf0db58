# SPDX-License-Identifier: Apache-2.0
"""Call paths of a file as lists of texts, read through xsp sql."""
from scripted import xsp_json


def frame_text(frame):
    """"main", "main a.py:7", "[libc.so] main": what is known of a frame."""
    module = f"[{frame['module']}]" if frame["module"] else ""
    place = f"{frame['file']}:{frame['line']}" if frame["file"] else ""
    return " ".join(text for text in (module, frame["name"], place) if text)


def call_paths(file):
    """By context id: the frames as texts, outermost first."""
    frames = {row["frame_id"]: frame_text(row) for row in xsp_json("sql", file, "select * from frame", "--json")}
    paths = {None: []}
    for row in xsp_json("sql", file, "select * from context order by context_id", "--json"):
        paths[row["context_id"]] = paths[row["parent_id"]] + [frames[row["frame_id"]]]
    return paths


def span_paths(file, where="1"):
    """(name of the span, its path) of each span, in file order; None: it has none."""
    paths = call_paths(file)
    spans = xsp_json("sql", file, f"select name, context_id from span where {where} order by span_id", "--json")
    return [(span["name"], paths[span["context_id"]] if span["context_id"] else None) for span in spans]

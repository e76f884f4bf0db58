# SPDX-License-Identifier: Apache-2.0
"""An experiment of an .xsp file as the objects of analysis_data.py, read through `xsp sql`: for the second implementation on
real traces. Parents and observations are those of the file."""
import collections
import json
import subprocess

from analysis_data import Experiment, Run, Span, Track


def read(xsp, path, experiment_id=1):
    def sql(query):
        return json.loads(subprocess.run([xsp, "sql", path, query, "--json"], check=True, capture_output=True,
                                         timeout=600).stdout)

    system = {row["key"]: row["value"] for row in sql(
        f"select key, value from system join experiment using (system_id) where experiment_id = {experiment_id}")}
    runs = sql(f"select * from run where experiment_id = {experiment_id} order by run_id")
    spans, tags, tracks = collections.defaultdict(list), collections.defaultdict(dict), {}
    for row in sql("select * from span where not is_open"):
        spans[row["run_id"]].append(row)
    for row in sql("select * from tag"):
        tags[row["run_id"], row["span_id"]][row["key"]] = row["value"]
    for row in sql("select * from track"):
        tracks[row["run_id"], row["track_id"]] = Track(row["track_id"], (row["host"], row["process_id"]), row["thread_id"],
                                                       row["stream_id"])
    observations = sql("select * from observation order by run_id, observation")
    experiment = Experiment(system=system)
    for row in runs:
        run = Run(row["levels"], row["batch_size"], number=row["run_id"])
        by_id = fill(run, spans[run.number], tags, tracks)
        run.recorded = [(one["observation"], one["start_ns"], one["start_ns"] + one["duration_ns"], by_id.get(one["span_id"]))
                        for one in observations if one["run_id"] == run.number]
        for _, _, _, span in run.recorded[:1] if run.batch is None else ():
            run.batch = span and span.tags.get("batch_size")
        experiment.runs.append(run)
    return experiment


def fill(run, rows, tags, tracks):
    """{span id: span}"""
    by_id, launches = {}, {}
    for row in rows:
        key = run.number, row["span_id"]
        track = tracks.get((run.number, row["track_id"])) or Track(0, None)
        by_id[row["span_id"]] = span = run.add(row["level"], row["name"], row["start_ns"], row["end_ns"], track,
                                               kind=row["kind"], category=row["category"], tags=tags.get(key, {}))
        if row["kind"] == "launch":
            launches[row["correlation_id"]] = span
    for row in rows:
        span = by_id[row["span_id"]]
        span.parent = by_id.get(row["parent_id"])
        if row["kind"] == "execution":
            span.launch = launches.get(row["correlation_id"])
    return by_id

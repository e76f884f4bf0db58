# SPDX-License-Identifier: Apache-2.0
"""The server's API on real files: uploads, what xsp's verbs answer about them, lists over all, search, the description."""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import signal
import socket
import sqlite3
import subprocess
import threading
import unittest
from urllib.parse import quote

import jsonschema
import otlp
import report_files
from openapi_schema import openapi_schema
from otlp import request, span
from scripted import TIMEOUT_S, UNIX_START, XSP, Script, xsp
from server import Server, children_of, stopped_child, wait_for
from test_api import ApiTest


def put(server, name, body, **headers):
    return server.ask(body, headers, path=f"/api/v1/files/{name}", method="PUT")


class Uploads(ApiTest):
    options = ("--limit-upload", "3M")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.bytes = report_files.profiled()[0].read_bytes()

    def leftovers(self):
        return [name for name in os.listdir(self.folder) if name.endswith(".partial")]

    def none_is_left(self):
        wait_for(lambda: not self.leftovers(), "the end of temporary files")  # they go after the reply

    def test_a_file(self):
        status, headers, body = put(self.server, "mine.xsp", self.bytes)
        self.assertEqual(status, 201, body)
        self.assertEqual(json.loads(body), {"name": "mine.xsp", "size_bytes": len(self.bytes)})
        self.assertEqual(self.get(headers["Location"])[1], self.bytes)
        listed, = [file for file in self.json("/api/v1/files")["files"] if file["name"] == "mine.xsp"]
        self.assertEqual(listed["state"], "complete")
        self.assertEqual((self.folder / "mine.xsp").stat().st_mode & 0o777, 0o600)

    def test_no_file_is_replaced(self):
        self.assertEqual(put(self.server, "twice.xsp", self.bytes)[0], 201)
        self.refused("/api/v1/files/twice.xsp", 409, "PUT", self.bytes[:100])
        self.assertEqual((self.folder / "twice.xsp").read_bytes(), self.bytes)
        self.none_is_left()

    def test_two_at_a_time(self):
        statuses = []
        threads = [threading.Thread(target=lambda: statuses.append(put(self.server, "race.xsp", self.bytes)[0]))
                   for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(statuses), [201] + [409] * 7)
        self.assertEqual((self.folder / "race.xsp").read_bytes(), self.bytes)
        self.none_is_left()

    def test_what_is_no_trace(self):
        sqlite = self.parent / "plain.db"
        subprocess.run(["python3", "-c", "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('create table a(b)')",
                        sqlite], check=True, timeout=TIMEOUT_S)
        for body in (b"", b"text", b'{"traceEvents":[]}', sqlite.read_bytes(), self.bytes[:5000],
                     b"SQLite format 3\0" + b"\xff" * 5000):
            with self.subTest(body[:20]):
                self.refused("/api/v1/files/bad.xsp", 400, "PUT", body)
        self.assertFalse((self.folder / "bad.xsp").exists())
        self.none_is_left()

    def test_computed_columns(self):
        """They may take any time: such a file is refused, and one that somebody put into the folder is not read."""
        evil = self.parent / "evil.xsp"
        evil.write_bytes(self.bytes)
        with contextlib.closing(sqlite3.connect(evil, isolation_level=None)) as database:
            database.execute("alter table experiment rename column name to other")
            database.execute("alter table experiment add column name text generated always as (hex(zeroblob(9)))")
        self.refused("/api/v1/files/evil.xsp", 400, "PUT", evil.read_bytes())
        evil.rename(self.folder / "put.xsp")
        found = self.json("/api/v1/experiments")
        self.assertEqual([one["file"] for one in found["unreadable"]], ["put.xsp"])
        self.assertEqual(self.json("/api/v1/search?q=0000")["results"], [])
        (self.folder / "put.xsp").unlink()

    def test_too_large(self):
        self.refused("/api/v1/files/large.xsp", 413, "PUT", b"x" * 4_000_000)
        self.refused("/api/v1/files/large.xsp", 413, "PUT", iter([b"x" * 2_000_000] * 2))  # chunks
        self.none_is_left()

    def test_names(self):
        for name in ("spans-20261124-010203-004.xsp",):
            self.refused(f"/api/v1/files/{name}", 409, "PUT", self.bytes)
        for name in ("a.txt", "..%2fa.xsp", ".a.xsp", "a%20b.xsp", "x" * 300 + ".xsp"):
            self.refused(f"/api/v1/files/{name}", 404, "PUT", self.bytes)
        (self.folder / "taken.xsp").symlink_to("/nowhere")
        self.refused("/api/v1/files/taken.xsp", 409, "PUT", self.bytes)

    def test_a_client_that_goes_away(self):
        connection = self.server.connect()
        connection.putrequest("PUT", "/api/v1/files/cut.xsp")
        connection.putheader("Content-Length", len(self.bytes))
        connection.endheaders(self.bytes[:1000])
        wait_for(self.leftovers, "the file of the upload")
        connection.close()
        self.none_is_left()
        self.assertFalse((self.folder / "cut.xsp").exists())

    def test_what_a_killed_server_left_is_removed(self):
        folder = self.parent / "killed"
        folder.mkdir()
        (folder / ".xsp-serve-7.partial").write_text("half")
        with Server(folder) as server:
            self.assertEqual(put(server, "a.xsp", self.bytes)[0], 201)
            self.assertEqual([name for name in os.listdir(folder) if "partial" in name], [])

    def test_a_client_that_waits_to_be_asked(self):
        """The server asks for the body by 100 Continue, which curl's -T waits for before it sends a file."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=TIMEOUT_S) as connection:
            connection.sendall(b"PUT /api/v1/files/asked.xsp HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                               b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(self.bytes))
            replies = connection.makefile("rb")
            self.assertEqual(replies.readline().split()[1], b"100")
            self.assertEqual(replies.readline(), b"\r\n")
            connection.sendall(self.bytes)
            self.assertEqual(replies.readline().split()[1], b"201")
        self.assertEqual((self.folder / "asked.xsp").read_bytes(), self.bytes)


class WithFiles(ApiTest):
    """A profile, a scripted file of two experiments, and spans that were received."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        script = Script()
        for number, (name, framework) in enumerate((("first", "onnxruntime"), ("Second 100%_'x", "pytorch")), 1):
            script.experiment(name, number, f"/models/{name}.onnx", framework)
            script.run(number, "M/L", experiment_id=number)
            script.track(run_id=number)
            model = script.span("predict", UNIX_START + number * 10**9, 1000, run_id=number)
            script.span("it's 50% of_it", UNIX_START + number * 10**9 + 10, 500, "layer", run_id=number, parent=model)
            script.span("it's 50x ofyit", UNIX_START + number * 10**9 + 600, 100, "layer", run_id=number, parent=model)
        script.write(cls.folder / "two.xsp")
        (cls.folder / "net.xsp").write_bytes(report_files.profiled()[0].read_bytes())
        (cls.folder / "broken.xsp").write_bytes(b"SQLite format 3\0 and no more")
        cls.spans = cls.received(cls(), span(1, name="received one"), span(2, name="received two", trace="ab" * 16))

    def verb(self, *arguments):
        return subprocess.run([XSP, *arguments], cwd=self.folder, capture_output=True, timeout=TIMEOUT_S)


class Questions(WithFiles):
    def test_info_is_that_of_the_verb(self):
        for name in ("net.xsp", "two.xsp", self.spans):
            with self.subTest(name):
                self.assertEqual(self.get(f"/api/v1/files/{name}/info")[1], self.verb("info", name, "--json").stdout)

    def test_analyses_are_those_of_the_verb(self):
        questions = (("A1", {}), ("A2", {}), ("a2", {"top": "2"}), ("A2", {"batch": "4", "stat": "p95", "sort": "latency_ms"}),
                     ("A3", {}), ("A4", {"layer": "innermost"}), ("A5", {}), ("A6", {}), ("A7", {}), ("A8", {"top": "3"}),
                     ("A10", {"by": "batch"}), ("A15", {"latency-threshold": "7.5"}), ("L0", {"by": "layer"}),
                     ("T8", {}), ("findings", {}), ("A2", {"latency-basis": "device", "partial-metrics": "true"}))
        for name in ("net.xsp", "two.xsp"):
            for analysis, options in questions:
                with self.subTest(f"{name} {analysis} {options}"):
                    arguments = [f"--{key}" if value == "true" else f"--{key}={value}" for key, value in options.items()]
                    expected = self.verb("analyze", analysis, name, "--json", *arguments)
                    query = "&".join(f"{key}={quote(value)}" for key, value in options.items())
                    status, headers, body = self.server.ask(
                        None, {}, path=f"/api/v1/files/{name}/analyses/{analysis}?{query}", method="GET")
                    self.assertEqual(status, {0: 200, 1: 404, 2: 400}[expected.returncode], body)
                    if status == 200:
                        self.assertEqual(body, expected.stdout)
                        self.assertEqual(headers["Content-Type"], "application/json")
                    else:
                        message = json.loads(body)["error"]["message"]
                        self.assertEqual("xsp: " + message, expected.stderr.decode().splitlines()[-1][:len(message) + 5])
        self.assertEqual(self.verb("analyze", "A2", "net.xsp", "--json").returncode, 0)  # not all were refused

    def test_wrong_questions(self):
        for path, status in (("A99", 404), ("net.xsp", 404), ("A2?batch=3", 404), ("A2?stat=best", 400),
                             ("A2?sort=nothing", 400), ("A2?top=x", 400), ("A2?output=a", 400), ("A2?json=true", 400),
                             ("A2?cold=yes", 400), ("A2?layer=--help", 400)):
            with self.subTest(path):
                found = self.server.ask(None, {}, path=f"/api/v1/files/net.xsp/analyses/{path}", method="GET")
                self.assertEqual(found[0], status, found[2])
        self.refused("/api/v1/files/none.xsp/analyses/A2", 404)
        self.refused("/api/v1/files/none.xsp/info", 404)
        self.refused("/api/v1/files/broken.xsp/info", 400)
        self.refused("/files/none.xsp/report.html", 404)

    def test_page(self):
        headers, body = self.get("/files/net.xsp/report.html")
        self.assertEqual(headers["Content-Type"], "text/html; charset=utf-8")
        self.assertEqual(body, self.verb("report", "net.xsp", "-o", "-").stdout)
        self.assertEqual(headers["Content-Security-Policy"], "frame-ancestors 'none'")
        part = self.get("/files/net.xsp/report.html?max-spans=0")[1]
        self.assertLess(len(part), len(body))


def is_pending(process, number):
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"ShdPnd:\s*(\w+)", status)[1], 16) >> (number - 1) & 1


class Bounds(WithFiles):
    options = ("--limit-analyses", "1")
    environment = {"XSP_STOP": "report"}

    def stopped_question(self):
        """A question whose process stands still: (connection, process)."""
        connection = self.server.connect()
        connection.request("GET", "/files/net.xsp/report.html")
        return connection, stopped_child(self.server)

    def test_too_many_at_a_time(self):
        connection, child = self.stopped_question()
        headers, _ = self.refused("/api/v1/files/net.xsp/info", 503)
        self.assertGreater(int(headers["Retry-After"]), 0)
        os.kill(child, signal.SIGCONT)
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()
        self.get("/api/v1/files/net.xsp/info")

    def test_a_client_that_hangs_up_ends_its_question(self):
        connection, child = self.stopped_question()
        connection.close()
        wait_for(lambda: is_pending(child, signal.SIGTERM), "a signal to the process")
        os.kill(child, signal.SIGCONT)
        wait_for(lambda: child not in children_of(self.server.process.pid), "the end of the process")
        wait_for(lambda: self.server.ask(None, path="/api/v1/files/net.xsp/info", method="GET")[0] == 200, "its turn")

    def test_a_server_that_is_killed_takes_its_questions_along(self):
        prctl, set_child_subreaper = ctypes.CDLL(None).prctl, 36
        prctl(set_child_subreaper, 1)  # so that its end is seen; and the kernel does not hang up on it
        self.addCleanup(prctl, set_child_subreaper, 0)
        with Server(self.parent / "own", env={**os.environ, **self.environment}) as server:
            (self.parent / "own" / "net.xsp").write_bytes((self.folder / "net.xsp").read_bytes())
            connection = server.connect()
            connection.request("GET", "/files/net.xsp/report.html")
            child = stopped_child(server)
            self.addCleanup(connection.close)
            server.kill()
        try:
            _, status = wait_for(lambda: (found := os.waitpid(child, os.WNOHANG))[0] and found, "the end of the process")
        except AssertionError:
            os.kill(child, signal.SIGKILL)
            raise
        self.assertEqual(status, signal.SIGKILL)


class Lists(WithFiles):
    def test_experiments(self):
        found = self.json("/api/v1/experiments")
        self.assertEqual([one["file"] for one in found["unreadable"]], ["broken.xsp"])
        two = [one for one in found["experiments"] if one["file"] == "two.xsp"]
        self.assertEqual([(one["experiment_id"], one["name"], one["framework"], one["runs"], one["spans"]) for one in two],
                         [(1, "first", "onnxruntime", 1, 3), (2, "Second 100%_'x", "pytorch", 1, 3)])
        self.assertEqual({one["file"] for one in found["experiments"]}, {"two.xsp", "net.xsp", self.spans})
        for query, ids in (("name=SECOND", [2]), ("framework=pytorch&file=two.xsp", [2]), ("workload=first.onnx", [1]),
                           ("name=none", [])):
            with self.subTest(query):
                self.assertEqual([one["experiment_id"] for one in self.json(f"/api/v1/experiments?{query}")["experiments"]],
                                 ids)
        few = self.json("/api/v1/experiments?limit=1")
        self.assertEqual((len(few["experiments"]), few["more"]), (1, True))

    def test_runs_equal_those_in_the_files(self):
        found = self.json("/api/v1/runs")["runs"]
        for name in ("two.xsp", "net.xsp", self.spans):
            rows = json.loads(self.verb("sql", name, "--json", "select run_id, min(start_ns) as first, max(start_ns) as last, "
                                        "count(*) as spans from span group by run_id order by run_id").stdout)
            self.assertEqual([(run["run_id"], run["first_start_ns"], run["last_start_ns"], run["spans"])
                              for run in found if run["file"] == name],
                             [(row["run_id"], row["first"], row["last"], row["spans"]) for row in rows])

    def test_runs_by_filter(self):
        def ids(query):
            return [(run["file"], run["run_id"]) for run in self.json(f"/api/v1/runs?{query}")["runs"]]
        self.assertEqual(ids("file=two.xsp&framework=onnx"), [("two.xsp", 1)])
        self.assertEqual(ids(f"file=two.xsp&from_ns={UNIX_START + 2 * 10**9}"), [("two.xsp", 2)])
        self.assertEqual(ids(f"file=two.xsp&to_ns={UNIX_START + 2 * 10**9 - 1}"), [("two.xsp", 1)])
        self.assertEqual(ids(f"file=two.xsp&to_ns={UNIX_START}"), [])
        self.assertEqual(ids("trace=" + "AB" * 16), [(self.spans, 1)])
        self.assertEqual(ids("trace=" + otlp.TRACE), [(self.spans, 1)])
        self.assertEqual(ids("trace=" + "cd" * 16), [])
        self.refused("/api/v1/runs?trace=xyz", 400)
        self.refused("/api/v1/runs?from_ns=yesterday", 400)

    def test_a_published_file_without_trace_ids(self):
        """The export gives its run a trace id, by which the run is found."""
        script = Script()
        script.experiment("published")
        script.run()
        script.track()
        script.span("predict", UNIX_START, 1000)
        source = script.write(self.parent / "published.xsp")
        otlp_file = self.parent / "published.json"
        xsp("export", source, "--to", "otlp", "-o", otlp_file, check=0)
        attributes = json.loads(otlp_file.read_text())["resourceSpans"][0]["resource"]["attributes"]
        trace, = [one["value"]["stringValue"] for one in attributes if one["key"] == "xsp.trace_id"]
        xsp("export", source, "--publish", self.server.about["url"], "--spool", self.parent / "spool", check=0)
        wait_for(lambda: self.json("/api/v1/runs?name=published")["runs"], "the published run")
        found = self.json(f"/api/v1/runs?trace={trace}")["runs"]
        self.assertEqual([one["experiment"] for one in found], ["published"])
        result, = self.json(f"/api/v1/search?q={trace}")["results"]
        self.assertEqual((result["kind"], result["run_id"]), ("trace", found[0]["run_id"]))

    def test_a_file_that_changes_is_read_again(self):
        before = {run["file"]: run["spans"] for run in self.json("/api/v1/runs")["runs"]}
        self.server.send(request([span(50, name="one more")]))
        wait_for(lambda: {run["file"]: run["spans"] for run in self.json("/api/v1/runs")["runs"]}[self.spans] ==
                 before[self.spans] + 1, "the new span")


class Search(WithFiles):
    def found(self, text, **options):
        query = "&".join(f"{key}={quote(str(value), safe='')}" for key, value in {"q": text, **options}.items())
        return self.json(f"/api/v1/search?{query}")

    def test_names(self):
        results = self.found("50% OF_it")["results"]  # neither % nor _ matches anything else
        self.assertEqual([(one["kind"], one["file"], one["run_id"], one["name"], one["spans"], one["total_ns"])
                          for one in results],
                         [("span", "two.xsp", run, "it's 50% of_it", 1, 500) for run in (1, 2)])
        self.assertEqual([(one["kind"], one["experiment_id"]) for one in self.found("100%_'x")["results"]],
                         [("experiment", 2), ("workload", 2)])
        self.assertEqual(self.found("no such name")["results"], [])
        self.assertEqual({one["file"] for one in self.found("received")["results"]}, {self.spans})
        self.assertEqual(self.found("' OR 1=1 --")["results"], [])

    def test_a_name_among_many_other_texts(self):
        """Texts that are no names, such as values of tags, leave none out."""
        script = Script()
        script.experiment("many")
        script.run()
        script.track()
        for number in range(1500):
            script.span("other", UNIX_START + number, 1, tags={"text": f"dense layer {number}"})
        script.span("dense", UNIX_START + 2000, 7)
        script.write(self.parent / "many.xsp").rename(self.folder / "many.xsp")
        found = self.found("DENSE")
        self.assertEqual([(one["name"], one["spans"], one["total_ns"]) for one in found["results"]], [("dense", 1, 7)])
        self.assertFalse(found["more"])

    def test_traces(self):
        self.assertEqual(self.found("AB" * 16)["results"],
                         [{"kind": "trace", "file": self.spans, "name": "AB" * 16, "run_id": 1}])

    def test_limits(self):
        few = self.found("e", limit=2)
        self.assertEqual((len(few["results"]), few["more"]), (2, True))
        for limit, is_more in ((1, True), (2, False), (3, False)):
            few = self.found("50% OF_it", limit=limit)
            self.assertEqual((len(few["results"]), few["more"]), (min(limit, 2), is_more))
        for path in ("", "?q=", "?q=" + "x" * 300, "?q=a&limit=0", "?q=a&limit=1001"):
            self.refused(f"/api/v1/search{path}", 400)


class Description(WithFiles):
    """openapi.json: valid itself, and every answer is valid by it."""

    def schema(self, document, name):
        return {"$ref": f"#/components/schemas/{name}", "components": document["components"]}

    def test_it_is_valid(self):
        document = self.json("/api/v1/openapi.json")
        meta = openapi_schema()
        jsonschema.Draft202012Validator(meta).validate(document)
        for schema in document["components"]["schemas"].values():
            jsonschema.Draft202012Validator.check_schema(schema)
        used = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
        self.assertEqual(used, set(document["components"]["schemas"]))
        with self.assertRaises(jsonschema.ValidationError):  # the schema sees what is missing
            document["paths"]["/api/v1/runs"]["get"]["parameters"][0].pop("name")
            jsonschema.Draft202012Validator(meta).validate(document)

    def test_numbers_that_are_none(self):
        values, seen = {"file": "net.xsp", "analysis": "A2"}, set()
        for path, methods in self.json("/api/v1/openapi.json")["paths"].items():
            for parameter in methods.get("get", {}).get("parameters", []):
                if parameter["in"] != "query" or parameter["schema"]["type"] != "integer":
                    continue
                seen.add(parameter["name"])
                for value in ("-1", str(2**63), str(-2**63 - 1), "1.5", "1e3", ""):
                    target = re.sub(r"{(\w+)}", lambda part: values[part[1]], path) + f"?q=x&{parameter['name']}={value}"
                    target = target if path == "/api/v1/search" else target.replace("q=x&", "")
                    with self.subTest(target):
                        self.assertIn(parameter["name"], self.refused(target, 400)[1])
        self.assertEqual(seen, {"batch", "top", "max-spans", "limit", "from_ns", "to_ns"})

    def test_every_route_answers_as_described(self):
        document = self.json("/api/v1/openapi.json")
        values = {"file": "net.xsp", "analysis": "A2", "job": "0123456789abcdef" * 2}
        report = {"name": "a job", "host": "here", "process_id": 1, "possible": "M/L", "levels": "M"}
        bodies = {("post", "/v1/traces"): "{}", ("put", "/api/v1/files/{file}"): report_files.profiled()[0].read_bytes(),
                  ("post", "/api/v1/jobs/{job}"): json.dumps(report), ("put", "/api/v1/jobs/{job}/levels"): '{"levels": "M/L"}'}
        seen = 0
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                with self.subTest(f"{method} {path}"):
                    self.server.ask(json.dumps(report), {}, path=f"/api/v1/jobs/{values['job']}")  # it must be known
                    place = {**values, "file": "new.xsp"} if method == "put" else values
                    target = re.sub(r"{(\w+)}", lambda part: place[part[1]], path)
                    if path == "/api/v1/search":
                        target += "?q=predict"
                    headers = {"Content-Type": "application/json"} if path == "/v1/traces" else {}
                    status, reply_headers, body = self.server.ask(bodies.get((method, path)), headers, path=target,
                                                                  method=method.upper())
                    self.assertEqual(status // 100, 2, body[:200])
                    content = operation["responses"]["2XX"]["content"][reply_headers["Content-Type"]]
                    if "schema" in content:
                        name = content["schema"]["$ref"].rsplit("/", 1)[1]
                        jsonschema.Draft202012Validator(self.schema(document, name)).validate(json.loads(body))
                        seen += 1
                    for parameter in operation["parameters"]:
                        if parameter["in"] == "query" and parameter["schema"]["type"] == "integer":
                            found = self.server.ask(None, {}, path=f"{target}{'&' if '?' in target else '?'}"
                                                    f"{parameter['name']}=x", method=method.upper())
                            self.assertEqual(found[0], 400)
                            error = jsonschema.Draft202012Validator(self.schema(document, "Error"))
                            error.validate(json.loads(found[2]))
        self.assertGreaterEqual(seen, 7)

    def test_bodies_and_errors_are_as_described(self):
        document = self.json("/api/v1/openapi.json")
        report = {"name": "a job", "host": "here", "process_id": 1, "possible": "M/L", "levels": "M"}
        cases = {("post", "/v1/traces"): (request([span(1)]), {"resourceSpans": 3}),
                 ("post", "/api/v1/jobs/{job}"): (report, {**report, "levels": 3}),
                 ("put", "/api/v1/jobs/{job}/levels"): ({"levels": "M"}, {})}
        for (method, path), bodies in cases.items():
            operation = document["paths"][path][method]
            self.assertTrue(operation["requestBody"]["required"])
            for body, is_good in zip(bodies, (True, False)):
                with self.subTest(path, good=is_good):
                    body_schema = operation["requestBody"]["content"]["application/json"]["schema"]
                    body_schema = self.schema(document, body_schema["$ref"].rsplit("/", 1)[1])
                    self.assertEqual(jsonschema.Draft202012Validator(body_schema).is_valid(body), is_good)
                    status, headers, reply = self.server.ask(json.dumps(body), {"Content-Type": "application/json"},
                                                             path=path.replace("{job}", "0123456789abcdef" * 2),
                                                             method=method.upper())
                    self.assertEqual(status, 200 if is_good else 400)
                    content = operation["responses"]["2XX" if is_good else "default"]["content"][headers["Content-Type"]]
                    schema = self.schema(document, content["schema"]["$ref"].rsplit("/", 1)[1])
                    jsonschema.Draft202012Validator(schema).validate(json.loads(reply))
        traces = document["paths"]["/v1/traces"]["post"]
        self.assertEqual(set(traces["requestBody"]["content"]), {"application/json", "application/x-protobuf"})
        for type_name, sent in (("application/x-protobuf", "application/x-protobuf"), ("text/plain", "text/csv")):
            headers = self.server.ask(b"x", {"Content-Type": sent}, path="/v1/traces", method="POST")[1]
            self.assertEqual(headers.get_content_type(), type_name)
            self.assertIn(type_name, traces["responses"]["default"]["content"])

    def test_required_parameters(self):
        parameters = self.json("/api/v1/openapi.json")["paths"]["/api/v1/search"]["get"]["parameters"]
        self.assertEqual([one["name"] for one in parameters if one.get("required")], ["q"])
        self.assertIn("q", self.refused("/api/v1/search?limit=3", 400)[1])


if __name__ == "__main__":
    unittest.main()

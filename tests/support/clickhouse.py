# SPDX-License-Identifier: Apache-2.0
"""A real ClickHouse for tests: the engine as a library, fetched once into XSP_TEST_CACHE or the build folder, with an HTTP front
of ours; and the table of OpenTelemetry's exporter, filled as the exporter fills it."""
import fcntl
import os
import pathlib
import shutil
import subprocess
import tarfile
import unittest
import urllib.request

PACKAGE = "@chdb/lib-linux-x64-gnu@26.7.3-stable.1"
# As the exporter of the Collector's contrib distribution creates it, without its indices.
TABLE = """CREATE TABLE {name} (
  Timestamp DateTime64(9) CODEC(Delta, ZSTD(1)), TraceId String CODEC(ZSTD(1)), SpanId String CODEC(ZSTD(1)),
  ParentSpanId String CODEC(ZSTD(1)), TraceState String CODEC(ZSTD(1)), SpanName LowCardinality(String) CODEC(ZSTD(1)),
  SpanKind LowCardinality(String) CODEC(ZSTD(1)), ServiceName LowCardinality(String) CODEC(ZSTD(1)),
  ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)), ScopeName String CODEC(ZSTD(1)),
  ScopeVersion String CODEC(ZSTD(1)), SpanAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
  Duration UInt64 CODEC(ZSTD(1)), StatusCode LowCardinality(String) CODEC(ZSTD(1)), StatusMessage String CODEC(ZSTD(1)),
  Events Nested (Timestamp DateTime64(9), Name LowCardinality(String), Attributes Map(LowCardinality(String), String))
    CODEC(ZSTD(1)),
  Links Nested (TraceId String, SpanId String, TraceState String, Attributes Map(LowCardinality(String), String))
    CODEC(ZSTD(1))
) ENGINE = MergeTree PARTITION BY toDate(Timestamp) ORDER BY (ServiceName, SpanName, toDateTime(Timestamp))"""

ATTRIBUTES = "attributes Array(Tuple(key String, value Tuple(stringValue String, intValue String, doubleValue Nullable(Float64), " \
    "boolValue Nullable(Bool))))"
STRUCTURE = f"resourceSpans Array(Tuple(resource Tuple({ATTRIBUTES}), scopeSpans Array(Tuple(scope Tuple(name String), " \
    "spans Array(Tuple(traceId String, spanId String, parentSpanId String, name String, startTimeUnixNano Int64, " \
    f"endTimeUnixNano Int64, {ATTRIBUTES}))))))"
MAP = "CAST((arrayMap(a -> a.key, {of}), arrayMap(a -> multiIf(isNotNull(a.value.boolValue), " \
    "if(assumeNotNull(a.value.boolValue), 'true', 'false'), isNotNull(a.value.doubleValue), " \
    "toString(assumeNotNull(a.value.doubleValue)), a.value.intValue != '', a.value.intValue, a.value.stringValue), {of})), " \
    "'Map(LowCardinality(String), String)')"
LOAD = f"""INSERT INTO {{table}} (Timestamp, TraceId, SpanId, ParentSpanId, SpanName, SpanKind, ServiceName, ResourceAttributes,
  ScopeName, SpanAttributes, Duration)
SELECT fromUnixTimestamp64Nano(span.startTimeUnixNano, 'UTC'), span.traceId, span.spanId, span.parentSpanId, span.name, 'Internal',
  resource['service.name'], resource, scope.scope.name, {MAP.format(of="span.attributes")},
  greatest(0, span.endTimeUnixNano - span.startTimeUnixNano)
FROM (SELECT {MAP.format(of="one.resource.attributes")} AS resource, arrayJoin(one.scopeSpans) AS scope, arrayJoin(scope.spans) AS span
  FROM (SELECT arrayJoin(resourceSpans) AS one FROM file('{{path}}', 'JSONEachRow', '{STRUCTURE}')))
SETTINGS input_format_skip_unknown_fields = 1, input_format_json_ignore_unknown_keys_in_named_tuple = 1"""


def library():
    """The engine; raises unittest.SkipTest where it cannot be fetched, or would run under a sanitizer."""
    if os.environ.get("XSP_SANITIZE"):
        raise unittest.SkipTest("the engine has allocators of its own, which sanitizers do not know")
    cache = pathlib.Path(os.environ.get("XSP_TEST_CACHE") or os.environ["XSP_BUILD"]).resolve()
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / "chdb"
    with open(cache / "chdb.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "libchdb.so").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            try:
                subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, timeout=900,
                               stdout=subprocess.DEVNULL)
                archive = next(folder.glob("*.tgz"))
                with tarfile.open(archive) as packed:
                    member = next(one for one in packed if one.name.endswith("/libchdb.so"))
                    with packed.extractfile(member) as source, open(folder / "libchdb.so.part", "wb") as target:
                        shutil.copyfileobj(source, target, 1 << 20)
                archive.unlink()
                os.rename(folder / "libchdb.so.part", folder / "libchdb.so")
            except (OSError, subprocess.SubprocessError, StopIteration) as error:
                raise unittest.SkipTest(f"{PACKAGE} cannot be fetched: {error}") from error
    return folder / "libchdb.so"


class Server:
    """The engine behind its front, until close()."""

    def __init__(self, folder):
        front = pathlib.Path(os.environ["XSP_BUILD"]) / "test-programs" / "clickhouse-front"
        self.process = subprocess.Popen([front, library(), folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, "TZ": "UTC"})
        self.port = int(self.process.stdout.readline())
        self.address = f"clickhouse://127.0.0.1:{self.port}/default"

    def query(self, sql, data=b""):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/", sql.encode() + b"\n" + data)
        try:
            with urllib.request.urlopen(request, timeout=600) as reply:
                return reply.read().decode()
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()[:1000]) from error

    def load(self, path, table="otel_traces"):
        """Inserts a file that `xsp export --to otlp` wrote, as the exporter inserts spans: all values of attributes are texts."""
        self.query(LOAD.format(table=table, path=pathlib.Path(path).resolve()))

    def close(self):
        self.process.stdin.close()
        self.process.wait(600)
        self.process.stdout.close()

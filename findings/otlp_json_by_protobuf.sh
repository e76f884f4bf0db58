#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# opentelemetry-proto 1.45.2 with protobuf 7.36.2: one expects that protobuf's own JSON form of a request is OTLP's JSON. OTLP
# writes trace and span ids in hexadecimal; protobuf writes bytes in base64, and kinds as names. In the other direction nothing
# fails: each hexadecimal id is read as base64, so a trace id of 16 bytes becomes one of 24, a span id of 8 bytes one of 12.
set -eu
trap 'exit 1' HUP INT TERM
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python3" -m pip install -q --disable-pip-version-check opentelemetry-proto==1.45.2 protobuf==7.36.2
"$folder/venv/bin/python3" - <<'EOF'
import importlib.metadata, json, sys
from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import Span

TRACE, SPAN = bytes(range(16)), bytes(range(8))
span = Span(trace_id=TRACE, span_id=SPAN, name="span", kind=Span.SPAN_KIND_SERVER)
written = json.loads(json_format.MessageToJson(span))
by_otlp = {"traceId": TRACE.hex(), "spanId": SPAN.hex(), "name": "span", "kind": 2}
read = json_format.Parse(json.dumps(by_otlp), Span())
for package in "opentelemetry-proto", "protobuf":
    print(package, importlib.metadata.version(package))
print(f"expected: traceId {TRACE.hex()}, and the same 16 bytes when that is read")
print(f"seen:     traceId {written['traceId']}, kind {written['kind']}; read: {len(read.trace_id)} and {len(read.span_id)} bytes")
is_base64 = written["traceId"] != TRACE.hex() and json_format.Parse(json.dumps(written), Span()) == span
sys.exit(not (is_base64 and (len(read.trace_id), len(read.span_id)) == (24, 12)))
EOF

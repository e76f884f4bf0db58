# SPDX-License-Identifier: Apache-2.0
"""Builds OTLP requests in plain Python: in the JSON mapping, and as the official protobuf classes."""
import base64
import json

try:
    from google.protobuf import json_format
    from opentelemetry.proto.trace.v1 import trace_pb2
except ImportError:
    json_format = trace_pb2 = None

TRACE = "0102030405060708090a0b0c0d0e0f10"
START = 1_700_000_000_000_000_000


def value(item):
    """A Python value as an AnyValue. bytes, lists and dicts too; None is an empty one; a dict with one key that ends in
    "Value" is one already."""
    if isinstance(item, dict) and len(item) == 1 and next(iter(item)).endswith("Value"):
        return item
    if item is None:
        return {}
    if isinstance(item, bool):
        return {"boolValue": item}
    if isinstance(item, int):
        return {"intValue": str(item)}
    if isinstance(item, float):
        return {"doubleValue": item}
    if isinstance(item, bytes):
        return {"bytesValue": base64.b64encode(item).decode()}
    if isinstance(item, list):
        return {"arrayValue": {"values": [value(one) for one in item]}}
    if isinstance(item, dict):
        return {"kvlistValue": {"values": attributes(item)}}
    return {"stringValue": item}


def attributes(items):
    return [{"key": key, "value": value(item)} for key, item in items.items()]


def span(number, name="span", start=0, end=10, parent=None, trace=TRACE, level=None, thread=1, events=(), more=None,
         **tags):
    """Times count from START. `more` and further keyword arguments are attributes; "__" in a name stands for "."."""
    one = {"traceId": trace, "spanId": f"{number:016x}", "name": name, "kind": 1,
           "startTimeUnixNano": str(START + start), "endTimeUnixNano": str(START + end)}
    if parent is not None:
        one["parentSpanId"] = f"{parent:016x}"
    found = {}
    if level is not None:
        found["xsp.level"] = level
    if thread is not None:
        found["thread.id"] = thread
    found.update(more or {})
    found.update({key.replace("__", "."): item for key, item in tags.items()})
    one["attributes"] = attributes(found)
    if events:
        one["events"] = [{"timeUnixNano": str(START + time), "name": text} for time, text in events]
    return one


def resource_spans(spans, resource=None, scope="test"):
    return {"resource": {"attributes": attributes(resource or {})},
            "scopeSpans": [{"scope": {"name": scope}, "spans": list(spans)}]}


def request(spans, resource=None, scope="test"):
    return {"resourceSpans": [resource_spans(spans, resource, scope)]}


def lines(*requests):
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in requests)


def to_proto(*requests):
    """The same requests as one protobuf message, written by the official package."""
    data = trace_pb2.TracesData()
    for one in requests:
        data.MergeFrom(message(one))
    return data.SerializeToString()


def message(one):
    """Protobuf's own JSON has ids in base64 where OTLP's has hex."""
    return json_format.ParseDict(with_ids(one, lambda text: base64.b64encode(bytes.fromhex(text)).decode()),
                                 trace_pb2.TracesData())


def from_message(data):
    return with_ids(json_format.MessageToDict(data, use_integers_for_enums=True),
                    lambda text: base64.b64decode(text).hex())


def with_ids(item, change):
    if isinstance(item, list):
        return [with_ids(one, change) for one in item]
    if not isinstance(item, dict):
        return item
    return {key: change(one) if key in ("traceId", "spanId", "parentSpanId") else with_ids(one, change)
            for key, one in item.items()}


# ---- protobuf by hand, where the official package cannot write it ---------------------------------------------------
def varint(number):
    out = b""
    while True:
        out += bytes([number & 0x7f | (0x80 if number > 0x7f else 0)])
        number >>= 7
        if number == 0:
            return out


def field(number, content, wire=2):
    key = varint(number << 3 | wire)
    return key + (varint(len(content)) + content if wire == 2 else content)

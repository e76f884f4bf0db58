# SPDX-License-Identifier: Apache-2.0
"""Random messages of OpenTelemetry, with all that a span may have."""
import otlp
from otlp import span


def random_value(rng, depth=0):
    kind = rng.randrange(8 if depth < 3 else 6)
    if kind == 0:
        return {"stringValue": "".join(rng.choice("ab\u00e9\u4e2d\U0001f600\"\\\n\0") for _ in range(rng.randrange(9)))}
    if kind == 1:
        return {"boolValue": rng.random() < 0.5}
    if kind == 2:
        return {"intValue": str(rng.choice([0, 1, -1, 2**63 - 1, -2**63, 1 << rng.randrange(63), (1 << rng.randrange(63)) - 1]))}
    if kind == 3:
        return {"doubleValue": rng.choice([0.0, -0.5, 1e-300, 1.7976931348623157e308, rng.random()])}
    if kind == 4:
        return otlp.value(rng.randbytes(rng.randrange(6)))
    if kind == 5:
        return {}
    if kind == 6:
        return {"arrayValue": {"values": [random_value(rng, depth + 1) for _ in range(rng.randrange(4))]}}
    return {"kvlistValue": {"values": [{"key": f"k{i}", "value": random_value(rng, depth + 1)}
                                       for i in range(rng.randrange(4))]}}


def random_span(rng, number):
    one = span(number, "n" * rng.randrange(4), rng.randrange(1000), 1000 + rng.randrange(1000),
               parent=rng.choice([None, rng.randrange(1, 40)]), trace=rng.choice(["11" * 16, "22" * 16]),
               level=rng.choice([None, "model", "layer", "library", "kernel", "nothing"]),
               thread=rng.choice([None, 1, 2]), events=[(n, f"e{n}") for n in range(rng.randrange(3))])
    one["attributes"] += [{"key": f"a{n}", "value": random_value(rng)} for n in range(rng.randrange(5))]
    extra = {"xsp.kind": rng.choice(["launch", "execution", "sync", "odd"]), "xsp.correlation_id": rng.randrange(3),
             "xsp.track": rng.choice([1, 5, "name"]), "xsp.basis": rng.choice(["none", "containment", "explicit"]),
             "xsp.flops": rng.choice([5, 5.5]), "xsp.warmup": rng.random() < 0.5, "xsp.observation": rng.randrange(3)}
    one["attributes"] += otlp.attributes({key: item for key, item in extra.items() if rng.random() < 0.2})
    if rng.random() < 0.2:
        one["status"] = {"code": rng.randrange(3), "message": "m"}
        one["kind"] = rng.randrange(6)
        one["traceState"] = "s=1"
        one["links"] = [{"traceId": "33" * 16, "spanId": "44" * 8, "attributes": otlp.attributes({"x": [1]})}]
    return one


def random_message(rng):
    groups = []
    for _ in range(rng.randrange(1, 4)):
        resource = {"xsp.run": rng.randrange(2)} if rng.random() < 0.5 else {}
        resource.update({f"r{n}": random_value(rng) for n in range(rng.randrange(3))})
        scopes = [{"scope": {"name": rng.choice(["", "s", "t"])},
                   "spans": [random_span(rng, rng.randrange(1, 60)) for _ in range(30)]} for _ in range(rng.randrange(1, 3))]
        groups.append({"resource": {"attributes": otlp.attributes(resource)}, "scopeSpans": scopes})
    return otlp.message({"resourceSpans": groups})

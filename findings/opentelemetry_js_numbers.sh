#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# OpenTelemetry for JavaScript, otlp-transformer 0.223.1: one expects that its JSON and protobuf forms of a span hold
# the same attributes. A whole number beyond 64 bits is a double in protobuf; in JSON it is an intValue out of range,
# which strict readers reject. NaN is a double in protobuf; in JSON it is null, and OTLP's form is the text "NaN".
set -eu
trap 'exit 1' HUP INT TERM
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit --prefix "$folder" @opentelemetry/api@1.9.1 \
  @opentelemetry/sdk-trace-base@2.12.1 @opentelemetry/otlp-transformer@0.223.1
cat >show.mjs <<'EOF'
import fs from "node:fs";
import { JsonTraceSerializer, ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";

const LARGE = 1e20; // above 2^63, and whole
const memory = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(memory)] });
provider.getTracer("numbers").startSpan("span", { attributes: { flops: LARGE, loss: NaN } }).end();
const spans = memory.getFinishedSpans();
const json = new TextDecoder().decode(JsonTraceSerializer.serializeRequest(spans));
const protobuf = Buffer.from(ProtobufTraceSerializer.serializeRequest(spans));

function protobufHasDouble(value) { // field 4 of AnyValue, 64 bits
  const bytes = Buffer.alloc(9);
  bytes.writeUInt8(0x21, 0);
  bytes.writeDoubleLE(value, 1);
  return protobuf.includes(bytes);
}
const inJson = (key) => json.match(new RegExp(`\\{"key":"${key}","value":\\{([^}]*)\\}`))[1];
const flops = inJson("flops"), loss = inJson("loss");
const manifest = JSON.parse(fs.readFileSync("node_modules/@opentelemetry/otlp-transformer/package.json", "utf8"));
console.log("@opentelemetry/otlp-transformer", manifest.version);
console.log('expected: 1e20 as doubleValue and NaN as "NaN" in JSON, as both are doubles in protobuf');
const doubles = protobufHasDouble(LARGE) && protobufHasDouble(NaN);
console.log(`seen:     both doubles in protobuf: ${doubles}; JSON has ${flops} and ${loss}`);
const whole = flops.match(/^"intValue":"?([0-9]+)"?$/);
const holds = doubles && whole && BigInt(whole[1]) > 2n ** 63n - 1n && loss === '"doubleValue":null';
process.exitCode = holds ? 0 : 1;
EOF
node show.mjs

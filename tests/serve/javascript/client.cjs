// SPDX-License-Identifier: Apache-2.0
// A program with OpenTelemetry's SDK. Its argument is JSON: {url, encoding, compression, headers, count, level}. It prints a line
// for each reply, "status CODE"; then one of JSON: the spans as the SDK had them, and what its exporter reported.
"use strict";
const { subscribe } = require("node:diagnostics_channel");
const { diag, DiagLogLevel, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = require("@opentelemetry/api");
const { resourceFromAttributes } = require("@opentelemetry/resources");
const { BatchSpanProcessor, NodeTracerProvider } = require("@opentelemetry/sdk-trace-node");
const exporters = {
  http: require("@opentelemetry/exporter-trace-otlp-http").OTLPTraceExporter,
  proto: require("@opentelemetry/exporter-trace-otlp-proto").OTLPTraceExporter,
};

const order = JSON.parse(process.argv[2]);
const spans = [];
const reported = [];

const nanoseconds = ([seconds, rest]) => (BigInt(seconds) * 1000000000n + BigInt(rest)).toString();

const record = {
  onStart() {},
  onEnd(span) {
    spans.push({
      name: span.name,
      trace: span.spanContext().traceId,
      id: span.spanContext().spanId,
      parent: span.parentSpanContext?.spanId ?? null,
      start: nanoseconds(span.startTime),
      end: nanoseconds(span.endTime),
      kind: span.kind,
      status: span.status,
      attributes: span.attributes,
      events: span.events.map((event) => ({ name: event.name, time: nanoseconds(event.time), attributes: event.attributes })),
      links: span.links.map((link) => link.context.spanId),
      scope: span.instrumentationScope.name,
      resource: span.resource.attributes,
    });
  },
  async forceFlush() {},
  async shutdown() {},
};

// A root, and below it layers with attributes of every type.
function work(tracer) {
  const root = tracer.startSpan("root", { kind: SpanKind.SERVER, attributes: { "xsp.level": "model" } }, ROOT_CONTEXT);
  const inside = trace.setSpan(ROOT_CONTEXT, root);
  for (let number = 1; number < order.count; number++) {
    const layer = tracer.startSpan(`layer ${number}`, {
      attributes: { "xsp.level": order.level ?? "layer", "xsp.layer_index": number, ratio: number + 0.5, on: number % 2 === 0,
                    text: "größer \u{1F600}", shape: [1, number, 3] },
      links: number === 1 ? [{ context: root.spanContext() }] : [],
    }, inside);
    layer.addEvent("begun", { number });
    if (number === 2) layer.setStatus({ code: SpanStatusCode.ERROR, message: "no memory" });
    layer.end();
  }
  root.end();
}

async function main() {
  const note = (...words) => reported.push(words.join(" "));
  diag.setLogger({ error: note, warn: note, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN);
  subscribe("http.client.response.finish", ({ response }) => process.stdout.write(`status ${response.statusCode}\n`));
  const exporter = new exporters[order.encoding]({
    url: order.url, compression: order.compression, headers: order.headers, timeoutMillis: 60000,
  });
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ "service.name": `javascript ${order.encoding} ${order.compression}` }),
    spanProcessors: [record, new BatchSpanProcessor(exporter, { maxQueueSize: 100000, maxExportBatchSize: 512,
                                                                exportTimeoutMillis: 60000 })],
  });
  work(provider.getTracer("client"));
  await provider.shutdown();
  process.stdout.write(`${JSON.stringify({ spans, reported })}\n`);
}

main();

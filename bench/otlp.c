// SPDX-License-Identifier: Apache-2.0
// Cost of decoding OTLP's protobuf: requests of 512 spans, with two attributes and with all that the export writes, in
// memory, for a visitor that only adds up. The floor is a walk over the same fields without checks.
#include "base/wire.h"
#include "bench/measure.h"
#include "otlp/encode.h"
#include "otlp/proto.h"

#include <string.h>
#include <time.h>

#define SPANS 512
#define REPETITIONS 9
#define REQUESTS 2000 // a repetition: a million spans

static uint64_t sum;

static double now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); // others may share the machine
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

// ---- the message -----------------------------------------------------------------------------------------------------
static void put_id(struct otlp_out *out, enum otlp_field_id field, size_t length, uint64_t number)
{
  uint8_t bytes[16] = {0};
  memcpy(bytes + length - 8, &number, 8);
  otlp_out_id(out, field, bytes, length);
}

static void put_text(struct otlp_out *out, const char *key, const char *text)
{
  otlp_out_attribute(out, OTLP_SPAN_ATTRIBUTES, "", slice_of(key), otlp_value_of_text(slice_of(text)));
}

static void put_int(struct otlp_out *out, const char *key, int64_t number)
{
  otlp_out_attribute(out, OTLP_SPAN_ATTRIBUTES, "", slice_of(key), otlp_value_of_int(number));
}

static void put_attributes(struct otlp_out *out, unsigned number, bool is_full)
{
  put_int(out, "xsp.correlation_id", number * 37 + 1);
  put_text(out, "xsp.level", number & 1 ? "library" : "layer");
  if (!is_full)
    return;
  put_text(out, "xsp.kind", "execution");
  put_text(out, "xsp.category", "kernel");
  put_text(out, "xsp.tracer", "kineto");
  put_text(out, "xsp.basis", "correlation");
  put_int(out, "xsp.track", number & 7);
  put_text(out, "xsp.track_name", "device 0 stream 7");
  put_int(out, "xsp.device_id", 0);
  put_int(out, "xsp.stream_id", 7);
}

static void write_request(struct buf *buf, bool is_full)
{
  struct otlp_out out;
  otlp_out_init(&out, false, buf);
  size_t request = otlp_out_message(&out, OTLP_REQUEST_RESOURCE_SPANS);
  size_t group = otlp_out_message(&out, OTLP_RESOURCE_SPANS_SCOPE_SPANS);
  for (unsigned i = 0; i < SPANS; i++) {
    const char *name = i & 1 ? "aten::scaled_dot_product_attention" : "nn.Module: Layer_7";
    uint64_t id = i * UINT64_C(0x9e3779b97f4a7c15) + 1;
    size_t span = otlp_out_message(&out, OTLP_SCOPE_SPANS_SPANS);
    put_id(&out, OTLP_SPAN_TRACE_ID, 16, 77);
    put_id(&out, OTLP_SPAN_ID, 8, id);
    put_id(&out, OTLP_SPAN_PARENT_ID, 8, id ^ 77);
    otlp_out_text(&out, OTLP_SPAN_NAME, name, strlen(name));
    otlp_out_enum(&out, OTLP_SPAN_KIND, OTLP_SPAN_KIND_INTERNAL);
    otlp_out_time(&out, OTLP_SPAN_START, UINT64_C(1700000000000000000) + i * 1000);
    otlp_out_time(&out, OTLP_SPAN_END, UINT64_C(1700000000000000900) + i * 1000);
    put_attributes(&out, i, is_full);
    otlp_out_message_end(&out, span);
  }
  otlp_out_message_end(&out, group);
  otlp_out_message_end(&out, request);
  otlp_out_done(&out);
}

// ---- decoding --------------------------------------------------------------------------------------------------------
static enum status take_resource(void *context, const struct otlp_attribute *attributes, size_t count,
                                 struct error *err)
{
  (void)context;
  (void)attributes;
  (void)err;
  sum += count;
  return STATUS_OK;
}

static enum status take_scope(void *context, struct slice name, struct error *err)
{
  (void)context;
  (void)err;
  sum += name.length;
  return STATUS_OK;
}

static enum status take_span(void *context, const struct otlp_span *span, struct error *err)
{
  (void)context;
  (void)err;
  sum += span->span_id.number + (uint64_t)span->end_ns + span->attribute_count + span->name.length;
  return STATUS_OK;
}

static const struct otlp_visitor visitor = {NULL, take_resource, take_scope, take_span};

static void decode(const struct buf *buf)
{
  static struct otlp_proto proto;
  struct error err = {0};
  check(otlp_proto_decode(&proto, OTLP_REQUEST_MESSAGE, buf->data, buf->length, &visitor, &err), &err);
}

static const char *read_number(const char *at, uint64_t *ret_number)
{
  uint64_t number = 0;
  unsigned shift = 0;
  do {
    number |= (uint64_t)(*at & 0x7f) << shift;
    shift += 7;
  } while (*at++ & 0x80);
  *ret_number = number;
  return at;
}

// Down to the values of attributes, without checks.
static void walk(const char *at, const char *end, int depth)
{
  while (at < end) {
    uint64_t key;
    uint64_t value;
    at = read_number(at, &key);
    if ((key & 7) == WIRE_FIXED64) {
      memcpy(&value, at, sizeof value);
      at += sizeof value;
    } else {
      at = read_number(at, &value);
      if ((key & 7) == WIRE_BYTES) {
        bool is_message =
            depth < 2 || (depth == 2 && key >> 3 == otlp_number(OTLP_SPAN_ATTRIBUTES)) || (depth == 3 && key >> 3 == 2);
        if (is_message)
          walk(at, at + value, depth + 1);
        at += value;
      }
    }
    sum += value;
  }
}

static void floor_of(const struct buf *buf)
{
  uint64_t key;
  uint64_t length;
  const char *at = read_number(buf->data, &key);
  at = read_number(at, &length);
  walk(at, at + length, 0);
}

static double measure(void (*run)(const struct buf *buf), const struct buf *buf)
{
  double times[REPETITIONS];
  for (int i = 0; i < REPETITIONS; i++) {
    double start = now_ns();
    for (int j = 0; j < REQUESTS; j++)
      run(buf);
    times[i] = (now_ns() - start) / REQUESTS / SPANS;
  }
  return median(times, REPETITIONS);
}

int main(void)
{
  for (int is_full = 0; is_full < 2; is_full++) {
    struct buf buf;
    buf_init(&buf, BUF_MAXIMUM_DEFAULT);
    write_request(&buf, is_full);
    double value = measure(decode, &buf);
    double floor = measure(floor_of, &buf);
    printf("{\"bench\":\"otlp/decode\",\"case\":\"512 spans, %d attributes, %.1f bytes a span\",\"value\":%.2f,"
           "\"unit\":\"ns/span\",\"floor\":%.2f,\"ratio\":%.3f,\"target\":null,\"peers\":{}}\n",
           is_full ? 10 : 2, (double)buf.length / SPANS, value, floor, value / floor);
    buf_done(&buf);
  }
  fprintf(stderr, "otlp: sum %llx\n", (unsigned long long)sum);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Answers the calls of NVTX's extensions: payloads with schemas, counters. Memory annotations are accepted and ignored.
#include "tracers/annotations/value.h"
#include "tracers/nvtx/callbacks.h"
#include "tracers/nvtx/handles.h"
#include "tracers/nvtx/schemas.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define SAMPLES_MOST 65536u // of one batch

// ---- what decoding asks for
static const struct payload_schema *context_schema(void *domain, uint64_t id)
{
  return nvtx_schema_find(domain, id);
}

static const char *context_string(void *domain, uint64_t handle)
{
  const struct nvtx_string *string = string_of((const void *)(uintptr_t)handle);
  return string == NULL ? NULL : string->text;
}

// By the kernel, so that a wrong address is an error, which the program's errno does not show. Reads up to the end of the
// readable page.
static size_t context_read(void *domain, uint64_t address, void *to, size_t bytes)
{
  size_t to_page_end = 4096 - (size_t)(address & 4095);
  struct iovec own = {to, bytes};
  struct iovec from[2] = {{(void *)(uintptr_t)address, bytes < to_page_end ? bytes : to_page_end}, {NULL, 0}};
  if (bytes > to_page_end)
    from[1] = (struct iovec){(void *)(uintptr_t)(address + to_page_end), bytes - to_page_end};
  int saved_errno = errno;
  ssize_t got = process_vm_readv(getpid(), &own, 1, from, bytes > to_page_end ? 2 : 1, 0);
  errno = saved_errno;
  return got > 0 ? (size_t)got : 0;
}

void nvtx_extensions_read(const void *domain, const struct nvtx_blob *blobs, size_t count, struct payload_event *event)
{
  const struct payload_context context = {(void *)(uintptr_t)domain, context_schema, context_string, context_read};
  nvtx_payload_event_clear(event);
  if (blobs != NULL)
    nvtx_payload_read(&context, blobs, count, event);
}

// ---- events that are nothing but payloads
static const char *text_of(const struct payload_event *event)
{
  return event->message[0] == '\0' ? NO_NAME : event->message;
}

static const struct annotation *find(const void *domain, const struct payload_event *event)
{
  const char *text = text_of(event);
  return annotation_find(domain_of(domain), nvtx_category_of(domain, event->category), text, strlen(text));
}

struct xsp_span nvtx_mark_with_category(const void *domain, const char *text, uint32_t category)
{
  if (text == NULL)
    text = NO_NAME;
  struct xsp_span span = annotation_mark(domain_of(domain), text, strlen(text));
  const char *name = nvtx_category_of(domain, category);
  if (name != NULL)
    xsp_span_tag_string(&span, "category", name);
  return span;
}

static void payload_mark(const void *domain, const struct nvtx_blob *blobs, size_t count)
{
  struct payload_event event;
  if (annotations_are_off())
    return;
  nvtx_extensions_read(domain, blobs, count, &event);
  struct xsp_span span = nvtx_mark_with_category(domain, text_of(&event), event.category);
  if (span.start != 0)
    annotation_tags_put(&event.tags, &span);
}

static int payload_push(const void *domain, const struct nvtx_blob *blobs, size_t count)
{
  struct payload_event event;
  int level = 0;
  if (annotations_are_off()) {
    annotation_push(domain_of(domain), NULL, NULL, 0, &level);
    return level;
  }
  nvtx_extensions_read(domain, blobs, count, &event);
  struct xsp_span span =
      annotation_push(domain_of(domain), find(domain, &event), event.message, strlen(event.message), &level);
  annotation_pushed_tags(&event.tags, &span);
  return level;
}

static int payload_pop(const void *domain, const struct nvtx_blob *blobs, size_t count)
{
  struct payload_event event;
  struct xsp_span span = annotation_innermost(domain_of(domain));
  if (span.start != 0 && count > 0) {
    nvtx_extensions_read(domain, blobs, count, &event);
    annotation_pop_tags(domain_of(domain), &event.tags);
  }
  return annotation_pop(domain_of(domain));
}

static uint64_t payload_start(const void *domain, const struct nvtx_blob *blobs, size_t count)
{
  struct payload_event event;
  nvtx_extensions_read(domain, blobs, count, &event);
  return annotation_range_start_tagged(domain_of(domain), find(domain, &event), event.message, strlen(event.message),
                                       &event.tags);
}

static void payload_end(const void *domain, uint64_t id, const struct nvtx_blob *blobs, size_t count)
{
  struct payload_event event;
  nvtx_extensions_read(domain, blobs, count, &event);
  annotation_range_end_tagged(id, &event.tags);
}

// Headers of 3.2.0 and 3.2.1 take a domain for switched off where a tool does not answer.
static uint8_t is_enabled(const void *domain)
{
  return 1;
}

// ---- deferred events: their times are those of timestamp()
static int64_t timestamp(void)
{
  return (int64_t)xsp_clock_ticks();
}

// An event whose times are not ours (before this process was traced, or after now) is not recorded: there is no telling
// what clock they are of.
static void publish_deferred(const void *domain, struct payload_event *event)
{
  if (event->has_begin && !event->has_end)
    event->end = event->begin;
  if (event->has_begin)
    annotation_publish(domain_of(domain), find(domain, event), (uint64_t)event->begin, (uint64_t)event->end,
                       &event->tags);
}

static void event_submit(const void *domain, const struct nvtx_blob *blobs, size_t count)
{
  struct payload_event event;
  nvtx_extensions_read(domain, blobs, count, &event);
  publish_deferred(domain, &event);
}

static void event_batch(const void *domain, const struct nvtx_event_batch *batch)
{
  const struct payload_schema *schema = batch == NULL ? NULL : nvtx_schema_find(domain, batch->schema);
  if (schema == NULL || schema->is_enum || schema->size == 0 || batch->events == NULL)
    return; // events of no fixed size cannot be told apart
  for (size_t at = 0; schema->size <= batch->size - at && at / schema->size < SAMPLES_MOST; at += schema->size) {
    struct nvtx_blob blobs[2] = {
        {batch->schema, schema->size, (const char *)batch->events + at},
        {NVTX_SCHEMA_REFERENCED, batch->flexible_size + batch->flexible_offset, batch->flexible}};
    event_submit(domain, blobs, batch->flexible == NULL ? 1 : 2);
  }
}

// ---- counters
static void count(const void *domain, uint64_t id, const struct annotation_value *value)
{
  const struct nvtx_counter *counter = nvtx_counter_find(domain, id);
  if (counter == NULL)
    return;
  struct xsp_span span = annotation_counter(domain_of(domain), counter->name, 0);
  annotation_value_put(value, "value", &span);
}

static void counter_int64(const void *domain, uint64_t id, int64_t value)
{
  count(domain, id, &(struct annotation_value){.type = ANNOTATION_TAG_INT, .integer = value});
}

static void counter_double(const void *domain, uint64_t id, double value)
{
  count(domain, id, &(struct annotation_value){.type = ANNOTATION_TAG_DOUBLE, .real = value});
}

// A group's numbers are counters of their own, "group.number"; a single number is the counter itself.
static void counter_sample_at(const void *domain, uint64_t id, const void *bytes, size_t size, uint64_t ticks)
{
  const struct nvtx_counter *counter = nvtx_counter_find(domain, id);
  if (counter == NULL || bytes == NULL)
    return;
  struct nvtx_blob blob = {counter->schema, size, bytes};
  struct payload_event event;
  nvtx_extensions_read(domain, &blob, 1, &event);
  for (uint32_t i = 0; i < event.tags.count; i++) {
    const struct annotation_tag *tag = &event.tags.tag[i];
    char name[512];
    if (counter->schema < NVTX_SCHEMA_STATIC_START)
      snprintf(name, sizeof name, "%s", counter->name);
    else
      snprintf(name, sizeof name, "%s.%s", counter->name, event.tags.text + tag->key);
    if (tag->type == ANNOTATION_TAG_TEXT)
      continue;
    struct xsp_span span = annotation_counter(domain_of(domain), name, ticks);
    if (tag->type == ANNOTATION_TAG_INT)
      xsp_span_tag_int(&span, "value", tag->value.integer);
    else
      xsp_span_tag_double(&span, "value", tag->value.real);
  }
}

static void counter_sample(const void *domain, uint64_t id, const void *bytes, size_t size)
{
  counter_sample_at(domain, id, bytes, size, 0);
}

static void counter_no_value(const void *domain, uint64_t id, uint8_t reason)
{
  if (reason == NVTX_COUNTER_NO_VALUE_ZERO)
    counter_int64(domain, id, 0);
}

// When sample `index` of `count` was read, in ticks of timestamp(); 0: not given.
static uint64_t sample_time(const struct nvtx_counter_batch *batch, size_t index, size_t count)
{
  size_t times = batch->times == NULL ? 0 : batch->times_size / sizeof batch->times[0];
  if ((batch->flags & (NVTX_COUNTER_BATCH_BEGIN | NVTX_COUNTER_BATCH_END)) == 0)
    return index < times ? (uint64_t)batch->times[index] : 0;
  if (times < 2)
    return 0;
  uint64_t steps =
      (batch->flags & NVTX_COUNTER_BATCH_BEGIN) != 0 ? index : index - (count - 1); // wraps, as the sum does
  return (uint64_t)batch->times[0] + steps * (uint64_t)batch->times[1];
}

static void counter_batch(const void *domain, const struct nvtx_counter_batch *batch)
{
  const struct payload_context context = {(void *)(uintptr_t)domain, context_schema, context_string, context_read};
  const struct nvtx_counter *counter = batch == NULL ? NULL : nvtx_counter_find(domain, batch->id);
  size_t size = counter == NULL ? 0 : nvtx_payload_type_size(&context, counter->schema);
  if (size == 0 || batch->samples == NULL)
    return;
  size_t count = batch->samples_size / size;
  for (size_t i = 0; i < count && i < SAMPLES_MOST; i++)
    counter_sample_at(domain, batch->id, (const char *)batch->samples + i * size, size, sample_time(batch, i, count));
}

// ---- tables
static void fill(const struct nvtx_extension *module, size_t slot, void (*callback)(void))
{
  if (module->segment_count > 0 && module->segments != NULL && slot < module->segments[0].slot_count)
    module->segments[0].slots[slot] = (intptr_t)callback;
}
#define FILL(slot, callback) fill(module, slot, (void (*)(void))(callback))

void nvtx_extensions_fill(const struct nvtx_extension *module)
{
  if (module->module == NVTX_EXTENSION_PAYLOAD) {
    FILL(NVTX_PAYLOAD_SCHEMA_REGISTER_SLOT, nvtx_schema_register);
    FILL(NVTX_PAYLOAD_ENUM_REGISTER_SLOT, nvtx_schema_register_enum);
    FILL(NVTX_PAYLOAD_MARK_SLOT, payload_mark);
    FILL(NVTX_PAYLOAD_PUSH_SLOT, payload_push);
    FILL(NVTX_PAYLOAD_POP_SLOT, payload_pop);
    FILL(NVTX_PAYLOAD_START_SLOT, payload_start);
    FILL(NVTX_PAYLOAD_END_SLOT, payload_end);
    FILL(NVTX_PAYLOAD_IS_ENABLED_SLOT, is_enabled);
    FILL(NVTX_PAYLOAD_TIMESTAMP_SLOT, timestamp);
    FILL(NVTX_PAYLOAD_EVENT_SLOT, event_submit);
    FILL(NVTX_PAYLOAD_EVENTS_SLOT, event_batch);
  } else if (module->module == NVTX_EXTENSION_COUNTERS) {
    FILL(NVTX_COUNTER_REGISTER_SLOT, nvtx_counter_register);
    FILL(NVTX_COUNTER_INT64_SLOT, counter_int64);
    FILL(NVTX_COUNTER_DOUBLE_SLOT, counter_double);
    FILL(NVTX_COUNTER_SAMPLE_SLOT, counter_sample);
    FILL(NVTX_COUNTER_NO_VALUE_SLOT, counter_no_value);
    FILL(NVTX_COUNTER_BATCH_SLOT, counter_batch);
  }
}

// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of Chrome trace events. Any bytes end in an error or in the document's end; a window of a few bytes
// gives the same items and the same error as one that holds it all, and so does a thread of its own; what is accepted is
// JSON by base/json_read too, and what that accepts is refused for reasons of events only.
#include "base/json_read.h"
#include "importers/trace_events/trace_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
  enum status status;
  uint64_t items, sum;
  bool is_unclosed;
  uint64_t nonfinite_count;
  char why[512], where[512];
};

static void add(struct outcome *outcome, const void *bytes, size_t length)
{
  for (size_t i = 0; i < length; i++)
    outcome->sum = outcome->sum * 31 + ((const unsigned char *)bytes)[i];
}

static void add_value(struct outcome *outcome, const struct trace_value *value)
{
  int64_t whole;
  double real;
  add(outcome, &value->type, sizeof value->type);
  if (value->type != TRACE_NONE)
    add(outcome, value->raw.data, value->raw.length);
  if (trace_int64(value, &whole))
    add(outcome, &whole, sizeof whole);
  if (trace_double(value, &real))
    add(outcome, &real, sizeof real);
}

static void add_event(struct outcome *outcome, const struct trace_event *event)
{
  add(outcome, event->name.data, event->name.length);
  add(outcome, event->category.data, event->category.length);
  add(outcome, &event->phase, 1);
  if (event->has_start) {
    add(outcome, &event->start_ns, sizeof event->start_ns);
    add(outcome, &event->end_ns, sizeof event->end_ns);
  }
  add_value(outcome, &event->process_id);
  add_value(outcome, &event->thread_id);
  add_value(outcome, &event->id);
  add_value(outcome, &event->id2);
  add(outcome, &event->offset, sizeof event->offset);
  for (size_t i = 0; i < event->argument_count; i++) {
    add(outcome, event->arguments[i].key.data, event->arguments[i].key.length);
    add_value(outcome, &event->arguments[i].value);
  }
}

static enum status take_event(void *context, const struct trace_event *event, struct error *err)
{
  struct outcome *outcome = context;
  (void)err;
  outcome->items++;
  add_event(outcome, event);
  return STATUS_OK;
}

static enum status take_key(void *context, struct slice key, const struct trace_value *value, uint64_t offset,
                            struct error *err)
{
  struct outcome *outcome = context;
  (void)err;
  outcome->items++;
  add(outcome, key.data, key.length);
  add_value(outcome, value);
  add(outcome, &offset, sizeof offset);
  return STATUS_OK;
}

static struct outcome read_all(const char *path, size_t window_bytes, bool is_apart)
{
  struct input input;
  struct trace_ending ending = {0};
  struct error err = {0};
  struct outcome outcome = {.status = input_open_window(path, UINT64_MAX, window_bytes, &input, &err)};
  if (outcome.status == STATUS_OK && is_apart)
    input_read_ahead(&input);
  if (outcome.status == STATUS_OK)
    outcome.status = trace_read(&input, take_event, take_key, &outcome, &ending, &err);
  if (outcome.status == STATUS_OK) {
    outcome.is_unclosed = ending.is_unclosed;
    outcome.nonfinite_count = ending.nonfinite_count;
  }
  snprintf(outcome.why, sizeof outcome.why, "%s", err.why);
  snprintf(outcome.where, sizeof outcome.where, "%s", err.where);
  input_close(&input);
  return outcome;
}

static bool is_same(const struct outcome *a, const struct outcome *b)
{
  return a->status == b->status && a->items == b->items && a->sum == b->sum && a->is_unclosed == b->is_unclosed &&
         a->nonfinite_count == b->nonfinite_count && strcmp(a->why, b->why) == 0 && strcmp(a->where, b->where) == 0;
}

enum answer { ANSWER_NO, ANSWER_YES, ANSWER_TOO_DEEP };

static enum answer is_json(const uint8_t *data, size_t size)
{
  struct json_reader reader;
  json_read_start(&reader, (const char *)data, size);
  while (json_next(&reader) != JSON_END && reader.event != JSON_ERROR)
    ;
  enum answer answer = reader.event == JSON_END                         ? ANSWER_YES
                       : strcmp(reader.problem, "nested too deep") == 0 ? ANSWER_TOO_DEEP // its limit is lower
                                                                        : ANSWER_NO;
  json_read_done(&reader);
  return answer;
}

static bool is_about_events(const char *why)
{
  static const char *const reasons[] = {"an event in braces was expected", "an array of events was expected",
                                        "beyond 64 bits of nanoseconds", "'{' or '[' was expected", "it is empty"};
  for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
    if (strstr(why, reasons[i]) != NULL)
      return true;
  return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char path[64];
  int fd = memfd_create("trace", MFD_CLOEXEC);
  if (fd < 0 || write(fd, data, size) != (ssize_t)size)
    abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  struct outcome small = read_all(path, 1 + size % 40, false);
  struct outcome apart = read_all(path, 1 + size % 40, true);
  struct outcome large = read_all(path, (size_t)1 << 16, false);
  close(fd);
  if (!is_same(&small, &large) || !is_same(&small, &apart))
    abort();
  bool is_marked = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0;
  bool is_packed = size >= 2 && (memcmp(data, "\x1f\x8b", 2) == 0 || strstr(large.why, "zstd") != NULL);
  if (is_packed || strstr(large.where, "compressed byte") != NULL)
    return 0;
  enum answer answer = is_marked ? is_json(data + 3, size - 3) : is_json(data, size);
  if (large.status == STATUS_OK && !large.is_unclosed && large.nonfinite_count == 0 && answer == ANSWER_NO)
    abort();
  if (large.status != STATUS_OK && answer == ANSWER_YES && !is_about_events(large.why))
    abort();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// dump_events STEP FILE...: prints the items that the reader of Chrome trace events finds in each file, one per line, "-" for
// all but each STEP-th event; then "end", the exit status, and the error's line where the file is broken.
// test_trace_events.py compares them with Python's json.
#include "importers/trace_events/trace_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void put_bytes(struct slice bytes)
{
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < bytes.length; i++) {
    putchar_unlocked(digits[(unsigned char)bytes.data[i] >> 4]);
    putchar_unlocked(digits[(unsigned char)bytes.data[i] & 15]);
  }
}

static void put_text(const char *name, struct slice text)
{
  printf(" %s=", name);
  put_bytes(text);
}

static void put_value(const char *name, const struct trace_value *value)
{
  static const char types[] = "-sntfz{[";
  printf(" %s=%c", name, types[value->type]);
  put_bytes(value->raw);
}

static void put_event(const struct trace_event *event)
{
  printf("event at=%" PRIu64, event->offset);
  put_text("name", event->name);
  put_text("cat", event->category);
  printf(" ph=%02x", (unsigned char)event->phase);
  if (event->has_start)
    printf(" start=%" PRId64, event->start_ns);
  if (event->has_start && event->has_duration)
    printf(" end=%" PRId64, event->end_ns);
  put_value("pid", &event->process_id);
  put_value("tid", &event->thread_id);
  put_value("id", &event->id);
  for (size_t i = 0; i < event->argument_count; i++) {
    put_text("key", event->arguments[i].key);
    put_value("value", &event->arguments[i].value);
  }
  putchar('\n');
}

static void dump(const char *path, uint64_t step)
{
  struct error err = {0};
  struct input input;
  struct trace_reader reader = {0};
  enum trace_item item = TRACE_END;
  uint64_t events = 0;
  enum status status = input_open(path, UINT64_MAX, &input, &err);
  if (status == STATUS_OK)
    status = trace_open(&input, &reader, &err);
  while (status == STATUS_OK && (status = trace_next(&reader, &item, &err)) == STATUS_OK && item != TRACE_END) {
    if (item == TRACE_EVENT && events++ % step != 0) {
      puts("-");
    } else if (item == TRACE_EVENT) {
      put_event(&reader.event);
    } else {
      fputs("key", stdout);
      put_text("key", reader.key);
      put_value("value", &reader.value);
      putchar('\n');
    }
  }
  if (status == STATUS_OK && reader.is_unclosed)
    puts("unclosed");
  char line[2048] = "";
  if (status != STATUS_OK)
    error_line(&err, line, sizeof line);
  printf("end %d %s\n", status_exit_code(status), line);
  trace_close(&reader);
  input_close(&input);
}

int main(int count, char **arguments)
{
  uint64_t step = count > 1 ? strtoull(arguments[1], NULL, 10) : 0;
  if (step == 0)
    return 2;
  for (int i = 2; i < count; i++)
    dump(arguments[i], step);
  return 0;
}

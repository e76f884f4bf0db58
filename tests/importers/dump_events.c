// SPDX-License-Identifier: Apache-2.0
// dump_events FILE [LIMIT_BYTES]: prints the items that the reader of Chrome trace events finds in a file, one per
// line; test_trace_events.py compares them with Python's json. Exit status 2 and the error's line if the file is
// broken.
#include "importers/trace_events/trace_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void put_text(const char *name, struct slice text)
{
  printf(" %s=", name);
  for (size_t i = 0; i < text.length; i++)
    printf("%02x", (unsigned char)text.data[i]);
}

static void put_value(const char *name, const struct trace_value *value)
{
  static const char types[] = "-sntfz{[";
  printf(" %s=%c", name, types[value->type]);
  for (size_t i = 0; i < value->raw.length; i++)
    printf("%02x", (unsigned char)value->raw.data[i]);
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

int main(int count, char **arguments)
{
  struct error err = {0};
  struct input input;
  struct trace_reader reader = {0};
  enum trace_item item = TRACE_END;
  if (count < 2)
    return 2;
  uint64_t limit_bytes = count > 2 ? strtoull(arguments[2], NULL, 10) : UINT64_MAX;
  enum status status = input_open(arguments[1], limit_bytes, &input, &err);
  if (status == STATUS_OK)
    status = trace_open(&input, &reader, &err);
  while (status == STATUS_OK && (status = trace_next(&reader, &item, &err)) == STATUS_OK && item != TRACE_END) {
    if (item == TRACE_EVENT) {
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
  if (status != STATUS_OK) {
    char line[2048];
    error_line(&err, line, sizeof line);
    fprintf(stderr, "%s\n", line);
  }
  trace_close(&reader);
  input_close(&input);
  return status_exit_code(status);
}

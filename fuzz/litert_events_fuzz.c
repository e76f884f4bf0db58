// SPDX-License-Identifier: Apache-2.0
// Fuzzes guest/frameworks/litert/events: bytes in place of a profiler's events. Tags are pointers, which are passed on unread.
#include "frameworks/common/stderr_capture.h"
#include "frameworks/litert/events.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  size_t count = size / LITERT_EVENT_BYTES;
  struct litert_event *events = calloc(count + 1, sizeof *events);
  char *text = malloc(size + 1);
  if (events != NULL && text != NULL) {
    size_t read = litert_events_read(data, count, events);
    if (read > count || litert_events_written(data, size) > size + 7)
      abort();
    for (size_t i = 0; i < read; i++)
      if (events[i].tag == NULL || events[i].node < 0 || events[i].start_us * 1000 / 1000 != events[i].start_us)
        abort();
    if (size > 0)
      memcpy(text, data, size);
    text[size] = 0;
    char line[40];
    framework_stderr_capture_line(text, "E", line, sizeof line);
    if (strlen(line) >= sizeof line)
      abort();
  }
  free(events);
  free(text);
  return 0;
}

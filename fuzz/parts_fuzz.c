// SPDX-License-Identifier: Apache-2.0
// Fuzzes files of a page's parts: opening them, and what a server asks of them.
#include "report/report.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char path[] = "/tmp/parts-fuzz-XXXXXX";
  struct report_parts *parts;
  struct error err = {0};
  struct slice bytes;
  struct buf out = {0};
  int file = mkstemp(path);
  if (file < 0 || write(file, data, size) != (ssize_t)size)
    abort();
  close(file);
  enum status status = report_parts_open(path, &parts, &err);
  if (status != STATUS_OK && status != STATUS_INPUT) // whatever it holds, it can be read
    abort();
  if (status == STATUS_OK) {
    (void)report_parts_get(parts, "document", &bytes);
    for (int64_t to_ns = 1; to_ns < INT64_MAX / 1000; to_ns *= 1000) {
      const struct report_window window = {.run = 0, .from_ns = -to_ns, .to_ns = to_ns, .most = 2};
      const struct report_find find = {.names = "0-3,64", .at_ns = to_ns / 2, .from_ns = -to_ns, .to_ns = to_ns};
      buf_clear(&out);
      (void)report_parts_window(parts, &window, &out);
      (void)report_parts_find(parts, &find, &out);
    }
    report_parts_close(parts);
  }
  unlink(path);
  buf_done(&out);
  return 0;
}

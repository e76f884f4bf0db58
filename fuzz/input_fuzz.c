// SPDX-License-Identifier: Apache-2.0
// Fuzzes the window over compressed files: any bytes end in an error or in the file's end, within the limit, with the
// sentinel in its place; a small window shows the same bytes as a large one.
#include "importers/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LIMIT_BYTES ((uint64_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
  enum status status;
  uint64_t length, sum;
};

static struct outcome read_all(const char *path, size_t window_bytes)
{
  struct input input;
  struct error err = {0};
  struct outcome outcome = {.status = input_open_window(path, LIMIT_BYTES, window_bytes, &input, &err)};
  while (outcome.status == STATUS_OK) {
    if (*input.end != 0 || input.at > input.end)
      abort();
    for (; input.at < input.end; input.at++)
      outcome.sum = outcome.sum * 31 + (unsigned char)*input.at;
    outcome.length = input.end_offset;
    if (outcome.length > LIMIT_BYTES)
      abort();
    if (input.is_last)
      break;
    outcome.status = input_more(&input, &err);
  }
  if (outcome.status != STATUS_OK && (err.status != outcome.status || err.why[0] == 0))
    abort();
  input_close(&input);
  return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char path[64];
  int fd = memfd_create("input", MFD_CLOEXEC);
  if (fd < 0 || write(fd, data, size) != (ssize_t)size)
    abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  struct outcome small = read_all(path, 100);
  struct outcome large = read_all(path, (size_t)1 << 16);
  if (small.status != large.status || (small.status == STATUS_OK && memcmp(&small, &large, sizeof small) != 0))
    abort();
  close(fd);
  return 0;
}

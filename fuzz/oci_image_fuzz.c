// SPDX-License-Identifier: Apache-2.0
// Fuzzes what images of containers are made of: the first byte chooses (j the JSON of a layout, t a layer's archive).
#include "isolation/layout.h"
#include "isolation/tar.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_json(const char *text, size_t length)
{
  struct arena arena = {0};
  struct layout layout;
  if (isolation_layout_read(text, length, "amd64", &arena, &layout) == NULL) {
    if (layout.layer_count > LAYOUT_LAYERS_MOST ||
        (layout.chosen.hex[0] != 0 && strlen(layout.chosen.hex) != LAYOUT_HEX))
      abort();
    for (size_t i = 0; i < layout.layer_count; i++)
      if (strspn(layout.layers[i].hex, "0123456789abcdef") != LAYOUT_HEX)
        abort();
  }
  arena_done(&arena);
}

// No path of an entry leaves the root, whatever the archive has.
static void check_path(const char *path)
{
  if (path[0] == '/' || strcmp(path, "..") == 0 || strncmp(path, "../", 3) == 0 || strstr(path, "/../") != NULL ||
      (strlen(path) > 2 && strcmp(path + strlen(path) - 3, "/..") == 0))
    abort();
}

static void read_archive(const uint8_t *data, size_t size)
{
  struct tar tar;
  struct tar_entry entry;
  struct error err = {0};
  bool is_end = false;
  uint64_t content = 0; // a few bytes of gzip can stand for gigabytes
  int file = memfd_create("layer", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != (ssize_t)size || lseek(file, 0, SEEK_SET) != 0)
    abort();
  if (tar_open(&tar, file, "layer", &err) != STATUS_OK)
    return;
  while (content < 1 << 20 && tar_next(&tar, &entry, &is_end, &err) == STATUS_OK && !is_end) {
    check_path(entry.path);
    if (entry.kind == TAR_HARD_LINK)
      check_path(entry.link);
    content += entry.size_bytes;
  }
  if (!is_end && content < 1 << 20 && err.why[0] == 0)
    abort(); // an error has a reason
  tar_close(&tar);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size > 0 && data[0] == 'j')
    read_json((const char *)data + 1, size - 1);
  else if (size > 0)
    read_archive(data + 1, size - 1);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Fuzzes the texts of assets/: URLs, the head of an answer with a part of a file, what the cache keeps of a file. First byte: which.
#include "assets/address.h"
#include "assets/fetch.h"
#include "base/path_text.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_url(struct slice text)
{
  struct arena arena = {0};
  struct asset_address address;
  struct error err = {0};
  const char *url = arena_copy(&arena, text.data, text.length);
  enum status status = asset_address_read(url, &arena, &address, &err);
  if (status != STATUS_OK && (status != STATUS_USE || err.why[0] == 0))
    abort();
  bool is_below = status == STATUS_OK && (address.scheme == ASSET_REPOSITORY || address.scheme == ASSET_PACKAGE);
  if (is_below && !path_is_inner(address.path))
    abort();
  if (status == STATUS_OK && address.scheme == ASSET_HTTP) {
    const char *name = asset_name_of(url, &arena);
    if (name[0] == 0 || name[0] == '.' || strchr(name, '/') != NULL || strlen(name) > 100)
      abort();
  }
  arena_done(&arena);
}

static void fuzz_source(struct slice text)
{
  struct asset_source source, again;
  struct buf out = {0};
  if (source_parse(text, "http://h/x", &source)) {
    source_format(&source, "http://h/x", &out);
    if (!source_parse((struct slice){out.data, out.length}, "http://h/x", &again) || again.bytes != source.bytes ||
        strcmp(again.etag, source.etag) != 0 || strcmp(again.sha256, source.sha256) != 0)
      abort();
  }
  buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  uint64_t first, total;
  struct slice text = {(const char *)data + 1, size - 1};
  if (size < 2)
    return 0;
  switch (data[0]) {
  case 'u':
    fuzz_url(text);
    break;
  case 's':
    fuzz_source(text);
    break;
  default:
    (void)content_range_parse(text, &first, &total);
  }
  return 0;
}

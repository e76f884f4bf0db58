// SPDX-License-Identifier: Apache-2.0
// The list of files, and their bytes. Called through services/serve/routes.c.
#include "serve/api/files.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "base/slice.h"
#include "http/exchange.h"
#include "serve/kept.h"
#include "serve/server.h"

#include <inttypes.h>
#include <stdio.h>

// ---- the list --------------------------------------------------------------------------------------------------------
void serve_files_list(struct exchange *exchange)
{
  struct kept_files files;
  struct error error = {0};
  struct json_writer json;
  if (kept_list(serve_of(exchange)->folder, &files, &error) != STATUS_OK) {
    exchange_refuse_error(exchange, 500, &error);
    return;
  }
  struct buf *text = exchange_reply(exchange, 200, "application/json");
  json_start(&json, text);
  json_object(&json);
  json_member_array(&json, "files");
  for (size_t i = 0; i < files.list.count; i++) {
    const struct kept_file *file = &files.list.items[i];
    json_object(&json);
    json_member_string(&json, "name", file->name);
    json_member_int(&json, "size_bytes", (int64_t)file->bytes);
    json_member_string(&json, "state", file->is_growing ? "growing" : "complete");
    json_member_int(&json, "changed_ns", file->changed_ns);
    json_object_end(&json);
  }
  json_array_end(&json);
  json_object_end(&json);
  buf_text(text, "\n");
  vector_done(&files.list);
}

// ---- download --------------------------------------------------------------------------------------------------------
enum range_result { RANGE_ALL, RANGE_PART, RANGE_OUTSIDE };

// "bytes=FROM-TO", "bytes=FROM-" and "bytes=-COUNT" (RFC 9110, 14.2). Other ranges, and several, are ignored as a server may.
static enum range_result read_range(const char *header, uint64_t size, uint64_t *ret_from, uint64_t *ret_bytes)
{
  static const char unit[] = "bytes=";
  struct slice to, from;
  int64_t first = -1, last = -1;
  *ret_from = 0;
  *ret_bytes = size;
  if (header == NULL || !text_begins_with(header, unit))
    return RANGE_ALL;
  to = slice_of(header + sizeof unit - 1);
  if (!slice_cut(&to, '-', &from) || to.data == NULL || (from.length == 0 && to.length == 0) ||
      (from.length > 0 && !slice_int64(from, &first)) ||
      (to.length > 0 && (to.data[0] == '-' || !slice_int64(to, &last))))
    return RANGE_ALL;
  if (first < 0) { // the last bytes
    *ret_bytes = (uint64_t)last < size ? (uint64_t)last : size;
    *ret_from = size - *ret_bytes;
    return *ret_bytes > 0 ? RANGE_PART : RANGE_OUTSIDE;
  }
  if (last >= 0 && last < first)
    return RANGE_ALL;
  if ((uint64_t)first >= size)
    return RANGE_OUTSIDE;
  uint64_t end = last >= 0 && (uint64_t)last < size ? (uint64_t)last + 1 : size;
  *ret_from = (uint64_t)first;
  *ret_bytes = end - *ret_from;
  return RANGE_PART;
}

void serve_files_download(struct exchange *exchange)
{
  struct stat facts;
  uint64_t from, bytes;
  int file = kept_open(serve_of(exchange)->folder, exchange->parts[0], &facts);
  if (file < 0) {
    exchange_refuse(exchange, 404, "there is no file %s", exchange->parts[0]);
    return;
  }
  uint64_t size = (uint64_t)facts.st_size;
  // A growing file may be made again between two ranges: the client asks whether it still is the same.
  char tag[64];
  snprintf(tag, sizeof tag, "\"%" PRIxMAX "-%" PRIx64 "-%" PRIx64 "\"", (uintmax_t)facts.st_ino, size,
           (uint64_t)clock_ns_of(facts.st_mtim));
  const char *condition = exchange_header(exchange, MHD_HTTP_HEADER_IF_RANGE);
  const char *range = exchange_header(exchange, MHD_HTTP_HEADER_RANGE);
  bool is_same = condition == NULL || strcmp(condition, tag) == 0;
  bool may_be_part = is_same && !exchange->is_head; // RFC 9110, 14.2: ranges are of GET
  enum range_result result = read_range(may_be_part ? range : NULL, size, &from, &bytes);
  exchange_reply_file(exchange, result == RANGE_PART ? 206 : 200, "application/vnd.sqlite3", file, from, bytes);
  exchange_add_header(exchange, MHD_HTTP_HEADER_ETAG, "%s", tag);
  exchange_add_header(exchange, MHD_HTTP_HEADER_ACCEPT_RANGES, "bytes");
  exchange_add_header(exchange, MHD_HTTP_HEADER_CONTENT_DISPOSITION, "attachment; filename=\"%s\"", exchange->parts[0]);
  if (result == RANGE_OUTSIDE) {
    exchange_refuse(exchange, 416, "the file has %" PRIu64 " bytes", size);
    exchange_add_header(exchange, MHD_HTTP_HEADER_CONTENT_RANGE, "bytes */%" PRIu64, size);
  } else if (result == RANGE_PART) {
    exchange_add_header(exchange, MHD_HTTP_HEADER_CONTENT_RANGE, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, from,
                        from + bytes - 1, size);
  }
}

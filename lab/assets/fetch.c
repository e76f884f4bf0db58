// SPDX-License-Identifier: Apache-2.0
// GET requests by libcurl; see fetch.h. Servers are not trusted: what they send is bounded, and they cannot lead elsewhere than to
// other HTTP servers. Called by get.c.
#include "assets/fetch.h"

#include "base/input_file.h"
#include "base/transfer.h"
#include "http/curl.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define REDIRECTS_MOST 10
#define REQUESTS_MOST 20 // for one file, each of which brought some of it

static const char what[] = "cannot fetch the file";

struct head { // of an answer
  char etag[SOURCE_VALUE_SIZE], modified[SOURCE_VALUE_SIZE], encoding[64], range[128];
};
struct fetch {
  const struct asset_request *request;
  const struct asset_entry *entry;
  const struct asset_source *known;
  struct curl curl;
  struct curl_slist *headers;
  struct asset_source source; // of the part
  int part;
  uint64_t offset; // bytes of the part
  struct head head;
  bool has_begun, is_taken; // the body; into the part
  enum status status;       // of the first failure while the body came
  struct error *err;
};

// ---- the answer's head -----------------------------------------------------------------------------------------------
bool content_range_parse(struct slice text, uint64_t *ret_first, uint64_t *ret_total)
{
  struct slice unit, range, first;
  int64_t number = 0, total = 0;
  *ret_first = *ret_total = 0;
  if (!slice_cut(&text, ' ', &unit) || !slice_is(unit, "bytes") || !slice_cut(&text, '/', &range) || text.data == NULL)
    return false;
  if (!slice_is(range, "*")) {
    slice_cut(&range, '-', &first);
    if (range.data == NULL || !slice_int64(first, &number) || number < 0)
      return false;
  }
  if (!slice_is(text, "*") && (!slice_int64(text, &total) || total < 0))
    return false;
  *ret_first = (uint64_t)number;
  *ret_total = (uint64_t)total;
  return true;
}

static void keep_value(struct slice value, char *text, size_t size)
{
  bool fits = value.length < size && memchr(value.data, 0, value.length) == NULL;
  memcpy(text, value.data, fits ? value.length : 0);
  text[fits ? value.length : 0] = 0;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *context)
{
  struct fetch *fetch = context;
  struct slice value = {bytes, size * count}, name;
  struct {
    const char *name;
    char *text;
    size_t size;
  } kept[] = {{"ETag", fetch->head.etag, sizeof fetch->head.etag},
              {"Last-Modified", fetch->head.modified, sizeof fetch->head.modified},
              {"Content-Encoding", fetch->head.encoding, sizeof fetch->head.encoding},
              {"Content-Range", fetch->head.range, sizeof fetch->head.range}};
  if (slice_starts_with(value, "HTTP/")) // of the next answer, after a redirect
    fetch->head = (struct head){0};
  slice_cut(&value, ':', &name);
  for (size_t i = 0; value.data != NULL && i < sizeof kept / sizeof *kept; i++)
    if (name.length == strlen(kept[i].name) && strncasecmp(name.data, kept[i].name, name.length) == 0)
      keep_value(slice_trim(value), kept[i].text, kept[i].size);
  return size * count;
}

// ---- the body --------------------------------------------------------------------------------------------------------
static enum status no_room(struct fetch *fetch, uint64_t bytes, uint64_t free_bytes)
{
  return error_set(fetch->err, STATUS_SYSTEM, what, fetch->request->url, "XSP_ASSET_CACHE=FOLDER with room for it",
                   "%s has room for %" PRIu64 " bytes, %" PRIu64 " are to come", fetch->entry->folder, free_bytes,
                   bytes);
}

static enum status check_size(struct fetch *fetch, uint64_t total)
{
  struct statvfs disk;
  uint64_t most = fetch->request->bytes_most != 0 ? fetch->request->bytes_most : ASSET_BYTES_MOST;
  if (total > most || fetch->offset > most)
    return error_set(fetch->err, STATUS_INPUT, what, fetch->request->url, "a higher limit",
                     "it has more than %" PRIu64 " bytes, the limit", most);
  if (total > fetch->offset && fstatvfs(fetch->part, &disk) == 0 &&
      total - fetch->offset > (uint64_t)disk.f_bavail * disk.f_frsize)
    return no_room(fetch, total - fetch->offset, (uint64_t)disk.f_bavail * disk.f_frsize);
  return STATUS_OK;
}

static enum status empty_part(struct fetch *fetch)
{
  fetch->offset = 0;
  fetch->source = (struct asset_source){0};
  return ftruncate(fetch->part, 0) == 0 ? STATUS_OK : cache_no_place(&asset_cache, fetch->entry->part, fetch->err);
}

static bool differ(const char *a, const char *b)
{
  return a[0] != 0 && b[0] != 0 && strcmp(a, b) != 0;
}

// A server may answer with a part of another file, in spite of If-Range.
static bool is_changed(const struct asset_source *part, const struct head *head, uint64_t total)
{
  return differ(part->etag, head->etag) || differ(part->modified, head->modified) ||
         (part->bytes != 0 && total != 0 && part->bytes != total);
}

// A whole file, or the rest of one. What is known of it is on the disk before its first byte.
static enum status begin_part(struct fetch *fetch, long code)
{
  curl_off_t length = -1;
  uint64_t first = 0, total = 0;
  const struct head *head = &fetch->head;
  fetch->curl.call.easy_getinfo(fetch->curl.handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  if (head->encoding[0] != 0 && strcasecmp(head->encoding, "identity") != 0)
    return error_set(fetch->err, STATUS_INPUT, what, fetch->request->url, "a server that sends files as they are",
                     "it comes in the encoding %s, which was not asked for", head->encoding);
  if (code == 206) {
    if (!content_range_parse(slice_of(head->range), &first, &total) || first != fetch->offset)
      return error_set(fetch->err, STATUS_INPUT, what, fetch->request->url, "again, from its beginning",
                       "the server sent another part of the file than the one from byte %" PRIu64, fetch->offset);
    if (is_changed(&fetch->source, head, total))
      return error_set(fetch->err, STATUS_INPUT, what, fetch->request->url, "again, from its beginning",
                       "it changed on the server after %" PRIu64 " bytes of it came", fetch->offset);
  } else {
    XSP_TRY(empty_part(fetch));
    total = length > 0 ? (uint64_t)length : 0;
  }
  XSP_TRY(check_size(fetch, total));
  if (head->etag[0] != 0)
    memcpy(fetch->source.etag, head->etag, sizeof head->etag);
  if (head->modified[0] != 0)
    memcpy(fetch->source.modified, head->modified, sizeof head->modified);
  fetch->source.bytes = total;
  return entry_source_write(fetch->entry, fetch->entry->part_source, &fetch->source, fetch->err);
}

static void begin_body(struct fetch *fetch)
{
  long code = 0;
  fetch->curl.call.easy_getinfo(fetch->curl.handle, CURLINFO_RESPONSE_CODE, &code);
  fetch->has_begun = true;
  fetch->is_taken = code == 200 || code == 206;
  if (fetch->is_taken)
    fetch->status = begin_part(fetch, code);
}

static enum status put_bytes(struct fetch *fetch, const char *bytes, size_t length)
{
  if (!transfer_write_at(fetch->part, bytes, length, fetch->offset))
    return error_set_errno(fetch->err, STATUS_SYSTEM, "no room for fetched files", fetch->entry->folder,
                           "XSP_ASSET_CACHE=FOLDER with room for them");
  fetch->offset += length;
  return check_size(fetch, 0);
}

// Fewer bytes than were offered end the transfer.
static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
  struct fetch *fetch = context;
  const struct asset_request *request = fetch->request;
  if (!fetch->has_begun)
    begin_body(fetch);
  if (fetch->is_taken && fetch->status == STATUS_OK)
    fetch->status = put_bytes(fetch, bytes, size * count);
  if (fetch->status != STATUS_OK)
    return 0;
  if (fetch->is_taken && request->progress != NULL)
    request->progress(request->context, request->url, fetch->offset, fetch->source.bytes);
  return size * count;
}

// ---- a request -------------------------------------------------------------------------------------------------------
static void add_header(struct fetch *fetch, const char *name, const char *value)
{
  char text[SOURCE_VALUE_SIZE + 64];
  snprintf(text, sizeof text, "%s: %s", name, value);
  curl_add_header(&fetch->curl, &fetch->headers, text);
}

// A weak ETag is of files that mean the same, not of the same bytes.
static const char *validator_of(const struct asset_source *source)
{
  return source->etag[0] != 0 && strncmp(source->etag, "W/", 2) != 0 ? source->etag : source->modified;
}

static bool can_continue(const struct fetch *fetch)
{
  return fetch->request->sha256 != NULL || validator_of(&fetch->source)[0] != 0;
}

static void ask(struct fetch *fetch)
{
  const struct curl_functions *curl = &fetch->curl.call;
  char range[64];
  curl->slist_free_all(fetch->headers);
  fetch->headers = NULL;
  add_header(fetch, "Accept-Encoding", "identity");
  if (fetch->known != NULL && fetch->known->etag[0] != 0)
    add_header(fetch, "If-None-Match", fetch->known->etag);
  else if (fetch->known != NULL && fetch->known->modified[0] != 0)
    add_header(fetch, "If-Modified-Since", fetch->known->modified);
  else if (fetch->offset > 0 && can_continue(fetch)) {
    snprintf(range, sizeof range, "bytes=%" PRIu64 "-", fetch->offset);
    add_header(fetch, "Range", range);
    if (validator_of(&fetch->source)[0] != 0)
      add_header(fetch, "If-Range", validator_of(&fetch->source));
  }
  curl->easy_setopt(fetch->curl.handle, CURLOPT_HTTPHEADER, fetch->headers);
}

static enum status set_up(struct fetch *fetch)
{
  const struct curl_functions *curl = &fetch->curl.call;
  const char *url = fetch->request->url;
  long stall_s = fetch->request->stall_s != 0 ? (long)fetch->request->stall_s : ASSET_STALL_S;
  XSP_TRY(curl_open(what, NULL, &fetch->curl, fetch->err));
  CURL *handle = fetch->curl.handle;
  curl->easy_setopt(handle, CURLOPT_URL, url);
  bool is_bound = curl->easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR,
                                    text_begins_with(url, "https:") ? "https" : "http,https") == CURLE_OK;
  curl->easy_setopt(handle, CURLOPT_FOLLOWLOCATION, is_bound ? 1L : 0L);
  curl->easy_setopt(handle, CURLOPT_MAXREDIRS, (long)REDIRECTS_MOST);
  if (stall_s < CURL_CONNECT_S)
    curl->easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, stall_s);
  curl->easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl->easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, stall_s);
  curl->easy_setopt(handle, CURLOPT_HEADERFUNCTION, take_header);
  curl->easy_setopt(handle, CURLOPT_HEADERDATA, fetch);
  curl->easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_body);
  curl->easy_setopt(handle, CURLOPT_WRITEDATA, fetch);
  return STATUS_OK;
}

static enum status refused(const struct fetch *fetch, long code, struct error *err)
{
  const char *url = fetch->request->url;
  if (code == 429 || code >= 500)
    return error_set(err, STATUS_SYSTEM, what, url, "again later", "the server cannot send it now: HTTP status %ld",
                     code);
  if (code == 404 || code == 410)
    return error_set(err, STATUS_INPUT, what, url, "another URL", "the server does not have it: HTTP status %ld", code);
  if (code == 401 || code == 403 || code == 407)
    return error_set(err, STATUS_INPUT, what, url, "a URL that needs no password",
                     "the server does not give it to everybody: HTTP status %ld", code);
  return error_set(err, STATUS_INPUT, what, url, "another URL", "HTTP status %ld", code);
}

static enum status lost(const struct fetch *fetch, CURLcode result, struct error *err)
{
  const char *url = fetch->request->url;
  const char *problem = curl_problem(&fetch->curl, result);
  if (result == CURLE_UNSUPPORTED_PROTOCOL || result == CURLE_TOO_MANY_REDIRECTS)
    return error_set(err, STATUS_INPUT, what, url, "the URL that it leads to",
                     "the server redirects to a place that xsp does not follow: %s", problem);
  if (!curl_is_lost(result) || fetch->offset == 0 || !can_continue(fetch))
    return error_set(err, STATUS_SYSTEM, what, url, NULL, "%s", problem);
  return error_set(err, STATUS_SYSTEM, what, url, "again: what came is kept, and continued",
                   "%s, after %" PRIu64 " bytes of it", problem, fetch->offset);
}

// *ret_code 0: the connection was lost after new bytes came, and another request can continue.
static enum status perform(struct fetch *fetch, long *ret_code)
{
  uint64_t before = fetch->offset;
  fetch->head = (struct head){0};
  fetch->has_begun = fetch->is_taken = false;
  fetch->curl.problem[0] = 0;
  ask(fetch);
  CURLcode result = fetch->curl.call.easy_perform(fetch->curl.handle);
  if (result == CURLE_OK && !fetch->has_begun) // there is no body
    begin_body(fetch);
  *ret_code = 0;
  if (fetch->status != STATUS_OK)
    return fetch->status;
  if (result == CURLE_OK)
    fetch->curl.call.easy_getinfo(fetch->curl.handle, CURLINFO_RESPONSE_CODE, ret_code);
  else if (!curl_is_lost(result) || result == CURLE_OPERATION_TIMEDOUT || fetch->offset <= before ||
           !can_continue(fetch))
    return lost(fetch, result, fetch->err);
  return STATUS_OK;
}

// ---- a file ----------------------------------------------------------------------------------------------------------
static bool is_whole(const struct fetch *fetch)
{
  return fetch->source.bytes != 0 && fetch->offset == fetch->source.bytes;
}

static bool is_short(const struct fetch *fetch)
{
  return fetch->offset < fetch->source.bytes;
}

static enum status fetch_all(struct fetch *fetch, bool *ret_is_same)
{
  if (is_whole(fetch) && fetch->known == NULL)
    return STATUS_OK;
  XSP_TRY(set_up(fetch));
  for (unsigned i = 0; i < REQUESTS_MOST; i++) {
    long code = 0;
    XSP_TRY(perform(fetch, &code));
    *ret_is_same = code == 304 && fetch->known != NULL;
    if (*ret_is_same || (fetch->is_taken && code != 0 && !is_short(fetch)))
      return STATUS_OK;
    if (code == 416 && fetch->offset > 0)
      XSP_TRY(empty_part(fetch)); // longer than the file
    else if (code != 0 && !fetch->is_taken)
      return refused(fetch, code, fetch->err);
    fetch->known = NULL; // what comes is another file than that one
  }
  return error_set(fetch->err, STATUS_SYSTEM, what, fetch->request->url, "again: what came is kept, and continued",
                   "the connection was lost %d times", REQUESTS_MOST);
}

static enum status open_part(struct fetch *fetch)
{
  struct stat facts;
  const char *path = fetch->entry->part;
  fetch->part = regular_file_open(AT_FDCWD, path, O_RDWR | O_CREAT, &facts);
  if (fetch->part < 0)
    return cache_no_place(&asset_cache, path, fetch->err);
  fetch->offset = (uint64_t)facts.st_size;
  if (!entry_source_read(fetch->entry, fetch->entry->part_source, &fetch->source) || fetch->known != NULL)
    return empty_part(fetch);
  return STATUS_OK;
}

enum status fetch_part(const struct asset_request *request, const struct asset_entry *entry,
                       const struct asset_source *known, struct fetched *ret_fetched, struct error *err)
{
  struct fetch fetch = {.request = request, .entry = entry, .known = known, .err = err};
  *ret_fetched = (struct fetched){0};
  XSP_TRY(open_part(&fetch));
  uint64_t before = fetch.offset;
  enum status status = fetch_all(&fetch, &ret_fetched->is_same);
  if (status == STATUS_OK && !ret_fetched->is_same && fsync(fetch.part) != 0)
    status = cache_no_place(&asset_cache, entry->part, err);
  close(fetch.part);
  curl_close(&fetch.curl, fetch.headers);
  bool is_useful = fetch.status == STATUS_OK && fetch.offset > 0 && can_continue(&fetch);
  bool is_kept = status == STATUS_OK ? !ret_fetched->is_same : is_useful;
  if (!is_kept)
    entry_drop_part(entry);
  if (status != STATUS_OK || ret_fetched->is_same)
    return status;
  ret_fetched->source = fetch.source;
  ret_fetched->was_continued = before > 0;
  ret_fetched->source.bytes = fetch.offset;
  return checksum_of_file(entry->part, ret_fetched->source.sha256, err);
}

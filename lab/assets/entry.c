// SPDX-License-Identifier: Apache-2.0
// The cache's files; see entry.h. Called by get.c and fetch.c.
#include "assets/entry.h"

#include "assets/address.h"
#include "base/input_file.h"
#include "base/scoped.h"
#include "base/transfer.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_DIGITS 32
#define SOURCE_BYTES_MOST 8192

const struct cache asset_cache = {"fetched files", "XSP_ASSET_CACHE", "assets"};

enum status entry_find(const char *url, const char *sha256, struct arena *arena, struct asset_entry *ret_entry,
                       struct error *err)
{
  const char *cache = NULL;
  char key[CHECKSUM_TEXT_SIZE];
  struct checksum *checksum = checksum_start();
  checksum_add(checksum, url, strlen(url) + 1);
  for (const char *digit = sha256 != NULL ? sha256 : ""; *digit != 0; digit++)
    checksum_add(checksum, &(char){(char)tolower((unsigned char)*digit)}, 1);
  checksum_finish(checksum, key);
  XSP_TRY(cache_folder(&asset_cache, arena, &cache, err));
  const char *folder = arena_format(arena, "%s/%.*s", cache, KEY_DIGITS, key);
  *ret_entry = (struct asset_entry){
      .url = url,
      .folder = folder,
      .file = arena_format(arena, "%s/%s", folder, asset_name_of(url, arena)),
      .source = arena_format(arena, "%s/.source", folder),
      .part = arena_format(arena, "%s/.part", folder),
      .part_source = arena_format(arena, "%s/.part.source", folder),
      .lock = arena_format(arena, "%s/.lock", folder),
  };
  return STATUS_OK;
}

enum status entry_look(const struct asset_entry *entry, bool *ret_is_there, struct asset_source *ret_source,
                       struct error *err)
{
  struct stat facts;
  *ret_is_there = false;
  if (lstat(entry->folder, &facts) != 0)
    return STATUS_OK;
  XSP_TRY(cache_check_owner(&asset_cache, entry->folder, err));
  *ret_is_there = lstat(entry->file, &facts) == 0 && S_ISREG(facts.st_mode) &&
                  entry_source_read(entry, entry->source, ret_source) && ret_source->sha256[0] != 0 &&
                  ret_source->bytes == (uint64_t)facts.st_size;
  return STATUS_OK;
}

// ---- what is known of a file -----------------------------------------------------------------------------------------
void source_format(const struct asset_source *source, const char *url, struct buf *out)
{
  buf_format(out, "url %s\nsha256 %s\nbytes %" PRIu64 "\netag %s\nmodified %s\n", url, source->sha256, source->bytes,
             source->etag, source->modified);
}

static bool take_value(struct slice value, char *text, size_t size)
{
  if (value.length >= size || memchr(value.data, 0, value.length) != NULL)
    return false;
  memcpy(text, value.data, value.length);
  text[value.length] = 0;
  return true;
}

bool source_parse(struct slice text, const char *url, struct asset_source *ret_source)
{
  struct slice line, key;
  int64_t bytes = 0;
  bool is_of_url = false, is_good = true;
  *ret_source = (struct asset_source){0};
  while (slice_cut(&text, '\n', &line)) {
    struct slice value = line;
    slice_cut(&value, ' ', &key);
    if (value.data == NULL)
      value = slice_of("");
    if (slice_is(key, "url"))
      is_of_url = slice_is(value, url);
    else if (slice_is(key, "sha256"))
      is_good &= take_value(value, ret_source->sha256, sizeof ret_source->sha256);
    else if (slice_is(key, "bytes"))
      is_good &= slice_int64(value, &bytes) && bytes >= 0;
    else if (slice_is(key, "etag"))
      is_good &= take_value(value, ret_source->etag, sizeof ret_source->etag);
    else if (slice_is(key, "modified"))
      is_good &= take_value(value, ret_source->modified, sizeof ret_source->modified);
  }
  ret_source->bytes = (uint64_t)bytes;
  return is_of_url && is_good;
}

bool entry_source_read(const struct asset_entry *entry, const char *path, struct asset_source *ret_source)
{
  char text[SOURCE_BYTES_MOST];
  struct stat facts;
  int file SCOPED(scoped_close) = regular_file_open(AT_FDCWD, path, O_RDONLY, &facts);
  *ret_source = (struct asset_source){0};
  if (file < 0)
    return false;
  ssize_t length = pread(file, text, sizeof text, 0);
  return length > 0 && length == facts.st_size &&
         source_parse((struct slice){text, (size_t)length}, entry->url, ret_source);
}

enum status entry_source_write(const struct asset_entry *entry, const char *path, const struct asset_source *source,
                               struct error *err)
{
  char name[PATH_MAX];
  struct stat facts;
  struct buf text SCOPED(buf_done) = {0};
  snprintf(name, sizeof name, "%s.new", path);
  source_format(source, entry->url, &text);
  int file SCOPED(scoped_close) = regular_file_open(AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC, &facts);
  bool is_written = file >= 0 && transfer_write(file, text.data, text.length) && rename(name, path) == 0;
  return is_written ? STATUS_OK : cache_no_place(&asset_cache, path, err);
}

// The file is away while `source` is another file's.
enum status entry_complete(const struct asset_entry *entry, const struct asset_source *source, struct error *err)
{
  if (unlink(entry->file) != 0 && errno != ENOENT)
    return cache_no_place(&asset_cache, entry->file, err);
  XSP_TRY(entry_source_write(entry, entry->source, source, err));
  if (rename(entry->part, entry->file) != 0)
    return cache_no_place(&asset_cache, entry->file, err);
  unlink(entry->part_source);
  return STATUS_OK;
}

void entry_drop_part(const struct asset_entry *entry)
{
  unlink(entry->part);
  unlink(entry->part_source);
}

// SPDX-License-Identifier: Apache-2.0
// Reads tar archives; see tar.h.
#include "isolation/tar.h"

#include "base/slice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 512u
#define EXTENSION_MOST (1u << 20) // bytes of pax records or of a long name

struct header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
  char magic[6], version[2], uname[32], gname[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

struct names { // what extensions say of the next entry
  char path[PATH_MAX], link[PATH_MAX];
  int64_t size_bytes; // -1: nothing
};

static enum status wrong(const struct tar *tar, const char *path, const char *why, struct error *err)
{
  return error_set(err, STATUS_INPUT, "cannot unpack the layer", tar->name, "an image from a trusted builder",
                   "%s%s%.300s", why, path[0] != 0 ? ": " : "", path);
}

enum status tar_open(struct tar *tar, int file, const char *name, struct error *err)
{
  *tar = (struct tar){.stream = gzdopen(file, "r"), .name = name};
  if (tar->stream != NULL)
    return STATUS_OK;
  close(file);
  return error_set(err, STATUS_MEMORY, "cannot unpack the layer", name, NULL, "out of memory");
}

void tar_close(struct tar *tar)
{
  gzclose(tar->stream);
}

static enum status read_bytes(struct tar *tar, void *bytes, size_t size, struct error *err)
{
  return gzread(tar->stream, bytes, (unsigned)size) == (int)size ? STATUS_OK
                                                                 : wrong(tar, "", "it is cut short or not gzip", err);
}

static enum status skip(struct tar *tar, struct error *err)
{
  char bytes[16384];
  while (tar->unread > 0) {
    size_t part = tar->unread < sizeof bytes ? (size_t)tar->unread : sizeof bytes;
    XSP_TRY(read_bytes(tar, bytes, part, err));
    tar->unread -= part;
  }
  return STATUS_OK;
}

// Octal digits, or GNU's base 256. -1: malformed or beyond int64.
static int64_t number(const char *field, size_t size)
{
  const unsigned char *bytes = (const unsigned char *)field;
  uint64_t value = 0;
  size_t at = 0;
  if (bytes[0] == 0x80) {
    for (at = 1; at < size; at++) {
      if (value >> 55 != 0)
        return -1;
      value = value << 8 | bytes[at];
    }
    return (int64_t)value;
  }
  while (at < size && field[at] == ' ')
    at++;
  for (; at < size && field[at] >= '0' && field[at] <= '7'; at++)
    value = value << 3 | (uint64_t)(field[at] - '0'); // at most 12 digits
  return at == size || field[at] == 0 || field[at] == ' ' ? (int64_t)value : -1;
}

static bool has_right_checksum(const struct header *header)
{
  const unsigned char *bytes = (const unsigned char *)header;
  size_t from = offsetof(struct header, checksum), to = from + sizeof header->checksum;
  int64_t sum = 0;
  for (size_t i = 0; i < BLOCK; i++)
    sum += i >= from && i < to ? ' ' : bytes[i];
  return number(header->checksum, sizeof header->checksum) == sum;
}

// Copies a path without "." parts and slashes that mean nothing. False: it is absolute, has "..", or is too long.
static bool clean(struct slice text, char path[PATH_MAX])
{
  struct slice part;
  size_t length = 0;
  path[0] = 0;
  if (slice_starts_with(text, "/") || memchr(text.data, 0, text.length) != NULL)
    return false;
  while (slice_cut(&text, '/', &part)) {
    if (part.length == 0 || slice_is(part, "."))
      continue;
    if (slice_is(part, "..") || part.length > NAME_MAX || length + part.length + 2 > PATH_MAX)
      return false;
    length += (size_t)snprintf(path + length, PATH_MAX - length, "%s%.*s", length > 0 ? "/" : "", (int)part.length,
                               part.data);
  }
  return true;
}

// A relative link may not climb above the root. An absolute one begins at the container's root.
static bool stays_inside(const struct tar_entry *entry)
{
  struct slice rest = slice_of(entry->link), part;
  int depth = 0;
  if (entry->link[0] == '/')
    return true;
  for (const char *at = entry->path; *at != 0; at++)
    depth += *at == '/';
  while (slice_cut(&rest, '/', &part)) {
    if (slice_is(part, ".."))
      depth--;
    else if (part.length > 0 && !slice_is(part, "."))
      depth++;
    if (depth < 0)
      return false;
  }
  return true;
}

static bool copy_text(struct slice text, char copy[PATH_MAX])
{
  if (text.length >= PATH_MAX)
    return false;
  memcpy(copy, text.data, text.length);
  copy[text.length] = 0;
  return strlen(copy) == text.length;
}

// Records "LENGTH key=value\n".
static bool read_records(struct slice rest, struct names *names)
{
  while (rest.length > 0) {
    char *end = NULL;
    size_t length = strtoul(rest.data, &end, 10); // the caller ended the text by a zero
    size_t head = (size_t)(end - rest.data) + 1;
    if (*end != ' ' || length > rest.length || length < head + 1 || rest.data[length - 1] != '\n')
      return false;
    struct slice value = {rest.data + head, length - head - 1}, key;
    if (!slice_cut(&value, '=', &key))
      return false;
    bool good = slice_is(key, "path")       ? copy_text(value, names->path)
                : slice_is(key, "linkpath") ? copy_text(value, names->link)
                : slice_is(key, "size")     ? slice_int64(value, &names->size_bytes) && names->size_bytes >= 0
                                            : true;
    if (!good)
      return false;
    rest = slice_after(rest, length);
  }
  return true;
}

static enum status read_extension(struct tar *tar, char type, int64_t size, struct names *names, struct error *err)
{
  if (size > EXTENSION_MOST)
    return wrong(tar, "", "a name is longer than a MiB", err);
  char *text = calloc(1, (size_t)size + 1);
  if (text == NULL)
    return error_set(err, STATUS_MEMORY, "cannot unpack the layer", tar->name, NULL, "out of memory");
  enum status status = read_bytes(tar, text, (size_t)size, err);
  bool good = true;
  if (status == STATUS_OK && type == 'x')
    good = read_records((struct slice){text, (size_t)size}, names);
  else if (status == STATUS_OK && type != 'g')
    good = copy_text(slice_of(text), type == 'L' ? names->path : names->link);
  free(text);
  tar->unread = (BLOCK - (uint64_t)size % BLOCK) % BLOCK;
  return status != STATUS_OK || good ? status : wrong(tar, "", "a record of names is malformed", err);
}

static void ustar_path(const struct header *header, char path[PATH_MAX])
{
  bool has_prefix = memcmp(header->magic, "ustar", 6) == 0 && header->prefix[0] != 0;
  snprintf(path, PATH_MAX, "%.*s%s%.*s", has_prefix ? (int)sizeof header->prefix : 0, header->prefix,
           has_prefix ? "/" : "", (int)sizeof header->name, header->name);
}

static enum status fill_entry(struct tar *tar, const struct header *header, const struct names *names, int64_t size,
                              struct tar_entry *entry, struct error *err)
{
  static const char kinds[] = {['0'] = TAR_FILE + 1,   [0] = TAR_FILE + 1,      ['7'] = TAR_FILE + 1,
                               ['5'] = TAR_FOLDER + 1, ['2'] = TAR_SYMLINK + 1, ['1'] = TAR_HARD_LINK + 1};
  char path[PATH_MAX], link[PATH_MAX];
  unsigned char type = (unsigned char)header->type;
  if (names->path[0] != 0)
    memcpy(path, names->path, sizeof path);
  else
    ustar_path(header, path);
  snprintf(link, sizeof link, "%.*s", (int)sizeof header->link, header->link);
  if (names->link[0] != 0)
    memcpy(link, names->link, sizeof link);
  if (type >= sizeof kinds || kinds[type] == 0)
    return wrong(tar, path, "it has a device or another kind of file that layers have no use for", err);
  entry->kind = (enum tar_kind)(kinds[type] - 1);
  entry->mode = (unsigned)number(header->mode, sizeof header->mode) & 0777;
  entry->size_bytes = entry->kind == TAR_FILE ? (uint64_t)size : 0;
  if (!clean(slice_of(path), entry->path) || (entry->path[0] == 0 && entry->kind != TAR_FOLDER))
    return wrong(tar, path, "a path leads out of the image", err);
  memcpy(entry->link, link, sizeof link);
  if ((entry->kind == TAR_HARD_LINK && (!clean(slice_of(link), entry->link) || entry->link[0] == 0)) ||
      (entry->kind == TAR_SYMLINK && (link[0] == 0 || !stays_inside(entry))))
    return wrong(tar, path, "a link leads out of the image", err);
  if (++tar->count > TAR_ENTRIES_MOST || __builtin_add_overflow(tar->total, (uint64_t)size, &tar->total) ||
      tar->total > TAR_BYTES_MOST)
    return wrong(tar, path, "it is too large", err);
  tar->unread = ((uint64_t)size + BLOCK - 1) / BLOCK * BLOCK;
  return STATUS_OK;
}

enum status tar_next(struct tar *tar, struct tar_entry *ret_entry, bool *ret_is_end, struct error *err)
{
  struct names names = {.size_bytes = -1};
  for (;;) {
    struct header header;
    XSP_TRY(skip(tar, err));
    XSP_TRY(read_bytes(tar, &header, sizeof header, err));
    *ret_is_end = header.name[0] == 0 && header.checksum[0] == 0;
    if (*ret_is_end)
      return STATUS_OK;
    int64_t size = number(header.size, sizeof header.size);
    if (!has_right_checksum(&header))
      return wrong(tar, "", "it is not a tar archive, plain or gzip", err);
    if (size < 0)
      return wrong(tar, "", "a size is malformed", err);
    if (header.type == 0 || strchr("xgLK", header.type) == NULL)
      return fill_entry(tar, &header, &names, names.size_bytes >= 0 ? names.size_bytes : size, ret_entry, err);
    XSP_TRY(read_extension(tar, header.type, size, &names, err));
  }
}

enum status tar_read(struct tar *tar, void *bytes, size_t size, struct error *err)
{
  XSP_TRY(read_bytes(tar, bytes, size, err));
  tar->unread -= size;
  return STATUS_OK;
}

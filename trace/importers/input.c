// SPDX-License-Identifier: Apache-2.0
// The moving window over a file's decompressed bytes; see input.h. What decompresses is byte_source.c.
//
//      block … kept bytes from `at` … new bytes … end, then INPUT_PADDING zeros … capacity
//
// Every call of input_more either adds at least half a window or reaches the end, so that a reader which parses an
// element again from its beginning does so a logarithmic number of times.
#include "importers/input.h"

#include "base/memory.h"
#include "base/transfer.h"

#include "importers/byte_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct input_private {
  struct byte_source source;
  struct read_ahead *ahead; // the source belongs to its thread; NULL: none
  uint64_t limit_bytes;
  char *block;
  size_t capacity;    // of the block, without the padding
  char *block_before; // of the window before this one, where it is kept; NULL: none
  size_t before_capacity;
  bool may_use_threads, keeps_before;
  char *temporary; // path; NULL: none
};

static enum status over_limit(const struct input *input, struct error *err)
{
  const struct input_private *own = input->private_;
  char advice[64];
  bool size_known = own->source.is_regular && !own->source.is_compressed;
  snprintf(advice, sizeof advice, "--limit-bytes %" PRIu64,
           size_known                          ? own->source.size
           : own->limit_bytes > UINT64_MAX / 2 ? UINT64_MAX
                                               : own->limit_bytes * 2);
  return error_set(err, STATUS_INPUT, "cannot import", input->path, advice, "it holds more than %" PRIu64 " bytes%s",
                   own->limit_bytes, own->source.is_compressed ? " after decompression" : "");
}

// A block for the next window; where windows are kept, that of the one before this is free again.
static char *free_block(struct input_private *own, size_t capacity)
{
  char *block = own->block_before;
  own->block_before = NULL;
  if (block != NULL && own->before_capacity == capacity)
    return block;
  free(block);
  return memory_new(1, capacity + INPUT_PADDING);
}

// Room for another half a window after the `kept` bytes, which move to the block's beginning.
static enum status make_room(struct input *input, size_t kept, struct error *err)
{
  struct input_private *own = input->private_;
  const char *at = input->at;
  if (kept <= own->capacity / 2 && !own->keeps_before) {
    memmove(own->block, at, kept);
    return STATUS_OK;
  }
  size_t capacity = kept <= own->capacity / 2 ? own->capacity : own->capacity * 2;
  if (capacity > INPUT_WINDOW_MOST_BYTES) {
    char where[sizeof err->where];
    snprintf(where, sizeof where, "%s, byte %" PRIu64, input->path, input_offset(input, at));
    return error_set(err, STATUS_INPUT, "cannot import", where, NULL, "one element is longer than %zu MiB",
                     INPUT_WINDOW_MOST_BYTES >> 21);
  }
  char *block = free_block(own, capacity);
  memcpy(block, at, kept);
  if (own->keeps_before) {
    own->block_before = own->block;
    own->before_capacity = own->capacity;
  } else {
    free(own->block);
  }
  own->block = block;
  own->capacity = capacity;
  return STATUS_OK;
}

enum status input_more(struct input *input, struct error *err)
{
  struct input_private *own = input->private_;
  if (input->is_last)
    return STATUS_OK;
  if (input->cancel != NULL && *input->cancel != 0)
    return error_set(err, STATUS_SYSTEM, "cannot import", input->path, "it again", "it was interrupted");
  size_t kept = (size_t)(input->end - input->at);
  XSP_TRY(make_room(input, kept, err));
  size_t room = own->capacity - kept;
  size_t got = 0;
  input->at = own->block;
  input->end = own->block + kept;
  memset(own->block + kept, 0, INPUT_PADDING);
  if (own->ahead != NULL)
    XSP_TRY(read_ahead_read(own->ahead, own->block + kept, room, &got, err));
  else
    XSP_TRY(byte_source_read(&own->source, own->block + kept, room, &got, err));
  input->end += got;
  input->end_offset += got;
  input->is_last = got < room;
  memset(own->block + kept + got, 0, INPUT_PADDING);
  if (input->progress != NULL && own->source.is_regular)
    input->progress(input->progress_context, input->path, (uint64_t)lseek(own->source.fd, 0, SEEK_CUR),
                    own->source.size);
  if (input->end_offset > own->limit_bytes)
    return over_limit(input, err);
  return STATUS_OK;
}

// The first window of a source that has just been opened.
static enum status fill_first(struct input *input, struct error *err)
{
  struct input_private *own = input->private_;
  input->at = input->end = own->block;
  input->end_offset = 0;
  input->is_last = false;
  input->is_compressed = own->source.is_compressed;
  return input_more(input, err);
}

enum status input_open_window(const char *path, uint64_t limit_bytes, size_t window_bytes, struct input *ret_input,
                              struct error *err)
{
  *ret_input = (struct input){.path = path};
  struct input_private *own = memory_new(1, sizeof *own);
  ret_input->private_ = own;
  own->source.fd = -1;
  own->limit_bytes = limit_bytes;
  own->capacity = window_bytes;
  own->block = memory_new(1, own->capacity + INPUT_PADDING);
  enum status status = byte_source_open(path, limit_bytes, &own->source, err);
  if (status == STATUS_OK)
    status = fill_first(ret_input, err);
  if (status == STATUS_OK && ret_input->at == ret_input->end)
    status = error_set(err, STATUS_INPUT, "cannot import", path, NULL, "it is empty%s",
                       ret_input->is_compressed ? " after decompression" : "");
  if (status != STATUS_OK)
    input_close(ret_input);
  return status;
}

enum status input_open(const char *path, uint64_t limit_bytes, struct input *ret_input, struct error *err)
{
  return input_open_window(path, limit_bytes, INPUT_WINDOW_BYTES, ret_input, err);
}

void input_read_ahead(struct input *input)
{
  struct input_private *own = input->private_;
  own->may_use_threads = true;
  if (own->ahead == NULL && input->is_compressed && own->source.is_regular && !input->is_last)
    own->ahead = read_ahead_start(&own->source);
}

bool input_read_apart(struct input *input)
{
  struct input_private *own = input->private_;
  return own->keeps_before = own->may_use_threads && own->source.is_regular && !input->is_last;
}

enum status input_rewind(struct input *input, struct error *err)
{
  struct input_private *own = input->private_;
  if (input->end_offset == (uint64_t)(input->end - own->block)) { // the window still begins with the first byte
    input->at = own->block;
    return STATUS_OK;
  }
  if (!own->source.is_regular)
    return error_set(err, STATUS_INPUT, "cannot import", input->path, "saving it to a file first",
                     "what comes through a pipe can be read only once");
  read_ahead_stop(own->ahead);
  own->ahead = NULL;
  byte_source_close(&own->source);
  XSP_TRY(byte_source_open(input->path, own->limit_bytes, &own->source, err));
  return fill_first(input, err);
}

enum status input_pass_over(struct input *input, uint64_t *bytes, struct error *err)
{
  struct input_private *own = input->private_;
  while (*bytes > (uint64_t)(input->end - input->at) && !input->is_last) {
    *bytes -= (uint64_t)(input->end - input->at);
    input->at = input->end;
    uint64_t passed = own->ahead == NULL ? byte_source_pass_over(&own->source, *bytes) : 0;
    *bytes -= passed;
    input->end_offset += passed;
    XSP_TRY(input_more(input, err));
  }
  return STATUS_OK;
}

enum status input_whole(struct input *input, struct slice *ret_whole, struct error *err)
{
  while (!input->is_last)
    XSP_TRY(input_more(input, err));
  *ret_whole = (struct slice){input->at, (size_t)(input->end - input->at)};
  return STATUS_OK;
}

// The file's name is of no use to anybody.
static enum status cannot_decompress(struct error *err)
{
  return error_set_errno(err, STATUS_SYSTEM, "cannot decompress", "a temporary file in TMPDIR",
                         "TMPDIR=FOLDER, with room for it");
}

static enum status copy_to(struct input *input, int fd, struct error *err)
{
  for (;;) {
    if (!transfer_write(fd, input->at, (size_t)(input->end - input->at)))
      return cannot_decompress(err);
    input->at = input->end;
    if (input->is_last)
      return STATUS_OK;
    XSP_TRY(input_more(input, err));
  }
}

enum status input_as_file(struct input *input, const char **ret_path, struct error *err)
{
  struct input_private *own = input->private_;
  *ret_path = input->path;
  if (!own->source.is_compressed && own->source.is_regular)
    return own->source.size > own->limit_bytes ? over_limit(input, err) : STATUS_OK;
  if (own->temporary == NULL) {
    XSP_TRY(input_rewind(input, err));
    const char *folder = getenv("TMPDIR");
    char *path = NULL;
    if (asprintf(&path, "%s/xsp-import-XXXXXX", folder != NULL && *folder != 0 ? folder : "/tmp") < 0)
      memory_exhausted();
    int fd = mkstemp(path);
    if (fd < 0) {
      enum status status = cannot_decompress(err);
      free(path);
      return status;
    }
    own->temporary = path; // unlinked by input_close
    enum status status = copy_to(input, fd, err);
    close(fd);
    if (status != STATUS_OK) {
      unlink(path);
      free(path);
      own->temporary = NULL;
      return status;
    }
  }
  *ret_path = own->temporary;
  return STATUS_OK;
}

void input_forget_file(struct input *input)
{
  struct input_private *own = input->private_;
  if (own->temporary != NULL)
    unlink(own->temporary);
  free(own->temporary);
  own->temporary = NULL;
}

void input_close(struct input *input)
{
  struct input_private *own = input->private_;
  if (own != NULL) {
    read_ahead_stop(own->ahead);
    byte_source_close(&own->source);
    input_forget_file(input);
    free(own->block);
    free(own->block_before);
    free(own);
  }
  *input = (struct input){0};
}

// SPDX-License-Identifier: Apache-2.0
// A file's bytes, decompressed (gzip, zstd: known by content, also one within the other's members), in a window that
// moves. Inside this room only. One thread at a time.
//
//      input->start … input->at … input->end
//      kept bytes      next byte   end of the window; *end is 0 (a sentinel that is no part of the file)
//
// A reader works on [at, end) and calls input_more when it needs bytes after `end`: the window then begins at `at` as
// the reader left it (what lies before is forgotten, pointers into the window are void) and ends later, or the file does.
#ifndef XSP_IMPORTERS_INPUT_H
#define XSP_IMPORTERS_INPUT_H

#include "base/error.h"
#include "base/slice.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INPUT_HEAD_BYTES ((size_t)256 << 10)        // what recognizers see
#define INPUT_WINDOW_BYTES ((size_t)1 << 20)        // usual size
#define INPUT_WINDOW_MOST_BYTES ((size_t)256 << 20) // an element of more than half of it is an error
#define INPUT_PADDING ((size_t)64)                  // zero bytes that may be read after `end`

struct input {
  const char *at, *end; // the reader moves `at`
  uint64_t end_offset;  // of `end`, in decompressed bytes
  bool is_last;         // nothing comes after `end`
  const char *path;
  bool is_compressed;
  const volatile sig_atomic_t *cancel; // set by whoever opened it: not 0 ends the reading; NULL: never
  void (*progress)(void *context, const char *path, uint64_t done_bytes, uint64_t size_bytes); // the same; see import.h
  void *progress_context;
  struct input_private *private_;
};

// Opens and fills the first window. STATUS_INPUT: missing, unreadable, a folder, empty; more than `limit_bytes` after
// decompression is found out while reading ("… more than N bytes after decompression; try: --limit-bytes").
enum status input_open(const char *path, uint64_t limit_bytes, struct input *ret_input, struct error *err) MUST_CHECK;
// The same with a first window of another size, for tests of what lies across its edge.
enum status input_open_window(const char *path, uint64_t limit_bytes, size_t window_bytes, struct input *ret_input,
                              struct error *err) MUST_CHECK;
// See above. STATUS_INPUT: broken compression, truncated member, over the limit, an element over the largest window.
// At the end of the file: STATUS_OK, `is_last` true and nothing new.
enum status input_more(struct input *input, struct error *err) MUST_CHECK;
static inline struct slice input_head(const struct input *input) // for recognizers
{
  size_t length = (size_t)(input->end - input->at);
  return (struct slice){input->at, length < INPUT_HEAD_BYTES ? length : INPUT_HEAD_BYTES};
}
static inline uint64_t input_offset(const struct input *input, const char *at)
{
  return input->end_offset - (uint64_t)(input->end - at);
}
// Passes over *bytes, as far as they lie before the end: what is left of them is in the window, or not in the file. Of a regular file
// that is not compressed they are not read.
enum status input_pass_over(struct input *input, uint64_t *bytes, struct error *err) MUST_CHECK;
// From here on a thread of its own decompresses a little ahead of what is asked for; rewinding ends it. Does nothing where
// the file is not compressed or comes through a pipe (which may keep the thread waiting), or no thread can be had.
void input_read_ahead(struct input *input);
// For readers with a thread of their own, after input_read_ahead: from here on the bytes of a window stay where they are until
// the call of input_more after the one that moves it. False: read on the caller's thread; no thread is wanted, or worth it.
bool input_read_apart(struct input *input);
// Back to the first byte: for recognizers. Costs a reopening where the window has moved.
enum status input_rewind(struct input *input, struct error *err) MUST_CHECK;
// All that is left of the file, in one window: for formats that are one element. STATUS_INPUT as input_more, also a file over
// half of the largest window.
enum status input_whole(struct input *input, struct slice *ret_whole, struct error *err) MUST_CHECK;
// For libraries that want a file of their own (SQLite): the path itself where it is not compressed, else a temporary file
// (unlinked by input_close) with all the bytes. `*ret_path` lives until input_close or input_forget_file.
enum status input_as_file(struct input *input, const char **ret_path, struct error *err) MUST_CHECK;
void input_forget_file(
    struct input *input);              // it is open: a temporary one needs no name any more, and no death leaves it
void input_close(struct input *input); // {0} and closed ones are fine

#endif

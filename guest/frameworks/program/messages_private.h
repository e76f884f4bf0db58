// SPDX-License-Identifier: Apache-2.0
// The strict reading of one answer of a program, shared by its messages: values and objects, and the path to the field at
// hand, which the one error names. Private to guest/frameworks/program.
#ifndef XSP_FRAMEWORKS_PROGRAM_MESSAGES_PRIVATE_H
#define XSP_FRAMEWORKS_PROGRAM_MESSAGES_PRIVATE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json_read.h"
#include "frameworks/program/messages.h"

struct program_reader {
  struct json_reader json;
  const char *message, *program;
  struct arena *arena; // of all that is kept
  struct error *err;
  enum status status; // of the first error
  char path[192];     // of the field at hand: "layers[3].start"
  size_t path_length;
  const struct program_question *question; // predictions only
};

struct program_field {
  const char *name;
  bool (*read)(struct program_reader *reader, void *target); // at the value's first event
  void *target;
  bool is_required;
  bool is_present;
};

// All return false where the answer is wrong, and set `reader->status` and its error.
__attribute__((format(printf, 2, 3))) bool program_wrong(struct program_reader *reader, const char *format, ...);
// `name` into `format` ("%s", ".%s"); without one the index, "[3]". Returns what path_pop takes.
size_t program_path_push(struct program_reader *reader, const char *format, const char *name, size_t index);
void program_path_pop(struct program_reader *reader, size_t before);

bool program_next(struct program_reader *reader);
bool program_read_text(struct program_reader *reader, void *target); // const char *
bool program_read_name(struct program_reader *reader, void *target); // the same, not empty
bool program_read_number(struct program_reader *reader, int64_t least, int64_t most, int64_t *ret_number);
bool program_read_count(struct program_reader *reader, void *target); // int64_t, not negative
bool program_read_type(struct program_reader *reader, void *target);  // enum tensor_type
// Calls `read` at each value of an array; at most `most` of them.
bool program_read_array(struct program_reader *reader, size_t most,
                        bool (*read)(struct program_reader *reader, void *target, size_t at), void *target);
// `items`, of which there are `at`, with room for one more, in the reader's arena. `capacity` starts as 0.
void *program_grow(struct program_reader *reader, void *items, size_t at, size_t *capacity, size_t item_bytes);
bool program_read_object(struct program_reader *reader, struct program_field *fields, size_t count);
// The whole line: an object of these fields, or a refusal, which becomes the error.
bool program_read_outputs(struct program_reader *reader, void *target); // outputs.c; struct program_prediction
enum status program_read_answer(struct program_reader *reader, const char *line, size_t length,
                                struct program_field *fields, size_t count) MUST_CHECK;

#endif

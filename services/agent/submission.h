// SPDX-License-Identifier: Apache-2.0
// What a client asks an agent to evaluate: the body of POST /evaluations. Pure; fuzzed.
#ifndef XSP_AGENT_SUBMISSION_H
#define XSP_AGENT_SUBMISSION_H

#include "base/arena.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/slice.h"

#define SUBMISSION_MODELS_MOST 64u

enum submission_kind {
  SUBMISSION_INTEGER,
  SUBMISSION_INTEGERS, // one; of a profile also several, as a text with commas between them
  SUBMISSION_NUMBER,
  SUBMISSION_TEXT,
  SUBMISSION_TEXTS, // the option may be repeated
  SUBMISSION_NAMES, // the same, of names: lowercase letters, digits and _
  SUBMISSION_URL,   // http or https
  SUBMISSION_FLAG,
};
static inline bool submission_is_list(enum submission_kind kind)
{
  return kind == SUBMISSION_TEXTS || kind == SUBMISSION_NAMES;
}
// Options of xsp evaluate and xsp profile that are handed on, by their names.
struct submission_option {
  const char *name;
  enum submission_kind kind;
};
#define SUBMISSION_OPTIONS 28u
extern const struct submission_option submission_options[SUBMISSION_OPTIONS];

struct submission {
  const char *models[SUBMISSION_MODELS_MOST]; // "net", "net==1.0"
  size_t model_count;
  bool is_profile;       // of one model, without data: xsp profile; else xsp evaluate
  const char *framework; // that the models are for; NULL: any
  const char *data;      // a name below the agent's folder of data; of a profile NULL
  const char
      *values[SUBMISSION_OPTIONS]; // of submission_options, as text; of TEXTS with commas between them; NULL: not given
};

bool submission_are_integers(const char *list); // "4", "1,2,4"
void submission_write(const struct submission *submission, struct json_writer *json);
// In `arena`. NULL, or what is wrong.
const char *submission_read(struct slice text, struct arena *arena, struct submission *ret_submission);
// The same of the reader's current value.
const char *submission_take(struct json_reader *json, struct arena *arena, struct submission *ret_submission);

#endif

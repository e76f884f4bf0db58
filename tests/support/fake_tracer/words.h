// SPDX-License-Identifier: Apache-2.0
// One line of a script as words. Pure, allocates nothing.
#ifndef XSP_TESTS_FAKE_TRACER_WORDS_H
#define XSP_TESTS_FAKE_TRACER_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORDS_MAXIMUM 24

struct words {
  char *word[WORDS_MAXIMUM]; // plain words, in order
  size_t count;
  char *name[WORDS_MAXIMUM]; // NAME=VALUE, in order
  char *value[WORDS_MAXIMUM];
  size_t value_count;
  bool is_quoted[WORDS_MAXIMUM]; // of plain words: "42" in quotes is text, not a number
};

// Splits `line` in place at blanks; a quoted part ("…") may hold blanks and begins a word or follows '='. '#' begins a
// comment. False: an open quote, or too many words.
bool words_split(char *line, struct words *ret_words);
const char *words_value(const struct words *words, const char *name, const char *otherwise);
bool words_number(const char *text, int64_t *ret_number); // a whole decimal number, nothing else
bool words_real(const char *text, double *ret_real);

#endif

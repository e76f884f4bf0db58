// SPDX-License-Identifier: Apache-2.0
// The statements of a program's source in Python: for rules that read what a line does with its names. Pure; a damaged source ends early.
#ifndef XSP_ANALYZE_FINDINGS_STATEMENTS_H
#define XSP_ANALYZE_FINDINGS_STATEMENTS_H

#include "base/slice.h"

struct statement {          // with the lines that go on in brackets or strings
  struct slice text, after; // without blanks around it and a comment after it, not empty; the source after it
  int64_t first, last;      // lines, from 1
  size_t indent;
};

// The next one in `at->after`; first {.after = source}. The block of a header ends where `indent` is no longer above the header's.
bool findings_next_statement(struct statement *at);
// The one that `line` is of. False: the source ends before.
bool findings_statement_at(struct slice source, int64_t line, struct statement *ret);
// The header of the block that it is in, such as `for x in y:`.
bool findings_header_of(struct slice source, struct statement of, struct statement *ret);
// "a, b = c": its two sides. False: it assigns nothing.
bool findings_assignment(struct slice text, struct slice *ret_targets, struct slice *ret_value);
// Statements in one line, or assignments within expressions, which the functions above do not show.
bool findings_has_hidden_statements(struct slice text);

// What the byte adds to the depth of brackets: 1 of an opening one, -1 of a closing one, else 0.
int findings_bracket(char byte);
// Where the bracket around begins (`step` -1) or ends (1), seen from `at`; the text's length: nowhere.
size_t findings_bracket_from(struct slice text, size_t at, int step);
// The next one up to a comma, or the closing bracket around, after which nothing is left; without blanks around it.
bool findings_next_argument(struct slice *rest, struct slice *ret_argument);

bool findings_is_name(struct slice text);
// Where the text, from `at` on, has the name as one of its own, not of an attribute; its length: nowhere.
size_t findings_name_at(struct slice text, size_t at, struct slice name);
// Where the code, from `at` on, gives a value to the name, as a variable, an attribute or an argument, or calls it; the text's length:
// nowhere. `*ret_value`: what follows "=" or "(". Strings and comments are no code.
size_t findings_setting_at(struct slice text, size_t at, struct slice name, struct slice *ret_value);
static inline bool findings_has_name(struct slice text, struct slice name)
{
  return findings_name_at(text, 0, name) < text.length;
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Splits script lines. Called by player.c before and while it plays; keeps no state.
#include "tests/support/fake_tracer/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Ends the word at `*at` and steps over it. False: a quote that never ends.
static bool take_word(char **at, char **ret_word, bool *ret_quoted)
{
  char *from = *at;
  *ret_quoted = *from == '"';
  if (*ret_quoted) {
    *ret_word = ++from;
    from = strchr(from, '"');
    if (from == NULL)
      return false;
  } else {
    *ret_word = from;
    from += strcspn(from, " \t");
  }
  if (*from != '\0')
    *from++ = '\0';
  *at = from;
  return true;
}

bool words_split(char *line, struct words *ret_words)
{
  memset(ret_words, 0, sizeof *ret_words);
  for (char *at = line + strspn(line, " \t"); *at != '\0' && *at != '#'; at += strspn(at, " \t")) {
    size_t name = strcspn(at, " \t=\"");
    bool is_quoted;
    if (at[name] == '=') {
      if (ret_words->value_count == WORDS_MAXIMUM)
        return false;
      size_t place = ret_words->value_count++;
      ret_words->name[place] = at;
      at[name] = '\0';
      at += name + 1;
      if (!take_word(&at, &ret_words->value[place], &is_quoted))
        return false;
    } else {
      if (ret_words->count == WORDS_MAXIMUM ||
          !take_word(&at, &ret_words->word[ret_words->count], &ret_words->is_quoted[ret_words->count]))
        return false;
      ret_words->count++;
    }
  }
  return true;
}

const char *words_value(const struct words *words, const char *name, const char *otherwise)
{
  for (size_t i = 0; i < words->value_count; i++)
    if (strcmp(words->name[i], name) == 0)
      return words->value[i];
  return otherwise;
}

bool words_number(const char *text, int64_t *ret_number)
{
  char *end = NULL;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0)
    return false;
  *ret_number = number;
  return true;
}

bool words_real(const char *text, double *ret_real)
{
  char *end = NULL;
  double real = strtod(text, &end);
  if (end == text || *end != '\0')
    return false;
  *ret_real = real;
  return true;
}

// SPDX-License-Identifier: Apache-2.0
#include "frameworks/tensorflow/signature.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>

#define VALUE "Literal["
#define VALUE_LENGTH (sizeof VALUE - 1)

void tensorflow_signature_take(struct tensorflow_signature *signature, const char *text)
{
  memset(signature, 0, sizeof *signature);
  signature->hash = hash_text(text, strlen(text), 1);
  snprintf(signature->text, sizeof signature->text, "%s", text);
}

// Of a text in quotes, as Python shows it, with the quotes; 0: no such text begins here.
static size_t quoted_length(const char *text)
{
  if (text[0] != '\'' && text[0] != '"')
    return 0;
  size_t length = 1;
  while (text[length] != 0 && text[length] != text[0])
    length += text[length] == '\\' && text[length + 1] != 0 ? 2 : 1;
  return length + (text[length] != 0);
}

// Up to one of `ends` outside of brackets.
static size_t length_to(const char *text, const char *ends)
{
  size_t length = 0;
  for (int depth = 0; text[length] != 0 && (depth > 0 || strchr(ends, text[length]) == NULL);) {
    size_t quoted = quoted_length(text + length);
    depth += (strchr("([{", text[length]) != NULL) - (strchr(")]}", text[length]) != NULL);
    length += quoted > 0 ? quoted : 1;
  }
  return length;
}

static bool is_plain(const char *value, size_t length) // a number, True, False or None
{
  static const char *const words[] = {"True", "False", "None"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strlen(words[i]) == length && memcmp(value, words[i], length) == 0)
      return true;
  return length > 0 && strspn(value, "0123456789+-.()einfaj") >= length;
}

static bool is_value(const char *type, size_t length)
{
  return length > VALUE_LENGTH && memcmp(type, VALUE, VALUE_LENGTH) == 0 &&
         VALUE_LENGTH + length_to(type + VALUE_LENGTH, "]") + 1 == length;
}

static void append(char shown[SIGNATURE_SIZE], size_t *at, const char *text, size_t length)
{
  for (size_t i = 0; i < length && *at < SIGNATURE_SIZE - 1; i++)
    shown[(*at)++] = text[i];
  shown[*at] = 0;
}

// The type, with "..." for values of the program.
static void show(const char *type, size_t length, char shown[SIGNATURE_SIZE])
{
  size_t at = 0;
  for (size_t i = 0; i < length;) {
    bool is_literal = length - i > VALUE_LENGTH && memcmp(type + i, VALUE, VALUE_LENGTH) == 0;
    if (is_literal) {
      append(shown, &at, VALUE, VALUE_LENGTH);
      i += VALUE_LENGTH;
    }
    size_t hidden = is_literal ? length_to(type + i, "]") : quoted_length(type + i);
    if (hidden > length - i)
      hidden = length - i;
    if (hidden > 0 && !(is_literal && is_plain(type + i, hidden)))
      append(shown, &at, "...", 3);
    else
      append(shown, &at, type + i, hidden > 0 ? hidden : 1);
    i += hidden > 0 ? hidden : 1;
  }
  append(shown, &at, "", 0);
}

static void explain_value(const char *before, size_t before_length, const char *now, size_t now_length, int name_length,
                          const char *name, char *reason, size_t size)
{
  before += VALUE_LENGTH, before_length -= VALUE_LENGTH + 1; // "]"
  now += VALUE_LENGTH, now_length -= VALUE_LENGTH + 1;
  if (is_plain(before, before_length) && is_plain(now, now_length))
    snprintf(reason, size, "argument %.*s == %.*s, now %.*s: a value of Python's", name_length, name,
             (int)before_length, before, (int)now_length, now);
  else
    snprintf(reason, size, "argument %.*s: another %s", name_length, name,
             quoted_length(before) > 0 && quoted_length(now) > 0 ? "text" : "value of Python's");
}

bool tensorflow_signature_explain(const struct tensorflow_signature *before, const struct tensorflow_signature *now,
                                  char *reason, size_t size)
{
  // "(" is before the first parameter, ", " before others. What is cut off ends anywhere.
  const char *old = before->text + (before->text[0] != 0), *new = now->text + (now->text[0] != 0);
  size_t old_length = length_to(old, ",)"), new_length = length_to(new, ",)");
  while (old_length == new_length && memcmp(old, new, new_length) == 0 && strncmp(old + old_length, ", ", 2) == 0 &&
         strncmp(new + new_length, ", ", 2) == 0) {
    old += old_length + 2;
    new += new_length + 2;
    old_length = length_to(old, ",)");
    new_length = length_to(new, ",)");
  }
  size_t name = strcspn(new, ":,)"), type = name + 2; // "name: "
  bool is_one = old_length > type && new_length > type && memcmp(old, new, type) == 0 && new[name] == ':' &&
                (old_length != new_length || memcmp(old, new, new_length) != 0);
  if (!is_one) {
    snprintf(reason, size, "other shapes or types");
    return before->hash != now->hash;
  }
  char old_shown[SIGNATURE_SIZE], new_shown[SIGNATURE_SIZE];
  show(old + type, old_length - type, old_shown);
  show(new + type, new_length - type, new_shown);
  if (is_value(old + type, old_length - type) && is_value(new + type, new_length - type))
    explain_value(old + type, old_length - type, new + type, new_length - type, (int)name, new, reason, size);
  else if (strcmp(old_shown, new_shown) == 0)
    snprintf(reason, size, "argument %.*s: another value of Python's", (int)name, new);
  else
    snprintf(reason, size, "argument %.*s mismatch. expected %s, actual %s", (int)name, new, old_shown, new_shown);
  return true;
}

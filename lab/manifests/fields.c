// SPDX-License-Identifier: Apache-2.0
// Checked values of a manifest's document; see manifest_private.h. Called by manifest.c only.
#include "manifests/manifest_private.h"

#include "base/memory.h"
#include "base/nearest.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAXIMUM 4096
#define KEYS_MAXIMUM 32

enum status manifest_wrong(const struct manifest *manifest, unsigned line, enum status status, const char *advice,
                           struct error *err, const char *why_format, ...)
{
  char where[512], why[512];
  document_where(manifest->path, line, where, sizeof where);
  va_list values;
  va_start(values, why_format);
  vsnprintf(why, sizeof why, why_format, values);
  va_end(values);
  return error_set(err, status, status == STATUS_INPUT ? "wrong manifest" : "cannot use the manifest", where,
                   advice != NULL && advice[0] != 0 ? advice : "docs/manifests.md", "%s", why);
}

enum status fields_wrong(const struct fields *fields, const struct document_node *node, const char *advice,
                         const char *why_format, ...)
{
  char why[512];
  va_list values;
  va_start(values, why_format);
  vsnprintf(why, sizeof why, why_format, values);
  va_end(values);
  return manifest_wrong(fields->manifest, node->line, STATUS_INPUT, advice, fields->err, "%s", why);
}

// ---- maps ------------------------------------------------------------------------------------------------------------

// The nearest of the words, else all of them.
static const char *suggestion(const struct fields *fields, const char *word, const char *const *words)
{
  struct nearest nearest;
  nearest_start(&nearest, word);
  const char *list = arena_format(fields->arena, "one of %s", words[0]);
  for (size_t i = 0; words[i] != NULL; i++) {
    nearest_offer(&nearest, words[i]);
    list = i > 0 ? arena_format(fields->arena, "%s, %s", list, words[i]) : list;
  }
  return nearest.best != NULL ? nearest.best : list;
}

static enum status unknown_key(const struct fields *fields, const struct field *table, const struct document_node *node,
                               const char *what)
{
  const char *keys[KEYS_MAXIMUM + 1] = {NULL};
  for (size_t i = 0; table[i].key != NULL; i++)
    keys[i] = table[i].key;
  const struct document_node at = {.line = node->key_line};
  return fields_wrong(fields, &at, suggestion(fields, node->key, keys), "%s has no key %.100s", what, node->key);
}

enum status fields_read(const struct fields *fields, const struct field *table, const struct document_node *map,
                        const char *what, void *target)
{
  bool seen[KEYS_MAXIMUM] = {false};
  if (map->kind != NODE_MAP)
    return fields_wrong(fields, map, "docs/manifests.md", "%s must be a mapping, this is %s", what,
                        document_kind_name(map->kind));
  for (const struct document_node *node = map->first; node != NULL; node = node->next) {
    const struct field *field = table;
    while (field->key != NULL && strcmp(field->key, node->key) != 0)
      field++;
    if (field->key == NULL)
      return unknown_key(fields, table, node, what);
    seen[field - table] = true;
    XSP_TRY(field->read(fields, field, node, target));
  }
  for (const struct field *field = table; field->key != NULL; field++)
    if (field->is_required && !seen[field - table]) {
      char advice[160];
      snprintf(advice, sizeof advice, "%s: %s", field->key, field->example != NULL ? field->example : "…");
      return fields_wrong(fields, map, advice, "%s lacks the key %s", what, field->key);
    }
  return STATUS_OK;
}

// ---- values ----------------------------------------------------------------------------------------------------------

enum status fields_kind(const struct fields *fields, const struct field *field, const struct document_node *node,
                        enum document_kind kind)
{
  if (node->kind == kind)
    return STATUS_OK;
  char advice[192];
  if (kind == NODE_TEXT && node->text[0] != 0) { // a word that YAML takes for something else
    snprintf(advice, sizeof advice, "%s: \"%.100s\"", field->key, node->text);
    return fields_wrong(fields, node, advice, "%s must be text, and %.100s without quotes is %s", field->key,
                        node->text, document_kind_name(node->kind));
  }
  snprintf(advice, sizeof advice, "%s: %s", field->key, field->example != NULL ? field->example : "");
  return fields_wrong(fields, node, field->example != NULL ? advice : NULL, "%s must be %s, this is %s", field->key,
                      document_kind_name(kind), document_kind_name(node->kind));
}

enum status field_text(const struct fields *fields, const struct field *field, const struct document_node *node,
                       void *target)
{
  XSP_TRY(fields_kind(fields, field, node, NODE_TEXT));
  if (node->text[0] == 0)
    return fields_wrong(fields, node, field->example, "%s is empty", field->key);
  if (strlen(node->text) > TEXT_MAXIMUM)
    return fields_wrong(fields, node, NULL, "%s is longer than %d bytes", field->key, TEXT_MAXIMUM);
  *(const char **)((char *)target + field->offset) = node->text;
  return STATUS_OK;
}

enum status field_plain(const struct fields *fields, const struct field *field, const struct document_node *node,
                        void *target)
{
  struct document_node text = *node;
  if (node->kind == NODE_INTEGER || node->kind == NODE_NUMBER)
    text.kind = NODE_TEXT;
  return field_text(fields, field, &text, target);
}

enum status field_word(const struct fields *fields, const struct field *field, const struct document_node *node,
                       void *target)
{
  XSP_TRY(field_text(fields, field, node, target));
  regex_t pattern;
  if (regcomp(&pattern, field->pattern, REG_EXTENDED | REG_NOSUB) != 0)
    memory_exhausted();
  bool fits = regexec(&pattern, node->text, 0, NULL, 0) == 0;
  regfree(&pattern);
  char advice[192];
  snprintf(advice, sizeof advice, "%s: %s", field->key, field->example);
  return fits ? STATUS_OK : fields_wrong(fields, node, advice, "%s cannot be '%.100s'", field->key, node->text);
}

enum status fields_room(const struct fields *fields, const struct field *field, const struct document_node *node,
                        enum document_kind kind, size_t item_bytes, void **ret_items)
{
  XSP_TRY(fields_kind(fields, field, node, kind));
  if (node->count == 0)
    return fields_wrong(fields, node, "leave the key out", "%s is empty", field->key);
  if (node->count > MANIFEST_LIST_MAXIMUM)
    return fields_wrong(fields, node, NULL, "%s has more than %d entries", field->key, MANIFEST_LIST_MAXIMUM);
  *ret_items = arena_alloc_array(fields->arena, node->count, item_bytes);
  return STATUS_OK;
}

enum status field_texts(const struct fields *fields, const struct field *field, const struct document_node *node,
                        void *target)
{
  struct manifest_texts *texts = (struct manifest_texts *)(void *)((char *)target + field->offset);
  void *items = NULL;
  XSP_TRY(fields_room(fields, field, node, NODE_LIST, sizeof *texts->items, &items));
  texts->items = items;
  const struct field each = {.key = field->key, .example = field->example};
  for (const struct document_node *entry = node->first; entry != NULL; entry = entry->next)
    XSP_TRY(field_text(fields, &each, entry, &texts->items[texts->count++]));
  return STATUS_OK;
}

// As 7 and -7 are, whose digits are decimal to all readers; 010 is 8 under YAML 1.1.
static bool is_decimal_integer(const struct document_node *node)
{
  const char *digits = node->text + strspn(node->text, "+-");
  return node->kind == NODE_INTEGER && (digits[0] != '0' || digits[1] == 0);
}

enum status fields_integer(const struct fields *fields, const struct document_node *node, const char *what,
                           int64_t least, int64_t most, int64_t *ret_value)
{
  char *end = NULL;
  errno = 0;
  long long value = strtoll(node->text, &end, 10);
  bool is_decimal = is_decimal_integer(node) && *end == 0;
  if (!is_decimal || errno != 0 || value < least || value > most)
    return fields_wrong(fields, node, NULL, "%s must be a whole number from %" PRId64 " to %" PRId64 ", not %.100s",
                        what, least, most, node->text[0] != 0 ? node->text : document_kind_name(node->kind));
  *ret_value = value;
  return STATUS_OK;
}

enum status fields_number(const struct fields *fields, const struct document_node *node, const char *what,
                          double *ret_value)
{
  char *end = NULL;
  double value = strtod(node->text, &end);
  bool is_number = (is_decimal_integer(node) || node->kind == NODE_NUMBER) && *end == 0 && end != node->text;
  if (!is_number || !isfinite(value)) {
    bool lacks_point = node->kind == NODE_TEXT && end != node->text && *end == 0;
    return fields_wrong(fields, node, lacks_point ? "with a point and the exponent's sign, as in 1.0e-3" : NULL,
                        "%s must be a number, not %.100s%s", what,
                        node->text[0] != 0 ? node->text : document_kind_name(node->kind),
                        lacks_point ? ", which YAML takes for text" : "");
  }
  *ret_value = value;
  return STATUS_OK;
}

enum status fields_float(const struct fields *fields, const struct document_node *node, const char *what,
                         float *ret_value)
{
  double value = 0;
  XSP_TRY(fields_number(fields, node, what, &value));
  if (fabs(value) > (double)FLT_MAX)
    return fields_wrong(fields, node, NULL, "%s must be at most %g, not %.100s", what, (double)FLT_MAX, node->text);
  *ret_value = (float)value;
  return STATUS_OK;
}

enum status fields_choice(const struct fields *fields, const struct field *field, const struct document_node *node,
                          const char *const *words, size_t *ret_index)
{
  XSP_TRY(fields_kind(fields, field, node, NODE_TEXT));
  for (*ret_index = 0; words[*ret_index] != NULL; ++*ret_index)
    if (strcmp(words[*ret_index], node->text) == 0)
      return STATUS_OK;
  return fields_wrong(fields, node, suggestion(fields, node->text, words), "%s cannot be '%.100s'", field->key,
                      node->text);
}

// SPDX-License-Identifier: Apache-2.0
// Values of options that are numbers, sizes and lists of numbers. Called by the verbs. Prints nothing.
#include "base/memory.h"
#include "programs/xsp/verb.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status bad_number(const char *name, const char *text, const char *form, const char *least, const char *most,
                              struct error *err)
{
  char where[160], advice[128];
  snprintf(where, sizeof where, "--%s=%s", name, text);
  snprintf(advice, sizeof advice, "--%s=%s", name, least);
  return error_set(err, STATUS_USE, "wrong use", where, advice, "not %s from %s to %s", form, least, most);
}

// Where the number of decimal digits at `text` ends; NULL: there is none.
static const char *parse_int64(const char *text, int64_t *ret_value)
{
  char *end = NULL;
  errno = 0;
  *ret_value = strtoll(text, &end, 10);
  return isdigit((unsigned char)text[text[0] == '-']) && errno == 0 ? end : NULL;
}

static enum status bad_int64(const char *name, const char *text, int64_t least, int64_t most, struct error *err)
{
  char least_text[32], most_text[32];
  snprintf(least_text, sizeof least_text, "%" PRId64, least);
  snprintf(most_text, sizeof most_text, "%" PRId64, most);
  return bad_number(name, text, "a whole number", least_text, most_text, err);
}

enum status invocation_int64(const struct invocation *invocation, const char *name, int64_t least, int64_t most,
                             int64_t *ret_value, struct error *err)
{
  const char *text = invocation_value(invocation, name);
  return text != NULL ? option_int64(name, text, least, most, ret_value, err) : STATUS_OK;
}

enum status option_int64(const char *name, const char *text, int64_t least, int64_t most, int64_t *ret_value,
                         struct error *err)
{
  int64_t value;
  const char *end = parse_int64(text, &value);
  if (end == NULL || *end != 0 || value < least || value > most)
    return bad_int64(name, text, least, most, err);
  *ret_value = value;
  return STATUS_OK;
}

enum status invocation_unsigned(const struct invocation *invocation, const char *name, unsigned least, unsigned most,
                                unsigned *ret_value, struct error *err)
{
  int64_t value = *ret_value;
  XSP_TRY(invocation_int64(invocation, name, least, most, &value, err));
  *ret_value = (unsigned)value;
  return STATUS_OK;
}

enum status invocation_bytes(const struct invocation *invocation, const char *name, uint64_t least, uint64_t most,
                             uint64_t *ret_bytes, struct error *err)
{
  static const char suffixes[] = "KMGT";
  const char *text = invocation_value(invocation, name);
  if (text == NULL)
    return STATUS_OK;
  char *end = NULL;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  const char *suffix = *end != 0 ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
  unsigned shift = suffix != NULL ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
  bool is_size = isdigit((unsigned char)text[0]) && errno == 0 && end[suffix != NULL] == 0;
  if (!is_size || number > UINT64_MAX >> shift || number << shift < least || number << shift > most) {
    char where[64];
    snprintf(where, sizeof where, "--%s", name);
    return error_set(err, STATUS_USE, "wrong use", where, "a number, maybe followed by K, M, G or T",
                     "'%s' is not a number of bytes from %" PRIu64 " to %" PRIu64, text, least, most);
  }
  *ret_bytes = number << shift;
  return STATUS_OK;
}

static enum status read_double(const struct invocation *invocation, const char *name, const char *unit, double least,
                               double most, double *ret_value, struct error *err)
{
  const char *text = invocation_value(invocation, name);
  if (text == NULL)
    return STATUS_OK;
  char *end = NULL;
  double value = strtod(text, &end);
  bool is_read = end > text && strspn(text, "0123456789+-.eE") == (size_t)(end - text);
  if (!is_read || (*end != 0 && strcmp(end, unit) != 0) || !isfinite(value) || value < least || value > most) {
    char least_text[40], most_text[40];
    snprintf(least_text, sizeof least_text, "%g", least);
    snprintf(most_text, sizeof most_text, "%g", most);
    return bad_number(name, text, "a number", least_text, most_text, err);
  }
  *ret_value = value;
  return STATUS_OK;
}

enum status invocation_double(const struct invocation *invocation, const char *name, double least, double most,
                              double *ret_value, struct error *err)
{
  return read_double(invocation, name, "", least, most, ret_value, err);
}

enum status invocation_percent(const struct invocation *invocation, const char *name, double least, double most,
                               double *ret_value, struct error *err)
{
  return read_double(invocation, name, "%", least, most, ret_value, err);
}

enum status option_int64_list(const char *name, const char *text, int64_t most, int64_t **ret_values, size_t *ret_count,
                              struct error *err)
{
  size_t count = 1;
  for (const char *at = text; *at != 0; at++)
    count += *at == ',';
  int64_t *values = memory_new(count, sizeof *values);
  const char *at = text;
  for (size_t i = 0; i < count; i++, at++) {
    at = parse_int64(at, &values[i]);
    if (at == NULL || *at != (i + 1 < count ? ',' : 0) || values[i] < 1 || values[i] > most) {
      free(values);
      return bad_int64(name, text, 1, most, err);
    }
  }
  *ret_values = values;
  *ret_count = count;
  return STATUS_OK;
}

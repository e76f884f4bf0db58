// SPDX-License-Identifier: Apache-2.0
// A request: its defaults, and options read into it. Called by the front door's users; the table is in options.h.
#include "analyze/analyze.h"

#include "base/slice.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

void analyze_request_init(struct analyze_request *request)
{
  *request = (struct analyze_request){.small_overhead_pct = 5,
                                      .optimal_threshold_pct = 5,
                                      .latency_threshold_pct = 5,
                                      .asynchronous_threshold_pct = 5,
                                      .least_gain_pct = 2};
}

static const struct option {
  const char *name, *value_name;
  enum analyze_form form;
  size_t offset, count_offset; // into the request
  double most;
} known[] = {
#define X(name, form, member, count, most, value_name, ...)                                                            \
  {                                                                                                                    \
      name,                                                                                                            \
      value_name,                                                                                                      \
      ANALYZE_##form,                                                                                                  \
      offsetof(struct analyze_request, member),                                                                        \
      offsetof(struct analyze_request, count),                                                                         \
      most},
    ANALYZE_OPTIONS(X)
#undef X
};

static enum status refuse(const struct option *option, const char *value, struct error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static enum status refuse(const struct option *option, const char *value, struct error *err, const char *format, ...)
{
  char where[160], advice[128], why[128];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  snprintf(where, sizeof where, "--%s=%s", option->name, value);
  snprintf(advice, sizeof advice, "--%s=%s, or `xsp help analyze`", option->name, option->value_name);
  return error_set(err, STATUS_USE, "wrong use", where, advice, "%s", why);
}

// "a,b", after what the list has already.
static enum status read_list(const struct option *option, const char *text, struct arena *arena, char *request,
                             struct error *err)
{
  const char ***place = (const char ***)(void *)(request + option->offset);
  size_t *count = (size_t *)(void *)(request + option->count_offset), most = (size_t)option->most;
  if (*place == NULL)
    *place = arena_alloc_array(arena, most, sizeof **place);
  char *rest = arena_copy(arena, text, strlen(text));
  for (char *item; (item = strsep(&rest, ",")) != NULL;) {
    if (item[0] == 0 || *count == most)
      return item[0] == 0 ? refuse(option, text, err, "a part of the list is empty")
                          : refuse(option, text, err, "at most %zu parts", most);
    (*place)[(*count)++] = item;
  }
  return STATUS_OK;
}

static enum status read_number(const struct option *option, const char *text, char *place, struct error *err)
{
  char *end = NULL;
  errno = 0;
  if (option->form == ANALYZE_COUNT) {
    int64_t number = strtoll(text, &end, 10);
    if (end == text || *end != 0 || errno != 0 || number < 1)
      return refuse(option, text, err, "not a whole number from 1 to %lld", (long long)INT64_MAX);
    memcpy(place, &number, sizeof number);
    return STATUS_OK;
  }
  double number = strtod(text, &end);
  if (end == text || *end != 0 || !(number >= 0 && number <= option->most))
    return refuse(option, text, err, "not a number from 0 to %g", option->most);
  memcpy(place, &number, sizeof number);
  return STATUS_OK;
}

enum status analyze_option_read(const char *name, const char *value, struct arena *arena,
                                struct analyze_request *request, struct error *err)
{
  const struct option *option = NULL;
  for (size_t i = 0; i < sizeof known / sizeof known[0] && option == NULL; i++)
    option = strcmp(known[i].name, name) == 0 ? &known[i] : NULL;
  if (option == NULL || value == NULL)
    return error_set(err, STATUS_USE, "wrong use", name, "xsp help analyze",
                     option == NULL ? "no such option" : "its value is missing");
  char *place = (char *)request + option->offset;
  switch (option->form) {
  case ANALYZE_FLAG:
    memcpy(place, &(bool){true}, sizeof(bool));
    return STATUS_OK;
  case ANALYZE_TEXT:
    if (strchr(option->value_name, '|') != NULL && !text_is_listed(value, option->value_name, '|'))
      return refuse(option, value, err, "none of them");
    memcpy(place, &value, sizeof value);
    return question_statistic_check(request, &(struct statistic){0}, err);
  case ANALYZE_LIST:
    return read_list(option, value, arena, (char *)request, err);
  default:
    return read_number(option, value, place, err);
  }
}

enum status analyze_options_read(const char *const *options, struct arena *arena, struct analyze_request *ret_request,
                                 struct error *err)
{
  analyze_request_init(ret_request);
  for (; options != NULL && options[0] != NULL; options += 2)
    XSP_TRY(analyze_option_read(options[0], options[1], arena, ret_request, err));
  return STATUS_OK;
}

enum status analyze_is_here(struct store *store, int64_t system_id, struct arena *scratch, bool *ret_is_here,
                            struct error *err)
{
  struct store_system_value *values;
  struct utsname names;
  size_t count;
  *ret_is_here = false;
  XSP_TRY(store_system(store, system_id, scratch, &values, &count, err));
  for (size_t i = 0; i < count; i++)
    if (strcmp(values[i].key, "host") == 0 && !values[i].is_number && uname(&names) == 0)
      *ret_is_here |= strcmp(values[i].text, names.nodename) == 0;
  return STATUS_OK;
}

// SPDX-License-Identifier: Apache-2.0
// Options that choose level sets: --levels, --serialize, and --cuda where it asks for metrics. Used by `xsp run` and
// `xsp profile`.
#include "base/nearest.h"
#include "programs/xsp/verb.h"
#include "tracers/tracers.h"

#include <stdio.h>
#include <string.h>

static enum status no_level_set(const char *text, size_t length, struct error *err)
{
  static const char *const words[] = {"model", "framework", "library", "hardware", "full"};
  char word[40], advice[160];
  struct nearest nearest;
  snprintf(word, sizeof word, "%.*s", (int)length, text);
  nearest_start(&nearest, word);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    nearest_offer(&nearest, words[i]);
  nearest_advice(&nearest, "",
                 "levels A, M, L, Lib, K in this order, as in M,M/L; or model, framework, library, hardware, full",
                 advice, sizeof advice);
  return error_set(err, STATUS_USE, "not a level set", "--levels", advice, "'%.*s'", (int)length, text);
}

static enum status add_level_set(const char *text, size_t length, struct level_set *sets, size_t most, size_t *count,
                                 struct error *err)
{
  struct level_set set;
  if (!level_set_parse(text, length, &set))
    return no_level_set(text, length, err);
  if (set.metrics && !(set.mask & XSP_LEVEL_MASK(XSP_LEVEL_KERNEL)))
    return error_set(err, STATUS_USE, "metrics without kernels", "--levels", "M/L/K+metrics",
                     "'%.*s': hardware metrics are those of kernels", (int)length, text);
  for (size_t i = 0; i < *count; i++)
    if (level_set_equal(sets[i], set))
      return error_set(err, STATUS_USE, "a level set is given twice", "--levels", NULL, "'%.*s'", (int)length, text);
  if (*count == most)
    return error_set(err, STATUS_USE, "too many level sets", "--levels", NULL, "at most %zu", most);
  sets[(*count)++] = set;
  return STATUS_OK;
}

enum status option_level_sets(const char *text, struct level_set *sets, size_t most, size_t *ret_count,
                              struct error *err)
{
  *ret_count = 0;
  for (const char *at = text;; at++) {
    size_t length = strcspn(at, ",");
    XSP_TRY(add_level_set(at, length, sets, most, ret_count, err));
    at += length;
    if (*at == 0)
      return STATUS_OK;
  }
}

enum status option_add_serial_set(struct level_set *sets, size_t most, size_t *count, struct error *err)
{
  size_t before = *count;
  if (before == most)
    return error_set(err, STATUS_USE, "wrong use", "--serialize", "one level set fewer", "there are %zu already", most);
  *count = level_sets_add_serial(sets, before, most);
  return *count > before ? STATUS_OK
                         : error_set(err, STATUS_USE, "nothing to serialise", "--serialize",
                                     "a level set with layers or kernels, which is not serialised already",
                                     "it adds the deepest level set's twin");
}

enum status option_metric_sets(const char *cuda, bool has_tracer, struct level_set *sets, size_t most, size_t *count,
                               struct error *err)
{
  struct cuda_choice choice;
  bool is_asked = false;
  char why[200];
  if (!cuda_choice_parse(cuda, &choice, why, sizeof why))
    return error_set(err, STATUS_USE, "wrong use", "--cuda", "--cuda api=all,activities=kernel+memcpy", "%s", why);
  for (size_t i = 0; i < *count; i++)
    is_asked |= sets[i].metrics;
  if (!is_asked && choice.wants_metrics && *count == most)
    return error_set(err, STATUS_USE, "wrong use", "--cuda metrics", "one level set fewer", "there are %zu already",
                     most);
  size_t before = *count;
  if (!is_asked && choice.wants_metrics)
    *count = level_sets_add_metrics(sets, before, most);
  if (!is_asked && choice.wants_metrics && *count == before)
    return error_set(err, STATUS_USE, "metrics without kernels", "--cuda metrics", "a level set with K",
                     "hardware metrics are those of kernels");
  return has_tracer || (!is_asked && !choice.wants_metrics)
             ? STATUS_OK
             : error_set(err, STATUS_USE, "no tracer for hardware metrics", is_asked ? "--levels" : "--cuda metrics",
                         "--tracer cuda, or sets without +metrics", "none of the chosen tracers collects any");
}

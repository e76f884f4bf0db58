// SPDX-License-Identifier: Apache-2.0
// The table of rules, and their thresholds from the command line. Called by findings.c.
#include "analyze/findings/rules.h"

#include "base/nearest.h"
#include "base/slice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ADDRESS(name) &finding_##name,
const struct finding_rule *const finding_rules[] = {FINDING_RULES(ADDRESS) NULL};

size_t findings_rule_count(void)
{
  return sizeof finding_rules / sizeof finding_rules[0] - 1;
}

static const struct finding_threshold *threshold_at(size_t place)
{
  const struct finding_threshold *threshold =
      &finding_rules[place / FINDING_THRESHOLDS_MOST]->thresholds[place % FINDING_THRESHOLDS_MOST];
  return threshold->name != NULL ? threshold : NULL;
}

const struct finding_threshold *findings_threshold_of(const struct findings *findings, const char *name)
{
  const struct finding_threshold *threshold = findings->rule->thresholds;
  while (strcmp(threshold->name, name) != 0)
    threshold++;
  return threshold;
}

double findings_threshold(const struct findings *findings, const char *name)
{
  size_t rule = 0;
  while (finding_rules[rule] != findings->rule)
    rule++;
  ptrdiff_t at = findings_threshold_of(findings, name) - findings->rule->thresholds;
  return findings->thresholds[rule * FINDING_THRESHOLDS_MOST + (size_t)at];
}

// ---- options ---------------------------------------------------------------------------------------------------------
static enum status unknown_threshold(const char *text, struct error *err)
{
  char name[64], form[96], advice[160];
  struct nearest nearest;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
  nearest_start(&nearest, name);
  for (size_t i = 0; i < findings_rule_count() * FINDING_THRESHOLDS_MOST; i++) {
    const struct finding_threshold *known = threshold_at(i);
    if (known == NULL)
      continue;
    nearest_offer(&nearest, known->name);
    if (nearest.best == known->name)
      snprintf(form, sizeof form, "%s=%g%s", known->name, known->usual, known->unit);
  }
  if (nearest.best != NULL)
    nearest.best = form;
  nearest_advice(&nearest, "--threshold ", "NAME=NUMBER, as in hotspot-share=20", advice, sizeof advice);
  return error_set(err, STATUS_USE, "there is no such threshold, or its value is not a number", text, advice,
                   "docs/findings.md lists them");
}

// "hotspot-share=20%", where the unit may be missing.
static enum status read_threshold(const char *text, double *thresholds, struct error *err)
{
  for (size_t i = 0; i < findings_rule_count() * FINDING_THRESHOLDS_MOST; i++) {
    const struct finding_threshold *threshold = threshold_at(i);
    size_t length = threshold != NULL ? strlen(threshold->name) : 0;
    if (threshold == NULL || strncmp(text, threshold->name, length) != 0 || text[length] != '=')
      continue;
    char *end = NULL;
    double value = strtod(text + length + 1, &end);
    if (end == text + length + 1 || !isfinite(value) || value < 0 ||
        (*end != '\0' && strcmp(end, threshold->unit) != 0))
      break;
    thresholds[i] = value;
    return STATUS_OK;
  }
  return unknown_threshold(text, err);
}

static size_t rule_named(const char *name)
{
  size_t at = 0;
  while (finding_rules[at] != NULL && strcasecmp(finding_rules[at]->id, name) != 0 &&
         strcmp(finding_rules[at]->key, name) != 0)
    at++;
  return at;
}

bool analyze_is_finding(const char *name)
{
  return finding_rules[rule_named(name)] != NULL;
}

enum status analyze_no_such_finding(const char *name, const char *option, struct error *err)
{
  char prefix[32], other[64], advice[160];
  struct nearest nearest;
  nearest_start(&nearest, name);
  for (size_t i = 0; finding_rules[i] != NULL; i++) {
    nearest_offer(&nearest, finding_rules[i]->id);
    nearest_offer(&nearest, finding_rules[i]->key);
  }
  snprintf(prefix, sizeof prefix, "%s ", option);
  snprintf(other, sizeof other, "%s with an id, such as F2", option);
  nearest_advice(&nearest, prefix, other, advice, sizeof advice);
  return error_set(err, STATUS_USE, "there is no such finding", name, advice, "docs/findings.md lists them");
}

static enum status read_only(const char *name, bool has_own, bool *is_asked, struct error *err)
{
  size_t at = rule_named(name);
  if (finding_rules[at] == NULL)
    return has_own ? STATUS_OK : analyze_no_such_finding(name, "--only", err);
  is_asked[at] = true;
  return STATUS_OK;
}

enum status findings_read_options(const struct analyze_request *request, double *ret_thresholds, bool *ret_is_asked,
                                  struct error *err)
{
  for (size_t i = 0; i < findings_rule_count() * FINDING_THRESHOLDS_MOST; i++)
    ret_thresholds[i] = threshold_at(i) != NULL ? threshold_at(i)->usual : NAN;
  for (size_t i = 0; i < request->threshold_count; i++)
    XSP_TRY(read_threshold(request->thresholds[i], ret_thresholds, err));
  for (size_t i = 0; i < findings_rule_count(); i++)
    ret_is_asked[i] = request->only_count == 0;
  for (size_t i = 0; i < request->only_count; i++)
    XSP_TRY(read_only(request->only[i], request->only_has_own, ret_is_asked, err));
  return STATUS_OK;
}

// SPDX-License-Identifier: Apache-2.0
// The table of verbs, in the order of help.
#include "base/nearest.h"
#include "programs/xsp/verb.h"

#include <stdio.h>
#include <string.h>

extern const struct verb verb_profile;
extern const struct verb verb_evaluate;
extern const struct verb verb_data;
extern const struct verb verb_run;
extern const struct verb verb_import;
extern const struct verb verb_merge;
extern const struct verb verb_analyze;
extern const struct verb verb_compare;
extern const struct verb verb_history;
extern const struct verb verb_publish;
extern const struct verb verb_info;
extern const struct verb verb_sql;
extern const struct verb verb_export;
extern const struct verb verb_report;
extern const struct verb verb_recover;
extern const struct verb verb_serve;
extern const struct verb verb_agent;
extern const struct verb verb_check;
extern const struct verb verb_manifest;
extern const struct verb verb_demo;
extern const struct verb verb_version;
extern const struct verb verb_help;

const struct verb *const verbs[] = {
    &verb_profile,  &verb_evaluate, &verb_data,    &verb_run,     &verb_import,  &verb_merge,
    &verb_analyze,  &verb_compare,  &verb_history, &verb_publish, &verb_info,    &verb_sql,
    &verb_export,   &verb_report,   &verb_serve,   &verb_agent,   &verb_recover, &verb_check,
    &verb_manifest, &verb_demo,     &verb_version, &verb_help,    NULL,
};

enum status verb_find(const char *name, const char *command, const struct verb **ret_verb, struct error *err)
{
  struct nearest nearest;
  nearest_start(&nearest, name);
  for (size_t i = 0; verbs[i] != NULL; i++) {
    *ret_verb = verbs[i];
    if (strcmp(verbs[i]->name, name) == 0)
      return STATUS_OK;
    nearest_offer(&nearest, verbs[i]->name);
  }
  *ret_verb = NULL;
  char advice[64] = "`xsp help`";
  if (nearest.best != NULL)
    snprintf(advice, sizeof advice, "`%s %s`, or `xsp help`", command, nearest.best);
  return error_set(err, STATUS_USE, "wrong use", name, advice, "no such verb");
}

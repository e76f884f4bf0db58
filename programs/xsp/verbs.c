// SPDX-License-Identifier: Apache-2.0
// The table of verbs, in the order of help.
#include "programs/xsp/verb.h"

#include <string.h>

extern const struct verb verb_profile;
extern const struct verb verb_run;
extern const struct verb verb_import;
extern const struct verb verb_analyze;
extern const struct verb verb_info;
extern const struct verb verb_sql;
extern const struct verb verb_export;
extern const struct verb verb_report;
extern const struct verb verb_recover;
extern const struct verb verb_check;
extern const struct verb verb_version;
extern const struct verb verb_help;

const struct verb *const verbs[] = {
    &verb_profile, &verb_run,     &verb_import, &verb_analyze, &verb_info, &verb_sql, &verb_export,
    &verb_report,  &verb_recover, &verb_check,  &verb_version, &verb_help, NULL,
};

const struct verb *verb_find(const char *name)
{
  for (size_t i = 0; verbs[i] != NULL; i++)
    if (strcmp(verbs[i]->name, name) == 0)
      return verbs[i];
  return NULL;
}

// SPDX-License-Identifier: Apache-2.0
// The table of verbs, in the order of help. A verb exists where its file verb_NAME.c does (CMakeLists.txt defines
// XSP_HAVE_NAME), so that the program builds while a verb is being written.
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
#ifdef XSP_HAVE_PROFILE
    &verb_profile,
#endif
#ifdef XSP_HAVE_RUN
    &verb_run,
#endif
#ifdef XSP_HAVE_IMPORT
    &verb_import,
#endif
#ifdef XSP_HAVE_ANALYZE
    &verb_analyze,
#endif
#ifdef XSP_HAVE_INFO
    &verb_info,
#endif
#ifdef XSP_HAVE_SQL
    &verb_sql,
#endif
#ifdef XSP_HAVE_EXPORT
    &verb_export,
#endif
#ifdef XSP_HAVE_REPORT
    &verb_report,
#endif
#ifdef XSP_HAVE_RECOVER
    &verb_recover,
#endif
#ifdef XSP_HAVE_CHECK
    &verb_check,
#endif
#ifdef XSP_HAVE_VERSION
    &verb_version,
#endif
#ifdef XSP_HAVE_HELP
    &verb_help,
#endif
    NULL,
};

const struct verb *verb_find(const char *name)
{
  for (size_t i = 0; verbs[i] != NULL; i++)
    if (strcmp(verbs[i]->name, name) == 0)
      return verbs[i];
  return NULL;
}

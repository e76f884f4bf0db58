// SPDX-License-Identifier: Apache-2.0
// The names of the output formats. Used by the programs' option parsing.
#include "report/report.h"

#include <string.h>

bool report_format_from_name(const char *text, enum report_format *ret_format)
{
  static const char *const names[] = {
      [REPORT_TEXT] = "text", [REPORT_MARKDOWN] = "markdown", [REPORT_CSV] = "csv", [REPORT_JSON] = "json"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(names[i], text) == 0) {
      *ret_format = (enum report_format)i;
      return true;
    }
  return false;
}

// SPDX-License-Identifier: Apache-2.0
// Shared by the reading verbs: the output format. Prints nothing.
#include "programs/xsp/reader.h"

#include <stdio.h>
#include <string.h>

enum status reader_format(const struct invocation *invocation, enum report_format *ret_format, struct error *err)
{
  const char *name = invocation_value(invocation, "format");
  if (!report_format_from_name(name, ret_format)) {
    char where[96];
    snprintf(where, sizeof where, "--format=%s", name);
    return error_set(err, STATUS_USE, "wrong use", where, "text, markdown, csv or json", "no such format");
  }
  if (!invocation_has(invocation, "json"))
    return STATUS_OK;
  if (invocation_has(invocation, "format") && *ret_format != REPORT_JSON)
    return error_set(err, STATUS_USE, "wrong use", "--json", "one of the two", "it contradicts --format=%s", name);
  *ret_format = REPORT_JSON;
  return STATUS_OK;
}

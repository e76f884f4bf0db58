// SPDX-License-Identifier: Apache-2.0
// What the export to OTLP writes about a run. Inside this room only.
#ifndef XSP_REPORT_EXPORTS_OTLP_RESOURCE_H
#define XSP_REPORT_EXPORTS_OTLP_RESOURCE_H

#include "otlp/encode.h"
#include "report/exports/otlp_facts.h"

// All attributes of the resource. is_first: in the first request of the run; with_file_notes: in that of the file.
void otlp_put_resource(struct otlp_out *out, const struct otlp_facts *facts, bool is_first, bool with_file_notes);

static inline void otlp_put_text(struct otlp_out *out, enum otlp_field_id list, const char *key, const char *text)
{
  if (text != NULL)
    otlp_out_attribute(out, list, "", slice_of(key), otlp_value_of_text(slice_of(text)));
}

static inline void otlp_put_int(struct otlp_out *out, enum otlp_field_id list, const char *key, int64_t number)
{
  if (number != STORE_NONE)
    otlp_out_attribute(out, list, "", slice_of(key), otlp_value_of_int(number));
}

#endif

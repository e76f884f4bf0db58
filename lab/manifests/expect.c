// SPDX-License-Identifier: Apache-2.0
// Expectations as text, written by xsp and read by the runner; see expect.h.
#include "manifests/expect.h"

#include "format/protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void expectation_shape(const struct tensor_info *info, char *text, size_t size)
{
  size_t used = 0;
  text[0] = 0;
  for (unsigned i = 0; i < info->rank && used < size; i++) {
    const char *comma = i > 0 ? "," : "";
    if (info->shape[i] >= 0)
      used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, comma, info->shape[i]);
    else
      used += (size_t)snprintf(text + used, size - used, "%s%s", comma,
                               info->dimension_name[i] != NULL ? info->dimension_name[i] : "?");
  }
}

void expectation_format(const struct expectation *expectation, struct buf *out)
{
  char type[16], shape[EXPECTATION_SHAPE_SIZE * 8] = "-", fill[16], low[40], high[40];
  snprintf(type, sizeof type, "%d", (int)expectation->info.type);
  if (expectation->has_shape)
    expectation_shape(&expectation->info, shape, sizeof shape);
  snprintf(fill, sizeof fill, "%d", (int)expectation->fill.kind);
  snprintf(low, sizeof low, "%.17g", expectation->fill.low);
  snprintf(high, sizeof high, "%.17g", expectation->fill.high);
  struct buf modality = {0};
  if (expectation->is_image)
    picture_format(&expectation->picture, &modality);
  else if (expectation->is_output)
    output_form_format(&expectation->form, &modality);
  else
    buf_text(&modality, "-");
  const char *fields[] = {expectation->is_output ? "output" : "input",
                          expectation->where,
                          expectation->info.name,
                          type,
                          shape,
                          fill,
                          low,
                          high,
                          modality.data};
  protocol_format(out, fields, sizeof fields / sizeof fields[0]);
  buf_done(&modality);
  if (out->length > 0) // its newline
    out->data[--out->length] = 0;
}

static bool parse_shape(char *text, struct tensor_info *info)
{
  char *rest = NULL;
  for (char *part = strtok_r(text, ",", &rest); part != NULL; part = strtok_r(NULL, ",", &rest)) {
    if (info->rank == TENSOR_MAXIMUM_RANK)
      return false;
    unsigned at = info->rank++;
    info->shape[at] = -1;
    if (part[0] >= '0' && part[0] <= '9')
      info->shape[at] = strtoll(part, NULL, 10);
    else
      info->dimension_name[at] = part;
  }
  return true;
}

bool expectation_parse(const char *text, struct arena *arena, struct expectation *ret_expectation)
{
  char *fields[PROTOCOL_FIELDS];
  char *copy = arena_copy(arena, text, strlen(text));
  if (protocol_parse(copy, fields) != 9)
    return false;
  long type = strtol(fields[3], NULL, 10), fill = strtol(fields[5], NULL, 10);
  if (fill < RULE_DEFAULT || fill > RULE_INTEGERS || type < 0 || type >= TENSOR_TYPES)
    return false;
  *ret_expectation = (struct expectation){
      .is_output = strcmp(fields[0], "output") == 0,
      .where = fields[1],
      .info = {.name = fields[2], .type = (enum tensor_type)type},
      .has_shape = strcmp(fields[4], "-") != 0,
      .fill = {(enum fill_kind)fill, strtod(fields[6], NULL), strtod(fields[7], NULL)},
      .is_image = strcmp(fields[0], "input") == 0 && strcmp(fields[8], "-") != 0,
  };
  if ((ret_expectation->is_image && !picture_parse(fields[8], &ret_expectation->picture)) ||
      (ret_expectation->is_output && !output_form_parse(fields[8], &ret_expectation->form)))
    return false;
  return !ret_expectation->has_shape || parse_shape(fields[4], &ret_expectation->info);
}

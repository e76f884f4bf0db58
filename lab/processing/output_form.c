// SPDX-License-Identifier: Apache-2.0
// Parameters of outputs as text. Called by manifests/ and the runner.
#include "processing/output_form.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const output_form_kind_names[] = {"tensor", "feature", "boxes", "mask", "text", "instances", NULL};

// ---- boxes: numbers, the columns' initial places, and the lengths of the names that follow; of instances then their masks --
static void format_boxes(const struct boxes_form *form, bool have_masks, struct buf *out)
{
  char columns[BOX_COLUMNS + 1] = "-";
  for (unsigned i = 0; i < form->column_count; i++) {
    columns[i] = (char)('0' + form->columns[i]);
    columns[i + 1] = 0;
  }
  buf_format(out, " %d %d %d %.9g %.9g %u %d %s %zu %zu\n%s\n%s", (int)form->format, form->is_normalized,
             form->is_transposed, (double)form->score_threshold, (double)form->iou_threshold, form->most,
             form->is_class_agnostic, columns, strlen(form->scores), strlen(form->classes), form->scores,
             form->classes);
  if (have_masks)
    buf_format(out, "\n%.9g %d\n%s", (double)form->mask_threshold, form->are_masks_of_input, form->masks);
}

static bool parse_columns(const char *text, struct boxes_form *form)
{
  unsigned seen = 0;
  for (; *text != 0 && strcmp(text, "-") != 0; text++) {
    unsigned column = (unsigned)*text - '0';
    if (column >= BOX_COLUMNS || (seen & 1u << column) != 0)
      return false;
    seen |= 1u << column;
    form->columns[form->column_count++] = (enum box_column)column;
  }
  bool has_scores = (seen & 1u << BOX_COLUMN_SCORES) != 0, has_score = (seen & 1u << BOX_COLUMN_SCORE) != 0;
  return form->column_count == 0 || ((seen & 1u << BOX_COLUMN_BOX) != 0 && has_scores != has_score);
}

static bool parse_masks(const char *text, struct boxes_form *form)
{
  int are_of_input = 0;
  const char *name = strchr(text, '\n');
  if (sscanf(text, "%f %d", &form->mask_threshold, &are_of_input) != 2 || name == NULL || name[1] == 0)
    return false;
  form->are_masks_of_input = are_of_input != 0;
  form->masks = name + 1;
  return isfinite(form->mask_threshold);
}

static bool parse_boxes(char *text, bool have_masks, struct boxes_form *form)
{
  int format = -1, is_normalized = 0, is_transposed = 0, is_agnostic = 0, used = 0;
  char columns[BOX_COLUMNS + 1] = "";
  size_t scores = 0, classes = 0;
  if (sscanf(text, "%d %d %d %f %f %u %d %6[0-9-] %4zu %4zu%n", &format, &is_normalized, &is_transposed,
             &form->score_threshold, &form->iou_threshold, &form->most, &is_agnostic, columns, &scores, &classes,
             &used) != 10)
    return false;
  if (format < BOX_XYXY || format > BOX_CXCYWH || !isfinite(form->score_threshold) || !isfinite(form->iou_threshold) ||
      form->most < 1 || form->most > BOXES_MOST || !parse_columns(columns, form))
    return false;
  char *names = text + used;
  size_t end = scores + classes + 2;
  if (strlen(names) < end || names[end] != (have_masks ? '\n' : 0) || names[0] != '\n' || names[1 + scores] != '\n')
    return false;
  names[1 + scores] = names[end] = 0;
  form->format = (enum box_format)format;
  form->is_normalized = is_normalized != 0;
  form->is_transposed = is_transposed != 0;
  form->is_class_agnostic = is_agnostic != 0;
  form->scores = names + 1;
  form->classes = names + 2 + scores;
  return (form->column_count == 0) == (scores > 0) && (classes == 0 || scores > 0) &&
         (!have_masks || parse_masks(names + end + 1, form));
}

// ---- all -------------------------------------------------------------------------------------------------------------
void output_form_format(const struct output_form *form, struct buf *out)
{
  const struct mask_form *mask = &form->mask;
  buf_text(out, output_form_kind_names[form->kind]);
  if (output_form_has_boxes(form->kind))
    format_boxes(&form->boxes, form->kind == OUTPUT_INSTANCES, out);
  if (form->kind == OUTPUT_MASK)
    buf_format(out, " %d %.9g %d %d", mask->has_threshold, (double)mask->threshold, mask->channels_last, mask->ignored);
  if (form->kind == OUTPUT_TEXT)
    buf_format(out, " %d %zu %" PRId64, form->text.is_ctc, form->text.blank, form->text.stop);
}

static bool parse_mask(const char *text, struct mask_form *form)
{
  int has_threshold = 0, channels_last = 0;
  if (sscanf(text, "%d %f %d %d", &has_threshold, &form->threshold, &channels_last, &form->ignored) != 4)
    return false;
  form->has_threshold = has_threshold != 0;
  form->channels_last = channels_last != 0;
  return isfinite(form->threshold) && form->ignored >= -1 && form->ignored < MASK_CLASSES_MOST;
}

static bool parse_text(const char *text, struct text_form *form)
{
  int is_ctc = 0;
  bool is_whole = sscanf(text, "%d %zu %" SCNd64, &is_ctc, &form->blank, &form->stop) == 3;
  form->is_ctc = is_ctc != 0;
  return is_whole;
}

bool output_form_parse(char *text, struct output_form *ret_form)
{
  char *values = text + strcspn(text, " ");
  *ret_form = (struct output_form){0};
  for (size_t kind = 0; output_form_kind_names[kind] != NULL; kind++)
    if (strlen(output_form_kind_names[kind]) == (size_t)(values - text) &&
        strncmp(output_form_kind_names[kind], text, (size_t)(values - text)) == 0) {
      ret_form->kind = (enum output_kind)kind;
      return output_form_has_boxes(ret_form->kind) ? parse_boxes(values, kind == OUTPUT_INSTANCES, &ret_form->boxes)
             : kind == OUTPUT_MASK                 ? parse_mask(values, &ret_form->mask)
             : kind == OUTPUT_TEXT                 ? parse_text(values, &ret_form->text)
                                                   : *values == 0;
    }
  return false;
}

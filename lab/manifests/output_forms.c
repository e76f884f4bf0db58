// SPDX-License-Identifier: Apache-2.0
// Outputs that are scores of classes, boxes, masks or texts, in a manifest's format: entries of `outputs` with `type: feature`, `boxes`,
// `mask`, `instances` or `text`, and their `parameters`. For modalities.c.
#include "manifests/modalities.h"

#include <string.h>

#define BOXES_DEFAULT 100
#define FORM(member) offsetof(struct manifest_tensor, expectation.form.member)

static struct output_form *form_of(void *target)
{
  return &((struct manifest_tensor *)target)->expectation.form;
}

static bool has_key(const struct document_node *map, const char *key)
{
  for (const struct document_node *node = map->first; node != NULL; node = node->next)
    if (strcmp(node->key, key) == 0)
      return true;
  return false;
}

static enum status refuse_key(const struct fields *fields, const struct document_node *map, const char *key,
                              const char *why)
{
  return has_key(map, key) ? fields_wrong(fields, map, "leave it out", "%s has no effect %s", key, why) : STATUS_OK;
}

// ---- values ----------------------------------------------------------------------------------------------------------
static enum status read_flag(const struct fields *fields, const struct field *field, const struct document_node *node,
                             void *target)
{
  XSP_TRY(fields_kind(fields, field, node, NODE_BOOLEAN));
  *(bool *)((char *)target + field->offset) =
      strchr("tTyY", node->text[0]) != NULL || strcasecmp(node->text, "on") == 0;
  return STATUS_OK;
}

static enum status read_float(const struct fields *fields, const struct field *field, const struct document_node *node,
                              void *target)
{
  return fields_float(fields, node, field->key, (float *)(void *)((char *)target + field->offset));
}

// From 0 up to, and without, 1: an overlap is never above 1.
static enum status read_overlap(const struct fields *fields, const struct field *field,
                                const struct document_node *node, void *target)
{
  XSP_TRY(read_float(fields, field, node, target));
  float value = form_of(target)->boxes.iou_threshold;
  return value >= 0 && value < 1
             ? STATUS_OK
             : fields_wrong(fields, node, field->example, "%s must be from 0 up to 1, not %s", field->key, node->text);
}

// A path, or an address: one of both keys.
static enum status read_labels(const struct fields *fields, const struct field *field, const struct document_node *node,
                               void *target)
{
  if (((struct manifest_tensor *)target)->labels_file != NULL)
    return fields_wrong(fields, node, "one of them", "labels and url name the same file");
  return field_text(fields, field, node, target);
}

// ---- boxes, and instances, which have masks, too ---------------------------------------------------------------------
static enum status read_format(const struct fields *fields, const struct field *field, const struct document_node *node,
                               void *target)
{
  size_t index = 0;
  XSP_TRY(fields_choice(fields, field, node, box_format_names, &index));
  form_of(target)->boxes.format = (enum box_format)index;
  return STATUS_OK;
}

static enum status read_most(const struct fields *fields, const struct field *field, const struct document_node *node,
                             void *target)
{
  int64_t most = 0;
  XSP_TRY(fields_integer(fields, node, field->key, 1, BOXES_MOST, &most));
  form_of(target)->boxes.most = (unsigned)most;
  return STATUS_OK;
}

static enum status read_columns(const struct fields *fields, const struct field *field,
                                const struct document_node *node, void *target)
{
  struct boxes_form *form = &form_of(target)->boxes;
  unsigned seen = 0;
  XSP_TRY(fields_kind(fields, field, node, NODE_LIST));
  for (const struct document_node *entry = node->first; entry != NULL; entry = entry->next) {
    size_t column = 0;
    XSP_TRY(fields_choice(fields, field, entry, box_column_names, &column));
    if ((seen & 1u << column) != 0)
      return fields_wrong(fields, entry, field->example, "columns has %s twice", box_column_names[column]);
    seen |= 1u << column;
    form->columns[form->column_count++] = (enum box_column)column;
  }
  bool has_scores = (seen & 1u << BOX_COLUMN_SCORES) != 0, has_score = (seen & 1u << BOX_COLUMN_SCORE) != 0;
  if ((seen & 1u << BOX_COLUMN_BOX) == 0 || has_scores == has_score)
    return fields_wrong(fields, node, field->example, "columns needs box, and score or scores");
  return has_scores && (seen & 1u << BOX_COLUMN_CLASS) != 0
             ? fields_wrong(fields, node, "[box, score, class]", "scores are those of all classes: there is no class")
             : STATUS_OK;
}

static enum status read_mask_of(const struct fields *fields, const struct field *field,
                                const struct document_node *node, void *target)
{
  static const char *const frames[] = {"box", "input", NULL};
  size_t index = 0;
  XSP_TRY(fields_choice(fields, field, node, frames, &index));
  form_of(target)->boxes.are_masks_of_input = index == 1;
  return STATUS_OK;
}

#define BOXES_PARAMETERS                                                                                               \
  {"format", true, read_format, 0, NULL, "xyxy"},                                                                      \
      {"normalized", false, read_flag, FORM(boxes.is_normalized), NULL, "true"},                                       \
      {"columns", false, read_columns, 0, NULL, "[box, objectness, scores]"},                                          \
      {"transposed", false, read_flag, FORM(boxes.is_transposed), NULL, "true"},                                       \
      {"scores", false, field_text, FORM(boxes.scores), NULL, "scores"},                                               \
      {"classes", false, field_text, FORM(boxes.classes), NULL, "labels"},                                             \
      {"score_threshold", false, read_float, FORM(boxes.score_threshold), NULL, "0.25"},                               \
      {"iou_threshold", false, read_overlap, FORM(boxes.iou_threshold), NULL, "0.45"},                                 \
      {"most", false, read_most, 0, NULL, "100"},                                                                      \
      {"class_agnostic", false, read_flag, FORM(boxes.is_class_agnostic), NULL, "true"},                               \
  {                                                                                                                    \
    "labels", false, field_text, offsetof(struct manifest_tensor, labels_file), NULL, "labels.txt"                     \
  }
static const struct field boxes_parameters[] = {BOXES_PARAMETERS, {0}};
static const struct field instances_parameters[] = {
    BOXES_PARAMETERS,
    {"masks", true, field_text, FORM(boxes.masks), NULL, "masks"},
    {"mask_threshold", false, read_float, FORM(boxes.mask_threshold), NULL, "0.5"},
    {"mask_of", false, read_mask_of, 0, NULL, "box"},
    {0},
};

static enum status read_boxes(const struct fields *fields, const struct field *field, const struct document_node *node,
                              void *target)
{
  struct boxes_form *form = &form_of(target)->boxes;
  bool have_masks = form_of(target)->kind == OUTPUT_INSTANCES;
  XSP_TRY(fields_read(fields, have_masks ? instances_parameters : boxes_parameters, node, field->key, target));
  if (form->scores[0] != 0)
    XSP_TRY(refuse_key(fields, node, "columns", "where scores are another output"));
  else
    XSP_TRY(refuse_key(fields, node, "classes", "without scores, which are another output, too"));
  if (form->iou_threshold < 0)
    XSP_TRY(refuse_key(fields, node, "class_agnostic", "without iou_threshold"));
  if (form->scores[0] == 0 && form->column_count == 0) {
    form->columns[form->column_count++] = BOX_COLUMN_BOX;
    form->columns[form->column_count++] = BOX_COLUMN_SCORES;
  }
  return STATUS_OK;
}

// ---- masks -----------------------------------------------------------------------------------------------------------
static enum status read_threshold(const struct fields *fields, const struct field *field,
                                  const struct document_node *node, void *target)
{
  form_of(target)->mask.has_threshold = true;
  return read_float(fields, field, node, target);
}

static enum status read_layout(const struct fields *fields, const struct field *field, const struct document_node *node,
                               void *target)
{
  static const char *const layouts[] = {"NCHW", "NHWC", NULL};
  size_t index = 0;
  XSP_TRY(fields_choice(fields, field, node, layouts, &index));
  form_of(target)->mask.channels_last = index == 1;
  return STATUS_OK;
}

static enum status read_ignored(const struct fields *fields, const struct field *field,
                                const struct document_node *node, void *target)
{
  int64_t ignored = 0;
  XSP_TRY(fields_integer(fields, node, field->key, 0, MASK_CLASSES_MOST - 1, &ignored));
  form_of(target)->mask.ignored = (int)ignored;
  return STATUS_OK;
}

static const struct field mask_parameters[] = {
    {"threshold", false, read_threshold, FORM(mask.threshold), NULL, "0.5"},
    {"layout", false, read_layout, 0, NULL, "NCHW"},
    {"ignore", false, read_ignored, 0, NULL, "255"},
    {"labels", false, field_text, offsetof(struct manifest_tensor, labels_file), NULL, "labels.txt"},
    {0},
};

static enum status read_mask(const struct fields *fields, const struct field *field, const struct document_node *node,
                             void *target)
{
  XSP_TRY(fields_read(fields, mask_parameters, node, field->key, target));
  return form_of(target)->mask.has_threshold
             ? refuse_key(fields, node, "layout", "with a threshold, which is for one channel")
             : STATUS_OK;
}

// ---- texts -----------------------------------------------------------------------------------------------------------
static enum status read_decoding(const struct fields *fields, const struct field *field,
                                 const struct document_node *node, void *target)
{
  static const char *const decodings[] = {"greedy", "ctc", NULL};
  size_t index = 0;
  XSP_TRY(fields_choice(fields, field, node, decodings, &index));
  form_of(target)->text.is_ctc = index == 1;
  return STATUS_OK;
}

static enum status read_token(const struct fields *fields, const struct field *field, const struct document_node *node,
                              void *target)
{
  int64_t token = 0;
  struct text_form *form = &form_of(target)->text;
  XSP_TRY(fields_integer(fields, node, field->key, 0, INT32_MAX, &token));
  if (strcmp(field->key, "stop") == 0)
    form->stop = token;
  else
    form->blank = (size_t)token;
  return STATUS_OK;
}

static const struct field text_parameters[] = {
    {"vocabulary", true, field_text, offsetof(struct manifest_tensor, labels_file), NULL, "vocabulary.txt"},
    {"decoding", false, read_decoding, 0, NULL, "ctc"},
    {"blank", false, read_token, 0, NULL, "0"},
    {"stop", false, read_token, 0, NULL, "2"},
    {"separator", false, field_text, offsetof(struct manifest_tensor, separator), NULL, "\" \""},
    {0},
};

static enum status read_text(const struct fields *fields, const struct field *field, const struct document_node *node,
                             void *target)
{
  XSP_TRY(fields_read(fields, text_parameters, node, field->key, target));
  return form_of(target)->text.is_ctc ? refuse_key(fields, node, "stop", "with decoding: ctc")
                                      : refuse_key(fields, node, "blank", "without decoding: ctc");
}

// ---- scores ----------------------------------------------------------------------------------------------------------
static const struct field feature_parameters[] = {
    {"labels", false, read_labels, offsetof(struct manifest_tensor, labels_file), NULL, "labels.txt"},
    {"url", false, read_labels, offsetof(struct manifest_tensor, labels_file), NULL, "https://example.org/labels.txt"},
    {0},
};

static enum status read_feature(const struct fields *fields, const struct field *field,
                                const struct document_node *node, void *target)
{
  return fields_read(fields, feature_parameters, node, field->key, target);
}

// ---- entries ---------------------------------------------------------------------------------------------------------
#define ENTRY_KEYS(type, are_required, read, example)                                                                  \
  {                                                                                                                    \
    {"name", false, field_text, offsetof(struct manifest_tensor, expectation.info.name), NULL, "output"},              \
        {"type", true, field_modality, 0, NULL, type}, {"parameters", are_required, read, 0, NULL, example}, {0},      \
  }
static const struct field feature_keys[] = ENTRY_KEYS("feature", false, read_feature, "{labels: labels.txt}");
static const struct field boxes_keys[] = ENTRY_KEYS("boxes", true, read_boxes, "{format: xyxy}");
static const struct field mask_keys[] = ENTRY_KEYS("mask", false, read_mask, "{threshold: 0.5}");
static const struct field instances_keys[] = ENTRY_KEYS("instances", true, read_boxes, "{format: xyxy, masks: masks}");
static const struct field text_keys[] = ENTRY_KEYS("text", true, read_text, "{vocabulary: vocabulary.txt}");

const struct field *manifest_output_form_keys(const char *type, struct manifest_tensor *tensor)
{
  static const struct field *const keys[] = {[OUTPUT_SCORES] = feature_keys,
                                             [OUTPUT_BOXES] = boxes_keys,
                                             [OUTPUT_MASK] = mask_keys,
                                             [OUTPUT_TEXT] = text_keys,
                                             [OUTPUT_INSTANCES] = instances_keys};
  for (size_t kind = OUTPUT_SCORES; output_form_kind_names[kind] != NULL; kind++)
    if (strcmp(type, output_form_kind_names[kind]) == 0) {
      tensor->separator = "";
      tensor->expectation.form = (struct output_form){.kind = (enum output_kind)kind,
                                                      .boxes = {.iou_threshold = -1,
                                                                .most = BOXES_DEFAULT,
                                                                .scores = "",
                                                                .classes = "",
                                                                .masks = "",
                                                                .mask_threshold = 0.5f},
                                                      .mask = {.ignored = -1},
                                                      .text = {.stop = -1}};
      return keys[kind];
    }
  return NULL;
}

// SPDX-License-Identifier: Apache-2.0
// Boxes and masks against their labels; see accuracy.h. Called by evaluation.c.
#include "experiment/evaluation/accuracy/accuracy.h"

#include "base/buf.h"
#include "experiment/evaluation/accuracy/average_precision.h"

#include <math.h>

const struct accuracy accuracy_unknown = {.ap = NAN,
                                          .ap_at_50 = NAN,
                                          .ap_at_75 = NAN,
                                          .mask_ap = NAN,
                                          .mask_ap_at_50 = NAN,
                                          .mask_ap_at_75 = NAN,
                                          .iou = NAN,
                                          .pixels = NAN,
                                          .exact = NAN,
                                          .character_errors = NAN};

// ---- boxes -----------------------------------------------------------------------------------------------------------
static size_t category_of(const struct data_set *set, size_t place)
{
  size_t category = 0;
  while (category < set->category_count && set->categories[category].place != place)
    category++;
  return category;
}

static size_t rate_wanted(const struct data_set *set, size_t item_count, bool by_pixels, struct rated_box *boxes)
{
  size_t count = 0;
  for (; count < set->box_count && set->boxes[count].item < item_count; count++) {
    const struct data_box *box = &set->boxes[count];
    boxes[count] = (struct rated_box){.item = box->item,
                                      .category = box->category,
                                      .left = box->left,
                                      .top = box->top,
                                      .width = box->width,
                                      .height = box->height,
                                      .is_crowd = box->is_crowd,
                                      .runs = by_pixels ? &box->runs : NULL};
  }
  return count;
}

// Without those of classes that the data set does not have. `runs` NULL: boxes alone.
static size_t rate_found(const struct predictions *predictions, const struct data_set *set, struct mask_runs *runs,
                         struct rated_box *boxes)
{
  size_t count = 0;
  for (size_t i = 0; i < predictions->boxes.count; i++) {
    const struct predicted_box *box = &predictions->boxes.items[i];
    size_t category = category_of(set, box->place);
    if (category == set->category_count)
      continue;
    if (runs != NULL)
      runs[count] = predictions_runs(predictions, box);
    boxes[count] = (struct rated_box){.item = box->item,
                                      .category = category,
                                      .left = (double)box->left,
                                      .top = (double)box->top,
                                      .width = (double)box->right - (double)box->left,
                                      .height = (double)box->bottom - (double)box->top,
                                      .score = (double)box->score,
                                      .runs = runs != NULL ? &runs[count] : NULL};
    count++;
  }
  return count;
}

enum status accuracy_check_sizes(const struct predictions *predictions, const struct data_set *set, size_t first,
                                 struct error *err)
{
  for (size_t i = predictions->boxes.count; i > 0 && predictions->boxes.items[i - 1].item >= first; i--) {
    const struct predicted_box *box = &predictions->boxes.items[i - 1];
    const struct data_item *item = &set->items[box->item];
    if (item->width > 0 && box->border_count > 0 && (item->width != box->width || item->height != box->height))
      return error_set(err, STATUS_INPUT, "cannot use the data set", item->path,
                       "width and height of the picture as it is",
                       "the data set says that it has %u x %u pixels, it has %u x %u", item->width, item->height,
                       box->width, box->height);
  }
  return STATUS_OK;
}

static size_t measure(const struct predictions *predictions, const struct data_set *set, size_t item_count,
                      bool by_pixels, struct rated_box *wanted, struct arena *arena,
                      struct average_precision *ret_precision)
{
  size_t found_count = predictions->boxes.count, wanted_count = rate_wanted(set, item_count, by_pixels, wanted);
  struct mask_runs *runs SCOPED(scoped_free) = by_pixels ? memory_new(found_count + 1, sizeof *runs) : NULL;
  struct rated_box *found SCOPED(scoped_free) = memory_new(found_count + 1, sizeof *found);
  found_count = rate_found(predictions, set, runs, found);
  average_precision_measure(wanted, wanted_count, found, found_count, set->category_count, arena, ret_precision);
  return wanted_count;
}

void accuracy_of_boxes(const struct predictions *predictions, const struct data_set *set, size_t item_count,
                       bool have_masks, struct arena *arena, struct accuracy *ret_accuracy)
{
  *ret_accuracy = accuracy_unknown;
  if (!set->has_boxes)
    return;
  struct average_precision precision, of_masks = {NAN, NAN, NAN, NULL, NULL};
  struct rated_box *wanted SCOPED(scoped_free) = memory_new(set->box_count + 1, sizeof *wanted);
  if (have_masks && set->has_masks)
    measure(predictions, set, item_count, true, wanted, arena, &of_masks);
  size_t wanted_count = measure(predictions, set, item_count, false, wanted, arena, &precision);
  ret_accuracy->labelled = item_count;
  ret_accuracy->ap = precision.all;
  ret_accuracy->ap_at_50 = precision.at_50;
  ret_accuracy->ap_at_75 = precision.at_75;
  ret_accuracy->mask_ap = of_masks.all;
  ret_accuracy->mask_ap_at_50 = of_masks.at_50;
  ret_accuracy->mask_ap_at_75 = of_masks.at_75;
  ret_accuracy->class_count = set->category_count;
  ret_accuracy->classes = arena_alloc_array(arena, set->category_count + 1, sizeof *ret_accuracy->classes);
  for (size_t i = 0; i < set->category_count; i++)
    ret_accuracy->classes[i] =
        (struct class_accuracy){.name = set->categories[i].name,
                                .place = set->categories[i].place,
                                .ap = precision.of_category[i],
                                .ap_at_50 = precision.of_category_at_50[i],
                                .mask_ap = of_masks.of_category != NULL ? of_masks.of_category[i] : NAN,
                                .iou = NAN};
  for (size_t i = 0; i < wanted_count; i++)
    ret_accuracy->classes[wanted[i].category].wanted += !wanted[i].is_crowd;
}

// ---- masks -----------------------------------------------------------------------------------------------------------
void accuracy_of_masks(const struct predictions *predictions, const struct data_set *set, size_t item_count,
                       struct arena *arena, struct accuracy *ret_accuracy)
{
  uint64_t wanted[MASK_CLASSES_MOST] = {0}, taken[MASK_CLASSES_MOST] = {0}, right[MASK_CLASSES_MOST] = {0}, all = 0,
           all_right = 0;
  *ret_accuracy = accuracy_unknown;
  for (size_t i = 0; i < item_count; i++)
    ret_accuracy->labelled += set->items[i].label != NULL;
  for (size_t i = 0; i < predictions->pixels.count; i++) {
    const struct predicted_pixels *pixels = &predictions->pixels.items[i];
    if (pixels->label == PREDICTED_NO_LABEL)
      continue;
    bool is_right = pixels->label == pixels->found;
    wanted[pixels->label] += pixels->count;
    taken[pixels->found] += pixels->count;
    right[pixels->found] += is_right ? pixels->count : 0;
    all += pixels->count;
    all_right += is_right ? pixels->count : 0;
  }
  double sum = 0;
  ret_accuracy->classes = arena_alloc_array(arena, MASK_CLASSES_MOST, sizeof *ret_accuracy->classes);
  for (size_t i = 0; i < MASK_CLASSES_MOST; i++) {
    uint64_t either = wanted[i] + taken[i] - right[i];
    if (either == 0)
      continue;
    double iou = (double)right[i] / (double)either;
    sum += iou;
    ret_accuracy->classes[ret_accuracy->class_count++] = (struct class_accuracy){
        .place = i, .wanted = wanted[i], .ap = NAN, .ap_at_50 = NAN, .mask_ap = NAN, .iou = iou};
  }
  ret_accuracy->iou = all > 0 ? sum / (double)ret_accuracy->class_count : NAN;
  ret_accuracy->pixels = all > 0 ? (double)all_right / (double)all : NAN;
}

// ---- texts -----------------------------------------------------------------------------------------------------------
static const char *text_of(const struct predicted_token *tokens, size_t count, const char *const *vocabulary,
                           size_t vocabulary_count, const char *separator, struct arena *arena)
{
  struct buf text SCOPED(buf_done) = {0};
  for (size_t i = 0; i < count; i++)
    if (tokens[i].token < vocabulary_count) {
      buf_text(&text, text.length > 0 ? separator : "");
      buf_text(&text, vocabulary[tokens[i].token]);
    }
  return arena_copy(arena, text.length > 0 ? text.data : "", text.length);
}

void accuracy_of_texts(const struct predictions *predictions, const struct data_set *set, size_t item_count,
                       const char *const *vocabulary, size_t vocabulary_count, const char *separator,
                       struct arena *arena, struct accuracy *ret_accuracy)
{
  size_t at = 0, exact = 0, edits = 0, characters = 0;
  *ret_accuracy = accuracy_unknown;
  ret_accuracy->texts = arena_alloc_array(arena, item_count + 1, sizeof *ret_accuracy->texts);
  for (size_t item = 0; item < item_count; item++) {
    struct text_accuracy *text = &ret_accuracy->texts[item];
    const char *label = set->items[item].label;
    size_t first = at;
    while (at < predictions->tokens.count && predictions->tokens.items[at].item == item)
      at++;
    for (size_t i = first; i < at; i++)
      ret_accuracy->unknown_tokens += predictions->tokens.items[i].token >= vocabulary_count;
    text->text = text_of(predictions->tokens.items + first, at - first, vocabulary, vocabulary_count, separator, arena);
    if (label == NULL)
      continue;
    text->edits = edit_distance(text->text, label);
    ret_accuracy->labelled++;
    exact += text->edits == 0;
    edits += text->edits;
    characters += edit_distance("", label);
  }
  if (ret_accuracy->labelled > 0)
    ret_accuracy->exact = (double)exact / (double)ret_accuracy->labelled;
  if (characters > 0)
    ret_accuracy->character_errors = (double)edits / (double)characters;
}

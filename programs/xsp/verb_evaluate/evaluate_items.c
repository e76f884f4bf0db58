// SPDX-License-Identifier: Apache-2.0
// Tables of `xsp evaluate --items`; see evaluate.h.
#include "programs/xsp/verb_evaluate/evaluate.h"
#include "table/builder.h"

#include <math.h>

struct items { // of a model
  const struct evaluation_model *model;
  const struct evaluation_result *result;
  const struct data_set *set;
  struct arena *arena;
};

static struct table_cell class_cell(const struct items *items, size_t place)
{
  const struct evaluation_model *model = items->model;
  if (place == DATA_NO_CLASS)
    return cell_text(NULL);
  return cell_text(place < model->label_count ? model->labels[place] : arena_format(items->arena, "%zu", place));
}

static void put_file(struct table_builder *table, const struct items *items, size_t item)
{
  table_row(table);
  table_put(table, "file", cell_text(data_item_name(&items->set->items[item])));
}

static void put_scores(struct table_builder *table, const struct items *items, size_t number)
{
  const struct evaluation_item *item = &items->result->items[number];
  put_file(table, items, number);
  table_put(table, "label", cell_text(items->set->items[number].label));
  table_put_as(table, "class", "best", item->count > 0 ? class_cell(items, item->best[0].place) : cell_text(NULL));
  table_put(table, "score", cell_real(item->count > 0 ? (double)item->best[0].score : NAN));
  table_put(table, "place", cell_int_if(item->count > 0, (int64_t)item->best[0].place));
  table_put(table, "wanted_place", cell_int_if(item->wanted != DATA_NO_CLASS, (int64_t)item->wanted));
  table_put(table, "second", item->count > 1 ? class_cell(items, item->best[1].place) : cell_text(NULL));
}

// `box` NULL: nothing was found.
static void put_box(struct table_builder *table, const struct items *items, size_t number,
                    const struct predicted_box *box)
{
  static const struct predicted_box none = {
      .place = DATA_NO_CLASS, .score = NAN, .left = NAN, .top = NAN, .right = NAN, .bottom = NAN};
  const struct predicted_box *shown = box != NULL ? box : &none;
  put_file(table, items, number);
  table_put(table, "class", class_cell(items, shown->place));
  table_put(table, "place", cell_int_if(box != NULL, (int64_t)shown->place));
  table_put(table, "score", cell_real((double)shown->score));
  table_put(table, "left", cell_real((double)shown->left));
  table_put(table, "top", cell_real((double)shown->top));
  table_put(table, "right", cell_real((double)shown->right));
  table_put(table, "bottom", cell_real((double)shown->bottom));
  if (items->model->kind == OUTPUT_INSTANCES) {
    struct mask_runs runs = predictions_runs(&items->result->predictions, shown);
    table_put(table, "pixels", cell_int_if(box != NULL, (int64_t)mask_runs_pixels(&runs)));
  }
}

static size_t put_boxes(struct table_builder *table, const struct items *items, size_t number, size_t at)
{
  size_t first = at;
  for (; at < items->result->predictions.boxes.count && items->result->predictions.boxes.items[at].item == number; at++)
    put_box(table, items, number, &items->result->predictions.boxes.items[at]);
  if (at == first)
    put_box(table, items, number, NULL);
  return at;
}

// A row for each class that was found.
static size_t put_mask(struct table_builder *table, const struct items *items, size_t number, size_t at)
{
  const struct predictions *predictions = &items->result->predictions;
  uint64_t all = 0, compared = 0, right = 0;
  size_t end = at;
  for (; end < predictions->pixels.count && predictions->pixels.items[end].item == number; end++) {
    const struct predicted_pixels *pixels = &predictions->pixels.items[end];
    bool has_label = pixels->label != PREDICTED_NO_LABEL;
    *(has_label ? &compared : &all) += pixels->count;
    right += has_label && pixels->label == pixels->found ? pixels->count : 0;
  }
  for (size_t i = at; i < end; i++) {
    const struct predicted_pixels *pixels = &predictions->pixels.items[i];
    if (pixels->label != PREDICTED_NO_LABEL)
      continue;
    put_file(table, items, number);
    table_put(table, "label", cell_text(items->set->items[number].label));
    table_put(table, "class", class_cell(items, pixels->found));
    table_put(table, "place", cell_int((int64_t)pixels->found));
    table_put(table, "share_pct", cell_real(100 * (double)pixels->count / (double)all));
    table_put(table, "pixel_pct", cell_real(compared > 0 ? 100 * (double)right / (double)compared : NAN));
  }
  return end;
}

static void put_text(struct table_builder *table, const struct items *items, size_t number)
{
  const struct text_accuracy *text = &items->result->accuracy.texts[number];
  const char *label = items->set->items[number].label;
  put_file(table, items, number);
  table_put(table, "label", cell_text(label));
  table_put(table, "text", cell_text(text->text));
  table_put(table, "edits", cell_int_if(label != NULL, (int64_t)text->edits));
}

static void classes_table(const struct items *items, struct table *ret_table)
{
  const struct accuracy *accuracy = &items->result->accuracy;
  bool are_boxes = output_form_has_boxes(items->model->kind);
  struct table_builder table;
  table_start(&table, items->arena);
  for (size_t i = 0; i < accuracy->class_count; i++) {
    const struct class_accuracy *rated = &accuracy->classes[i];
    table_row(&table);
    table_put(&table, "class", rated->name != NULL ? cell_text(rated->name) : class_cell(items, rated->place));
    table_put(&table, "place", cell_int_if(rated->place != DATA_NO_CLASS, (int64_t)rated->place));
    table_put(&table, are_boxes ? "boxes" : "pixels", cell_int((int64_t)rated->wanted));
    table_put_optional(&table, "ap_pct", cell_real(100 * rated->ap));
    table_put_optional(&table, "ap50_pct", cell_real(100 * rated->ap_at_50));
    table_put_optional(&table, "mask_ap_pct", cell_real(100 * rated->mask_ap));
    table_put_optional(&table, "iou_pct", cell_real(100 * rated->iou));
  }
  *ret_table =
      (struct table){.id = "classes",
                     .title = arena_format(items->arena, "how %s finds each class", items->model->profile.name),
                     .experiment = items->model->profile.name};
  table_answer(&table, ret_table);
}

size_t evaluate_items(const struct evaluation_options *options, const struct evaluation *evaluation, size_t number,
                      struct arena *arena, struct table *ret_tables)
{
  const struct items items = {&options->models[number], &evaluation->results[number], options->set, arena};
  struct table_builder table;
  size_t at = 0;
  table_start(&table, arena);
  for (size_t i = 0; i < items.result->item_count; i++) {
    if (output_form_has_boxes(items.model->kind))
      at = put_boxes(&table, &items, i, at);
    else if (items.model->kind == OUTPUT_MASK)
      at = put_mask(&table, &items, i, at);
    else if (items.model->kind == OUTPUT_TEXT)
      put_text(&table, &items, i);
    else
      put_scores(&table, &items, i);
  }
  ret_tables[0] = (struct table){.id = "items",
                                 .title = arena_format(arena, "what %s made of each input", items.model->profile.name),
                                 .experiment = items.model->profile.name};
  table_answer(&table, &ret_tables[0]);
  if (items.result->accuracy.class_count == 0)
    return 1;
  classes_table(&items, &ret_tables[1]);
  return 2;
}

// SPDX-License-Identifier: Apache-2.0
// Where two models part: runs them, and prints the tensors that they share, a sentence on the first that differs, and what their
// manifests do otherwise; see evaluate.h. Called by verb_evaluate.c.
#include "programs/xsp/verb_evaluate/evaluate.h"

#include "programs/xsp/output.h"
#include "table/builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS_AROUND 2 // the first one that differs, in the short table

// ---- manifests -------------------------------------------------------------------------------------------------------
static const struct expectation *picture_of(const struct manifest *manifest)
{
  for (size_t i = 0; i < manifest->input_count; i++)
    if (manifest->inputs[i].expectation.is_image)
      return &manifest->inputs[i].expectation;
  return NULL;
}

static const char *resize_text(const struct picture *picture, struct arena *arena)
{
  return picture->shorter_side > 0   ? arena_format(arena, "%u", picture->shorter_side)
         : picture->resize_width > 0 ? arena_format(arena, "[%u, %u]", picture->resize_height, picture->resize_width)
                                     : "none";
}

static const char *numbers_text(const float *values, const struct picture *picture, struct arena *arena)
{
  const char *text = "";
  for (unsigned i = 0; i < picture_channels(picture); i++)
    text = arena_format(arena, "%s%s%.6g", text, i > 0 ? ", " : "", (double)values[i]);
  return text;
}

static void parameters_of(const struct expectation *expectation, struct arena *arena, const char *texts[8])
{
  const struct picture *picture = &expectation->picture;
  texts[0] = image_color_names[picture->color];
  texts[1] = arena_format(arena, "[%u, %u, %u]", picture_channels(picture), picture->height, picture->width);
  texts[2] = resize_text(picture, arena);
  texts[3] = image_filter_names[picture->filter];
  texts[4] = numbers_text(picture->tensor.mean, picture, arena);
  texts[5] = numbers_text(picture->tensor.scale, picture, arena);
  texts[6] = picture->tensor.channels_last ? "NHWC" : "NCHW";
  texts[7] = tensor_type_facts(expectation->info.type)->name;
}

// "color_mode (RGB, BGR); mean (0, 127.5)"; "": they prepare pictures the same way.
static const char *manifest_differences(const struct manifest *const *manifests, struct arena *arena)
{
  static const char *const keys[] = {"color_mode", "dimensions", "resize", "filter",
                                     "mean",       "scale",      "layout", "element_type"};
  const char *texts[2][8], *all = "";
  for (size_t i = 0; i < 2; i++)
    parameters_of(picture_of(manifests[i]), arena, texts[i]);
  for (size_t i = 0; i < 8; i++)
    if (strcmp(texts[0][i], texts[1][i]) != 0)
      all = arena_format(arena, "%s%s%s (%s; %s)", all, all[0] != 0 ? ", " : "", keys[i], texts[0][i], texts[1][i]);
  const char *first = manifests[0]->preprocess, *second = manifests[1]->preprocess;
  if ((first == NULL) != (second == NULL) || (first != NULL && strcmp(first, second) != 0))
    all = arena_format(arena, "%s%spreprocess (%s; %s)", all, all[0] != 0 ? ", " : "", first != NULL ? "code" : "none",
                       second == NULL  ? "none"
                       : first == NULL ? "code"
                                       : "other code");
  return all;
}

// ---- the table -------------------------------------------------------------------------------------------------------
static void put_row(struct table_builder *table, const struct layer_difference *row)
{
  static const char *const kinds[] = {"input", "layer", "output"};
  table_row(table);
  table_put(table, "part", cell_text(kinds[row->kind]));
  table_put(table, "name", cell_text(row->names[0]));
  table_put_optional(table, "other_name", cell_text(strcmp(row->names[0], row->names[1]) != 0 ? row->names[1] : NULL));
  table_put(table, "type", cell_text(row->type));
  table_put(table, "shape", cell_text(row->shape));
  table_put(table, "largest_difference", cell_real(row->largest));
  table_put(table, "mean_difference", cell_real(row->mean));
  table_put(table, "relative_difference", cell_real(row->relative));
  table_put(table, "differs", cell_bool(row->is_beyond));
  table_put_optional(table, "problem", cell_text(row->problem));
}

// The layer that the short table shows with its neighbours: the first that differs, else the one that differs most.
static size_t shown_layer(const struct layer_differences *found)
{
  size_t shown = SIZE_MAX;
  for (size_t i = 0; i < found->count; i++) {
    const struct layer_difference *row = &found->rows[i];
    if (row->kind != DIFFERENCE_LAYER)
      continue;
    if (row->is_beyond)
      return i;
    if (shown == SIZE_MAX || row->relative > found->rows[shown].relative)
      shown = i;
  }
  return shown;
}

static void put_rows(struct table_builder *table, const struct layer_differences *found, bool with_all)
{
  size_t shown = shown_layer(found), left_out = 0;
  for (size_t i = 0; i < found->count; i++) {
    bool is_near = i + LAYERS_AROUND >= shown && i <= shown + LAYERS_AROUND;
    if (with_all || found->rows[i].kind != DIFFERENCE_LAYER || is_near)
      put_row(table, &found->rows[i]);
    else
      left_out++;
  }
  if (left_out > 0)
    table_note(table, "%zu more layers: --items", left_out);
}

// ---- sentences -------------------------------------------------------------------------------------------------------
static void put_first(struct table_builder *table, const struct layer_differences *found, double tolerance)
{
  static const char *const kinds[] = {"their input", "layer", "their output"};
  if (found->first == SIZE_MAX) {
    table_note(table, "no difference above the tolerance %g", tolerance);
    return;
  }
  const struct layer_difference *row = &found->rows[found->first];
  const char *type = row->type != NULL ? arena_format(table->arena, " (%s)", row->type) : "";
  if (row->problem != NULL)
    table_note(table, "the models part at %s %s: %s", kinds[row->kind], row->names[0], row->problem);
  else
    table_note(table, "the models part at %s %s%s: values differ by up to %.3g, %.3g of the largest", kinds[row->kind],
               row->names[0], type, row->largest, row->relative);
}

static void put_notes(struct table_builder *table, const struct layer_differences_options *options,
                      const struct layer_differences *found, const struct manifest *const *manifests)
{
  const char *prepared = manifest_differences(manifests, table->arena);
  size_t unread = 0;
  put_first(table, found, options->tolerance);
  if (found->relation != NULL && found->relation[0] != 0)
    table_note(table, "the inputs: %s", found->relation);
  if (prepared[0] != 0)
    table_note(table, "the manifests differ in %s", prepared);
  for (size_t i = 0; i < 2; i++)
    if (found->problems[i] != NULL)
      table_note(table, "%s: %s; only inputs and outputs are compared", options->names[i], found->problems[i]);
    else if (found->opened[i] > 0)
      table_note(
          table,
          "%s: handing out the tensors between layers, which keeps %s from fusing some, changes its outputs by up to "
          "%.3g of the largest",
          options->names[i], found->found[i].framework, found->opened[i]);
    else
      table_note(table, "%s: handing out the tensors between layers does not change its outputs", options->names[i]);
  for (size_t i = 0; i < found->count; i++)
    unread += found->rows[i].kind == DIFFERENCE_LAYER && found->rows[i].problem != NULL;
  size_t compared = found->count;
  for (size_t i = 0; i < found->count; i++)
    compared -= found->rows[i].kind != DIFFERENCE_LAYER;
  if (found->problems[0] == NULL && found->problems[1] == NULL)
    table_note(table, "%zu tensors between layers are in both models, of %zu and %zu; %zu of them cannot be compared",
               compared, found->layers[0], found->layers[1], unread);
  if (found->is_paired_by_order)
    table_note(table, "the models share few names: layers are paired by their types in their order");
}

static void find_table(const struct layer_differences_options *options, const struct layer_differences *found,
                       const struct manifest *const *manifests, bool with_all, struct arena *arena,
                       struct table *ret_table)
{
  struct table_builder table;
  table_start(&table, arena);
  put_rows(&table, found, with_all);
  put_notes(&table, options, found, manifests);
  bool is_found = found->first != SIZE_MAX;
  table_summary(&table, "tolerance", cell_real(options->tolerance));
  table_summary(&table, "first_difference", cell_text(is_found ? found->rows[found->first].names[0] : NULL));
  *ret_table = (struct table){
      .id = "first_difference",
      .title = arena_format(arena, "where %s and %s part", options->names[0], options->names[1]),
  };
  table_answer(&table, ret_table);
}

enum status evaluate_difference(const struct evaluation_options *options, const struct manifest *const *manifests,
                                double tolerance, bool with_items, enum report_format format, struct error *err)
{
  const struct data_set *set = options->set;
  struct layer_differences_options wanted = {.tolerance = tolerance};
  struct layer_differences found;
  struct arena arena SCOPED(arena_done) = {0};
  struct table table;
  size_t batch = (size_t)options->batch;
  struct runner_picture *pictures = arena_alloc_array(&arena, batch, sizeof *pictures);
  wanted.pictures = pictures;
  for (; wanted.count < batch && wanted.count < set->count; wanted.count++)
    pictures[wanted.count] = data_item_picture(&set->items[wanted.count]);
  for (size_t i = 0; i < 2; i++) {
    const struct profile_options *profile = &options->models[i].profile;
    wanted.runners[i] = profile->runner;
    wanted.runners[i].predictor = profile->variants[0].predictor;
    wanted.runners[i].library = profile->variants[0].library;
    wanted.names[i] = profile->name;
  }
  enum status status = layer_differences_find(&wanted, &found, err);
  if (status == STATUS_OK) {
    find_table(&wanted, &found, manifests, with_items || format == REPORT_JSON, &arena, &table);
    status = output_tables(&table, 1, format, false, err);
    layer_differences_done(&found);
  }
  return status;
}

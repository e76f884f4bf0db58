// SPDX-License-Identifier: Apache-2.0
// Joins windows of a model's file with the layers of a finished capture, by name. Called by model_experiment.c before it
// correlates.
#include "experiment/windows.h"

#include "base/map.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// By the string id of each name that a layer of `store` may have: the window's number, from 1.
static void map_names(struct store *store, const struct operator_window *windows, size_t count, struct map *map)
{
  for (size_t i = 0; i < 2 * count; i++) {
    const char *name = windows[i / 2].layer_names[i % 2];
    uint32_t id;
    if (name[0] == 0 || !store_find_string(store, name, strlen(name), &id))
      continue;
    uint64_t *number = map_at(map, map_number(id), NULL);
    if (*number == 0)
      *number = i / 2 + 1;
  }
}

static void put_text(struct store *store, struct store_tag *tag, const char *key, const char *text)
{
  tag->key = store_string(store, key, strlen(key));
  tag->type = STORE_TEXT;
  tag->value.string = store_string(store, text, strlen(text));
}

static void put_number(struct store *store, struct store_tag *tag, const char *key, int64_t number)
{
  tag->key = store_string(store, key, strlen(key));
  tag->type = STORE_INT;
  tag->value.integer = number;
}

static size_t make_tags(struct store *store, const struct operator_window *window, struct store_tag tags[4])
{
  size_t count = 0;
  if (window->kernel_rank > 0) {
    char shape[OPERATOR_WINDOW_RANK * 24];
    size_t length = 0;
    for (size_t i = 0; i < window->kernel_rank; i++)
      length +=
          (size_t)snprintf(shape + length, sizeof shape - length, "%c%" PRId64, i == 0 ? '[' : ',', window->kernel[i]);
    snprintf(shape + length, sizeof shape - length, "]");
    put_text(store, &tags[count++], "kernel_shape", shape);
  }
  if (window->group >= 0)
    put_number(store, &tags[count++], "group", window->group);
  if (window->size >= 0)
    put_number(store, &tags[count++], "size", window->size);
  if (window->mode != NULL)
    put_text(store, &tags[count++], "mode", window->mode);
  return count;
}

static enum status tag_run(struct store *store, int64_t run_id, const struct map *names,
                           const struct operator_window *windows, struct error *err)
{
  const uint32_t columns = STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_NAME) | STORE_BIT(STORE_LEVEL);
  struct arena arena = {0};
  struct store_spans spans;
  enum status status = store_load_spans(store, run_id, columns, &arena, &spans, err);
  for (size_t i = 0; status == STATUS_OK && i < spans.count; i++) {
    const uint64_t *number = spans.level[i] == XSP_LEVEL_LAYER ? map_find(names, map_number(spans.name[i])) : NULL;
    struct store_tag tags[4];
    size_t count = number == NULL ? 0 : make_tags(store, &windows[*number - 1], tags);
    for (size_t k = 0; k < count; k++)
      tags[k].span_id = spans.span_id[i];
    if (count > 0)
      status = store_add_tags(store, run_id, tags, count, err);
  }
  arena_done(&arena);
  return status;
}

enum status profile_windows(struct store *store, int64_t experiment_id, const struct predictor *predictor,
                            const char *model_path, struct error *err)
{
  struct arena arena = {0};
  struct map names = {0};
  struct operator_window *windows;
  struct store_run *runs;
  size_t window_count, run_count = 0;
  if (predictor->windows == NULL)
    return STATUS_OK;
  (void)predictor->windows(model_path, &arena, &windows, &window_count); // damage: reported by the framework itself
  map_names(store, windows, window_count, &names);
  enum status status = names.count == 0 ? STATUS_OK : store_runs(store, &arena, &runs, &run_count, err);
  for (size_t i = 0; status == STATUS_OK && i < run_count; i++)
    if (runs[i].experiment_id == experiment_id)
      status = tag_run(store, runs[i].run_id, &names, windows, err);
  map_done(&names);
  arena_done(&arena);
  return status;
}

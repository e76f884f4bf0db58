// SPDX-License-Identifier: Apache-2.0
// Joins windows of an .onnx file with the layers of a finished capture, by name. Called by model_experiment.c before it
// correlates.
#include "experiment/windows.h"

#include "frameworks/onnxruntime/onnx_windows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct named { // a window by the string id of a name that its layer may have
  uint32_t name;
  const struct onnx_window *window;
};

static int compare_named(const void *left, const void *right)
{
  const struct named *a = left;
  const struct named *b = right;
  return a->name < b->name ? -1 : a->name > b->name;
}

static void add_name(struct store *store, const char *name, const struct onnx_window *window, struct named *named,
                     size_t *count)
{
  uint32_t id;
  if (name != NULL && name[0] != 0 && store_find_string(store, name, strlen(name), &id))
    named[(*count)++] = (struct named){id, window};
}

// ONNX Runtime renames what it lays out anew in blocks of channels: after the output.
static struct named *find_names(struct store *store, const struct onnx_window *windows, size_t window_count,
                                struct arena *arena, size_t *ret_count)
{
  struct named *named = arena_alloc_array(arena, window_count * 2 + 1, sizeof *named);
  *ret_count = 0;
  for (size_t i = 0; named != NULL && i < window_count; i++) {
    add_name(store, windows[i].name, &windows[i], named, ret_count);
    if (windows[i].output[0] != 0)
      add_name(store, arena_format(arena, "%s_nchwc", windows[i].output), &windows[i], named, ret_count);
  }
  if (named != NULL)
    qsort(named, *ret_count, sizeof *named, compare_named);
  return named;
}

static uint32_t text(struct store *store, const char *value)
{
  return store_string(store, value, strlen(value));
}

static size_t make_tags(struct store *store, int64_t span_id, const struct onnx_window *window,
                        struct store_tag tags[4])
{
  size_t count = 0;
  if (window->kernel_rank > 0) {
    char shape[ONNX_WINDOW_RANK * 24] = "[";
    for (size_t i = 0; i < window->kernel_rank; i++)
      snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%" PRId64 "%s", window->kernel[i],
               i + 1 < window->kernel_rank ? "," : "]");
    tags[count++] = (struct store_tag){
        .span_id = span_id, .key = text(store, "kernel_shape"), .type = STORE_TEXT, .value.string = text(store, shape)};
  }
  const struct {
    const char *key;
    int64_t value;
  } numbers[] = {{"group", window->group}, {"size", window->size}};
  for (size_t i = 0; i < 2; i++)
    if (numbers[i].value >= 0)
      tags[count++] = (struct store_tag){
          .span_id = span_id, .key = text(store, numbers[i].key), .type = STORE_INT, .value.integer = numbers[i].value};
  if (window->mode != NULL)
    tags[count++] = (struct store_tag){
        .span_id = span_id, .key = text(store, "mode"), .type = STORE_TEXT, .value.string = text(store, window->mode)};
  return count;
}

static enum status tag_run(struct store *store, int64_t run_id, const struct named *named, size_t count,
                           struct error *err)
{
  struct arena arena = {0};
  struct store_spans spans;
  enum status status = store_load_spans(
      store, run_id, STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_NAME) | STORE_BIT(STORE_LEVEL), &arena, &spans, err);
  for (size_t i = 0; status == STATUS_OK && i < spans.count; i++) {
    struct named key = {.name = spans.name[i]};
    const struct named *found = spans.level[i] == XSP_LEVEL_LAYER && key.name != 0
                                    ? bsearch(&key, named, count, sizeof key, compare_named)
                                    : NULL;
    struct store_tag tags[4];
    size_t tag_count = found == NULL ? 0 : make_tags(store, spans.span_id[i], found->window, tags);
    if (tag_count > 0)
      status = store_add_tags(store, run_id, tags, tag_count, err);
  }
  arena_done(&arena);
  return status;
}

enum status profile_windows(struct store *store, int64_t experiment_id, const char *model_path, struct error *err)
{
  struct arena arena = {0};
  struct onnx_window *windows;
  struct store_run *runs;
  size_t window_count;
  size_t run_count;
  size_t count;
  (void)onnx_file_windows(model_path, &arena, &windows,
                          &window_count); // ONNX Runtime has reported what is wrong with it
  enum status status = STATUS_OK;
  const struct named *named = window_count == 0 ? NULL : find_names(store, windows, window_count, &arena, &count);
  if (named != NULL && count > 0)
    status = store_runs(store, &arena, &runs, &run_count, err);
  for (size_t i = 0; named != NULL && count > 0 && status == STATUS_OK && i < run_count; i++)
    if (runs[i].experiment_id == experiment_id)
      status = tag_run(store, runs[i].run_id, named, count, err);
  arena_done(&arena);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
// Adds up the samples of what PyTorch's data loaders call, by line of the data set's code. Called by F6.
#include "analyze/findings/input_lines.h"

#include "analyze/causes/loaders.h"
#include "analyze/findings/shared.h"
#include "analyze/findings/work_paths.h"
#include "analyze/run_columns.h"
#include "base/saturate.h"
#include "base/sorted.h"
#include "base/vector.h"

#include <stdlib.h>
#include <string.h>
#include <xsp/call_path.h>

struct input_path { // what is known of a context
  uint32_t own;     // the data set's innermost line; 0: it is in no loader, or the loader's own code
  uint8_t kind;     // of work below that line
  bool is_known;
  bool is_loader;   // it is in a loader
  bool resizes;     // below the own line it makes pictures smaller
  bool is_bare;     // in no other Python code than PyTorch's, as where the data set is tensors
  bool is_callback; // of a loader, if it runs while one is waited for; else of a step
};

struct wait { // for an iterator of TensorFlow
  int64_t start_ns, end_ns;
};
typedef VECTOR(struct wait) wait_vector;

struct adding {
  struct store_call_paths paths;
  struct work_paths work_paths; // of `paths`
  struct input_path *of;        // by context
  double kinds_ns[WORK_KINDS];
};

static bool is_elsewhere(const struct store_frame *frame)
{
  return frame->kind == XSP_FRAME_PYTHON && frame->file != NULL && strstr(frame->file, "/torch/") == NULL;
}

// TensorFlow calls a function of the program on a thread of its own: tf.numpy_function or tf.py_function, as the map of a data set does.
static bool is_callback(const struct adding *adding, const struct own_lines *lines, uint32_t context_id)
{
  const struct store_frame *frame = own_lines_frame(lines, context_id);
  if (frame->kind != XSP_FRAME_PYTHON || frame->file == NULL || frame->name == NULL ||
      !findings_matches(frame->file, "*/tensorflow/python/ops/script_ops.py", false) ||
      !findings_matches(frame->name, "*__call__", false))
    return false;
  for (uint32_t id = (uint32_t)adding->paths.contexts[context_id - 1].parent_id; id != 0;
       id = (uint32_t)adding->paths.contexts[id - 1].parent_id)
    if (own_lines_frame(lines, id)->kind == XSP_FRAME_PYTHON)
      return false;
  return true;
}

// Between the loader's frame and the sample's end.
static const struct input_path *path_of(struct adding *adding, const struct own_lines *lines, uint32_t context_id)
{
  struct input_path *path = &adding->of[context_id];
  if (path->is_known)
    return path;
  path->is_known = true;
  static const char *const resizing[] = {"*resize*", "*resample*", "*thumbnail*", "*interpolate*"};
  uint32_t own = 0;
  uint8_t kind = WORK_NONE;
  bool is_bare = true, resizes = false;
  for (uint32_t id = context_id; id != 0; id = (uint32_t)adding->paths.contexts[id - 1].parent_id) {
    const struct store_frame *frame = own_lines_frame(lines, id);
    bool calls_back = is_callback(adding, lines, id);
    unsigned found = calls_back ? WORK_INPUT : work_paths_kind(&adding->work_paths, id);
    if (found == WORK_INPUT && own != 0) {
      *path = (struct input_path){
          .own = own, .kind = kind, .is_known = true, .is_loader = true, .resizes = resizes, .is_callback = calls_back};
      return path;
    }
    is_bare &= !is_elsewhere(frame);
    resizes |= own == 0 && frame->name != NULL &&
               findings_name_matches(frame->name, resizing, sizeof resizing / sizeof resizing[0]);
    if (found == WORK_INPUT && !path->is_loader && frame->name != NULL && strcmp(frame->name, "<module>") != 0) {
      path->is_loader = true; // no import of it
      path->is_bare = is_bare;
    }
    if (own == 0 && own_lines_is_own(frame))
      own = id;
    if (found != WORK_NONE && found != WORK_INPUT && (kind == WORK_NONE || found < kind))
      kind = (uint8_t)found;
  }
  return path;
}

SORTED_BY(compare_waits, struct wait, RISING(start_ns))

static enum status load_waits(struct findings *findings, const struct view_run *run, struct arena *arena,
                              wait_vector *ret, struct error *err)
{
  struct run_columns columns;
  XSP_TRY(run_columns_load(findings->question, run,
                           STORE_BIT(STORE_NAME) | STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS), arena,
                           &columns, err));
  struct map known SCOPED(map_done) = {0};
  struct loaders_found found = {.has_other = false};
  for (uint32_t row = 0; row < columns.spans.count; row++)
    if (finding_time_names_loader(&known, columns.store, columns.spans.name[row], &found))
      *vector_add(ret) = (struct wait){columns.spans.start_ns[row],
                                       saturate_add(columns.spans.start_ns[row], columns.spans.duration_ns[row])};
  vector_sort(ret, compare_waits);
  int64_t end_ns = INT64_MIN; // of those before: they may overlap
  for (size_t i = 0; i < ret->count; i++) {
    end_ns = ret->items[i].end_ns > end_ns ? ret->items[i].end_ns : end_ns;
    ret->items[i].end_ns = end_ns;
  }
  return STATUS_OK;
}

static bool is_waited_for(const wait_vector *waits, int64_t time_ns)
{
  size_t after = PARTITION_POINT(i, 0, waits->count, waits->items[i].start_ns <= time_ns);
  return after > 0 && time_ns <= waits->items[after - 1].end_ns;
}

static void add_samples(struct adding *adding, struct input_lines *lines, const wait_vector *waits,
                        const struct store_samples *samples)
{
  for (size_t i = 0; i < samples->count; i++) {
    const struct input_path *path =
        samples->context_id[i] != 0 ? path_of(adding, &lines->lines, samples->context_id[i]) : NULL;
    double ns = (double)samples->duration_ns[i];
    if (path == NULL || (path->is_callback && !is_waited_for(waits, samples->time_ns[i])))
      continue;
    lines->loader_ns += path->is_loader ? ns : 0;
    lines->bare_ns += path->is_bare ? ns : 0;
    if (path->own == 0)
      continue;
    own_lines_add(&lines->lines, path->own, 0, ns);
    lines->all_ns += ns;
    lines->resizing_ns += path->resizes ? ns : 0;
    lines->cpu_ns += samples->kind[i] == SAMPLE_CPU ? ns : 0;
    adding->kinds_ns[path->kind] += ns;
  }
}

struct lifetime { // of a process, by its samples; 0: it has none
  int64_t first_ns, last_ns;
};

// Loaders start new processes for each epoch, unless they stay.
static enum status count_processes(struct store *store, const struct view_run *run, const struct store_samples *samples,
                                   struct arena *arena, size_t *most, struct error *err)
{
  struct map process_of SCOPED(map_done) = {0};
  size_t count = 0;
  enum status status = run_processes_load(store, run->run->run_id, arena, &process_of, &count, err);
  struct lifetime *lives = arena_alloc_array(arena, count + 1, sizeof *lives);
  for (size_t i = 0; status == STATUS_OK && i < samples->count; i++) {
    const uint64_t *process = map_find(&process_of, map_number((uint64_t)samples->track_id[i]));
    struct lifetime *life = process != NULL ? &lives[*process] : &lives[count];
    if (life->last_ns == 0 || samples->time_ns[i] < life->first_ns)
      life->first_ns = samples->time_ns[i];
    if (life->last_ns == 0 || samples->time_ns[i] > life->last_ns)
      life->last_ns = samples->time_ns[i];
  }
  for (size_t i = 0; i < count; i++) { // when each one starts
    size_t at_once = 0;
    for (size_t k = 0; k < count && lives[i].last_ns != 0; k++)
      at_once +=
          lives[k].last_ns != 0 && lives[k].first_ns <= lives[i].first_ns && lives[i].first_ns <= lives[k].last_ns;
    *most = at_once > *most ? at_once : *most;
  }
  return status;
}

enum status input_lines_load(struct findings *findings, struct input_lines *ret_lines, struct error *err)
{
  struct store *store = findings->question->view->store;
  struct arena *scratch = findings->question->scratch;
  struct adding *adding = arena_alloc(scratch, sizeof *adding);
  *ret_lines = (struct input_lines){.kind = WORK_NONE};
  XSP_TRY(store_call_paths(store, scratch, &adding->paths, err));
  adding->of = arena_alloc_array(scratch, adding->paths.context_count + 1, sizeof *adding->of);
  work_paths_start(&adding->work_paths, &adding->paths, scratch);
  ret_lines->lines.paths = &adding->paths;
  for (size_t i = 0; i < findings->set->run_count; i++) {
    struct arena arena SCOPED(arena_done) = {0};
    struct store_samples samples;
    wait_vector waits SCOPED(vector_end) = {0};
    XSP_TRY(store_load_samples(store, findings->set->runs[i]->run->run_id, &arena, &samples, err));
    XSP_TRY(load_waits(findings, findings->set->runs[i], &arena, &waits, err));
    add_samples(adding, ret_lines, &waits, &samples);
    XSP_TRY(count_processes(store, findings->set->runs[i], &samples, &arena, &ret_lines->processes, err));
  }
  ret_lines->main = own_lines_main(&ret_lines->lines, 0, ret_lines->all_ns);
  for (unsigned kind = WORK_NONE + 1; kind < WORK_KINDS; kind++)
    if (adding->kinds_ns[kind] >= ret_lines->all_ns / 2 && ret_lines->all_ns > 0)
      ret_lines->kind = kind;
  return STATUS_OK;
}

void input_lines_done(struct input_lines *lines)
{
  own_lines_done(&lines->lines);
}

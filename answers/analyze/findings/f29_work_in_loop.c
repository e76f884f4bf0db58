// SPDX-License-Identifier: Apache-2.0
// F29, work in the loop: what the main thread does again and again, by samples, that belongs elsewhere: it saves checkpoints, creates
// sessions, compiles, runs TensorFlow eagerly, decodes, logs, sleeps, or blocks an event loop. kinds[] has what each looks like.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/installed.h"
#include "base/saturate.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xsp/call_path.h>

#define BINS 20 // of the main thread's other time: what happens once, however long, is at one place of it
#define PATTERNS_MOST 7

struct work_kind {
  const char *key, *title; // title: "%s" is the function of the program
  const char *advice;
  const char *files[PATTERNS_MOST];     // of a frame below the program's line; NULL: as far as there are
  const char *functions[PATTERNS_MOST]; // of that frame; none: any
};
// The first that a frame matches counts.
static const struct work_kind kinds[] = {
    {"import", NULL, NULL, {"<frozen importlib*"}, {NULL}},
    {"input", NULL, NULL, {"*/torch/utils/data/*"}, {NULL}}, // F6
    {"graph", NULL, NULL, {"*/polymorphic_function/*function*.py"}, {"*__call__", "*_call"}},
    {"checkpoint",
     "%s saves a checkpoint in the loop, again and again",
     "save less often, or in a thread or process of its own (torch.distributed.checkpoint.async_save)",
     {"*/torch/serialization.py", "*/safetensors/*", "*/joblib/*", "*/pickle.py", "*/npyio*.py", "*/h5py/*",
      "*/orbax/*"},
     {"*save*", "*dump*", "*write*", "*create_dataset"}},
    {"session",
     "%s creates a session or loads a model again and again",
     "create it once, and keep it for all requests",
     {"*/onnxruntime/capi/onnxruntime_inference_collection.py", "*/transformers/modeling_utils.py",
      "*/torch/serialization.py", "*/torch/jit/_serialization.py", "*/saved_model/load.py", "*/saving/saving_*.py",
      "*/openvino/*"},
     {"*__init__", "*_create_inference_session", "*from_pretrained", "*load*", "*compile_model", "*read_model"}},
    {"compilation",
     "%s has a function traced and compiled again and again",
     "jit or compile a function once, outside of the loop: a new lambda or closure is a new function; keep shapes "
     "equal",
     {"*/jax/_src/compiler.py", "*/jax/_src/interpreters/*.py", "*/torch/_dynamo/convert_frame.py",
      "*/torch/_inductor/*", "*/framework/func_graph.py", "*/jax/_src/linear_util.py",
      "*/polymorphic_function/tracing_compilation.py"},
     {NULL}},
    {"eager",
     "%s runs TensorFlow eagerly, operator by operator (no tf.function)",
     "put the step into a function with @tf.function; its graph runs without Python",
     {"*/tensorflow/python/ops/*.py", "*/tensorflow/python/eager/backprop.py",
      "*/tensorflow/python/eager/imperative_grad.py", "*/tensorflow/python/eager/execute.py"},
     {NULL}},
    {"tokenizer",
     "%s has text tokenized in the loop",
     "tokenize once, before the loop, or in the loader's processes",
     {"*/tokenization_*.py", "*/tokenizers/*"},
     {NULL}},
    {"decoding",
     "%s has pictures decoded or transformed in the loop",
     "decode in the loader's processes, at the size that is needed (draft mode, reduced decoding)",
     {"*/PIL/*.py", "*/cv2/*", "*/torchvision/io/*", "*/torchvision/transforms/*", "*/imageio/*", "*/skimage/*"},
     {NULL}},
    {"logging",
     "%s logs or draws in the loop",
     "log less often, and numbers instead of pictures, or from a thread of its own",
     {"*/matplotlib/*", "*/tensorboard/*", "*/wandb/*", "*/mlflow/*", "*/tensorboardX/*"},
     {NULL}},
    {"metrics",
     "%s has metrics computed by a library in the loop",
     "compute metrics on tensors, or every so many steps",
     {"*/sklearn/metrics/*", "*/torchmetrics/*"},
     {NULL}},
};
enum { KINDS = sizeof kinds / sizeof kinds[0], KIND_BLOCKED = KINDS, KIND_SLEEP, KINDS_ALL };
static const struct work_kind of_waits[] = {
    {"blocked_loop",
     "%s blocks the event loop: it waits (sleep, input or output) instead of awaiting",
     "await an asynchronous client, or asyncio.to_thread(); run models in an executor",
     {NULL},
     {NULL}},
    {"sleep", "%s sleeps in the loop", "do not poll: wait for the event, or do other work meanwhile", {NULL}, {NULL}},
};

#define LINES_PART 0.8 // of a kind's time that the line has, with what it calls

struct work { // of one kind at one line of the program, with the lines that it calls
  double ns;
  unsigned kind, depth; // depth: lines of the program around it
  uint32_t context;     // of the line
};
struct work_total { // of a kind
  double ns;
  uint32_t bins; // a bit for each in which it happens
};
struct path {   // what is known of a context
  uint32_t own; // of the program's innermost line around; 0: none
  uint8_t kind; // of its work, + 1; 0: none of kinds[]
  bool is_known, is_in_loop, is_module;
};
struct works {
  struct findings *findings;
  struct store_call_paths paths;
  struct path *of; // by context
  struct map at;   // by line's frame and kind
  VECTOR(struct work) items;
  struct work_total totals[KINDS_ALL];
  double window_ns; // from the first sample of the program's own functions to the last
};

static bool is_own(const struct store_frame *frame)
{
  return frame->kind == XSP_FRAME_PYTHON && !analyze_is_installed(frame->file);
}

static bool matches(const char *text, const char *const *patterns)
{
  for (size_t i = 0; i < PATTERNS_MOST && patterns[i] != NULL; i++)
    if (text != NULL && fnmatch(patterns[i], text, 0) == 0)
      return true;
  return false;
}

static uint8_t kind_of(const struct store_frame *frame)
{
  for (uint8_t i = 0; i < KINDS; i++)
    if (matches(frame->file, kinds[i].files) &&
        (kinds[i].functions[0] == NULL || matches(frame->name, kinds[i].functions)))
      return (uint8_t)(i + 1);
  return 0;
}

static const struct path *path_of(struct works *works, uint32_t context_id)
{
  struct path *path = &works->of[context_id];
  if (path->is_known)
    return path;
  path->is_known = true;
  for (uint32_t id = context_id; id != 0; id = (uint32_t)works->paths.contexts[id - 1].parent_id) {
    const struct store_frame *frame = &works->paths.frames[works->paths.contexts[id - 1].frame_id - 1];
    uint8_t kind = kind_of(frame);
    if (kind != 0) { // code of the program that it calls, as in tracing, is part of it
      path->kind = path->kind == 0 || kind < path->kind ? kind : path->kind;
      path->own = 0;
    } else if (path->own == 0 && is_own(frame)) {
      path->own = id;
      path->is_module = frame->name != NULL && strcmp(frame->name, "<module>") == 0;
    }
    path->is_in_loop |= path->own != 0 && frame->file != NULL && fnmatch("*/asyncio/events.py", frame->file, 0) == 0;
  }
  return path;
}

static const struct store_frame *frame_of(const struct works *works, uint32_t context_id)
{
  return &works->paths.frames[works->paths.contexts[context_id - 1].frame_id - 1];
}

static unsigned depth_of(const struct works *works, uint32_t context_id)
{
  unsigned depth = 0;
  for (uint32_t id = context_id; id != 0; id = (uint32_t)works->paths.contexts[id - 1].parent_id)
    depth += is_own(frame_of(works, id));
  return depth;
}

// Counts for the line and for each of the program's lines around it.
static void add_sample(struct works *works, const struct path *path, unsigned kind, double ns, unsigned bin)
{
  works->totals[kind].ns += ns;
  works->totals[kind].bins |= 1u << bin;
  for (uint32_t id = path->own; id != 0; id = (uint32_t)works->paths.contexts[id - 1].parent_id) {
    bool is_new;
    const struct store_frame *frame = frame_of(works, id);
    if (!is_own(frame) || (frame->name != NULL && strcmp(frame->name, "<module>") == 0))
      continue;
    uint64_t *at =
        map_at(&works->at, (struct map_key){(uint64_t)works->paths.contexts[id - 1].frame_id, kind + 1}, &is_new);
    if (is_new) {
      *at = works->items.count;
      *vector_add(&works->items) = (struct work){.context = id, .kind = kind, .depth = depth_of(works, id)};
    }
    works->items.items[*at].ns += ns;
  }
}

// Which kind of work a sample shows, or KINDS_ALL.
static unsigned kind_of_sample(const struct path *path, uint8_t sample)
{
  if (path->kind != 0)
    return kinds[path->kind - 1].title != NULL ? path->kind - 1u : KINDS_ALL;
  if (path->is_in_loop &&
      (sample == SAMPLE_SLEEP || sample == SAMPLE_IO || sample == SAMPLE_LOCK || sample == SAMPLE_CHILD))
    return KIND_BLOCKED;
  return sample == SAMPLE_SLEEP ? KIND_SLEEP : KINDS_ALL;
}

struct main_sample { // of the main thread, within a function of the program
  int64_t time_ns;
  double ns;
  const struct path *path;
  unsigned kind; // KINDS_ALL: none
};
struct main_samples {
  VECTOR(struct main_sample) items; // by time
  double ns[KINDS_ALL + 1], all_ns; // by kind
};

static int compare_samples(const void *left, const void *right)
{
  const struct main_sample *a = left, *b = right;
  return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static enum status load_main(struct works *works, const struct view_run *run, struct arena *arena,
                             struct main_samples *ret, struct error *err)
{
  struct store *store = works->findings->question->view->store;
  struct store_samples samples;
  struct store_track *tracks;
  size_t track_count;
  struct map is_main = {0};
  XSP_TRY(store_load_samples(store, run->run->run_id, arena, &samples, err));
  XSP_TRY(store_tracks(store, run->run->run_id, arena, &tracks, &track_count, err));
  for (size_t i = 0; i < track_count; i++)
    if (tracks[i].thread_id == tracks[i].process_id)
      *map_at(&is_main, map_number((uint64_t)tracks[i].track_id), NULL) = 1;
  for (size_t i = 0; i < samples.count; i++) {
    const struct path *path = samples.context_id[i] != 0 ? path_of(works, samples.context_id[i]) : NULL;
    if (path == NULL || path->own == 0 || path->is_module ||
        map_find(&is_main, map_number(samples.track_id[i])) == NULL)
      continue;
    struct main_sample *sample = vector_add(&ret->items);
    *sample = (struct main_sample){samples.time_ns[i], (double)samples.duration_ns[i], path,
                                   kind_of_sample(path, samples.kind[i])};
    ret->ns[sample->kind] += sample->ns;
    ret->all_ns += sample->ns;
  }
  if (ret->items.count > 0)
    qsort(ret->items.items, ret->items.count, sizeof *ret->items.items, compare_samples);
  map_done(&is_main);
  return STATUS_OK;
}

static enum status add_run(struct works *works, const struct view_run *run, struct error *err)
{
  struct arena arena = {0};
  struct main_samples samples = {.all_ns = 0};
  double passed_ns[KINDS_ALL + 1] = {0}, all_passed_ns = 0;
  enum status status = load_main(works, run, &arena, &samples, err);
  for (size_t i = 0; status == STATUS_OK && i < samples.items.count; i++) {
    const struct main_sample *sample = &samples.items.items[i];
    double other_ns = fmax(samples.all_ns - samples.ns[sample->kind], 1);
    double other_passed_ns = all_passed_ns - passed_ns[sample->kind];
    if (sample->kind != KINDS_ALL)
      add_sample(works, sample->path, sample->kind, sample->ns,
                 (unsigned)fmin(other_passed_ns / other_ns * BINS, BINS - 1));
    all_passed_ns += sample->ns;
    passed_ns[sample->kind] += sample->ns;
  }
  if (samples.items.count > 0)
    works->window_ns +=
        (double)saturate_subtract(samples.items.items[samples.items.count - 1].time_ns, samples.items.items[0].time_ns);
  vector_done(&samples.items);
  arena_done(&arena);
  return status;
}

static void add(struct works *works, const struct work *work)
{
  struct findings *findings = works->findings;
  const struct work_kind *kind = work->kind < KINDS ? &kinds[work->kind] : &of_waits[work->kind - KINDS];
  const struct store_frame *frame = frame_of(works, work->context);
  struct finding *finding = findings_add(findings);
  finding->context = findings_keep(findings, frame->name != NULL ? frame->name : "the program");
  finding->context_id = work->context;
  finding->file = findings_keep(findings, frame->file);
  finding->line = frame->line;
  finding->time_ms = finding->saving_ms = work->ns / 1e6 / (double)findings->set->observation_count;
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_basis = "time of the main thread there, by samples, as if it took none";
  finding->title = arena_format(findings->question->arena, kind->title, findings_name(findings, finding->context));
  finding->advice = kind->advice;
  finding->threshold = findings_threshold_of(findings, "work_in_loop-share");
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "parts_of_time", __builtin_popcount(works->totals[work->kind].bins));
}

// The innermost line that has most of the kind's time; where none has, the one with most.
static const struct work *line_of(const struct works *works, unsigned kind)
{
  const struct work *found = NULL;
  for (size_t i = 0; i < works->items.count; i++) {
    const struct work *work = &works->items.items[i];
    bool has_most = work->ns >= LINES_PART * works->totals[kind].ns;
    bool had_most = found != NULL && found->ns >= LINES_PART * works->totals[kind].ns;
    if (work->kind == kind && (found == NULL || (has_most && (!had_most || work->depth > found->depth)) ||
                               (!had_most && work->ns > found->ns)))
      found = work;
  }
  return found;
}

static void judge(struct works *works, unsigned kind)
{
  struct findings *findings = works->findings;
  const struct work_total *total = &works->totals[kind];
  double ms = total->ns / 1e6 / (double)findings->set->observation_count;
  const struct work *found = line_of(works, kind);
  if (found != NULL && analyze_share_pct(ms, findings->loop_ms) >= findings_threshold(findings, "work_in_loop-share") &&
      __builtin_popcount(total->bins) >= findings_threshold(findings, "work_in_loop-parts"))
    add(works, found);
}

static enum status find_works(struct works *works, struct error *err)
{
  struct findings *findings = works->findings;
  struct store *store = findings->question->view->store;
  size_t samples = 0;
  for (size_t i = 0; i < findings->set->run_count && samples == 0; i++)
    XSP_TRY(store_count_samples(store, findings->set->runs[i]->run->run_id, &samples, err));
  if (samples == 0)
    return findings_lack(findings, err, "it has no samples (xsp run -t cpu)");
  XSP_TRY(store_call_paths(store, findings->question->scratch, &works->paths, err));
  works->of = arena_alloc_array(findings->question->scratch, works->paths.context_count + 1, sizeof *works->of);
  for (size_t i = 0; i < findings->set->run_count; i++)
    XSP_TRY(add_run(works, findings->set->runs[i], err));
  // The loop of a program without steps or predictions is what its own functions take: imports are not in it.
  if (findings->set->observation_count == 1 && works->window_ns > 0)
    findings->loop_ms = fmin(findings->loop_ms, works->window_ns / 1e6);
  for (unsigned kind = 0; kind < KINDS_ALL; kind++)
    judge(works, kind);
  return STATUS_OK;
}

static enum status find(struct findings *findings, struct error *err)
{
  struct works works = {.findings = findings};
  enum status status = find_works(&works, err);
  map_done(&works.at);
  vector_done(&works.items);
  return status;
}

const struct finding_rule finding_f29 = {
    .id = "F29",
    .key = "work_in_loop",
    .title = "work in the loop that belongs elsewhere",
    .thresholds = {{"work_in_loop-share", "%", 5, "time of the main thread there, of the program's loop, at least"},
                   {"work_in_loop-parts", "", 10,
                    "of 20 parts of the main thread's other time in which it happens, at least: what happens once does "
                    "not count"}},
    .find = find,
};

// SPDX-License-Identifier: Apache-2.0
// Kineto's Chrome JSON, as torch.profiler writes it since 2021: tells such files from other JSON, reads them once from
// beginning to end, ends the run. What an event becomes is in events.c. Called by import_files.c.
#include "importers/kineto/kineto.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

// ---- recognising -----------------------------------------------------------------------------------------------------
// A walk over the head's tokens that knows objects from arrays and how deep it is. It checks nothing: what it lets pass
// is found out by the reader.
enum { DEPTH_MOST = 32 };
struct walk {
  const char *at, *end;
  unsigned depth;
  bool is_object[DEPTH_MOST + 1]; // by depth
  bool is_key;                    // the next text is a key
  struct slice key;               // the last one
};

// The text after the quote at `walk->at`; false where the head cuts it.
static bool take_text(struct walk *walk, struct slice *ret_text)
{
  const char *from = ++walk->at;
  for (; walk->at < walk->end && *walk->at != '"'; walk->at++)
    if (*walk->at == '\\')
      walk->at++;
  if (walk->at >= walk->end)
    return false;
  *ret_text = (struct slice){from, (size_t)(walk->at - from)};
  walk->at++;
  return true;
}

static bool has_any_case(struct slice text, const char *const *names)
{
  for (; *names != NULL; names++)
    if (strlen(*names) == text.length && strncasecmp(*names, text.data, text.length) == 0)
      return true;
  return false;
}

struct signs { // of Kineto
  bool file_key, own_category, shared_category, argument;
};

// In the file's object: depth 1; in an event: depth 3 (2 in a bare array), its arguments one deeper.
static void judge_key(const struct walk *walk, unsigned event_depth, struct signs *signs)
{
  static const char *const file_keys[] = {"schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds",
                                          NULL};
  static const char *const arguments[] = {"External id", "correlation", "Ev Idx", "Python id", NULL};
  if (walk->depth == 1 && event_depth == 3)
    signs->file_key |= has_any_case(walk->key, file_keys);
  if (walk->depth == event_depth + 1)
    signs->argument |= has_any_case(walk->key, arguments);
}

static void judge_value(const struct walk *walk, unsigned event_depth, struct slice value, struct signs *signs)
{
  if (walk->depth != event_depth || !slice_is(walk->key, "cat"))
    return;
  enum kineto_sign sign = kineto_category_sign(value);
  signs->own_category |= sign == SIGN_CERTAIN;
  signs->shared_category |= sign == SIGN_LIKELY;
}

static void walk_head(struct walk *walk, unsigned event_depth, struct signs *signs)
{
  while (walk->at < walk->end) {
    char byte = *walk->at;
    struct slice text;
    if (byte == '"') {
      if (!take_text(walk, &text))
        return;
      if (walk->is_key) {
        walk->key = text;
        judge_key(walk, event_depth, signs);
      } else {
        judge_value(walk, event_depth, text, signs);
      }
      continue;
    }
    if ((byte == '{' || byte == '[') && walk->depth == DEPTH_MOST)
      return;
    if (byte == '{' || byte == '[')
      walk->is_object[++walk->depth] = byte == '{';
    else if ((byte == '}' || byte == ']') && walk->depth > 0)
      walk->depth--;
    if (byte == '{' || byte == ',')
      walk->is_key = walk->is_object[walk->depth];
    else if (byte == ':' || byte == '[')
      walk->is_key = false;
    walk->at++;
  }
}

static int recognize(struct slice head, bool is_all)
{
  struct signs signs = {0};
  head = import_json_head(head);
  struct walk walk = {.at = head.data, .end = head.data + head.length};
  if (head.length == 0 || (*walk.at != '{' && *walk.at != '['))
    return 0;
  walk_head(&walk, *walk.at == '{' ? 3 : 2, &signs);
  if (signs.file_key || signs.own_category)
    return 3;
  return signs.shared_category && signs.argument ? 2 : 0;
}

// ---- call paths ------------------------------------------------------------------------------------------------------
static uint32_t make_path(void *context, uint32_t caller, enum xsp_frame_kind kind, uint32_t name)
{
  const struct kineto *kineto = context;
  if (kind == XSP_FRAME_PYTHON)
    name = kineto_frame_function(kineto, name);
  return import_path(kineto->import, caller, kind, name, 0);
}

static void path_found(void *context, int64_t span_id, uint32_t path)
{
  struct kineto *kineto = context;
  kineto->path_count++;
  import_span_path(kineto->import, span_id, path);
}

static void add_call_paths(struct kineto *kineto)
{
  struct call_sink sink = {.context = kineto, .path = make_path, .found = path_found};
  struct call_paths *paths = call_paths_create(&sink);
  kineto_frames_join(kineto);
  for (size_t i = 0; i < kineto->tracks.all.count; i++)
    call_paths_sweep(paths, &kineto->tracks.all.items[i]->thread);
  uint64_t left_out = call_paths_left_out(paths);
  call_paths_free(paths);
  if (kineto->frames.count > 0)
    import_note(kineto->import, "%" PRIu64 " Python frames became the call paths of %" PRIu64 " spans",
                kineto->frames.count, kineto->path_count);
  if (left_out > 0)
    import_note(kineto->import, "%" PRIu64 " spans have no call path: it would have more than %u frames", left_out,
                XSP_CALL_PATH_FRAMES);
}

// ---- the run ---------------------------------------------------------------------------------------------------------
#define UNIX_LEAST_NS (INT64_C(1000000000000000000)) // 2001: no machine was up that long, no profiler is that old

static enum status set_epoch(struct kineto *kineto, struct error *err)
{
  int64_t ignored;
  bool is_unix = kineto->has_base && kineto->base_ns != 0;
  if (is_unix && (__builtin_add_overflow(kineto->least_start_ns, kineto->base_ns, &ignored) ||
                  __builtin_add_overflow(kineto->most_end_ns, kineto->base_ns, &ignored)))
    return import_broken(kineto->import, err, input_offset(kineto->import->input, kineto->import->input->at),
                         "times from baseTimeNanoseconds on are beyond 64 bits of nanoseconds");
  struct store_run run = {.epoch_is_unix = is_unix || kineto->first_start_ns >= UNIX_LEAST_NS};
  import_run_set(kineto->import, &run);
  import_run_shift(kineto->import, is_unix ? kineto->base_ns : 0);
  return STATUS_OK;
}

static enum status read_file(struct kineto *kineto, struct error *err)
{
  struct trace_ending ending;
  import_run(kineto->import, &(struct store_run){0});
  kineto_events_start(kineto);
  if (kineto->import->description != NULL)
    XSP_TRY(kineto_describe(kineto, err));
  XSP_TRY(trace_read(kineto->import->input, kineto_event, kineto_top_key, kineto, &ending, err));
  import_note_ending(kineto->import, &ending);
  import_framework(kineto->import, kineto->paddle.is_writer ? "paddle" : "pytorch", NULL);
  XSP_TRY(kineto_paddle_end(kineto, err));
  XSP_TRY(set_epoch(kineto, err));
  kineto_track_ranks(kineto);
  kineto_track_names(kineto);
  add_call_paths(kineto);
  kineto_memory_end(kineto);
  kineto_devices(kineto);
  return STATUS_OK;
}

static enum status read_kineto(struct import *import, struct error *err)
{
  struct kineto *kineto = arena_alloc(import->arena, sizeof *kineto);
  kineto->import = import;
  buf_init(&kineto->scratch, INPUT_WINDOW_MOST_BYTES);
  enum status status = read_file(kineto, err);
  kineto_tracks_done(&kineto->tracks);
  kineto_frames_done(kineto);
  import_described_done(&kineto->nodes);
  vector_done(&kineto->repeated);
  vector_done(&kineto->paddle.steps);
  interner_done(&kineto->stacks);
  vector_done(&kineto->stack_paths);
  buf_done(&kineto->scratch);
  return status;
}

const struct importer importer_kineto = {
    .name = "kineto",
    .summary = "PyTorch profiler (Kineto) Chrome JSON",
    .recognize = recognize,
    .read = read_kineto,
};

// SPDX-License-Identifier: Apache-2.0
// Layers of LiteRT from its profiler, after each inference: those that XNNPACK computes have durations only; with --unfused the
// interpreter's own kernels run each operator, and only threads are not reported. Called by predictor.c.
#include "frameworks/litert/events.h"
#include "frameworks/litert/state.h"

#include <string.h>

void litert_make_publisher(struct litert_state *state)
{
  static const struct layer_publisher_options delegated = {"litert", "start,thread,name", LAYER_TIMES_LAID_OUT};
  static const struct layer_publisher_options builtin = {"litert", "thread", LAYER_TIMES_MONOTONIC};
  state->publisher = framework_layer_publisher_create(state->common.options.unfused ? &builtin : &delegated);
}

void litert_read_work(struct litert_state *state, const struct tensor *inputs)
{
  int64_t batch = -1; // none is free
  bool has_others = false;
  for (size_t i = 0; i < state->input_count; i++)
    for (unsigned k = 0; k < inputs[i].info->rank; k++) {
      if (inputs[i].info->shape[k] >= 0)
        continue;
      has_others = has_others || k > 0 || (batch >= 0 && batch != inputs[i].shape[k]);
      batch = inputs[i].shape[k];
    }
  arena_done(&state->work_arena);
  state->work = litert_work_read(&state->graph, has_others ? 0 : batch < 0 ? 1 : batch, &state->work_arena);
}

static struct layer_report report_of(const struct litert_state *state, const struct litert_event *event, size_t index,
                                     struct litert_match match, struct layer_tags *tags)
{
  struct layer_report report = {.type = event->tag,
                                .index = (int64_t)index,
                                .alloc_bytes = -1,
                                .start_ns = event->start_us * 1000,
                                .duration_ns = event->duration_us * 1000,
                                .parent = LAYER_PARENT_MODEL,
                                .tags = tags};
  const struct litert_work *work = match.part < LITERT_PUT_IN ? &state->work[match.node] : NULL;
  if (match.part == LITERT_WHOLE || match.part == LITERT_MAIN) {
    *tags = work->tags;
    tags->count -= match.part == LITERT_MAIN; // without fused_ops, the last
  }
  if (match.part == LITERT_ACTIVATION) // on the operator's result, in place or not
    layer_tags_add_text(tags, "operator", work->activation);
  if (match.part == LITERT_PUT_IN)
    layer_tags_add_text(tags, "operator", "COPY");
  if (event->is_delegated && match.part != LITERT_UNKNOWN)
    layer_tags_add_text(tags, "name_by", "order of the operators");
  if (work != NULL) {
    report.shape = work->shape;
    report.name = match.part == LITERT_ACTIVATION ? work->activation_name : work->name;
  }
  return report;
}

static enum status publish_operators(struct litert_state *state, const struct litert_event *events, size_t count,
                                     struct arena *arena, struct error *err)
{
  struct layer_report *reports = arena_alloc_array(arena, count + 1, sizeof *reports);
  struct layer_tags *tags = arena_alloc_array(arena, count + 1, sizeof *tags);
  struct litert_match *matches = arena_alloc_array(arena, count + 1, sizeof *matches);
  (void)litert_graph_match(&state->graph, events, count, matches);
  for (size_t i = 0; i < count; i++)
    reports[i] = report_of(state, &events[i], i, matches[i], &tags[i]);
  return framework_layer_publish(state->publisher, reports, count, state->model_span, state->start_ns, err);
}

static enum status publish_events(struct litert_state *state, struct error *err)
{
  const char *what = "cannot read LiteRT's profile";
  int count = 0;
  TRY_LITERT(state->api.GetNumProfilerEvents(state->profiler, &count), what);
  if (count <= 0 || count > LITERT_EVENTS_MOST)
    return count == 0 ? STATUS_OK : error_set(err, STATUS_SYSTEM, what, NULL, NULL, "it reports %d events", count);
  size_t events = (size_t)count, size = events * LITERT_EVENT_ROOM;
  struct arena arena SCOPED(arena_done) = {0};
  unsigned char *bytes = arena_alloc(&arena, size);
  struct litert_event *read = arena_alloc_array(&arena, events, sizeof *read);
  memset(bytes, LITERT_EVENT_GUARD, size);
  int code = state->api.GetProfilerEvents(state->profiler, count, bytes);
  size_t written = litert_events_written(bytes, size);
  if (code != 0)
    return litert_failed(state, code, what, err);
  if (written != events * LITERT_EVENT_BYTES)
    return error_set(err, STATUS_SYSTEM, what, state->common.library.path, "ai-edge-litert 2.3",
                     "its events are not of %u bytes: %zu for %d of them", LITERT_EVENT_BYTES, written, count);
  return publish_operators(state, read, litert_events_read(bytes, events, read), &arena, err);
}

// The events of one inference are fetched before the next begins, outside of both spans.
enum status litert_flush(struct predictor_model *model, struct error *err)
{
  struct litert_state *state = model->state;
  if (!state->is_waiting)
    return STATUS_OK;
  state->is_waiting = false;
  TRY_LITERT(state->api.StopProfiler(state->profiler), "cannot stop LiteRT's profiler");
  enum status status = publish_events(state, err);
  if (status == STATUS_OK)
    TRY_LITERT(state->api.ResetProfiler(state->profiler), "cannot reset LiteRT's profiler");
  return status;
}

enum status litert_resume(struct predictor_model *model, struct error *err)
{
  struct litert_state *state = model->state;
  XSP_TRY(litert_flush(model, err));
  if (state->profiler != NULL)
    TRY_LITERT(state->api.StartProfiler(state->profiler), "cannot start LiteRT's profiler");
  return STATUS_OK;
}

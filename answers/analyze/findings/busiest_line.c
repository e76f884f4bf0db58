// SPDX-License-Identifier: Apache-2.0
// The program's lines by time of the main thread in the loop, or of a server's threads, by samples. Called by the first sentence, by
// rules that know no line, and by those whose operators wait for processors.
#include "analyze/findings/busiest_line.h"

#include "analyze/findings/own_lines.h"
#include "analyze/findings/server.h"
#include "analyze/findings/shared.h"
#include "analyze/findings/work_kinds.h"
#include "analyze/findings/work_paths.h"
#include "analyze/lines/paths.h"

#include <math.h>
#include <string.h>

struct line_time { // by frame: of the innermost line of the program
  double ns, waiting_ns;
  uint32_t context; // of the line
};
struct adding {
  struct findings *findings;
  struct store_call_paths paths;
  struct work_paths work_paths;
  struct line_time *of; // by frame
  double *context_ns;   // by context that was sampled
  double all_ns;
  bool has_waits; // samples were of mode `real`: no file has the mode, but one of `cpu` has no waits
};
struct sampled_lines {
  struct adding adding;
  struct busiest_line busiest;
};

static void add_sample(struct adding *adding, uint32_t context_id, uint8_t kind, double ns)
{
  uint32_t own_id = path_own_line(&adding->paths, context_id);
  if (work_path_of(&adding->work_paths, context_id)->kind == WORK_IMPORT)
    return;
  adding->all_ns += ns;
  if (own_id == 0 || !own_lines_is_own(path_frame(&adding->paths, own_id)))
    return;
  struct line_time *time = &adding->of[adding->paths.contexts[own_id - 1].frame_id];
  time->ns += ns;
  time->waiting_ns += kind != SAMPLE_CPU ? ns : 0;
  time->context = own_id;
  adding->context_ns[context_id] += ns;
}

static enum status add_run(struct adding *adding, const struct view_run *run, struct error *err)
{
  struct store *store = adding->findings->question->view->store;
  struct arena arena SCOPED(arena_done) = {0};
  struct map is_main SCOPED(map_done) = {0};
  struct store_samples samples;
  size_t threads;
  XSP_TRY(store_load_samples(store, run->run->run_id, &arena, &samples, err));
  XSP_TRY(server_tracks(adding->findings, run, &is_main, &threads, err));
  for (size_t i = 0; i < samples.count; i++) {
    adding->has_waits |= samples.kind[i] != SAMPLE_CPU;
    if (samples.context_id[i] != 0 && findings_is_in_loop(run, samples.time_ns[i]) &&
        map_find(&is_main, map_number(samples.track_id[i])) != NULL)
      add_sample(adding, samples.context_id[i], samples.kind[i], (double)samples.duration_ns[i]);
  }
  return STATUS_OK;
}

static enum status add_all(struct adding *adding, struct findings *findings, struct error *err)
{
  struct arena *scratch = findings->question->scratch;
  *adding = (struct adding){.findings = findings};
  XSP_TRY(store_call_paths(findings->question->view->store, scratch, &adding->paths, err));
  work_paths_start(&adding->work_paths, &adding->paths, scratch);
  adding->of = arena_alloc_array(scratch, adding->paths.frame_count + 1, sizeof *adding->of);
  adding->context_ns = arena_alloc_array(scratch, adding->paths.context_count + 1, sizeof *adding->context_ns);
  for (size_t i = 0; i < findings->set->run_count; i++)
    XSP_TRY(add_run(adding, findings->set->runs[i], err));
  return STATUS_OK;
}

static void put_busiest(struct findings *findings, struct adding *adding, struct busiest_line *ret_line)
{
  const struct line_time *most = NULL;
  for (size_t i = 0; i <= adding->paths.frame_count; i++)
    if (adding->of[i].ns > 0 && (most == NULL || adding->of[i].ns > most->ns))
      most = &adding->of[i];
  if (most == NULL)
    return;
  for (uint32_t id = 1; id <= adding->paths.context_count; id++) { // what deeper lines of the program call is theirs
    uint32_t own_id = adding->context_ns[id] > 0 ? path_own_line(&adding->paths, id) : 0;
    if (own_id != 0 &&
        adding->paths.contexts[own_id - 1].frame_id != adding->paths.contexts[most->context - 1].frame_id)
      adding->context_ns[id] = 0;
  }
  const struct store_frame *frame = path_frame(&adding->paths, most->context);
  *ret_line =
      (struct busiest_line){.file = findings_keep(findings, frame->file),
                            .line = frame->line,
                            .function = findings_keep(findings, frame->name),
                            .callee = own_lines_callee(findings, &adding->paths, adding->context_ns, most->context, 0),
                            .pct = 100 * most->ns / adding->all_ns,
                            .mostly_waits = most->waiting_ns > most->ns / 2};
}

static enum status load(struct findings *findings, const struct sampled_lines **ret_lines, struct error *err)
{
  if (findings->sampled_lines == NULL) {
    struct sampled_lines *lines = arena_alloc(findings->question->scratch, sizeof *lines);
    *lines = (struct sampled_lines){.busiest.file = NULL};
    XSP_TRY(add_all(&lines->adding, findings, err));
    put_busiest(findings, &lines->adding, &lines->busiest);
    findings->sampled_lines = lines;
  }
  *ret_lines = findings->sampled_lines;
  return STATUS_OK;
}

enum status findings_busiest_line(struct findings *findings, struct busiest_line *ret_line, struct error *err)
{
  const struct sampled_lines *lines;
  XSP_TRY(load(findings, &lines, err));
  *ret_line = lines->busiest;
  return STATUS_OK;
}

enum status finding_saves_line(struct findings *findings, struct finding *finding, double part, struct error *err)
{
  const struct sampled_lines *lines;
  double ns = 0;
  if (finding->file == NULL || findings->places->is_folded)
    return STATUS_OK;
  XSP_TRY(load(findings, &lines, err));
  for (size_t i = 1; i <= lines->adding.paths.frame_count; i++) {
    const struct store_frame *frame = &lines->adding.paths.frames[i - 1];
    if (lines->adding.of[i].ns > 0 && frame->line == finding->line && frame->file != NULL &&
        strcmp(frame->file, finding->file) == 0)
      ns += lines->adding.of[i].ns;
  }
  if (ns == 0 || !lines->adding.has_waits)
    return STATUS_OK;
  double most_ms = part * ns / lines->adding.all_ns * findings->loop_ms;
  double times = findings->loop_ms * 1e6 * (double)findings->set->observation_count / lines->adding.all_ns;
  double raised_ms = fmin(finding->saving_ms * times, most_ms);
  if (raised_ms > finding->saving_ms) {
    finding->saving_ms = raised_ms;
    finding->saving_basis = arena_format(findings->question->arena, "%s; with their part of the waits for processors",
                                         finding->saving_basis);
  }
  return STATUS_OK;
}

void finding_at_sampled_line(struct findings *findings, struct finding *finding, const struct busiest_line *line)
{
  finding->file = line->file;
  finding->line = line->line;
  if (line->file != NULL && finding->context == NULL)
    finding->context = own_lines_function(findings, line->function);
}

static enum status put_at(struct findings *findings, struct finding *finding, uint32_t place, struct error *err)
{
  struct busiest_line line;
  if (place != PLACE_NONE) {
    finding_at_place(findings, finding, place);
    return STATUS_OK;
  }
  XSP_TRY(findings_busiest_line(findings, &line, err));
  finding_at_sampled_line(findings, finding, &line);
  return STATUS_OK;
}

enum status finding_at_busiest(struct findings *findings, struct finding *finding, struct error *err)
{
  return put_at(findings, finding, findings_busiest_place(findings), err);
}

enum status finding_at_call(struct findings *findings, struct finding *finding, struct error *err)
{
  return put_at(findings, finding, findings_busiest_call(findings), err);
}

// SPDX-License-Identifier: Apache-2.0
// Adds up samples by function and line of the program's own code. Called by rules that need samples.
#include "analyze/findings/own_lines.h"

#include "analyze/installed.h"
#include "analyze/lines/paths.h"

#include <stdio.h>
#include <string.h>
#include <xsp/call_path.h>

#define MOST_PART 0.8 // of a kind's time that its function has, with what it calls

const struct store_frame *own_lines_frame(const struct own_lines *lines, uint32_t context_id)
{
  return &lines->paths->frames[lines->paths->contexts[context_id - 1].frame_id - 1];
}

static uint32_t caller_of(const struct own_lines *lines, uint32_t context_id)
{
  return (uint32_t)lines->paths->contexts[context_id - 1].parent_id;
}

bool own_lines_is_own(const struct store_frame *frame)
{
  return frame->kind == XSP_FRAME_PYTHON && !analyze_is_installed(frame->file);
}

static unsigned depth_of(const struct own_lines *lines, uint32_t context_id)
{
  unsigned depth = 0;
  for (uint32_t id = context_id; id != 0; id = caller_of(lines, id))
    depth += own_lines_is_own(own_lines_frame(lines, id));
  return depth;
}

// Of a frame; makes it where it is new.
static size_t function_at(struct own_lines *lines, const struct store_frame *frame, unsigned kind)
{
  char name[512];
  int length = snprintf(name, sizeof name, "%s:%s", frame->file, frame->name != NULL ? frame->name : "");
  size_t kept = length < (int)sizeof name ? (size_t)length : sizeof name - 1;
  bool is_new;
  uint64_t *at =
      map_at(&lines->function_at, (struct map_key){interner_at(&lines->names, name, kept) + 1, kind + 1}, &is_new);
  if (is_new) {
    *at = lines->functions.count;
    *vector_add(&lines->functions) = (struct own_function){.ns = 0};
  }
  return (size_t)*at;
}

static struct own_line *line_at(struct own_lines *lines, uint32_t context_id, unsigned kind, unsigned depth)
{
  int64_t frame_id = lines->paths->contexts[context_id - 1].frame_id;
  bool is_new;
  uint64_t *at = map_at(&lines->at, (struct map_key){(uint64_t)frame_id, kind + 1}, &is_new);
  if (is_new) {
    *at = lines->items.count;
    *vector_add(&lines->items) = (struct own_line){
        .context = context_id, .kind = kind, .function = function_at(lines, own_lines_frame(lines, context_id), kind)};
  }
  struct own_line *line = &lines->items.items[*at];
  line->depth = depth > line->depth ? depth : line->depth; // it may be called from several places
  return line;
}

void own_lines_add(struct own_lines *lines, uint32_t context_id, unsigned kind, double ns)
{
  unsigned depth = depth_of(lines, context_id);
  lines->samples++;
  for (uint32_t id = context_id; id != 0; id = caller_of(lines, id)) {
    const struct store_frame *frame = own_lines_frame(lines, id);
    if (!own_lines_is_own(frame))
      continue;
    struct own_line *line = line_at(lines, id, kind, depth--);
    struct own_function *function = &lines->functions.items[line->function];
    line->ns += ns;
    function->ns += function->last_sample != lines->samples ? ns : 0;
    function->last_sample = lines->samples;
  }
}

// The function that has most, and is innermost, at its line with most; else the line with most.
static const struct own_line *main_function(const struct own_lines *lines, unsigned kind, double total_ns)
{
  const struct own_line *found = NULL;
  bool had_most = false;
  for (size_t i = 0; i < lines->items.count; i++) {
    const struct own_line *line = &lines->items.items[i];
    if (line->kind != kind)
      continue;
    bool has_most = lines->functions.items[line->function].ns >= MOST_PART * total_ns;
    bool is_better = found == NULL || has_most > had_most;
    if (found != NULL && has_most == had_most)
      is_better = has_most && line->depth != found->depth ? line->depth > found->depth : line->ns > found->ns;
    if (is_better) {
      found = line;
      had_most = has_most;
    }
  }
  return found;
}

static bool is_below(const struct own_lines *lines, const struct own_line *line, const struct own_line *caller)
{
  int64_t frame_id = lines->paths->contexts[caller->context - 1].frame_id;
  uint32_t id = caller_of(lines, line->context);
  while (id != 0 && lines->paths->contexts[id - 1].frame_id != frame_id)
    id = caller_of(lines, id);
  return id != 0;
}

const struct own_line *own_lines_main(const struct own_lines *lines, unsigned kind, double total_ns)
{
  const struct own_line *found = main_function(lines, kind, total_ns), *start = found;
  for (size_t i = 0; i < lines->items.count && start != NULL; i++) {
    const struct own_line *line = &lines->items.items[i];
    if (line->kind == kind && line->depth > found->depth && line->ns >= MOST_PART * start->ns &&
        line->ns <= start->ns && is_below(lines, line, start))
      found = line;
  }
  return found;
}

const char *own_lines_callee(struct findings *findings, const struct store_call_paths *paths, const double *context_ns,
                             uint32_t line_id, double least_ns)
{
  struct interner names SCOPED(interner_done) = {0};
  struct arena *scratch = findings->question->scratch;
  int64_t frame_id = paths->contexts[line_id - 1].frame_id;
  double *ns = arena_alloc_array(scratch, paths->context_count + 1, sizeof *ns), most_ns = least_ns;
  const char *found = NULL;
  for (uint32_t id = 1; id <= paths->context_count; id++) {
    uint32_t at = context_ns[id] > 0 ? id : 0;
    while (at != 0 && paths->contexts[at - 1].frame_id != frame_id)
      at = (uint32_t)paths->contexts[at - 1].parent_id;
    const char *callee = at != 0 ? path_callee(paths, at, id, scratch) : NULL;
    if (callee == NULL)
      continue;
    double *name_ns = &ns[interner_at(&names, callee, strlen(callee))];
    *name_ns += context_ns[id];
    if (*name_ns > most_ns) { // sums only grow: the largest is the last to exceed all others
      most_ns = *name_ns;
      found = callee;
    }
  }
  return found;
}

void own_lines_done(struct own_lines *lines)
{
  map_done(&lines->at);
  vector_done(&lines->items);
  interner_done(&lines->names);
  map_done(&lines->function_at);
  vector_done(&lines->functions);
}

const char *own_lines_function(struct findings *findings, const char *name)
{
  const char *end = name != NULL ? strstr(name, ".<locals>.<") : NULL;
  if (name == NULL || strcmp(name, "<module>") == 0)
    return "the program";
  return end != NULL ? arena_copy(findings->question->arena, name, (size_t)(end - name)) : name;
}

void finding_at_own_line(struct findings *findings, struct finding *finding, const struct own_lines *lines,
                         const struct own_line *line)
{
  const struct store_frame *frame = own_lines_frame(lines, line->context);
  finding->context = findings_keep(findings, own_lines_function(findings, frame->name));
  finding->context_id = line->context;
  finding->file = findings_keep(findings, frame->file);
  finding->line = frame->line;
}

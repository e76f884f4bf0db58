// SPDX-License-Identifier: Apache-2.0
// Adds up samples by line of the program's own code. Called by rules that need samples.
#include "analyze/findings/own_lines.h"

#include "analyze/installed.h"

#include <string.h>
#include <xsp/call_path.h>

#define LINES_PART 0.8 // of a kind's time that its line has, with what it calls

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

void own_lines_add(struct own_lines *lines, uint32_t context_id, unsigned kind, double ns)
{
  for (uint32_t id = context_id; id != 0; id = caller_of(lines, id)) {
    bool is_new;
    const struct store_frame *frame = own_lines_frame(lines, id);
    if (!own_lines_is_own(frame) || (frame->name != NULL && strcmp(frame->name, "<module>") == 0))
      continue;
    uint64_t *at =
        map_at(&lines->at, (struct map_key){(uint64_t)lines->paths->contexts[id - 1].frame_id, kind + 1}, &is_new);
    if (is_new) {
      *at = lines->items.count;
      *vector_add(&lines->items) = (struct own_line){.context = id, .kind = kind, .depth = depth_of(lines, id)};
    }
    lines->items.items[*at].ns += ns;
  }
}

const struct own_line *own_lines_main(const struct own_lines *lines, unsigned kind, double total_ns)
{
  const struct own_line *found = NULL;
  for (size_t i = 0; i < lines->items.count; i++) {
    const struct own_line *line = &lines->items.items[i];
    bool has_most = line->ns >= LINES_PART * total_ns;
    bool had_most = found != NULL && found->ns >= LINES_PART * total_ns;
    if (line->kind == kind && (found == NULL || (has_most && (!had_most || line->depth > found->depth)) ||
                               (!had_most && line->ns > found->ns)))
      found = line;
  }
  return found;
}

void own_lines_done(struct own_lines *lines)
{
  map_done(&lines->at);
  vector_done(&lines->items);
}

const char *own_lines_function(struct findings *findings, const char *name)
{
  const char *end = name != NULL ? strstr(name, ".<locals>.<") : NULL;
  if (name == NULL)
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

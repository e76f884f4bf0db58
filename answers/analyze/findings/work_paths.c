// SPDX-License-Identifier: Apache-2.0
// Looks at each call path of samples once. Called by F29 and F33.
#include "analyze/findings/work_paths.h"

#include "analyze/findings/shared.h"

#include <fnmatch.h>
#include <string.h>

static const struct store_frame *frame_of(const struct work_paths *works, uint32_t context_id)
{
  return &works->paths->frames[works->paths->contexts[context_id - 1].frame_id - 1];
}

void work_paths_start(struct work_paths *works, const struct store_call_paths *paths, struct arena *arena)
{
  *works = (struct work_paths){.paths = paths};
  works->of = arena_alloc_array(arena, paths->context_count + 1, sizeof *works->of);
  works->kind_of = arena_alloc_array(arena, paths->frame_count + 1, sizeof *works->kind_of);
  works->owner_of = arena_alloc_array(arena, paths->frame_count + 1, sizeof *works->owner_of);
}

unsigned work_paths_kind(struct work_paths *works, uint32_t context_id)
{
  uint8_t *kind = &works->kind_of[works->paths->contexts[context_id - 1].frame_id];
  if (*kind == 0)
    *kind = (uint8_t)(work_kind_of(frame_of(works, context_id)) + 1);
  return *kind - 1u;
}

enum work_owner work_paths_owner(struct work_paths *works, uint32_t context_id)
{
  uint8_t *owner = &works->owner_of[works->paths->contexts[context_id - 1].frame_id];
  if (*owner == 0)
    *owner = (uint8_t)(work_owner_of(frame_of(works, context_id)) + 1);
  return (enum work_owner)(*owner - 1);
}

// Within these, all time is in loops over arrays; what a call costs besides, as of single elements, is around them.
static bool loops_over_arrays(const struct store_frame *frame)
{
  static const char *const loops[] = {"*_loop", "raw_array_assign_*", "PyArray_TransferNDim*"};
  return frame->module != NULL && strstr(frame->module, "/_multiarray_umath") != NULL && frame->name != NULL &&
         findings_name_matches(frame->name, loops, sizeof loops / sizeof loops[0]);
}

const struct work_path *work_path_of(struct work_paths *works, uint32_t context_id)
{
  struct work_path *path = &works->of[context_id];
  bool converts = false;
  if (path->is_known)
    return path;
  path->is_known = true;
  for (uint32_t id = context_id; id != 0; id = (uint32_t)works->paths->contexts[id - 1].parent_id) {
    const struct store_frame *frame = frame_of(works, id);
    unsigned kind = work_paths_kind(works, id);
    enum work_owner owner = path->own == 0 ? work_paths_owner(works, id) : WORK_ANYBODYS;
    path->is_models |= owner == WORK_MODELS;
    path->is_arrays |= path->own == 0 && id != context_id && loops_over_arrays(frame);
    converts |= owner == WORK_CONVERTS;
    if (kind != WORK_NONE) { // code of the program that it calls, as in tracing, is part of it
      path->kind = path->kind == WORK_NONE || kind < path->kind ? (uint8_t)kind : path->kind;
      path->own = 0;
    } else if (path->own == 0 && own_lines_is_own(frame)) {
      path->own = id;
    }
    path->is_in_loop |= path->own != 0 && frame->file != NULL && fnmatch("*/asyncio/*.py", frame->file, 0) == 0;
  }
  path->is_models &= !converts;
  return path;
}

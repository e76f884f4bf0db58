// SPDX-License-Identifier: Apache-2.0
// What call paths of samples show of the program's work: its line, and what a library does below it. For rules.
#ifndef XSP_ANALYZE_FINDINGS_WORK_PATHS_H
#define XSP_ANALYZE_FINDINGS_WORK_PATHS_H

#include "analyze/findings/own_lines.h"
#include "analyze/findings/work_kinds.h"

struct work_path {           // of a context
  uint32_t own;              // of the program's innermost line around; 0: none
  uint8_t kind;              // of its work; WORK_NONE: none of those that frames show
  bool is_known, is_in_loop; // is_in_loop: below asyncio's event loop
  bool is_models;            // below the own line a library computes models
  bool is_arrays;            // below it NumPy loops over arrays
};
struct work_paths {
  const struct store_call_paths *paths;
  struct work_path *of; // by context
  // By frame: a work kind or owner + 1; 0: not looked at.
  uint8_t *kind_of, *owner_of;
};

void work_paths_start(struct work_paths *works, const struct store_call_paths *paths, struct arena *arena);
// Of the innermost frame of a context; the texts of each frame are looked at once.
unsigned work_paths_kind(struct work_paths *works, uint32_t context_id);
enum work_owner work_paths_owner(struct work_paths *works, uint32_t context_id);
const struct work_path *work_path_of(struct work_paths *works, uint32_t context_id);

#endif

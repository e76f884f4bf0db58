// SPDX-License-Identifier: Apache-2.0
// The calling context tree while it is made: tree.c, and tree_folded.c for runs whose spans were folded. Private to them.
#ifndef XSP_REPORT_EXPORTS_TREE_H
#define XSP_REPORT_EXPORTS_TREE_H

#include "report/exports/stacks.h"

enum { TREE_HOST, TREE_DEVICE, TREE_WORK, TREE_BACKWARD, TREE_BACKWARDS, TREE_FIGURES }; // ns, ns, spans, ns, spans
struct tree_node {
  int64_t own[TREE_FIGURES], all[TREE_FIGURES];
  uint32_t category, context_id; // of its first span; 0: none
  bool is_kernel, is_backward, has_layer_below;
};
struct tree_words {
  uint32_t kernel, sync, samples;
};
struct tree {
  struct stacks stacks;
  struct timeline timeline;
  struct timeline_run run;
  struct tree_words words;
  struct contexts contexts;
  struct tree_node *nodes; // by context
  uint32_t *context;       // by row; CONTEXT_NONE: none
  bool has_device, has_kernels;
  struct arena arena;
};

// Adds to a figure of a row's context, if it has one.
void tree_add(struct tree *tree, uint32_t row, int figure, int64_t value);
// Notes the call path of a context, and of the frames around it.
void tree_name_paths(struct tree *tree, uint32_t context, uint32_t path);
enum status tree_add_folded(struct tree *tree, struct error *err) MUST_CHECK;

#endif

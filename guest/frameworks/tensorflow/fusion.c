// SPDX-License-Identifier: Apache-2.0
// See graph.h. From a node of the executed graph back through the model, as far as nodes are gone there: what
// is between was fused into it. Bounded: a walk that finds more than a fusion can hold finds nothing.
#include "frameworks/tensorflow/graph.h"

#include "base/slice.h"

#include <stdbool.h>
#include <string.h>

#define ORIGINALS_MAXIMUM 24u
#define VISITED_MAXIMUM 96u
#define CALLS_MAXIMUM 16u

struct place { // a node of the model: in which graph, under which prefix of calls
  const struct tensorflow_graph *graph;
  const struct tensorflow_node *node;
  const char *full_name;
};

struct walk {
  const struct tensorflow_graph *executed;
  size_t executed_count;
  struct arena *arena;
  struct place found[ORIGINALS_MAXIMUM];
  size_t found_count;
  const struct tensorflow_node *visited[VISITED_MAXIMUM];
  size_t visited_count;
  bool is_lost; // too far
};

const char *tensorflow_plain_type(const char *type)
{
  static const char *const marks[] = {"_", "Mkl", "Native", "PadWith", "Fused"};
  const char *plain = type;
  for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
    if (strncmp(plain, marks[i], strlen(marks[i])) == 0 && strcmp(plain, marks[i]) != 0)
      plain += strlen(marks[i]);
  // FusedBatchNormV3 is a type of its own; its parts are not nodes.
  return strncmp(plain, "BatchNorm", 9) == 0 && plain != type ? strstr(type, "Fused") : plain;
}

// "CALL/CALL/NAME" in the model, through the functions that are called.
static bool find_place(const struct tensorflow_graph *model, const char *full_name, struct place *ret_place)
{
  const struct tensorflow_graph *graph = model;
  const char *rest = full_name;
  for (unsigned depth = 0; depth < CALLS_MAXIMUM; depth++) {
    const struct tensorflow_node *node = tensorflow_graph_find(graph, rest, strlen(rest));
    if (node != NULL) {
      *ret_place = (struct place){graph, node, full_name};
      return true;
    }
    const struct tensorflow_graph *called = NULL;
    for (const char *slash = strchr(rest, '/'); slash != NULL && called == NULL; slash = strchr(slash + 1, '/')) {
      const struct tensorflow_node *call = tensorflow_graph_find(graph, rest, (size_t)(slash - rest));
      if (call != NULL && call->function != NULL && (called = tensorflow_function_find(model, call->function)) != NULL)
        rest = slash + 1;
    }
    if (called == NULL)
      return false;
    graph = called;
  }
  return false;
}

static bool is_executed(const struct walk *walk, const char *full_name)
{
  for (size_t i = 0; i < walk->executed_count; i++)
    if (tensorflow_graph_find(&walk->executed[i], full_name, strlen(full_name)) != NULL)
      return true;
  return false;
}

// Where values come from: nothing is computed there, so nothing is fused.
static bool is_source(const char *op)
{
  return text_is_one_of(op, "Const", "Placeholder", "_Arg", "VarHandleOp", "ReadVariableOp", "NoOp");
}

static bool was_visited(struct walk *walk, const struct tensorflow_node *node)
{
  for (size_t i = 0; i < walk->visited_count; i++)
    if (walk->visited[i] == node)
      return true;
  if (walk->visited_count == VISITED_MAXIMUM)
    walk->is_lost = true;
  else
    walk->visited[walk->visited_count++] = node;
  return walk->is_lost;
}

struct frame {
  struct place place;
  size_t next_input;
};

// The input's place, where it is one of the lost nodes. A function's own inputs are not nodes: the walk ends there.
static bool step_back(struct walk *walk, const struct place *place, const char *input, struct place *ret_place)
{
  const char *name;
  size_t length = tensorflow_input_node(input, &name);
  const struct tensorflow_node *node = length > 0 ? tensorflow_graph_find(place->graph, name, length) : NULL;
  if (node == NULL || length > 65535 || is_source(node->op))
    return false;
  size_t prefix = strlen(place->full_name) - strlen(place->node->name); // "CALL/CALL/"
  const char *full = arena_format(walk->arena, "%.*s%.*s", (int)prefix, place->full_name, (int)length, name);
  if (is_executed(walk, full) || was_visited(walk, node))
    return false;
  *ret_place = (struct place){place->graph, node, full};
  return true;
}

// Depth first, inputs before what consumes them, so that `found` is in the order of the data.
static void walk_back(struct walk *walk, const struct place *start)
{
  struct frame frames[ORIGINALS_MAXIMUM];
  size_t depth = 0;
  frames[depth++] = (struct frame){*start, 0};
  while (depth > 0 && !walk->is_lost) {
    struct frame *frame = &frames[depth - 1];
    if (frame->next_input < frame->place.node->input_count) {
      struct place place;
      if (!step_back(walk, &frame->place, frame->place.node->inputs[frame->next_input++], &place))
        continue;
      if (depth == ORIGINALS_MAXIMUM)
        walk->is_lost = true;
      else
        frames[depth++] = (struct frame){place, 0};
      continue;
    }
    depth--;
    if (strcmp(frame->place.node->op, "Identity") == 0)
      continue;
    if (walk->found_count == ORIGINALS_MAXIMUM)
      walk->is_lost = true;
    else
      walk->found[walk->found_count++] = frame->place;
  }
}

static const char *choose_main(const struct walk *walk, const char *executed_type)
{
  const char *plain = tensorflow_plain_type(executed_type);
  for (size_t i = 0; i < walk->found_count; i++) { // Conv2D is of Conv2D and of Conv2DWithBias
    const char *op = walk->found[i].node->op;
    if (op[0] != 0 && strncmp(op, plain, strlen(op)) == 0)
      return walk->found[i].full_name;
  }
  return walk->found[0].full_name;
}

void tensorflow_originals_find(const struct tensorflow_graph *model, const struct tensorflow_graph *executed,
                               size_t executed_count, const struct tensorflow_node *node, struct arena *arena,
                               struct tensorflow_originals *ret_originals)
{
  *ret_originals = (struct tensorflow_originals){0};
  struct place start;
  if (is_source(node->op) || !find_place(model, node->name, &start)) // a constant may be what a whole part came to
    return;
  const char *plain = tensorflow_plain_type(node->op);
  if (node->fused_ops == NULL && strcmp(plain, start.node->op) == 0)
    return; // the same operator, perhaps in another implementation
  struct walk walk = {.executed = executed, .executed_count = executed_count, .arena = arena};
  walk_back(&walk, &start);
  if (walk.is_lost || walk.found_count < 2)
    return;
  ret_originals->main = choose_main(&walk, node->op);
  for (size_t i = 0; i < walk.found_count; i++) {
    const struct place *place = &walk.found[i];
    const char *names = ret_originals->names, *types = ret_originals->types;
    ret_originals->names =
        arena_format(arena, "%s%s%s", names != NULL ? names : "", i > 0 ? " " : "", place->full_name);
    ret_originals->types = arena_format(arena, "%s%s%s", types != NULL ? types : "", i > 0 ? " " : "", place->node->op);
  }
  ret_originals->count = walk.found_count;
}

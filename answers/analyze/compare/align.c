// SPDX-License-Identifier: Apache-2.0
// Pairs the layers of two sides in three steps: equal names that are in the same order on both; between them the best alignment
// by operator and shape (Needleman and Wunsch, 1970); then what is left over. Called by compare.c.
#include "analyze/compare/align.h"

#include "base/map.h"
#include "base/sorted.h"

#include <string.h>

#define NONE SIZE_MAX
#define CELLS_MOST ((size_t)1 << 26) // of the table of one gap: a byte each

struct side {
  const struct align_layer *layers;
  size_t count;
  size_t *pair_of; // by layer; NONE
};
struct alignment {
  struct side a, b;
  struct arena *arena;
  struct align_pair *pairs;
  size_t count;
  bool is_cut;
};

static bool may_be_equal(const struct align_layer *a, const struct align_layer *b)
{
  return a->operation == b->operation || a->operation == OPERATOR_NONE || b->operation == OPERATOR_NONE;
}

static void add_pair(struct alignment *of, size_t a, size_t b)
{
  struct align_pair *pair = &of->pairs[of->count];
  *pair = (struct align_pair){{{a}, 1}, {{b}, 1}, of->a.layers[a].name == of->b.layers[b].name};
  of->a.pair_of[a] = of->b.pair_of[b] = of->count++;
}

// ---- equal keys -----------------------------------------------------------------------------------------------------
enum likeness { EQUAL_NAMES, EQUAL_SHAPES, EQUAL_OPERATIONS }; // shapes: and operations

// False: the layer pairs with none by this.
static bool key_of(const struct align_layer *layer, enum likeness likeness, struct map_key *ret_key)
{
  *ret_key = likeness == EQUAL_NAMES ? map_number(layer->name)
                                     : (struct map_key){likeness == EQUAL_SHAPES ? layer->shape : 0, layer->operation};
  bool is_known = layer->operation != OPERATOR_NONE && !operator_is_fusible(layer->operation);
  return likeness == EQUAL_NAMES || (is_known && (likeness == EQUAL_OPERATIONS || layer->shape != 0));
}

// For each layer of a without a pair, the layer of b of the same key and occurrence; NONE. With `only_equal_counts`: only
// keys that occur equally often on both sides.
static size_t *find_equal(const struct alignment *of, enum likeness likeness, bool only_equal_counts)
{
  const struct side *a = &of->a, *b = &of->b;
  size_t *partner = arena_alloc_array(of->arena, a->count + 1, sizeof *partner);
  size_t *first = arena_alloc_array(of->arena, b->count + 1, sizeof *first); // by key
  size_t *next = arena_alloc_array(of->arena, b->count + 1, sizeof *next);
  size_t *surplus = arena_alloc_array(of->arena, b->count + 1, sizeof *surplus); // of b; modulo SIZE_MAX + 1
  struct map keys SCOPED(map_done) = {0};
  struct map_key key;
  bool is_new;
  for (size_t i = b->count; i-- > 0;)
    if (b->pair_of[i] == NONE && key_of(&b->layers[i], likeness, &key)) {
      uint64_t *at = map_at(&keys, key, &is_new);
      *at = is_new ? keys.count - 1 : *at;
      next[i] = is_new ? NONE : first[*at];
      first[*at] = i;
      surplus[*at]++;
    }
  const uint64_t *at;
  for (size_t i = 0; i < a->count; i++)
    if (a->pair_of[i] == NONE && key_of(&a->layers[i], likeness, &key) && (at = map_find(&keys, key)) != NULL)
      surplus[*at]--;
  for (size_t i = 0; i < a->count; i++) {
    partner[i] = NONE;
    if (a->pair_of[i] != NONE || !key_of(&a->layers[i], likeness, &key) || (at = map_find(&keys, key)) == NULL ||
        first[*at] == NONE || (only_equal_counts && surplus[*at] != 0))
      continue;
    if (may_be_equal(&a->layers[i], &b->layers[first[*at]]))
      partner[i] = first[*at];
    first[*at] = next[first[*at]];
  }
  return partner;
}

// Pairs what is left over, in whatever order.
static void pair_equal(struct alignment *of, enum likeness likeness, bool only_equal_counts)
{
  const size_t *partner = find_equal(of, likeness, only_equal_counts);
  for (size_t i = 0; i < of->a.count; i++)
    if (partner[i] != NONE)
      add_pair(of, i, partner[i]);
}

// Leaves the longest series of partners that rises (patience sorting); the others become NONE. Returns how many are left.
static size_t keep_rising(struct arena *arena, size_t *partner, size_t count)
{
  size_t *tops = arena_alloc_array(arena, count + 1, sizeof *tops); // by length: the layer of a that ends a series
  size_t *before = arena_alloc_array(arena, count + 1, sizeof *before);
  size_t length = 0;
  for (size_t i = 0; i < count; i++) {
    if (partner[i] == NONE)
      continue;
    size_t at = PARTITION_POINT(top, 0, length, partner[tops[top]] < partner[i]);
    before[i] = at > 0 ? tops[at - 1] : NONE;
    tops[at] = i;
    length += at == length;
  }
  size_t next = length > 0 ? tops[length - 1] : NONE;
  for (size_t i = count; i-- > 0;)
    if (i == next)
      next = before[i];
    else
      partner[i] = NONE;
  return length;
}

// ---- operators and shapes -------------------------------------------------------------------------------------------
// How well two layers fit; 0: not at all.
static int fit_of(const struct align_layer *a, const struct align_layer *b)
{
  bool is_fusible = operator_is_fusible(a->operation);
  bool are_shaped = a->shape != 0 && b->shape != 0;
  int name = a->name == b->name ? 8 : 0;
  if (a->operation != b->operation || a->operation == OPERATOR_NONE)
    return may_be_equal(a, b) ? name : 0;
  if (are_shaped && a->shape != b->shape)
    return is_fusible ? name : name + 2;
  return name + (is_fusible ? 2 : 4) + (are_shaped ? 3 : 0);
}

enum move { MOVE_PAIR, MOVE_A, MOVE_B };

// Fills the moves that lead to each cell, by the best sum of fits.
static void fill_moves(const struct align_layer *a, size_t a_count, const struct align_layer *b, size_t b_count,
                       uint8_t *moves, int *row)
{
  for (size_t k = 0; k <= b_count; k++) {
    row[k] = 0;
    moves[k] = MOVE_B;
  }
  for (size_t i = 1; i <= a_count; i++) {
    int diagonal = row[0]; // of the row before
    moves[i * (b_count + 1)] = MOVE_A;
    for (size_t k = 1; k <= b_count; k++) {
      int fit = fit_of(&a[i - 1], &b[k - 1]), above = row[k];
      int best = above > row[k - 1] ? above : row[k - 1];
      uint8_t move = above > row[k - 1] ? MOVE_A : MOVE_B;
      if (fit > 0 && diagonal + fit > best) { // of equal alignments the one with the first layers
        best = diagonal + fit;
        move = MOVE_PAIR;
      }
      diagonal = above;
      row[k] = best;
      moves[i * (b_count + 1) + k] = move;
    }
  }
}

static bool has_room(size_t a_count, size_t b_count)
{
  return a_count + 1 <= CELLS_MOST / (b_count + 1);
}

// Aligns layers a_first … a_end - 1 with b_first … b_end - 1.
static void align_gap(struct alignment *of, size_t a_first, size_t a_end, size_t b_first, size_t b_end)
{
  size_t a_count = a_end - a_first, b_count = b_end - b_first;
  if (a_count == 0 || b_count == 0)
    return;
  if (!has_room(a_count, b_count)) {
    of->is_cut = true;
    return;
  }
  struct arena arena SCOPED(arena_done) = {0};
  uint8_t *moves = arena_alloc_array(&arena, (a_count + 1) * (b_count + 1), sizeof *moves);
  int *row = arena_alloc_array(&arena, b_count + 1, sizeof *row);
  fill_moves(of->a.layers + a_first, a_count, of->b.layers + b_first, b_count, moves, row);
  for (size_t i = a_count, k = b_count; i > 0 && k > 0;) {
    uint8_t move = moves[i * (b_count + 1) + k];
    if (move == MOVE_PAIR)
      add_pair(of, a_first + i - 1, b_first + k - 1);
    i -= move != MOVE_B;
    k -= move != MOVE_A;
  }
}

// ---- what is left over ----------------------------------------------------------------------------------------------
static bool insert(struct align_group *group, size_t item)
{
  if (group->count == ALIGN_GROUP_MOST)
    return false;
  size_t at = group->count++;
  for (; at > 0 && group->items[at - 1] > item; at--)
    group->items[at] = group->items[at - 1];
  group->items[at] = item;
  return true;
}

// The other side has these fused: they join the pair of the layer right before them, at the start that of the one after them. A
// layer without a pair separates them, unless it is one of them.
static void fuse(struct alignment *of, struct side *side)
{
  bool is_a = side == &of->a;
  size_t pair = NONE, start = 0;
  for (size_t i = 0; i < side->count; i++) {
    if (side->pair_of[i] != NONE)
      pair = side->pair_of[i];
    else if (!operator_is_fusible(side->layers[i].operation))
      pair = NONE;
    else if (pair != NONE && insert(is_a ? &of->pairs[pair].a : &of->pairs[pair].b, i))
      side->pair_of[i] = pair;
  }
  while (start < side->count && side->pair_of[start] == NONE && operator_is_fusible(side->layers[start].operation))
    start++;
  pair = start < side->count ? side->pair_of[start] : NONE;
  while (pair != NONE && start-- > 0 && insert(is_a ? &of->pairs[pair].a : &of->pairs[pair].b, start))
    side->pair_of[start] = pair;
}

static struct side start_side(const struct align_layer *layers, size_t count, struct arena *arena)
{
  struct side side = {layers, count, arena_alloc_array(arena, count + 1, sizeof *side.pair_of)};
  for (size_t i = 0; i < count; i++)
    side.pair_of[i] = NONE;
  return side;
}

// Pairs by place on side a.
static struct align_pair *in_order(const struct alignment *of)
{
  struct align_pair *sorted = arena_alloc_array(of->arena, of->count + 1, sizeof *sorted);
  size_t count = 0;
  for (size_t i = 0; i < of->a.count; i++)
    if (of->a.pair_of[i] != NONE && of->pairs[of->a.pair_of[i]].a.items[0] == i)
      sorted[count++] = of->pairs[of->a.pair_of[i]];
  return sorted;
}

struct align_result compare_align_layers(const struct align_layer *a, size_t a_count, const struct align_layer *b,
                                         size_t b_count, struct arena *arena)
{
  struct alignment of = {start_side(a, a_count, arena), start_side(b, b_count, arena), arena, NULL, 0, false};
  of.pairs = arena_alloc_array(arena, a_count + 1, sizeof *of.pairs);
  size_t *partner = find_equal(&of, EQUAL_NAMES, true);
  size_t anchors = keep_rising(arena, partner, a_count), least = (a_count < b_count ? a_count : b_count) / 2;
  for (size_t i = 0; i < a_count && anchors < least && has_room(a_count, b_count); i++)
    partner[i] = NONE; // few equal names may be equal by accident
  size_t a_first = 0, b_first = 0;
  for (size_t i = 0; i <= a_count; i++) {
    size_t at = i < a_count ? partner[i] : b_count;
    if (at == NONE)
      continue;
    align_gap(&of, a_first, i, b_first, at);
    if (i < a_count)
      add_pair(&of, i, at);
    a_first = i + 1;
    b_first = at + 1;
  }
  pair_equal(&of, EQUAL_NAMES, false);
  pair_equal(&of, EQUAL_SHAPES, false); // branches that one side executes in another order
  pair_equal(&of, EQUAL_OPERATIONS, true);
  fuse(&of, &of.a);
  fuse(&of, &of.b);
  return (struct align_result){in_order(&of), of.count, of.is_cut};
}

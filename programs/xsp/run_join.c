// SPDX-License-Identifier: Apache-2.0
// Pairs spans of two executions. Within an observation and a level, the i-th span of a name is the i-th of that name in the
// other one, whatever threads they are on; where counts differ nothing of that name is paired. A pairing is believed only
// where it agrees with every parent that is known, and the parent that it gives encloses the span. Called by run_resolve.c.
#include "programs/xsp/run_join.h"

#include <stdlib.h>
#include <string.h>

struct place { // a span among those of its name
  const struct join_span *span;
  uint32_t row;
  uint32_t ordinal;
};
struct ranked {
  const struct join_side *side;
  struct place *places; // by observation, level, name, start: groups stand together
  size_t count;
  uint32_t *place_of_row; // JOIN_NO_ROW: takes no part
  int32_t observations;
};
struct group {
  const struct place *places;
  size_t count;
};

const char *join_reason_text(enum join_reason reason)
{
  static const char *const texts[JOIN_REASONS] = {
      [JOIN_COUNTS] = "their number differs between the executions",
      [JOIN_ORDER] = "they came in another order",
      [JOIN_NO_PARENT] = "they have no parent there either",
  };
  return texts[reason];
}

static int compare_groups(const struct place *a, const struct place *b)
{
  if (a->span->observation != b->span->observation)
    return a->span->observation < b->span->observation ? -1 : 1;
  if (a->span->level != b->span->level)
    return a->span->level < b->span->level ? -1 : 1;
  return a->span->name < b->span->name ? -1 : a->span->name > b->span->name;
}

static int compare_places(const void *left, const void *right)
{
  const struct place *a = left, *b = right;
  int order = compare_groups(a, b);
  if (order != 0)
    return order;
  if (a->span->start_ns != b->span->start_ns)
    return a->span->start_ns < b->span->start_ns ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static bool rank(const struct join_side *side, struct arena *arena, struct ranked *ret_ranked)
{
  *ret_ranked = (struct ranked){.side = side,
                                .places = arena_alloc_array(arena, side->count + 1, sizeof *ret_ranked->places),
                                .place_of_row = arena_alloc_array(arena, side->count + 1, sizeof(uint32_t))};
  if (ret_ranked->places == NULL || ret_ranked->place_of_row == NULL)
    return false;
  for (size_t row = 0; row < side->count; row++) {
    const struct join_span *span = &side->spans[row];
    ret_ranked->place_of_row[row] = JOIN_NO_ROW;
    if (span->observation >= ret_ranked->observations)
      ret_ranked->observations = span->observation + 1;
    if (span->kind != XSP_KIND_EXECUTION && span->observation >= 0)
      ret_ranked->places[ret_ranked->count++] = (struct place){.span = span, .row = (uint32_t)row};
  }
  qsort(ret_ranked->places, ret_ranked->count, sizeof *ret_ranked->places, compare_places);
  for (size_t i = 0; i < ret_ranked->count; i++) {
    struct place *place = &ret_ranked->places[i];
    ret_ranked->place_of_row[place->row] = (uint32_t)i;
    if (i > 0 && compare_groups(place - 1, place) == 0)
      place->ordinal = place[-1].ordinal + 1;
  }
  return true;
}

// The group that `like` would be in; count 0: there is none.
static struct group group_like(const struct ranked *ranked, const struct place *like)
{
  size_t low = 0, high = ranked->count; // the first place that is not before the group
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (compare_groups(&ranked->places[middle], like) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  struct group group = {&ranked->places[low], 0};
  size_t end = ranked->count;
  while (low < end) { // the first place behind it
    size_t middle = low + (end - low) / 2;
    if (compare_groups(&ranked->places[middle], like) <= 0)
      low = middle + 1;
    else
      end = middle;
  }
  group.count = (size_t)(&ranked->places[low] - group.places);
  return group;
}

// The span of the original that is what `serial_row` is in the serialised execution; JOIN_NO_ROW: their numbers differ.
static uint32_t partner_of(const struct ranked *original, const struct ranked *serial, uint32_t serial_row)
{
  uint32_t at = serial->place_of_row[serial_row];
  if (at == JOIN_NO_ROW)
    return JOIN_NO_ROW;
  const struct place *place = &serial->places[at];
  struct group here = group_like(original, place);
  struct group there = group_like(serial, place);
  return here.count == there.count && place->span->name != 0 ? here.places[place->ordinal].row : JOIN_NO_ROW;
}

static bool encloses(const struct join_span *outer, const struct join_span *inner)
{
  return outer->track == inner->track && outer->level <= inner->level && outer->start_ns <= inner->start_ns &&
         outer->end_ns >= inner->end_ns;
}

struct joining {
  const struct ranked *original, *serial;
  struct join_answer *answer;
  struct join_link *pending; // of the group at hand
};

// What the serialised execution says of one span: a parent, or why none.
static bool find_parent(const struct joining *joining, const struct place *there, uint32_t *ret_parent,
                        enum join_reason *ret_reason)
{
  *ret_reason = JOIN_NO_PARENT;
  if (there->span->basis == BASIS_AMBIGUOUS || there->span->parent == JOIN_NO_ROW)
    return false;
  *ret_reason = JOIN_COUNTS;
  *ret_parent = partner_of(joining->original, joining->serial, there->span->parent);

  return *ret_parent != JOIN_NO_ROW;
}

static void join_group(struct joining *joining, const struct group *group)
{
  struct join_answer *answer = joining->answer;
  const struct join_span *spans = joining->original->side->spans;
  struct group there = group_like(joining->serial, group->places);
  bool is_paired = there.count == group->count && group->places->span->name != 0;
  bool is_in_order = true;
  size_t found = 0, ambiguous = 0, left[JOIN_REASONS] = {0};
  for (size_t i = 0; i < group->count; i++) {
    const struct place *place = &group->places[i];
    bool is_ambiguous = place->span->basis == BASIS_AMBIGUOUS;
    enum join_reason reason = JOIN_COUNTS;
    uint32_t parent = JOIN_NO_ROW;
    ambiguous += is_ambiguous;
    bool has_parent = is_paired && find_parent(joining, &there.places[i], &parent, &reason);
    if (!is_ambiguous) {
      if (has_parent && place->span->parent != JOIN_NO_ROW && place->span->parent != parent)
        is_in_order = false;
    } else if (!has_parent) {
      left[reason]++;
    } else if (!encloses(&spans[parent], place->span)) {
      is_in_order = false;
    } else {
      joining->pending[found++] = (struct join_link){place->row, parent};
    }
  }
  answer->ambiguous += ambiguous;
  if (!is_in_order) {
    answer->left[JOIN_ORDER] += ambiguous;
    return;
  }
  for (unsigned reason = 0; reason < JOIN_REASONS; reason++)
    answer->left[reason] += left[reason];
  memcpy(answer->links + answer->link_count, joining->pending, found * sizeof *joining->pending);
  answer->link_count += found;
}

static int compare_links(const void *left, const void *right)
{
  const struct join_link *a = left, *b = right;
  return a->row < b->row ? -1 : a->row > b->row;
}

static bool has_ambiguous(const struct group *group)
{
  for (size_t i = 0; i < group->count; i++)
    if (group->places[i].span->basis == BASIS_AMBIGUOUS)
      return true;
  return false;
}

static size_t count_outside(const struct join_side *side)
{
  size_t count = 0;
  for (size_t row = 0; row < side->count; row++)
    count += side->spans[row].basis == BASIS_AMBIGUOUS && side->spans[row].kind != XSP_KIND_EXECUTION &&
             side->spans[row].observation < 0;
  return count;
}

enum status join_executions(const struct join_side *original, const struct join_side *serial, struct arena *arena,
                            struct join_answer *ret_answer, struct error *err)
{
  struct ranked here, there;
  *ret_answer = (struct join_answer){0};
  ret_answer->links = arena_alloc_array(arena, original->count + 1, sizeof *ret_answer->links);
  struct joining joining = {&here, &there, ret_answer, NULL};
  joining.pending = arena_alloc_array(arena, original->count + 1, sizeof *joining.pending);
  if (ret_answer->links == NULL || joining.pending == NULL || !rank(original, arena, &here) ||
      !rank(serial, arena, &there))
    return error_set(err, STATUS_MEMORY, "cannot resolve ambiguous parents", NULL, NULL, "out of memory");
  if (here.observations != there.observations)
    there.count = 0;
  for (size_t i = 0; i < here.count;) {
    struct group group = {&here.places[i], 1};
    while (i + group.count < here.count && compare_groups(&here.places[i], &here.places[i + group.count]) == 0)
      group.count++;
    if (has_ambiguous(&group))
      join_group(&joining, &group);
    i += group.count;
  }
  size_t outside = count_outside(original); // in no observation: nothing to count them within
  ret_answer->ambiguous += outside;
  ret_answer->left[JOIN_COUNTS] += outside;
  qsort(ret_answer->links, ret_answer->link_count, sizeof *ret_answer->links, compare_links);
  return STATUS_OK;
}

// SPDX-License-Identifier: Apache-2.0
// Pairs spans of two executions. Within an observation and a level, the i-th span of a name is the i-th of that name in the
// other one, whatever threads they are on; where that fails, the i-th of those whose parents are on one thread. Where counts
// differ nothing of that name is paired. A pairing is believed only where it agrees with every parent that is known, and
// each parent that it gives encloses the span. Called by resolve.c.
#include "correlate/join.h"

#include "base/sorted.h"

#include <stdlib.h>

struct place { // a span among those of its name
  const struct join_span *span;
  uint32_t row;
  uint32_t ordinal;
};
struct ranked {
  const struct join_side *side;
  struct place *places; // by observation, level, name, start: groups are contiguous
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
  return RISING(span->observation) ?: RISING(span->level) ?: RISING(span->name);
}

SORTED_BY(compare_places, struct place, compare_groups(a, b) ?: RISING(span->start_ns) ?: RISING(row))

static void rank(const struct join_side *side, struct arena *arena, struct ranked *ret_ranked)
{
  *ret_ranked = (struct ranked){.side = side,
                                .places = arena_alloc_array(arena, side->count + 1, sizeof *ret_ranked->places),
                                .place_of_row = arena_alloc_array(arena, side->count + 1, sizeof(uint32_t))};
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
}

// The group that `like` would be in; count 0: there is none.
static struct group group_like(const struct ranked *ranked, const struct place *like)
{
  const struct place *places = ranked->places;
  size_t first = PARTITION_POINT(i, 0, ranked->count, compare_groups(&places[i], like) < 0);
  size_t end = PARTITION_POINT(i, first, ranked->count, compare_groups(&places[i], like) <= 0);
  return (struct group){&ranked->places[first], end - first};
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

struct pair { // a span of the original and what the serialised execution says of it
  const struct place *place;
  uint32_t parent; // JOIN_NO_ROW: none, for the reason
  enum join_reason reason;
};
struct threaded { // a span of a group by the thread that it, or its parent, is on
  uint32_t track, ordinal, parent;
};
struct joining {
  const struct ranked *original, *serial;
  struct join_answer *answer;
  struct pair *pairs; // of the group at hand
  struct threaded *here, *there;
};

static struct pair find_parent(const struct joining *joining, const struct place *place, const struct place *there)
{
  struct pair pair = {place, JOIN_NO_ROW, JOIN_NO_PARENT};
  if (there->span->basis == BASIS_AMBIGUOUS || there->span->parent == JOIN_NO_ROW)
    return pair;
  pair.parent = partner_of(joining->original, joining->serial, there->span->parent);
  pair.reason = JOIN_COUNTS;
  return pair;
}

// Takes the parents of `count` pairs into the answer. False: they contradict what is known, and none is taken.
static bool believe(struct joining *joining, size_t count)
{
  struct join_answer *answer = joining->answer;
  const struct join_span *spans = joining->original->side->spans;
  for (size_t i = 0; i < count; i++) {
    const struct pair *pair = &joining->pairs[i];
    const struct join_span *span = pair->place->span;
    if (pair->parent == JOIN_NO_ROW)
      continue;
    if (span->basis == BASIS_AMBIGUOUS ? !encloses(&spans[pair->parent], span)
                                       : span->parent != JOIN_NO_ROW && span->parent != pair->parent)
      return false;
  }
  for (size_t i = 0; i < count; i++) {
    const struct pair *pair = &joining->pairs[i];
    if (pair->place->span->basis != BASIS_AMBIGUOUS)
      continue;
    if (pair->parent == JOIN_NO_ROW)
      answer->left[pair->reason]++;
    else
      answer->links[answer->link_count++] = (struct join_link){pair->place->row, pair->parent};
  }
  return true;
}

static size_t count_ambiguous(const struct joining *joining, size_t count)
{
  size_t ambiguous = 0;
  for (size_t i = 0; i < count; i++)
    ambiguous += joining->pairs[i].place->span->basis == BASIS_AMBIGUOUS;
  return ambiguous;
}

SORTED_BY(compare_threaded, struct threaded, RISING(track) ?: RISING(ordinal))

static size_t same_thread(const struct threaded *spans, size_t count)
{
  size_t same = 0;
  while (same < count && spans[same].track == spans[0].track)
    same++;
  return same;
}

// Threads took turns in another order than one after the other; each of them kept its own.
static void join_by_thread(struct joining *joining, const struct group *group, const struct group *there)
{
  const struct join_span *spans = joining->original->side->spans;
  size_t here_count = 0, there_count = 0;
  for (size_t i = 0; i < group->count; i++) {
    const struct join_span *span = group->places[i].span;
    if (span->basis == BASIS_AMBIGUOUS || span->parent != JOIN_NO_ROW)
      joining->here[here_count++] = (struct threaded){span->track, (uint32_t)i, JOIN_NO_ROW};
    uint32_t parent = find_parent(joining, &group->places[i], &there->places[i]).parent;
    if (parent != JOIN_NO_ROW)
      joining->there[there_count++] = (struct threaded){spans[parent].track, (uint32_t)i, parent};
  }
  qsort(joining->here, here_count, sizeof *joining->here, compare_threaded);
  qsort(joining->there, there_count, sizeof *joining->there, compare_threaded);
  for (size_t i = 0, k = 0; i < here_count;) {
    size_t count = same_thread(&joining->here[i], here_count - i);
    while (k < there_count && joining->there[k].track < joining->here[i].track)
      k++;
    bool is_there = k < there_count && joining->there[k].track == joining->here[i].track &&
                    same_thread(&joining->there[k], there_count - k) == count;
    for (size_t j = 0; j < count; j++)
      joining->pairs[j] = (struct pair){&group->places[joining->here[i + j].ordinal],
                                        is_there ? joining->there[k + j].parent : JOIN_NO_ROW, JOIN_ORDER};
    if (!believe(joining, count))
      joining->answer->left[JOIN_ORDER] += count_ambiguous(joining, count);
    i += count;
  }
}

static void join_group(struct joining *joining, const struct group *group)
{
  struct group there = group_like(joining->serial, group->places);
  bool is_paired = there.count == group->count && group->places->span->name != 0;
  for (size_t i = 0; i < group->count; i++)
    joining->pairs[i] = is_paired ? find_parent(joining, &group->places[i], &there.places[i])
                                  : (struct pair){&group->places[i], JOIN_NO_ROW, JOIN_COUNTS};
  joining->answer->ambiguous += count_ambiguous(joining, group->count);
  if (!believe(joining, group->count))
    join_by_thread(joining, group, &there);
}

SORTED_BY(compare_links, struct join_link, RISING(row))

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

void join_executions(const struct join_side *original, const struct join_side *serial, struct arena *arena,
                     struct join_answer *ret_answer)
{
  struct ranked here, there;
  *ret_answer = (struct join_answer){0};
  ret_answer->links = arena_alloc_array(arena, original->count + 1, sizeof *ret_answer->links);
  struct joining joining = {.original = &here, .serial = &there, .answer = ret_answer};
  joining.pairs = arena_alloc_array(arena, original->count + 1, sizeof *joining.pairs);
  joining.here = arena_alloc_array(arena, original->count + 1, sizeof *joining.here);
  joining.there = arena_alloc_array(arena, original->count + 1, sizeof *joining.there);
  rank(original, arena, &here);
  rank(serial, arena, &there);
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
}

// SPDX-License-Identifier: Apache-2.0
// Finds the leaves of a run and fills in their columns (leaves.h). Called by stored.c; must not change what the core finds of the
// other spans. One walk over the run does, if parents come before their children in the file, as they mostly do.
#include "correlate/leaves.h"

#include "base/id_pages.h"
#include "base/map.h"

#include <string.h>

#define COLUMNS                                                                                                        \
  (STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_RECORDED_PARENT_ID) | STORE_BIT(STORE_START_NS) |                        \
   STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_TRACK_ID) | STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_KIND) |         \
   STORE_KIND_AS_STORED | STORE_BIT(STORE_FLAGS) | STORE_BIT(STORE_NAME))
#define LEAST_ROWS 1000u // fewer need no memory
#define IDS_A_ROW 2u     // ids are below as many times the rows
#define WALKS_MOST 4u
#define LAST 8u // leaves of a track

struct leaf {
  int64_t id, end_ns;
};
struct track {
  bool has_thread, is_met;
  int64_t searched_ns;         // the latest start of those on it that look for a parent by time
  struct leaf last[LAST], far; // its last leaves; of those before the one that ended last
  unsigned at;                 // of `last`
};
struct search {
  struct leaves *leaves;
  struct track *tracks;
  struct map track_at; // id → tracks + 1
  uint32_t last_track_id;
  struct track *last_track;
  uint64_t *is_id, *is_leaf; // bits by id
  uint64_t *is_inner;        // known to have children or, maybe, to enclose what looks for a parent
  uint64_t id_end;
  struct id_pages *kept_of_id;
  size_t room; // of kept
  bool has_models, is_hopeless;
  struct arena arena;
};

static bool has_bit(const uint64_t *bits, int64_t place)
{
  return (bits[place / 64] >> place % 64 & 1) != 0;
}

static void set_bit(uint64_t *bits, int64_t place)
{
  bits[place / 64] |= UINT64_C(1) << place % 64;
}

// NULL: no track, or none that the run lists.
static struct track *track_of(struct search *search, uint32_t track_id)
{
  if (track_id == search->last_track_id)
    return search->last_track;
  const uint64_t *place = map_find(&search->track_at, map_number(track_id));
  search->last_track_id = track_id;
  return search->last_track = place != NULL ? &search->tracks[*place - 1] : NULL;
}

// ---- which spans are leaves ------------------------------------------------------------------------------------------
// What the core must see as a whole: it is broken, or related by more than names and time.
static bool is_other(const struct search *search, const struct store_spans *part, size_t i)
{
  int64_t end, id = part->span_id[i];
  return part->kind[i] != XSP_KIND_SYNC || part->level[i] >= XSP_LEVEL_COUNT || part->level[i] == XSP_LEVEL_LIBRARY ||
         part->duration_ns[i] < 0 || __builtin_add_overflow(part->start_ns[i], part->duration_ns[i], &end) ||
         STORE_BASIS_OF_FLAGS(part->flags[i]) >= BASIS_COUNT || (part->flags[i] & STORE_SPAN_CALL) != 0 || id <= 0 ||
         (uint64_t)id >= search->id_end || has_bit(search->is_id, id);
}

// The first span of a track stays, so that the core knows of the track.
static bool is_leaf(struct search *search, const struct store_spans *part, size_t i)
{
  bool is_plain = part->flags[i] == 0 || part->flags[i] == STORE_FLAG_BASIS(BASIS_EXPLICIT);
  if (part->recorded_parent_id[i] == 0 || part->level[i] != XSP_LEVEL_LAYER || !is_plain ||
      has_bit(search->is_inner, part->span_id[i]))
    return false;
  struct track *track = track_of(search, part->track_id[i]);
  if (track == NULL || !track->has_thread || !track->is_met)
    return false;
  int64_t start = part->start_ns[i];
  if (start <= track->searched_ns)
    return false;
  struct leaf *slot = &track->last[track->at++ % LAST];
  if (slot->end_ns > track->far.end_ns)
    track->far = *slot;
  *slot = (struct leaf){part->span_id[i], start + part->duration_ns[i]};
  return true;
}

// What looks for a parent begins after the ends of all leaves that come before it in the file, and before those that follow begin:
// so it lies in none.
static void look_for_parent(struct search *search, const struct store_spans *part, size_t i)
{
  struct track *track = track_of(search, part->track_id[i]);
  if (track == NULL)
    return;
  int64_t start = part->start_ns[i];
  track->searched_ns = start > track->searched_ns ? start : track->searched_ns;
  for (unsigned j = 0; j < LAST; j++)
    if (start <= track->last[j].end_ns)
      set_bit(search->is_inner, track->last[j].id);
  if (start <= track->far.end_ns)
    set_bit(search->is_inner, track->far.id);
}

static void grow(struct search *search)
{
  struct leaves *leaves = search->leaves;
  struct store_spans *kept = &leaves->kept;
  size_t room = search->room = search->room == 0 ? 1024 : search->room * 2;
  int64_t **const wide[] = {&kept->span_id, &kept->recorded_parent_id, &kept->start_ns, &kept->duration_ns};
  uint32_t **const numbers[] = {&kept->track_id, &kept->name};
  uint8_t **const bytes[] = {&kept->level, &kept->kind, &kept->flags};
  for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
    *wide[i] = memory_resize(*wide[i], room, sizeof **wide[i]);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    *numbers[i] = memory_resize(*numbers[i], room, sizeof **numbers[i]);
  for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++)
    *bytes[i] = memory_resize(*bytes[i], room, sizeof **bytes[i]);
}

static void keep(struct search *search, const struct store_spans *part, size_t i)
{
  struct leaves *leaves = search->leaves;
  struct store_spans *kept = &leaves->kept;
  if (kept->count == search->room)
    grow(search);
  size_t at = kept->count++;
  struct track *track = track_of(search, part->track_id[i]);
  if (track != NULL)
    track->is_met = true;
  kept->span_id[at] = part->span_id[i];
  kept->recorded_parent_id[at] = part->recorded_parent_id[i];
  kept->start_ns[at] = part->start_ns[i];
  kept->duration_ns[at] = part->duration_ns[i];
  kept->track_id[at] = part->track_id[i];
  kept->name[at] = part->name[i];
  kept->level[at] = part->level[i];
  kept->kind[at] = part->kind[i];
  kept->flags[at] = part->flags[i];
  *id_pages_slot(search->kept_of_id, &search->arena, (uint64_t)part->span_id[i]) = (uint32_t)at;
}

static enum status divide(void *context, size_t first_row, const struct store_spans *part,
                          const struct store_derived *derived, struct error *err)
{
  struct search *search = context;
  struct leaves *leaves = search->leaves;
  for (size_t i = 0; i < part->count && !search->is_hopeless; i++) {
    size_t row = first_row + i, count = leaves->stretches.count;
    const struct leaves_stretch *last = count > 0 ? &leaves->stretches.items[count - 1] : NULL;
    int64_t id = part->span_id[i], parent = part->recorded_parent_id[i];
    search->is_hopeless = is_other(search, part, i) || count + 4 * leaves->kept.count > 2 * leaves->row_count;
    if (search->is_hopeless)
      break;
    set_bit(search->is_id, id);
    search->has_models |= part->level[i] == XSP_LEVEL_MODEL;
    if (parent > 0 && (uint64_t)parent < search->id_end)
      set_bit(search->is_inner, parent);
    if (parent == 0 && STORE_BASIS_OF_FLAGS(part->flags[i]) < 0)
      look_for_parent(search, part, i);
    if (is_leaf(search, part, i)) {
      set_bit(search->is_leaf, id);
      if (last == NULL || last->track_id != part->track_id[i] || last->parent_id != parent ||
          last->first_id + (int64_t)(row - last->first_row) != id)
        *vector_add(&leaves->stretches) = (struct leaves_stretch){(uint32_t)row, part->track_id[i], 0, id, parent};
      continue;
    }
    if (last == NULL || leaves_are(last))
      *vector_add(&leaves->stretches) =
          (struct leaves_stretch){.first_row = (uint32_t)row, .at = (uint32_t)leaves->kept.count};
    keep(search, part, i);
  }
  return search->is_hopeless ? STATUS_NO : STATUS_OK;
}

// Parents come before or after their children in the file. Time that a span takes off a parent on its own track is the core's.
static void find_parents(struct search *search)
{
  struct leaves *leaves = search->leaves;
  for (size_t i = 0; i < leaves->stretches.count; i++) {
    struct leaves_stretch *stretch = &leaves->stretches.items[i];
    if (!leaves_are(stretch))
      continue;
    stretch->at = id_pages_find(search->kept_of_id, (uint64_t)stretch->parent_id);
    bool is_good = stretch->at != ROW_NONE && leaves->kept.track_id[stretch->at] != stretch->track_id;
    for (size_t j = stretch->first_row; j < leaves_stretch_end(leaves, i) && !is_good; j++)
      set_bit(search->is_inner, stretch->first_id + (int64_t)(j - stretch->first_row));
  }
}

// Whether what came later in the file shows that a leaf is none.
static bool has_mistakes(const struct search *search)
{
  bool has_any = false;
  for (uint64_t i = 0; i <= search->id_end / 64; i++)
    has_any |= (search->is_leaf[i] & search->is_inner[i]) != 0;
  return has_any;
}

static enum status walk(struct store *store, int64_t run_id, size_t track_count, struct search *search,
                        struct error *err)
{
  size_t bytes = (search->id_end / 64 + 1) * sizeof(uint64_t);
  memset(search->is_id, 0, bytes);
  memset(search->is_leaf, 0, bytes);
  search->kept_of_id = arena_alloc(&search->arena, sizeof *search->kept_of_id);
  for (size_t i = 0; i < track_count; i++) {
    struct track *track = &search->tracks[i];
    *track = (struct track){.has_thread = track->has_thread, .searched_ns = INT64_MIN, .far.end_ns = INT64_MIN};
    for (unsigned j = 0; j < LAST; j++)
      track->last[j].end_ns = INT64_MIN;
  }
  search->leaves->stretches.count = search->leaves->kept.count = 0;
  enum status status = store_walk_spans(store, run_id, COLUMNS, divide, search, err);
  return search->is_hopeless ? STATUS_OK : status;
}

static enum status search_run(struct store *store, int64_t run_id, size_t track_count, struct search *search,
                              struct error *err)
{
  bool is_right = false;
  for (unsigned i = 0; i < WALKS_MOST && !is_right && !search->is_hopeless; i++) {
    XSP_TRY(walk(store, run_id, track_count, search, err));
    if (!search->is_hopeless)
      find_parents(search);
    is_right = !has_mistakes(search);
  }
  search->leaves->has_any = is_right && !search->is_hopeless && search->has_models;
  return STATUS_OK;
}

static void list_tracks(struct search *search, const struct store_track *tracks, size_t track_count)
{
  search->tracks = arena_alloc_array(&search->arena, track_count + 1, sizeof *search->tracks);
  for (size_t i = 0; i < track_count; i++) {
    bool has_thread = tracks[i].thread_id != STORE_NONE || tracks[i].device_id != STORE_NONE;
    search->tracks[i].has_thread = has_thread;
    *map_at(&search->track_at, map_number((uint64_t)tracks[i].track_id), NULL) = i + 1;
  }
}

static enum status has_numbered_layers(struct store *store, int64_t run_id, bool *ret_has, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_tag *tags;
  size_t count = 0;
  uint32_t key;
  if (store_find_string(store, "layer_index", 11, &key))
    XSP_TRY(store_load_tags_of(store, run_id, &key, 1, &arena, &tags, &count, err));
  *ret_has = count > 0;
  return STATUS_OK;
}

enum status leaves_find(struct store *store, int64_t run_id, const struct store_track *tracks, size_t track_count,
                        struct leaves *leaves, struct error *err)
{
  bool has_numbered;
  struct store_place place;
  int64_t least, last_parent, last_link, last_kind;
  XSP_TRY(store_place(store, run_id, &place, err));
  leaves->row_count = place.spans;
  XSP_TRY(store_extremes(store, run_id, STORE_RECORDED_PARENT_ID, &least, &last_parent, err));
  XSP_TRY(store_extremes(store, run_id, STORE_KIND, &least, &last_kind, err));
  XSP_TRY(store_extremes(store, run_id, STORE_CORRELATION_ID, &least, &last_link, err));
  if (last_parent == 0 || least != 0 || last_link != 0 || last_kind != XSP_KIND_SYNC ||
      leaves->row_count < LEAST_ROWS || leaves->row_count >= ROW_NONE)
    return STATUS_OK;
  XSP_TRY(has_numbered_layers(store, run_id, &has_numbered, err));
  if (has_numbered)
    return STATUS_OK;
  struct search search = {.leaves = leaves, .id_end = (uint64_t)leaves->row_count * IDS_A_ROW};
  uint64_t **const bits[] = {&search.is_id, &search.is_leaf, &search.is_inner};
  for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++)
    *bits[i] = arena_alloc_array(&search.arena, search.id_end / 64 + 1, sizeof **bits[i]);
  list_tracks(&search, tracks, track_count);
  enum status status = search_run(store, run_id, track_count, &search, err);
  map_done(&search.track_at);
  arena_done(&search.arena);
  return status;
}

void leaves_done(struct leaves *leaves)
{
  const struct store_spans *kept = &leaves->kept;
  void *const owned[] = {kept->span_id,  kept->recorded_parent_id,
                         kept->start_ns, kept->duration_ns,
                         kept->track_id, kept->name,
                         kept->level,    kept->kind,
                         kept->flags};
  for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
    free(owned[i]);
  vector_done(&leaves->stretches);
  free(leaves->has_item);
}

// ---- what follows from the parents -----------------------------------------------------------------------------------
void leaves_climbed(struct leaves *leaves, struct relation *relation)
{
  leaves->relation = relation;
  leaves->has_item = memory_new(leaves->kept.count / 8 + 1, 1);
  for (size_t i = 0; i < leaves->kept.count; i++)
    leaves->has_item[i / 8] |= (uint8_t)((relation->observation[i] >= 0) << i % 8);
}

int32_t leaves_observation(const struct leaves *leaves, const struct leaves_stretch *stretch, int64_t start_ns)
{
  bool is_inherited = (leaves->has_item[stretch->at / 8] >> stretch->at % 8 & 1) != 0;
  return is_inherited ? leaves->relation->observation[stretch->at]
                      : relation_observation_at(leaves->relation, stretch->track_id, start_ns);
}

size_t leaves_stretch_of(const struct leaves *leaves, size_t row)
{
  size_t low = 0, high = leaves->stretches.count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    low = leaves->stretches.items[middle].first_row <= row ? middle : low;
    high = leaves->stretches.items[middle].first_row <= row ? high : middle;
  }
  return low;
}

size_t leaves_stretch_end(const struct leaves *leaves, size_t stretch)
{
  return stretch + 1 < leaves->stretches.count ? leaves->stretches.items[stretch + 1].first_row : leaves->row_count;
}

static int64_t id_of(const struct leaves *leaves, uint32_t kept)
{
  return kept == ROW_NONE ? 0 : leaves->kept.span_id[kept];
}

// `value_at`: where the value of `row` is; of STORE_OBSERVATION the starts are there, of STORE_SELF_NS the durations.
static void fill_leaves(const struct leaves *leaves, const struct leaves_stretch *stretch, enum store_column column,
                        size_t row, size_t count, void *values, size_t at)
{
  const struct relation *relation = leaves->relation;
  int64_t *wide = (int64_t *)values + at;
  for (size_t i = 0; i < count && column == STORE_OBSERVATION; i++)
    wide[i] = leaves_observation(leaves, stretch, wide[i]);
  for (size_t i = 0; i < count && column == STORE_PARENT_ID; i++)
    wide[i] = id_of(leaves, stretch->at);
  for (size_t i = 0; i < count && column == STORE_MODEL_ID; i++)
    wide[i] = id_of(leaves, relation->nearest[stretch->at]);
  for (size_t i = 0; i < count && column == STORE_LAYER_ID; i++)
    wide[i] = stretch->first_id + (int64_t)(row - stretch->first_row + i);
  for (size_t i = 0; i < count && column == STORE_DEPTH; i++)
    ((uint32_t *)values)[at + i] = relation->nearest[stretch->at] + 1;
  if (column == STORE_BASIS)
    memset((uint8_t *)values + at, BASIS_EXPLICIT, count);
}

static size_t width_of(enum store_column column)
{
  return column == STORE_DEPTH ? sizeof(uint32_t) : column == STORE_BASIS ? sizeof(uint8_t) : sizeof(int64_t);
}

void leaves_fill(void *context, enum store_column column, size_t first_row, size_t count, void *ret_values)
{
  const struct leaves *leaves = context;
  struct relation *relation = leaves->relation;
  size_t row = first_row, end = first_row + count;
  relation_hold(relation, column);
  for (size_t i = leaves_stretch_of(leaves, row); row < end; i++) {
    const struct leaves_stretch *stretch = &leaves->stretches.items[i];
    size_t stretch_end = leaves_stretch_end(leaves, i), stop = stretch_end < end ? stretch_end : end;
    if (leaves_are(stretch))
      fill_leaves(leaves, stretch, column, row, stop - row, ret_values, row - first_row);
    else
      relation_fill(relation, column, stretch->at + (row - stretch->first_row), stop - row,
                    (char *)ret_values + (row - first_row) * width_of(column));
    row = stop;
  }
}

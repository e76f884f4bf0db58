// SPDX-License-Identifier: Apache-2.0
// Finds forward operators by sequence number and thread; see forward.h. The forward operator is the last one with the number
// that begins before the backward operator: operators around it, and those before it that need no gradient, see the same
// number. So does torch.profiler. PyTorch's own numbers of threads are found out from sequence numbers and names.
#include "correlate/forward.h"

#include "base/interner.h"
#include "base/map.h"
#include "base/sorted.h"
#include "correlate/order.h"

#include <stdlib.h>
#include <string.h>

#define THREADS_COMPARED 256u // that have one sequence number; with more a thread's number counts as that of several
#define NO_THREAD UINT32_MAX
#define FREE UINT32_MAX
#define CONTESTED (UINT32_MAX - 1) // by numbers of equal right: it is nobody's
#define ROUNDS_MOST 64u            // of giving threads to numbers, each of which may leave others with one

enum { SEQUENCE, THREAD, NUMBER, KEYS }; // of tags
static const char *const key_names[KEYS] = {"sequence", "forward_thread", "Fwd thread id"};

struct forward_operator {
  int64_t sequence, start_ns;
  uint32_t thread, row;
};
struct backward_operator {
  int64_t sequence, named; // named: the thread, as the tag has it
  uint32_t row, process;
  bool is_number; // PyTorch's own
};
struct thread_number {       // one that backward operators of a process name
  size_t linked;             // of their operators: have a forward operator on some thread
  uint32_t thread;           // whose number it is; NO_THREAD: not known
  uint32_t left_count, left; // of candidates whose threads have no other number yet; the last of them
  bool is_crowded;           // THREADS_COMPARED
};
struct candidate {
  uint32_t number, thread;
  size_t linked, alike; // alike: linked to an operator of their own name
};
struct work {
  const struct forward_source *source;
  struct arena arena;
  struct map place_of_track; // by id: process, and thread or NO_THREAD
  struct map threads;        // by process and number in the operating system
  VECTOR(uint32_t) process_of_thread;
  VECTOR(struct forward_operator) forward;
  VECTOR(struct backward_operator) backward;
  struct map numbers; // by process and number: index of…
  VECTOR(struct thread_number) all_numbers;
  struct map candidate_of; // by number and thread: index of…
  VECTOR(struct candidate) candidates;
  uint32_t *claims;      // by thread: the candidate whose number it has, FREE or CONTESTED
  const uint32_t *names; // of spans, by row
};

// ---- threads ---------------------------------------------------------------------------------------------------------
static uint32_t number_in(struct map *map, uint64_t a, uint64_t b)
{
  bool is_new;
  uint64_t *number = map_at(map, (struct map_key){a, b}, &is_new);
  if (is_new)
    *number = map->count - 1;
  return (uint32_t)*number;
}

static void number_threads(struct work *work)
{
  struct interner hosts SCOPED(interner_done) = {0};
  struct map processes SCOPED(map_done) = {0};
  for (size_t i = 0; i < work->source->track_count; i++) {
    const struct store_track *track = &work->source->tracks[i];
    uint64_t host = track->host == NULL ? 0 : interner_at(&hosts, track->host, strlen(track->host)) + UINT64_C(1);
    uint32_t process = number_in(&processes, host, (uint64_t)track->process_id);
    uint32_t thread = NO_THREAD;
    if (track->thread_id != STORE_NONE && track->device_id == STORE_NONE) {
      thread = number_in(&work->threads, process, (uint64_t)track->thread_id);
      if (thread == work->process_of_thread.count)
        *vector_add(&work->process_of_thread) = process;
    }
    *map_at(&work->place_of_track, map_number((uint64_t)track->track_id), NULL) = (uint64_t)process << 32 | thread;
  }
}

// ---- operators -------------------------------------------------------------------------------------------------------
// A span's tags, the sequence number first.
static int compare_tags(const void *left, const void *right, void *sequence_key)
{
  const struct store_tag *a = left, *b = right;
  uint32_t first = *(const uint32_t *)sequence_key;
  return RISING(span_id) ?: ORDER(a->key != first, b->key != first);
}

// All these tags of one span: an operator, where it is a layer with a sequence number.
static void add_operator(struct work *work, const uint32_t keys[KEYS], const struct store_tag *tags, size_t count)
{
  const struct store_spans *spans = work->source->spans;
  const struct store_tag *last = &tags[count - 1]; // the thread's, if there is one
  uint32_t row = parents_row_of(work->source->parents, spans, tags->span_id);
  const uint64_t *at = row == ROW_NONE ? NULL : map_find(&work->place_of_track, map_number(spans->track_id[row]));
  if (at == NULL || tags->key != keys[SEQUENCE] || tags->type != STORE_INT || tags->value.integer < 0 ||
      last->type != STORE_INT || spans->level[row] != XSP_LEVEL_LAYER)
    return;
  int64_t sequence = tags->value.integer, named = last->value.integer;
  uint32_t process = (uint32_t)(*at >> 32), thread = (uint32_t)*at;
  if (last->key == keys[THREAD] || (last->key == keys[NUMBER] && named > 0))
    *vector_add(&work->backward) = (struct backward_operator){sequence, named, row, process, last->key == keys[NUMBER]};
  else if (thread != NO_THREAD)
    *vector_add(&work->forward) = (struct forward_operator){sequence, spans->start_ns[row], thread, row};
}

static enum status read_operators(struct work *work, uint32_t keys[KEYS], struct arena *scratch, struct error *err)
{
  const struct forward_source *source = work->source;
  struct store_tag *tags;
  size_t count, sequences = 0;
  bool is_sorted = true; // as sources write them
  XSP_TRY(store_load_tags_of(source->store, source->run_id, keys, KEYS, scratch, &tags, &count, err));
  for (size_t i = 0; i < count; i++) {
    sequences += tags[i].key == keys[SEQUENCE];
    is_sorted &= i == 0 || compare_tags(&tags[i - 1], &tags[i], keys) <= 0;
  }
  if (!is_sorted)
    qsort_r(tags, count, sizeof *tags, compare_tags, keys);
  vector_reserve(&work->forward, sequences);
  for (size_t i = 0, next; i < count; i = next) {
    for (next = i + 1; next < count && tags[next].span_id == tags[i].span_id;)
      next++;
    add_operator(work, keys, tags + i, next - i);
  }
  return STATUS_OK;
}

// By number, thread and start; of equal starts what encloses is first.
static int compare_forward(const void *left, const void *right, void *input)
{
  const struct forward_operator *a = left, *b = right;
  return RISING(sequence) ?: RISING(thread) ?: RISING(start_ns) ?: order_compare_ties(input, a->row, b->row);
}

static void sort_forward(struct work *work)
{
  const struct store_spans *spans = work->source->spans;
  struct order_input input = {spans->start_ns, spans->duration_ns, spans->level, NULL};
  if (work->forward.count > 1)
    qsort_r(work->forward.items, work->forward.count, sizeof *work->forward.items, compare_forward, &input);
}

// ---- looking up ------------------------------------------------------------------------------------------------------
SORTED_BY(compare_begun, struct forward_operator, RISING(sequence) ?: RISING(thread) ?: RISING(start_ns))

// After the last one that began in time.
static size_t end_of_begun(const struct work *work, int64_t sequence, uint32_t thread, int64_t start_ns)
{
  const struct forward_operator last = {sequence, start_ns, thread, 0};
  return PARTITION_POINT(i, 0, work->forward.count, compare_begun(&work->forward.items[i], &last) <= 0);
}

// The last forward operator of `thread` with the backward operator's number that began before it; NULL: none.
static const struct forward_operator *find_on(const struct work *work, const struct backward_operator *backward,
                                              uint32_t thread)
{
  size_t end = end_of_begun(work, backward->sequence, thread, work->source->spans->start_ns[backward->row]);
  const struct forward_operator *found = end > 0 ? &work->forward.items[end - 1] : NULL;
  return found != NULL && found->sequence == backward->sequence && found->thread == thread ? found : NULL;
}

// ---- PyTorch's own numbers of threads --------------------------------------------------------------------------------
static struct thread_number *number_of(struct work *work, const struct backward_operator *backward)
{
  uint32_t at = number_in(&work->numbers, backward->process, (uint64_t)backward->named);
  if (at == work->all_numbers.count)
    *vector_add(&work->all_numbers) = (struct thread_number){.thread = NO_THREAD};
  return &work->all_numbers.items[at];
}

// Whether a backward operator ("NativeLayerNormBackward0") is named after this forward operator ("aten::native_layer_norm", also
// "aten::nll_loss_forward" or "aten::relu_").
static bool names_are_alike(const char *backward, const char *forward)
{
  const char *colon = strrchr(backward, ':');
  const char *b = colon != NULL ? colon + 1 : backward;
  colon = strrchr(forward, ':');
  const char *f = colon != NULL ? colon + 1 : forward;
  b += strspn(b, " "); // of the engine's step: "autograd::engine::evaluate_function: AddmmBackward0"
  for (;; b++, f++) {
    b += strspn(b, "_");
    f += strspn(f, "_");
    if (*f == '\0' || (*f | 32) != (*b | 32)) // upper case or lower
      return strncmp(b, "Backward", 8) == 0 && (*f == '\0' || strcmp(f, "forward") == 0);
  }
}

static const char *name_of(const struct work *work, uint32_t row)
{
  return store_text(work->source->store, work->names[row], NULL);
}

// Which threads of its process may have made this operator.
static void find_candidates(struct work *work, const struct backward_operator *backward)
{
  struct thread_number *number = number_of(work, backward);
  const struct forward_operator *forward = work->forward.items;
  size_t at = end_of_begun(work, backward->sequence, 0, INT64_MIN), compared = 0;
  bool is_linked = false;
  while (at < work->forward.count && forward[at].sequence == backward->sequence && compared++ < THREADS_COMPARED) {
    uint32_t thread = forward[at].thread;
    const struct forward_operator *found = find_on(work, backward, thread);
    if (work->process_of_thread.items[thread] == backward->process && found != NULL) {
      uint32_t place = number_in(&work->candidate_of, (uint64_t)(number - work->all_numbers.items), thread);
      if (place == work->candidates.count)
        *vector_add(&work->candidates) = (struct candidate){(uint32_t)(number - work->all_numbers.items), thread, 0, 0};
      work->candidates.items[place].linked++;
      work->candidates.items[place].alike += names_are_alike(name_of(work, backward->row), name_of(work, found->row));
      is_linked = true;
    }
    at = end_of_begun(work, backward->sequence, thread, INT64_MAX);
  }
  number->is_crowded |= compared > THREADS_COMPARED;
  number->linked += is_linked;
}

// Sequence numbers begin at 0 on each thread, so other threads may have those of all operators, too; not with their names.
static bool is_possible(const struct work *work, const struct candidate *candidate)
{
  const struct thread_number *number = &work->all_numbers.items[candidate->number];
  return !number->is_crowded && candidate->linked == number->linked && candidate->alike * 2 > candidate->linked;
}

// Finds out which numbers have one thread left that may be theirs, and which thread.
static void find_left(struct work *work)
{
  for (size_t i = 0; i < work->all_numbers.count; i++)
    work->all_numbers.items[i].left_count = 0;
  for (uint32_t i = 0; i < work->candidates.count; i++) {
    const struct candidate *candidate = &work->candidates.items[i];
    struct thread_number *number = &work->all_numbers.items[candidate->number];
    if (!is_possible(work, candidate) || work->claims[candidate->thread] != FREE)
      continue;
    number->left_count++;
    number->left = i;
  }
}

// A thread has one number, so of several that have only this one left, the one with more operators of its own name has it.
static uint32_t stronger_claim(const struct work *work, uint32_t claim, uint32_t other)
{
  if (claim == FREE || claim == CONTESTED)
    return claim == FREE ? other : CONTESTED;
  const struct candidate *a = &work->candidates.items[claim], *b = &work->candidates.items[other];
  double a_share = (double)a->alike / (double)a->linked, b_share = (double)b->alike / (double)b->linked;
  return a_share > b_share ? claim : b_share > a_share ? other : CONTESTED;
}

// False: no thread was given to a number.
static bool give_threads(struct work *work, uint32_t *claims)
{
  bool has_any = false;
  for (size_t i = 0; i < work->process_of_thread.count; i++)
    claims[i] = FREE;
  find_left(work);
  for (size_t i = 0; i < work->all_numbers.count; i++) {
    const struct thread_number *number = &work->all_numbers.items[i];
    if (number->left_count != 1)
      continue;
    uint32_t *claim = &claims[work->candidates.items[number->left].thread];
    *claim = stronger_claim(work, *claim, number->left);
  }
  for (uint32_t i = 0; i < work->process_of_thread.count; i++) {
    if (claims[i] == FREE)
      continue;
    work->claims[i] = claims[i];
    has_any = true;
    if (claims[i] != CONTESTED)
      work->all_numbers.items[work->candidates.items[claims[i]].number].thread = i;
  }
  return has_any;
}

static enum status learn_numbers(struct work *work, struct error *err)
{
  struct store_spans spans;
  XSP_TRY(
      store_load_spans(work->source->store, work->source->run_id, STORE_BIT(STORE_NAME), &work->arena, &spans, err));
  work->names = spans.name;
  size_t thread_count = work->process_of_thread.count;
  uint32_t *claims = arena_alloc_array(&work->arena, thread_count + 1, sizeof *claims);
  work->claims = arena_alloc_array(&work->arena, thread_count + 1, sizeof *work->claims);
  for (size_t i = 0; i < thread_count; i++)
    work->claims[i] = FREE;
  for (size_t i = 0; i < work->backward.count; i++)
    if (work->backward.items[i].is_number)
      find_candidates(work, &work->backward.items[i]);
  for (unsigned rounds = ROUNDS_MOST; rounds > 0 && give_threads(work, claims);)
    rounds--;
  return STATUS_OK;
}

static uint32_t thread_of(struct work *work, const struct backward_operator *backward)
{
  if (backward->is_number)
    return number_of(work, backward)->thread;
  const struct map_key key = {backward->process, (uint64_t)backward->named};
  const uint64_t *thread = map_find(&work->threads, key);
  return thread != NULL ? (uint32_t)*thread : NO_THREAD;
}

// ---- links -----------------------------------------------------------------------------------------------------------
SORTED_BY(compare_links, struct forward_link, RISING(row))

static void link_operators(struct work *work, struct arena *arena, struct forward_links *links)
{
  links->links = arena_alloc_array(arena, work->backward.count, sizeof *links->links);
  for (size_t i = 0; i < work->backward.count; i++) {
    const struct backward_operator *backward = &work->backward.items[i];
    uint32_t thread = thread_of(work, backward);
    const struct forward_operator *forward = thread != NO_THREAD ? find_on(work, backward, thread) : NULL;
    if (forward != NULL)
      links->links[links->count++] = (struct forward_link){backward->row, forward->row};
    links->unknown_count += thread == NO_THREAD;
  }
  if (links->count > 1)
    qsort(links->links, links->count, sizeof *links->links, compare_links); // ids need not rise with rows
}

static void work_done(struct work *work)
{
  arena_done(&work->arena);
  map_done(&work->place_of_track);
  map_done(&work->threads);
  map_done(&work->numbers);
  map_done(&work->candidate_of);
  vector_done(&work->process_of_thread);
  vector_done(&work->forward);
  vector_done(&work->backward);
  vector_done(&work->all_numbers);
  vector_done(&work->candidates);
}

bool forward_may_be(struct store *store)
{
  uint32_t key;
  return store_find_string(store, key_names[SEQUENCE], strlen(key_names[SEQUENCE]), &key) &&
         (store_find_string(store, key_names[THREAD], strlen(key_names[THREAD]), &key) ||
          store_find_string(store, key_names[NUMBER], strlen(key_names[NUMBER]), &key));
}

enum status forward_find(const struct forward_source *source, struct arena *arena, struct forward_links *ret_links,
                         struct error *err)
{
  struct work work = {.source = source};
  struct arena scratch = {0};
  uint32_t keys[KEYS];
  bool has[KEYS];
  for (int i = 0; i < KEYS; i++)
    if (!(has[i] = store_find_string(source->store, key_names[i], strlen(key_names[i]), &keys[i])))
      keys[i] = 0; // no tag has it
  *ret_links = (struct forward_links){.spans = source->spans};
  if (!forward_may_be(source->store))
    return STATUS_OK;
  number_threads(&work);
  enum status status = read_operators(&work, keys, &scratch, err);
  arena_done(&scratch);
  if (status == STATUS_OK && work.backward.count > 0) {
    sort_forward(&work);
    if (has[NUMBER])
      status = learn_numbers(&work, err);
    if (status == STATUS_OK)
      link_operators(&work, arena, ret_links);
  }
  work_done(&work);
  return status;
}

void forward_fill(void *context, enum store_column column, size_t first_row, size_t count, void *ret_values)
{
  const struct forward_links *links = context;
  int64_t *ids = ret_values;
  memset(ids, 0, count * sizeof *ids);
  const struct forward_link first = {(uint32_t)first_row, 0};
  size_t at = sorted_lower_bound(&first, links->links, links->count, sizeof first, compare_links);
  for (; at < links->count && links->links[at].row < first_row + count; at++)
    ids[links->links[at].row - first_row] = rows_id(links->spans, links->links[at].forward_row);
}

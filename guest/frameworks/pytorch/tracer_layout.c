// SPDX-License-Identifier: Apache-2.0
// Where at::RecordFunction keeps what no exported function returns. Nothing is assumed of a version: PyTorch constructs an
// object in memory of ours, and the offsets follow from what its constructor wrote; they are then checked on the program's
// own operators. Called by tracer_operators.c. An unknown layout costs sequence numbers, with a note, nothing else.
#include "frameworks/common/guest.h"
#include "frameworks/pytorch/tracer.h"

#include <string.h>

#define RECORD_BYTES 1024u // 344 in 2.15
#define WORD ((uint32_t)sizeof(uint64_t))
#define WORDS (RECORD_BYTES / WORD)
#define OUTPUT_WORDS 12u // 2.15 has a map before them
#define UNKNOWN UINT32_MAX
#define CHECKS 256u // operators whose number must be plausible

static uint32_t sequence_at = UNKNOWN;       // atomic; offset in bytes
static uint32_t checks;                      // atomic; operators checked
static uint32_t forward_thread_at = UNKNOWN; // atomic; found at the first backward operator that has one
static bool is_zero[WORDS];                  // set by the constructor to 0
static bool is_of_forward[WORDS];            // atomic; set in a forward operator, such as the thread that runs it

struct record {
  _Alignas(16) uint64_t words[WORDS];
};

// Constructed and destroyed where no callback is active: neither the program's profilers nor we see it.
static void construct(struct record *record, int filling, struct record *ret_constructed)
{
  memset(record, filling, sizeof *record);
  torch->construct(record, 0);
  *ret_constructed = *record;
  torch->destroy(record);
}

// The constructor sets the sequence number to -1, and writes the same whatever was there before.
static uint32_t find_sequence(void)
{
  struct record record, one, other;
  bool was_enabled = torch->is_enabled();
  torch->enable(false);
  construct(&record, 0xa5, &one);
  construct(&record, 0x5a, &other);
  torch->enable(was_enabled);
  uint32_t found = WORDS;
  for (uint32_t i = WORDS; i-- > 0;) {
    is_zero[i] = one.words[i] == 0 && other.words[i] == 0;
    if (one.words[i] == UINT64_MAX && other.words[i] == UINT64_MAX)
      found = i;
  }
  return found < WORDS ? found * WORD : UNKNOWN;
}

static void give_up(void)
{
  __atomic_store_n(&sequence_at, UNKNOWN, __ATOMIC_RELAXED);
  guest_report("this PyTorch keeps sequence numbers in an unknown place: operators are recorded without them");
}

void pytorch_layout_find(void)
{
  if (torch->construct != NULL && torch->destroy != NULL && torch->enable != NULL && torch->is_enabled != NULL &&
      torch->next_sequence != NULL)
    sequence_at = find_sequence();
  if (sequence_at == UNKNOWN)
    give_up();
}

static uint64_t word_at(const void *record, uint32_t offset)
{
  uint64_t word;
  memcpy(&word, (const char *)record + offset, sizeof word);
  return word;
}

// A forward operator names no forward thread, but the thread that runs it, which may be that of its backward operator, too.
static void exclude_words(const void *record)
{
  for (uint32_t i = 0; i < WORDS; i++)
    if (is_zero[i] && word_at(record, i * WORD) != 0)
      __atomic_store_n(&is_of_forward[i], true, __ATOMIC_RELAXED);
}

int64_t pytorch_layout_sequence(const void *record, bool is_backward)
{
  uint32_t offset = __atomic_load_n(&sequence_at, __ATOMIC_RELAXED);
  if (offset == UNKNOWN)
    return -1;
  int64_t sequence;
  memcpy(&sequence, (const char *)record + offset, sizeof sequence);
  // An operator has the number of the thread's next node, or none.
  if (!is_backward && sequence != -1 && __atomic_load_n(&checks, __ATOMIC_RELAXED) < CHECKS) {
    __atomic_fetch_add(&checks, 1, __ATOMIC_RELAXED);
    if ((uint64_t)sequence != torch->next_sequence()) {
      give_up();
      return -1;
    }
    exclude_words(record);
  }
  return sequence;
}

// A field that the constructor sets to 0, after the sequence number, that is 0 in forward operators, and that with this number
// names one.
uint32_t pytorch_layout_forward_thread(const void *record, int64_t sequence)
{
  uint32_t known = __atomic_load_n(&forward_thread_at, __ATOMIC_RELAXED);
  if (known != UNKNOWN)
    return (uint32_t)word_at(record, known);
  struct operator_place forward;
  for (uint32_t i = sequence_at / WORD + 1; i < WORDS; i++) {
    bool is_possible = is_zero[i] && !__atomic_load_n(&is_of_forward[i], __ATOMIC_RELAXED);
    uint64_t word = is_possible ? word_at(record, i * WORD) : 0;
    if (word != 0 && word < UINT32_MAX && pytorch_links_find((uint32_t)word, sequence, &forward)) {
      __atomic_store_n(&forward_thread_at, i * WORD, __ATOMIC_RELAXED);
      return (uint32_t)word;
    }
  }
  return 0;
}

// They follow the sequence number, and the constructor sets them to none.
bool pytorch_layout_inputs(const void *record, void *ret_inputs, size_t size)
{
  uint32_t offset = __atomic_load_n(&sequence_at, __ATOMIC_RELAXED), i = offset / WORD + 1;
  if (offset == UNKNOWN || size != 2 * WORD || !is_zero[i] || !is_zero[i + 1])
    return false;
  memcpy(ret_inputs, (const char *)record + i * WORD, size);
  return true;
}

// A std::vector some words behind the inputs, filled at the end where the callback asked for it: the one with as many values as
// PyTorch counts.
bool pytorch_layout_outputs(const void *record, const void **ret_begin, size_t *ret_count, size_t item_bytes)
{
  uint32_t offset = __atomic_load_n(&sequence_at, __ATOMIC_RELAXED);
  *ret_count = offset != UNKNOWN && torch->output_count != NULL ? torch->output_count(record) : 0;
  for (uint32_t i = offset / WORD + 3; *ret_count > 0 && i < offset / WORD + 3 + OUTPUT_WORDS && i + 2 < WORDS; i++) {
    uint64_t begin = word_at(record, i * WORD), end = word_at(record, (i + 1) * WORD);
    uint64_t capacity = word_at(record, (i + 2) * WORD);
    *ret_begin = (const void *)(uintptr_t)begin;
    if (begin != 0 && begin % WORD == 0 && end - begin == *ret_count * item_bytes && capacity >= end)
      return true;
  }
  return false;
}

// SPDX-License-Identifier: Apache-2.0
// Steps from a function to its caller on the calling thread's own stack, by rules that are cached per instruction. Called by
// native.c. Every word is read only from memory that is known to be a readable part of the stack.
#include "tracers/frames/unwind.h"

#include "tracers/annotations/guest.h"
#include "tracers/frames/readable.h"

#define PAGE ((uintptr_t)4096)

// Parts of the thread's stack that were readable before, from a page's beginning to another's.
struct part {
  uintptr_t from, to;
};
static __thread struct part newest __attribute__((tls_model("initial-exec")));
static __thread struct part above
    __attribute__((tls_model("initial-exec"))); // of an earlier walk, which began further out

bool unwind_has_read(uintptr_t at, size_t size)
{
  return at >= newest.from && at <= newest.to && size <= newest.to - at;
}

// Asks the kernel about pages that are new: a stack outside of a function that runs stays mapped.
static bool is_stack(uintptr_t word)
{
  if (__builtin_expect(unwind_has_read(word, sizeof word), 1))
    return true;
  if (word % sizeof word != 0 || !is_readable_memory((const void *)word))
    return false;
  uintptr_t page = word & ~(PAGE - 1);
  if (page != newest.to) {
    above = newest;
    newest = (struct part){page, page};
  }
  newest.to += PAGE;
  if (newest.to == above.from)
    newest.to = above.to;
  return true;
}

void unwind_begin(uintptr_t sp)
{
  if (sp < newest.from || sp >= newest.to)
    newest = above = (struct part){0, 0};
}

__attribute__((no_sanitize("address"))) static bool read_stack(uintptr_t at, uintptr_t *ret_word)
{
  if (!is_stack(at))
    return false;
  *ret_word = *(const volatile uintptr_t *)at;
  return true;
}

#if defined(__x86_64__)
// Rules by instruction, exact: a word has the upper 34 of an address's 47 bits and 30 bits of rule; 0: free. Any thread.
#define RULE_SETS 8192u // by the lower 13 bits; 32,768 rules in 256 KiB, touched as it fills
#define RULE_WAYS 4
#define RULE_BITS 30
static uint64_t (*rules)[RULE_WAYS];

bool unwind_setup(void)
{
  if (rules == NULL)
    rules = (uint64_t(*)[RULE_WAYS])guest_map(RULE_SETS * sizeof *rules);
  return rules != NULL;
}

static uint64_t pack(struct unwind_rule rule)
{
  return (uint64_t)rule.kind << 28 | (uint64_t)rule.bp_words << 20 | ((uint32_t)(rule.offset / 8) & 0xfffff);
}

static struct unwind_rule unpack(uint64_t word)
{
  return (struct unwind_rule){word >> 28 & 3, (uint8_t)(word >> 20), ((int32_t)((uint32_t)word << 12) >> 12) * 8};
}

static uint64_t learn(uintptr_t pc)
{
  uint64_t *set = rules[pc % RULE_SETS], word = pc / RULE_SETS << RULE_BITS | pack(unwind_rule_of(pc));
  uint32_t way = 0;
  while (way < RULE_WAYS && __atomic_load_n(&set[way], __ATOMIC_RELAXED) != 0)
    way++;
  __atomic_store_n(&set[way < RULE_WAYS ? way : (pc / RULE_SETS) % RULE_WAYS], word, __ATOMIC_RELAXED);
  return word;
}

static struct unwind_rule rule_at(uintptr_t pc)
{
  const uint64_t *set = rules[pc % RULE_SETS];
  for (uint32_t way = 0; way < RULE_WAYS; way++) {
    uint64_t word = __atomic_load_n(&set[way], __ATOMIC_RELAXED);
    if (__builtin_expect(word >> RULE_BITS == pc / RULE_SETS, 1))
      return unpack(word);
  }
  return unpack(learn(pc));
}

bool unwind_step(struct unwind_place *place, uintptr_t *ret_end)
{
  if (place->pc >> 47 != 0)
    return false;
  struct unwind_rule rule = rule_at(place->pc);
  uintptr_t end = (rule.kind == UNWIND_BY_SP ? place->sp : place->bp) + (uintptr_t)(intptr_t)rule.offset;
  uintptr_t caller = 0, bp = place->bp;
  if (rule.kind == UNWIND_NONE || (rule.kind == UNWIND_BY_MEMORY && !read_stack(end, &end)) || end <= place->sp ||
      !read_stack(end - 8, &caller) || caller == 0)
    return false;
  if (rule.bp_words != UNWIND_BP_KEPT &&
      !read_stack(rule.bp_words == UNWIND_BP_AT_BP ? place->bp : end - 8 * (uintptr_t)rule.bp_words, &bp))
    return false;
  *place = (struct unwind_place){caller - 1, end, bp};
  *ret_end = end;
  return true;
}
#else
bool unwind_setup(void)
{
  return true;
}

// A frame record: the caller's frame pointer, then the return address.
bool unwind_step(struct unwind_place *place, uintptr_t *ret_end)
{
  uintptr_t bp = 0, caller = 0;
  if (!read_stack(place->bp, &bp) || !read_stack(place->bp + sizeof bp, &caller) || caller == 0 ||
      (bp != 0 && bp <= place->bp))
    return false;
  *ret_end = place->bp + 2 * sizeof bp;
  *place = (struct unwind_place){caller - 1, *ret_end, bp};
  return true;
}
#endif

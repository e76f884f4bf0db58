// SPDX-License-Identifier: Apache-2.0
// One step of unwinding the calling thread's own stack. x86-64: by the unwind tables (.eh_frame) that every function there has,
// read once per instruction and then cached as a rule of 32 bits; no other library is needed. Elsewhere: by frame pointers.
// Never allocates or locks: find_object() does not.
#ifndef XSP_TRACERS_FRAMES_UNWIND_H
#define XSP_TRACERS_FRAMES_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

struct unwind_place {
  uintptr_t pc;     // in the instruction that is running, or called the next inner function
  uintptr_t sp, bp; // stack and frame pointer there
};

bool unwind_setup(void); // once, before any step; false: no memory
// Before a walk in a signal handler, from `sp` on: what is known of the stack holds for that stack only.
void unwind_begin(uintptr_t sp);
// Whether these bytes are in a part of the stack that a walk has read.
bool unwind_has_read(uintptr_t at, size_t size);

// The place of the calling function: for the beginning of a walk.
#if defined(__x86_64__)
#define UNWIND_HERE(place)                                                                                             \
  __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"                                                \
                   : "=&r"((place)->pc), "=&r"((place)->sp), "=&r"((place)->bp))
#else
#define UNWIND_HERE(place)                                                                                             \
  (*(place) = (struct unwind_place){(uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_frame_address(0),     \
                                    (uintptr_t)__builtin_frame_address(0)})
#endif

// Where a signal interrupted the thread, by the last argument of its handler.
static inline struct unwind_place unwind_interrupted(const void *context)
{
  const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
  return (struct unwind_place){(uintptr_t)machine->gregs[REG_RIP], (uintptr_t)machine->gregs[REG_RSP],
                               (uintptr_t)machine->gregs[REG_RBP]};
#elif defined(__aarch64__)
  return (struct unwind_place){machine->pc, machine->sp, machine->regs[29]};
#else
  (void)machine;
  return (struct unwind_place){0, 0, 0};
#endif
}

// From a function to its caller. *ret_end: where the function's frame ends on the stack, above all that is in it. False: the
// outermost function, or one that cannot be unwound.
bool unwind_step(struct unwind_place *place, uintptr_t *ret_end);

// ---- unwind_table.c (x86-64), and for tests
// The rule of the instruction at `pc`: how its frame's end and the caller's frame pointer are found.
enum unwind_kind {
  UNWIND_NONE,      // the end of the stack, or not described
  UNWIND_BY_SP,     // end = sp + offset
  UNWIND_BY_BP,     // end = bp + offset
  UNWIND_BY_MEMORY, // end = *(bp + offset): frames that are aligned anew
};
#define UNWIND_BP_KEPT 0    // the caller's frame pointer is this one's
#define UNWIND_BP_AT_BP 255 // it is at *bp
struct unwind_rule {
  uint8_t kind;     // enum unwind_kind
  uint8_t bp_words; // else it is at end - 8 * bp_words
  int32_t offset;   // bytes
};
struct unwind_rule unwind_rule_of(uintptr_t pc);

#endif

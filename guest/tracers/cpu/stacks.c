// SPDX-License-Identifier: Apache-2.0
// A signal stack for each thread that has none of its own. Some code has its stack pointer in memory that ends right below,
// as oneDNN's generated matrix multiplication, in its heap: a signal's frame there would overwrite the program's data.
#include "tracers/cpu/cpu.h"

static void *next_sigaltstack;

static int set_stack(const stack_t *stack, stack_t *ret_before)
{
  return CPU_NEXT(&next_sigaltstack, sigaltstack)(stack, ret_before);
}

static bool is_ours(const stack_t *stack)
{
  return cpu_thread != NULL && stack->ss_sp == cpu_thread->signal_stack;
}

void cpu_stacks_begin(void)
{
  stack_t now;
  if (set_stack(NULL, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0)
    return;
  const stack_t ours = {.ss_sp = cpu_thread->signal_stack, .ss_size = sizeof cpu_thread->signal_stack};
  (void)set_stack(&ours, NULL);
}

bool cpu_stacks_end(void)
{
  const stack_t none = {.ss_flags = SS_DISABLE};
  stack_t now;
  return set_stack(NULL, &now) == 0 && (!is_ours(&now) || set_stack(&none, NULL) == 0);
}

// The program does not see ours, and replaces it by its own.
CPU_INTERPOSED int sigaltstack(const stack_t *stack, stack_t *ret_before)
{
  stack_t before;
  int result = set_stack(stack, &before);
  if (result != 0 || cpu_thread == NULL) {
    if (result == 0 && ret_before != NULL)
      *ret_before = before;
    return result;
  }
  if (ret_before != NULL)
    *ret_before = is_ours(&before) ? (stack_t){.ss_flags = SS_DISABLE} : before;
  if (stack != NULL && (stack->ss_flags & SS_DISABLE) != 0)
    cpu_stacks_begin();
  return 0;
}

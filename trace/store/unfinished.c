// SPDX-License-Identifier: Apache-2.0
// What store_unfinished_remove removes. Called by the writer and by private_copy.c, and by handlers of signals.
#include "store/unfinished.h"

#include "store/store.h"

#include <string.h>
#include <unistd.h>

#define UNFINISHED_MAXIMUM 4 // stores that are written or copied at the same time

static struct unfinished *all[UNFINISHED_MAXIMUM]; // atomic

void unfinished_add(struct unfinished *unfinished)
{
  for (size_t i = 0; i < UNFINISHED_MAXIMUM; i++) {
    struct unfinished *free_place = NULL;
    if (__atomic_compare_exchange_n(&all[i], &free_place, unfinished, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
      return;
  }
}

void unfinished_forget(struct unfinished *unfinished)
{
  for (size_t i = 0; i < UNFINISHED_MAXIMUM; i++) {
    struct unfinished *expected = unfinished;
    __atomic_compare_exchange_n(&all[i], &expected, NULL, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  }
}

void unfinished_unlink(const char *path, const char *ending)
{
  char whole[4096];
  size_t length = strlen(path), ending_length = strlen(ending);
  if (length + ending_length >= sizeof whole)
    return;
  memcpy(whole, path, length);
  memcpy(whole + length, ending, ending_length + 1);
  unlink(whole);
}

void store_unfinished_remove(void)
{
  for (size_t i = 0; i < UNFINISHED_MAXIMUM; i++) {
    const struct unfinished *unfinished = __atomic_load_n(&all[i], __ATOMIC_ACQUIRE);
    if (unfinished != NULL)
      unfinished->remove(unfinished->path);
  }
}

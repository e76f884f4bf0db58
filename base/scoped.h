// SPDX-License-Identifier: Apache-2.0
// What a function owns ends on each of its ways out, in the reverse order of declaration:
//
//   struct arena arena SCOPED(arena_done) = {0};
//
// `done` gets a pointer to the variable. Never for what is handed on.
#ifndef XSP_BASE_SCOPED_H
#define XSP_BASE_SCOPED_H

#include <stdlib.h>
#include <string.h>

#define SCOPED(done) __attribute__((cleanup(done)))

// Of a pointer to memory: char *line SCOPED(scoped_free) = NULL;
static inline void scoped_free(void *pointer)
{
  void *memory;
  memcpy(&memory, pointer, sizeof memory);
  free(memory);
}

#endif

// SPDX-License-Identifier: Apache-2.0
// What is known of addresses that a program holds: sessions, options for a run, bindings. Any thread; a table for each kind.
// Never allocates.
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_KNOWN_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_KNOWN_H

#include <stdint.h>
#include <xsp/span.h>

struct known {
  uintptr_t key;         // atomic; 0: free, 1: was removed
  struct xsp_site *site; // of a session: its model span
  uint32_t state;        // atomic; the owner's, begins with 0
  void *guard;           // of an object of Python's: a weak reference whose callback reports its end
  uint64_t asked;        // of a session of Python's: when the program asked for it, ticks
  int64_t batch;         // of a binding: the first dimension of its first input; begins with -1
};
#define KNOWN_ENTRIES 4096u
struct known_table {
  uint32_t adding; // atomic: the process one of whose threads is adding; 0: none
  struct known entries[KNOWN_ENTRIES];
};

// NULL: not known.
struct known *ort_known_find(struct known_table *table, const void *address);
// As new, also where the address was known before: nobody else has it yet. NULL: the table is full; what is not known is not
// traced.
struct known *ort_known_add(struct known_table *table, const void *address);
// As it is, or as new where it was not known: threads that come together get the same one. NULL: likewise.
struct known *ort_known_get(struct known_table *table, const void *address);
void ort_known_remove(struct known_table *table, const void *address);

#endif

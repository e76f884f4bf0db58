// SPDX-License-Identifier: Apache-2.0
// What the two halves share: functions_audit.so, which the loader runs in a namespace of its own and which sees every
// library before it is bound, and functions.so, the tracer in the program. The audit module owns the table; it writes the
// table's address into the tracer's variable FUNCTIONS_DOOR when the loader opens the tracer.
#ifndef XSP_TRACERS_FUNCTIONS_TABLE_H
#define XSP_TRACERS_FUNCTIONS_TABLE_H

// Read by the assembler too. Offsets into struct functions_entry; table.h's C part asserts them.
#define FUNCTIONS_MOST 4096
#define FUNCTIONS_ENTRY_BYTES 64
#define FUNCTIONS_ENTRY_GO 0
#define FUNCTIONS_ENTRY_REAL 8
#define FUNCTIONS_ENTRY_SITE 16
#define FUNCTIONS_ENTRY_STACK 24
#define FUNCTIONS_STUB_BYTES 16
#if defined(__x86_64__) || defined(__aarch64__)
#define FUNCTIONS_HAVE_STUBS 1
#endif

#ifndef __ASSEMBLER__
#include "tracers/functions/list.h"

#include <xsp/span.h>

#define FUNCTIONS_DOOR "xsp_functions_door"
#define FUNCTIONS_MAGIC UINT64_C(0x31636e7566707378)
#define FUNCTIONS_NOTES_MOST 32

enum functions_state {
  FUNCTIONS_OPEN = 1,   // its library is there
  FUNCTIONS_CLOSED = 2, // its library was closed; taken again when it is opened again
};

// A function of one library and its stub. One cache line; what a call reads comes first.
struct functions_entry {
  void *go;              // where the stub jumps: the function itself until the tracer is ready. Atomic
  void *real;            // the function. Atomic
  struct xsp_site *site; // NULL until the first call. Atomic
  uint32_t stack_bytes;
  uint16_t rule; // index into table.rules
  uint8_t state; // enum functions_state
  bool has_signature;
  const char *symbol;      // these two are the module's own copies: a library may be closed
  const char *library;     // its file name without folders
  const void *owner;       // the loader's map, while open
  void *(*resolver)(void); // of an ifunc: `real` is NULL until its first call asks this. Else NULL
};
_Static_assert(sizeof(struct functions_entry) == FUNCTIONS_ENTRY_BYTES, "stubs count in entries");
_Static_assert(offsetof(struct functions_entry, go) == FUNCTIONS_ENTRY_GO, "read by assembler");
_Static_assert(offsetof(struct functions_entry, real) == FUNCTIONS_ENTRY_REAL, "read by assembler");
_Static_assert(offsetof(struct functions_entry, site) == FUNCTIONS_ENTRY_SITE, "read by assembler");
_Static_assert(offsetof(struct functions_entry, stack_bytes) == FUNCTIONS_ENTRY_STACK, "read by assembler");
_Static_assert(offsetof(struct xsp_site, mask) == 4 && offsetof(struct xsp_site, levels) == 8, "read by assembler");

struct functions_note { // a wanted function that is not traced
  uint16_t rule;
  const char *symbol, *library, *why; // the module's own copies
};

struct functions_table {
  uint64_t magic;
  uint32_t size;                // sizeof(struct functions_table)
  uint32_t rule_count;          // fixed before the first library is seen
  uint32_t entry_count;         // atomic: entries before it are complete
  uint32_t note_count;          // atomic
  uint32_t beyond;              // functions that found no place in the table. Atomic
  const char *list_path;        // NULL: none was given
  const char *problem;          // why nothing is traced; NULL: nothing is in the way
  struct functions_fault fault; // of the list, where problem says so
  struct functions_entry *entries;
  struct function_rule *rules;
  struct functions_note *notes;
  void *trampoline; // set by the tracer once: new entries go there. Atomic
};
#endif

#endif

// SPDX-License-Identifier: Apache-2.0
// frameworks.so, preloaded next to libxsp.so, attaches tracers to frameworks in unmodified programs. It intercepts the two
// ways to reach a framework: a lookup of its C functions, and the start of its Python module. A framework is one door.c
// and a line in guest/frameworks/common/table.h.
//
// A framework is traced where its tracer (build/tracers/NAME.so) is listed in XSP_TRACERS. Everything here runs in the
// program: it prints nothing, and on anything unexpected the program gets what it would have got without xsp.
#ifndef XSP_FRAMEWORKS_COMMON_DOOR_H
#define XSP_FRAMEWORKS_COMMON_DOOR_H

#include "frameworks/common/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xsp/span.h>

struct python;

// A C function whose address the program looks up (dlsym). `found` is the answer; returned is what the program gets
// instead: a function with the same signature, or `found` itself. Programs that are linked against the library look
// nothing up: for them the door exports a function of this name, which finds the next one.
struct framework_symbol {
  const char *name;
  void *(*found)(const struct framework_symbol *symbol, void *found);
  void (*own_export)(void); // that function
  void **real;              // atomic: the framework's own, for framework_first_copy
};
struct framework {
  const char *name;                       // of its tracer, too
  const char *symbol_prefix;              // that all of `symbols` begin with
  const struct framework_symbol *symbols; // ends with a NULL name
  void (*prefix_found)(void);             // called when any name with this prefix was found; may be NULL
  void (*program_starts)(void);           // called before main, where the framework is traced; may be NULL
  // An extension module of Python ("onnxruntime_pybind11_state"), or NULL. Called with the module complete and the
  // interpreter held; `module` is borrowed. May replace what is in it (python.h). Errors of Python must not be left set.
  const char *python_module;
  const char *python_folder; // that the module's file is in, where other packages have modules of this name; NULL: any
  void (*python_loaded)(const struct python *python, void *module);
};

#define X(name) extern const struct framework framework_##name;
EACH_DOOR(X)
#undef X

// ---- doors.c
// Path of the framework's tracer, as XSP_TRACERS has it; NULL: not traced. Valid while the process lives.
const char *framework_tracer(const struct framework *framework);
const char *framework_model_range(void); // the glob of --model-range; NULL: none
const char *framework_session(void);     // the session's folder; NULL: none
// What a look-up of `name` gives, where it gave `found`. `caller` is where the look-up was made.
void *framework_offer(void *handle, const char *name, void *found, const void *caller);
// The function that our export of `name` hides, for a call from `caller`; NULL: there is none.
void *framework_next(const char *name, const void *caller);
// Is there one for a look-up in the default scope? Only asked for names in the table.
bool framework_hides(const char *name);
// Whether `found`, the answer to a lookup of `name` gave, is our export, and hides no function.
bool framework_hides_found(const char *name, const void *found);
// How many bytes can be read from `address` on, which lies in a library's data; 0: it lies elsewhere.
size_t framework_readable(const void *address);

// ---- door_passing.c
// The library of `function`, which then stays loaded: the tracer calls it. NULL: not known.
void *framework_library_of(const void *function);
// Loads the framework's tracer, which stays, and calls its export `name`, which returns the tracer's functions. NULL: not
// traced.
const void *framework_hooks(const struct framework *framework, const char *name);

// A framework whose C functions are exported here.
enum framework_state { FRAMEWORK_UNKNOWN, FRAMEWORK_ATTACHING, FRAMEWORK_ATTACHED, FRAMEWORK_NOT_TRACED };
struct framework_door {
  const struct framework *framework;
  bool (*attach)(const void *real); // connects the tracer to the library of `real`; its answer stays
  uint32_t state;                   // atomic: enum framework_state
};
// Connects the tracer where that has not happened; `real` is an address in the framework's library. False: not traced, or
// another thread is connecting it.
bool framework_attach(struct framework_door *door, const void *real);
// In an export of `name`: the framework's own function, cached in `place` (atomic); NULL: there is none. Adds 1 to `depth`,
// a counter of this thread that the export decrements at its end. Only outermost calls are traced. The first call attaches
// the tracer; other threads' calls meanwhile are not traced.
void *framework_enter(struct framework_door *door, unsigned *depth, void **place, const char *name, const void *caller,
                      bool *ret_is_traced);
#define FRAMEWORK_CALLER __builtin_extract_return_addr(__builtin_return_address(0))
// A framework_symbol's `found`: our export for the first copy of the library, `found` for a second one.
void *framework_first_copy(const struct framework_symbol *symbol, void *found);

// ---- door_interpose.c
// The loader's own dlsym, as called from frameworks.so.
void *frameworks_lookup(void *handle, const char *name);

#endif

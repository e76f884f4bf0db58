// SPDX-License-Identifier: Apache-2.0
// frameworks.so: how tracers come into frameworks of programs that know nothing of them. It is preloaded beside libxsp.so
// and waits in the two places where a program gets hold of a framework: a look-up of its C entrance, and the start of
// its Python module. One file here and one line in the table of frameworks.c is a framework.
//
// A framework is traced where its tracer (build/tracers/NAME.so) is among those of XSP_TRACERS. Everything here runs in
// the program: nothing fails towards it, nothing is printed, and where anything is not as expected the program gets what
// it would have got without xsp.
#ifndef XSP_FRAMEWORKS_COMMON_DOOR_H
#define XSP_FRAMEWORKS_COMMON_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xsp/span.h>

struct python;

// A C function whose address the program looks up (dlsym). `found` is what it found; returned is what it gets instead:
// something with the same signature that passes on, or `found` itself. Programs that are linked against the library do
// not look anything up: for them the file exports a function of this name, which finds the next one.
struct framework_symbol {
  const char *name;
  void *(*found)(const struct framework_symbol *symbol, void *found);
  void (*own_export)(void); // that function
};
struct framework {
  const char *name;                       // of its tracer, too
  const char *symbol_prefix;              // that all of `symbols` begin with
  const struct framework_symbol *symbols; // ends with a NULL name
  void (*met)(void);                      // a name that begins so was found, for whatever it is; NULL: no matter
  // An extension module of Python ("onnxruntime_pybind11_state"), or NULL. Called with the module complete and the
  // interpreter held; `module` is borrowed. May replace what is in it (python.h). Errors of Python must not be left set.
  const char *python_module;
  void (*python_loaded)(const struct python *python, void *module);
};

extern const struct framework framework_mxnet, framework_onnxruntime, framework_tensorflow,
    framework_tensorflow_recorder;

// ---- frameworks.c
// Path of the framework's tracer, as XSP_TRACERS has it; NULL: not traced. Valid while the process lives.
const char *framework_tracer(const struct framework *framework);
const char *framework_model_range(void); // the glob of --model-range; NULL: none
const char *framework_session(void);     // the session's folder; NULL: none
// What a look-up of `name` gives, where it gave `found`. `caller` is where the look-up was made.
void *framework_offer(void *handle, const char *name, void *found, const void *caller);
// The function that our export of `name` stands before, for a call from `caller`; NULL: there is none.
void *framework_next(const char *name, const void *caller);
// Is there one for a look-up in the default scope? Only asked for names in the table.
bool framework_hides(const char *name);
// Whether `found`, which a look-up of `name` gave, is our export, and nothing stands behind it.
bool framework_hides_found(const char *name, const void *found);
// How many bytes can be read from `address` on, which lies in a library's data; 0: it lies elsewhere.
size_t framework_readable(const void *address);

// ---- passing.c
// The function behind our export of `name`, kept in `place` (atomic) by the first call; NULL: there is none.
void *framework_real(void **place, const char *name, const void *caller);
// The library that `function` lies in, which then stays loaded: the tracer calls it. NULL: not known.
void *framework_library_of(const void *function);
// What the framework's tracer exports as `name`; NULL: it is not traced. The tracer is loaded by it and stays.
void *framework_tracer_symbol(const struct framework *framework, const char *name);
// Whether the tracer is to be told of calls. The first call asks `attach`, with the function behind it, and its answer
// stays; meanwhile other threads get false.
enum framework_state { FRAMEWORK_UNKNOWN, FRAMEWORK_ATTACHING, FRAMEWORK_ATTACHED, FRAMEWORK_NOT_TRACED };
bool framework_attach_once(uint32_t *state, bool (*attach)(const void *real), const void *real);

// ---- interpose.c
// The loader's own dlsym, as called from frameworks.so.
void *frameworks_lookup(void *handle, const char *name);

#endif

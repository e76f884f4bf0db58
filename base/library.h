// SPDX-License-Identifier: Apache-2.0
// Finds and opens a framework's shared library at run time. Offline programs only (it may run python3 once).
//
// Where a path is given (option --library NAME=PATH, or the environment's XSP_LIBRARY_<NAME>) only that is opened: one
// that does not open is STATUS_SYSTEM. A folder means the library in it: a Python environment, its site-packages, or
// an installation (lib/); an interpreter (bin/python3) its environment. Else, in this order: what is already loaded in the
// process, the Python environment that is active (VIRTUAL_ENV, then .venv next to the folder of this program, then the
// python3 in PATH), the system's loader.
#ifndef XSP_BASE_LIBRARY_H
#define XSP_BASE_LIBRARY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct library_names {
  const char *name;           // "onnxruntime": for XSP_LIBRARY_ONNXRUNTIME and for errors
  const char *const *sonames; // for the loader, NULL-terminated: "libonnxruntime.so.1", "libonnxruntime.so"
  const char *package_glob;   // below a site-packages folder: "onnxruntime/capi/libonnxruntime.so*"; NULL: none
  const char *advice;         // where it is found nowhere: "pip install onnxruntime, or --library onnxruntime=PATH"
};

#define LIBRARY_FOUND_SIZE 1024
struct library {
  void *handle;                  // dlopen's, RTLD_NOW | RTLD_LOCAL; stays open while the process lives
  char path[LIBRARY_FOUND_SIZE]; // the file that was opened, as the loader knows it
  const char *route;             // static text: "given", "already loaded", "python environment", "system"
};

#define LIBRARY_VARIABLE_SIZE 64
// Writes the name of the environment variable that gives NAME's library; returns its value, NULL: not set, or empty.
const char *library_variable(const char *name, char variable[LIBRARY_VARIABLE_SIZE]);
// `given` is the option's path or NULL. Errors: STATUS_SYSTEM, with every place that was looked into.
enum status library_open(const struct library_names *names, const char *given, struct library *ret_library,
                         struct error *err) MUST_CHECK;

struct library_function {
  const char *name;
  size_t offset;    // of the pointer to it, in `functions` of library_functions
  bool is_optional; // NULL where this version has none
};
// Finds them in a library that is open. STATUS_SYSTEM: one is missing; the message begins with `what`, "cannot use library", and calls
// what was `expected`: "a libpq".
enum status library_functions(const struct library *library, const char *what, const char *expected, const char *advice,
                              const struct library_function *wanted, size_t count, void *functions,
                              struct error *err) MUST_CHECK;

#endif

// SPDX-License-Identifier: Apache-2.0
// What kind of program a command names: whether the loader will bring libxsp.so into it, or why not. Runs nothing.
#ifndef XSP_LAUNCH_EXECUTABLE_H
#define XSP_LAUNCH_EXECUTABLE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum executable_kind {
  EXECUTABLE_DYNAMIC = 0,   // takes LD_PRELOAD
  EXECUTABLE_UNKNOWN,       // not found, not readable, or no ELF file: taken for dynamic
  EXECUTABLE_STATIC,        // no loader comes with it; its children may be dynamic
  EXECUTABLE_PRIVILEGED,    // setuid or the like: its loader ignores the environment
  EXECUTABLE_OTHER_MACHINE, // its loader would complain about libxsp.so
  EXECUTABLE_OTHER_LIBC,    // its loader would not start it with libxsp.so
};
struct executable {
  enum executable_kind kind;
  char path[PATH_MAX]; // of the file that is run: of a script, its interpreter; "": not found
};

// Follows PATH and "#!" as the kernel and execvp do.
void executable_look(const char *command, struct executable *ret_executable);
// Why a program of this kind did not join, as a sentence's end; NULL: its kind is not the reason.
const char *executable_why(enum executable_kind kind);

// The head of a file (some 4 KiB). Pure. A script: its interpreter's path into `interpreter`, else "".
enum executable_kind executable_of_bytes(const uint8_t *bytes, size_t size, char interpreter[PATH_MAX]);

#endif

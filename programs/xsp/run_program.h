// SPDX-License-Identifier: Apache-2.0
// What kind of program a command names: whether the loader will bring libxsp.so into it, and why not. Nothing is run.
#ifndef XSP_PROGRAMS_RUN_PROGRAM_H
#define XSP_PROGRAMS_RUN_PROGRAM_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum run_program_kind {
  RUN_PROGRAM_DYNAMIC = 0,   // takes LD_PRELOAD
  RUN_PROGRAM_UNKNOWN,       // not found, not readable, or no ELF file: taken for dynamic
  RUN_PROGRAM_STATIC,        // no loader comes with it; its children may be dynamic
  RUN_PROGRAM_PRIVILEGED,    // setuid or the like: its loader ignores the environment
  RUN_PROGRAM_OTHER_MACHINE, // its loader would complain about libxsp.so
  RUN_PROGRAM_OTHER_LIBC,    // its loader would not start it with libxsp.so
};
struct run_program {
  enum run_program_kind kind;
  char path[PATH_MAX]; // of the file that is run: of a script, its interpreter; "": not found
};

// Follows PATH and "#!" as the kernel and execvp do.
void run_program_look(const char *command, struct run_program *ret_program);
// Why a program of this kind did not join, as a sentence's end; NULL: its kind is no reason.
const char *run_program_why(enum run_program_kind kind);

// The head of a file (some 4 KiB). Pure. A script: its interpreter's path into `interpreter`, else "".
enum run_program_kind run_program_of_bytes(const uint8_t *bytes, size_t size, char interpreter[PATH_MAX]);

#endif

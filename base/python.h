// SPDX-License-Identifier: Apache-2.0
// The active Python environment: where it keeps its modules and which interpreter it has. Offline programs only.
//
// It is VIRTUAL_ENV, then .venv next to the folder of this program, then the python3 in PATH. Only the last one starts a
// process (python3, with a bounded wait), and only where the others were visited in vain.
#ifndef XSP_BASE_PYTHON_H
#define XSP_BASE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

// `folder` is a site-packages folder, or for python3 in PATH any folder that it looks for modules in. True: found, no more.
typedef bool (*python_visit_fn)(void *context, const char *folder);
// After an environment in which nothing was found: `reason` says why. May be NULL.
typedef void (*python_missed_fn)(void *context, const char *environment, const char *reason);

// Returns true where a visit did.
bool python_visit(python_visit_fn visit, python_missed_fn missed, void *context);
// Asks the python3 in PATH now, for all visits until it is dropped: those of processes, too, that this one starts. One thread only.
void python_keep_answer(void);
void python_drop_answer(void);
// Of one environment, by its folder.
bool python_visit_environment(const char *environment, python_visit_fn visit, void *context);
// What `code` prints in the interpreter `program` (a path, or a name in PATH), whose stderr is dropped. False: the program is
// not there, does not end within `wait_ms`, or prints more than has room in `text`; it is killed.
bool python_ask(const char *program, const char *code, int wait_ms, char *text, size_t size);
// The interpreter's path; "python3" where only PATH can say.
void python_program(char *path, size_t size);

#endif

// SPDX-License-Identifier: Apache-2.0
// The Python stack of the calling thread as a call path, for tracers: CPython 3.10 to 3.15. No Python header; symbols by
// dlsym. Layouts of the interpreter are verified against its public API at setup, else refused, never guessed.
//
// After setup any thread may call, with or without the GIL. Nothing allocates, locks or enters the interpreter. A thread
// reads its own stack only: its frames keep their code objects alive. Only python_frames_path_checked is for signal handlers.
//
// A stack of more than PYTHON_FRAMES_MOST frames is the frame "(more frames)" and its innermost PYTHON_FRAMES_MOST. So a
// recursion has one path at every depth beyond, and a walk has a bound. Python's atexit handlers end it: threads that are
// still running when the interpreter frees their stacks must not read them.
#ifndef XSP_TRACERS_FRAMES_PYTHON_H
#define XSP_TRACERS_FRAMES_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYTHON_FRAMES_MOST 128

// Once, with the GIL held: runs a few lines of Python. `caller_in_interpreter`: an address in the interpreter's library or
// program; NULL: symbols of the global scope. False: this interpreter's frames cannot be read, `why` has the reason. Later
// calls return the first one's answer.
bool python_frames_setup(const void *caller_in_interpreter, char *why, size_t why_size);

// Whether Python's frames can be had: after setup, before Python's exit.
bool python_frames_are_read(void);

// The call path of this thread's Python stack, outermost frame first. 0: no Python on this thread, not set up, or no room.
uint32_t python_frames_path(void);

// The same where a signal may have interrupted the interpreter itself: each address is checked before it is read, and a stack
// that is being changed has no path. `sp`: the stack pointer there. `is_inside`: a function of the interpreter is on the
// thread's stack. (From 3.14 on, asking the interpreter for the state of a thread that it does not know could allocate memory.)
uint32_t python_frames_path_checked(uintptr_t sp, bool is_inside);

struct python_place {
  const void *frame, *instruction;
};
// This thread's innermost frame and where it is. {NULL, NULL}: no Python on this thread. Valid until that frame goes on.
struct python_place python_frames_top(void);
// Frames entered since `since` was the top, appended to `caller`: for an operator that calls Python again. Without such
// frames `caller` itself. If `since` is no longer in the stack (another greenlet is running): the whole stack's path.
uint32_t python_frames_path_since(struct python_place since, uint32_t caller);

#endif

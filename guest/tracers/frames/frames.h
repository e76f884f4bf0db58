// SPDX-License-Identifier: Apache-2.0
// Where the calling thread is, as one call path of Python, operators and native code, for tracers of frameworks.
//
// An operator's path is that of the operator around it, then what was entered since, then its own frame, which the tracer
// appends. What was entered since is, outermost first, Python frames (python.h) and, with CALL_PATHS_FULL, the native functions
// between the interpreter and the operator: native frames of the interpreter and all outside them are replaced by Python's.
// A native frame has the library's path as module and an address in it, that of the call; names are found when the trace is
// stored. Without an operator around it, a thread that runs no Python has all its native functions.
//
// After setup any thread may call, without the GIL; nothing allocates or locks. frames_path_at is for signal handlers, too. A
// library that is closed and another one loaded at its address may be taken for it.
#ifndef XSP_TRACERS_FRAMES_FRAMES_H
#define XSP_TRACERS_FRAMES_FRAMES_H

#include "tracers/frames/mode.h"
#include "tracers/frames/python.h"
#include "tracers/frames/unwind.h"

#define NATIVE_FRAMES_MOST 128 // the innermost; then "(more frames)" is outside them

// An operator that is open on this thread.
struct frames_place {
  uint32_t path;
  struct python_place python; // python_frames_top() when it began
  const void *stack; // in the stack frame of the function that began it: an object of that function. NULL: unknown
};

// Once, after find_object_setup, and after python_frames_setup if there is Python. `in_interpreter`: an address in its library
// or program; NULL: none. False: native frames cannot be read, CALL_PATHS_FULL is then as CALL_PATHS_LIGHT.
bool frames_native_setup(const void *in_interpreter);

// The call path of what runs now on this thread. `around`: the innermost open operator; NULL: none. `inner`: an address in the
// stack frame of the innermost native function that belongs to the path, as `stack` above: functions inside it are the
// framework's and the tracer's own. NULL: all but the tracer's own belong to it. 0: none, or no room.
uint32_t frames_path(enum call_paths_mode mode, const struct frames_place *around, const void *inner);

// The call path of the calling thread from `place` outwards: where a signal interrupted it, in whose handler we are, or the
// caller's own place. Native functions as far as the interpreter, without those of this library, then Python's frames. What
// the interrupted code may have left half-written is checked; 0 also where it makes no sense. Needs frames_native_setup. A
// handler must not come here while the thread that it interrupted is here.
uint32_t frames_path_at(const struct unwind_place *place);

#endif

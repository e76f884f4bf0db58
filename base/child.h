// SPDX-License-Identifier: Apache-2.0
// Starts a program, reads what it prints, waits for it and ends it. Any thread may, also in programs of others: it needs libc alone,
// reports a lack of memory as ENOMEM, and changes no handler of a signal. One thread at a time uses a child.
//
//   struct child child;
//   struct child_text text = {.most = 65536};
//   const char *const arguments[] = {"python3", "-c", code, NULL};
//   int failure = child_start(&(struct child_command){.arguments = arguments, .input = CHILD_NULL, .output_text = &text}, &child);
//   if (failure == 0) {
//     enum child_event event = child_wait(&child, 10000, NULL);
//     int status = child_end(&child, 0);
//   }
//   free(text.bytes);
#ifndef XSP_BASE_CHILD_H
#define XSP_BASE_CHILD_H

#include "base/slice.h"

#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_NULL (-1) // /dev/null as a stream

struct child_text { // what a child printed
  char *bytes;      // of malloc, and zero-terminated; NULL: nothing came. The caller frees it
  size_t length;
  size_t most;  // more than that ends child_wait
  bool is_tail; // more than that drops the beginning instead; at least half of `most` stays
};

struct child_command {
  const char *const *arguments; // ends with NULL
  const char *program;          // a path, or a name in PATH; NULL: arguments[0]
  const char *const
      *variables; // changes of the environment: "NAME=VALUE" sets, "NAME" removes. Ends with NULL; NULL: none
  void (*function)(
      const void *context); // runs instead of a program, on a copy of this memory: for callers of one thread
  const void *context;
  int folder;                     // descriptor of the working folder; 0: the caller's
  int input, output, errors;      // a descriptor, or CHILD_NULL; 0: the caller's own stream
  struct child_text *output_text; // instead of `output`: child_wait reads it into this
  struct child_text *errors_text; // instead of `errors`; may be the same
  int kept[4];                    // descriptors that it gets under the same number; it gets no others
  int death_signal;               // what it gets when the thread that starts it ends, by whatever; 0: nothing
  int nice;                       // is added to the caller's
  bool has_group;                 // a process group of its own, which ends with it
  bool is_bare; // `function` has the caller's descriptors and handlers, with all signals blocked, and mends that itself
};

struct child {
  pid_t process;  // valid until child_end; its group's number, too, where it has one
  int descriptor; // of the process; -1: Linux < 5.3 has none
  int pipes[2];   // -1: none, or at its end
  struct child_text *texts[2];
  bool has_group;
};

// The first file of PATH that may be executed, as execvp looks for `program`; a path stays what it is. False: there is none.
bool child_find(const char *program, char path[PATH_MAX]);

// Returns once the program runs, with 0; else an errno, also that of exec, and nothing is left. Its signals have their default
// actions, but what the caller's own starter ignored stays ignored; SIGPIPE and SIGXFSZ never do. None is blocked.
int child_start(const struct child_command *command, struct child *ret_child);

// CHILD_ENDED: whatever else holds its streams; all that it printed was read. CHILD_FULL: a text has no room, or no memory; its
// stream was closed. CHILD_STOP: `stop`, which may be NULL, is ready. CHILD_LATE: it still runs after `timeout_ms`; < 0: no limit.
enum child_event { CHILD_ENDED, CHILD_FULL, CHILD_STOP, CHILD_LATE };
enum child_event child_wait(struct child *child, int64_t timeout_ms, const struct pollfd *stop);
bool child_has_ended(const struct child *child); // its number is still taken

// If it still runs, SIGTERM, and SIGKILL after `grace_ms`; 0: at once. SIGKILL for the rest of its group in any case. Returns its wait
// status; -1: somebody else has it, since the program ignores SIGCHLD or waits for all its children.
int child_end(struct child *child, int64_t grace_ms);

// The last line of xsp's own messages, or of another program's, without "xsp: "; empty: there is none.
struct slice child_last_line(struct slice text);
void child_last_line_of(int file, char *line, size_t size);

#endif

// SPDX-License-Identifier: Apache-2.0
// One execution of a program with tracers inside, drained into one run of a store. The traced program keeps its
// terminal, process group, descriptors and signals. One thread.
#ifndef XSP_LAUNCH_EXECUTION_H
#define XSP_LAUNCH_EXECUTION_H

#include "base/error.h"
#include "format/level.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct launch_options {           // the user's options; strings borrowed
  char *const *command;           // argv of the program, NULL-terminated
  pid_t process_id;               // of a program that runs already, `command` is its; 0: it is started
  const char *const *tracers;     // names or paths with options, NULL-terminated; {"auto"}: all that are usable
  struct level_set levels;        // of this execution
  const char *model_range;        // glob; NULL: none
  const char *capture_range;      // glob; NULL: none
  const char *functions;          // path of the list; NULL: none
  const char *cuda;               // guest/tracers/cuda/choice.h, valid; NULL: its default
  unsigned repetition;            // counted executions at these levels before this one
  const char *call_paths;         // "light", "full" or "none"; NULL: light, of tracers that have them
  const char *sample_mode;        // "cpu", or "real": waits, too
  unsigned sample_rate;           // samples of each thread a second; 0: none
  const char *counters;           // within spans, valid (format/span_counters.h); NULL: none
  double delay_s, duration_s;     // duration 0: to the end
  double commit_s;                // between two commits of what was drained; 0: after each drain
  uint64_t flight_recorder_bytes; // per thread; 0: drain
  uint64_t memory_limit_bytes;    // of all rings; 0: by what is free
  bool pin_algorithms;            // the variables for it
  bool shapes;                    // of operators' inputs, of tracers that have them
  bool hands_trace;               // TRACEPARENT of the program's span goes to the program
  bool wait_all;                  // also for processes that outlive the program
  // Levels that somebody else switches: of those of `levels`, `first_mask` is on at the start, then what the function returns,
  // which is called ten times a second once the program has started. NULL: all of `levels`.
  uint32_t (*wanted_mask)(void *context);
  void *wanted_context;
  uint32_t first_mask;
  // Hands on what the store has by now; called after drains, by the thread that drains, which may read the store in it. It returns
  // whether there is more, for which it is called again soon. NULL: nobody wants it before the end.
  bool (*hand_on)(void *context, struct store *store, int64_t run_id);
  void *hand_on_context;
};

struct launch_result {
  bool was_started;              // or joined; else the error has the reason
  bool cannot_exec;              // not started: no such program, or not executable (status 127)
  int wait_status;               // of waitpid; 0 of a program that was not started by xsp
  bool goes_on;                  // it was not, and had not ended
  bool was_interrupted;          // by a signal to xsp (Ctrl-C): no further executions
  int64_t start_ns, end_ns;      // Unix epoch, of the program
  int64_t span_id;               // of its application-level span in the run
  uint64_t spans, dropped, open; // of the session
  uint64_t own_ns;               // CPU time of xsp while the program ran
  uint32_t frameworks;           // that it had loaded: bits of enum loaded_framework (lab/launch/libraries.h)
  unsigned processes;            // that joined the session
  unsigned left_running;         // that still ran when the last drain was made
  char messages[4096];           // of tracers, newline-separated
};

// On error nothing more is running. `run` is the row of the run (run_id, levels are set by the caller, who has added it);
// its drop counts are filled in.
enum status launch_execute(const struct launch_options *options, struct store *store, struct store_run *run,
                           struct launch_result *ret_result, struct error *err) MUST_CHECK;

// Whether this list of counters is valid, and can be counted here. `say`: why system calls are left out, where the list has `os`.
enum status launch_check_span_counters(const char *list, message_fn say, struct error *err) MUST_CHECK;

// 128 + signal, or the exit status.
int launch_exit_status(int wait_status);

#endif

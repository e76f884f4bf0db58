// SPDX-License-Identifier: Apache-2.0
// stdout is data: buffered, checked, quiet where the reader has gone away (EPIPE). One thread.
#ifndef XSP_PROGRAMS_XSP_OUTPUT_H
#define XSP_PROGRAMS_XSP_OUTPUT_H

#include "base/error.h"
#include "base/headway.h"
#include "report/report.h"

#include <signal.h>

// All three: STATUS_SYSTEM where stdout cannot be written. Where its reader has gone away *err stays empty: pass it on,
// main ends quietly.
enum status output_buf(struct buf *buf,
                       struct error *err) MUST_CHECK; // writes and frees it; also reports one that failed
enum status output_tables(const struct table *tables, size_t count, enum report_format format, bool as_array,
                          struct error *err) MUST_CHECK; // as report_tables
enum status output_finish(struct error *err) MUST_CHECK; // flushes; main calls it last
bool output_reader_left(void);
// For what report/ writes to stdout itself, where `path` is "-": the same after its failure with *err empty.
void output_note_reader(const char *path, enum status status, const struct error *err);
// Makes the file `path` of these bytes, or leaves what is there; "-": writes them to stdout. Errors: STATUS_USE (it exists, and may not be replaced), STATUS_SYSTEM.
enum status output_file(const char *path, const void *bytes, size_t size_bytes, bool may_replace,
                        struct error *err) MUST_CHECK;
// From here on no notes and no progress.
void output_be_quiet(void);
bool output_is_quiet(void);
// A message that says what was done, as asked for.
#define output_note(...) (output_is_quiet() ? (void)0 : output_message(__VA_ARGS__))
// One line on stderr, escaped like an error's. output_error prints *err the way main does.
void output_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
void output_error(const struct error *err);
// stderr is a terminal that shows colors, and NO_COLOR is not set.
bool output_has_colors(void);
// After a file was written: what to look at it with, on stderr.
void output_next(const char *path);
// A line on stderr that the next one replaces on a terminal; elsewhere a line every few seconds. NULL removes it.
void output_progress(const char *text, bool is_last);
// Of the file that a step reads, on a terminal, once that takes long. output_headway_end removes what was shown.
void output_headway(struct headway *headway, const char *path, uint64_t done_bytes, uint64_t total_bytes);
void output_headway_end(const struct headway *headway);
struct output_steps { // of what is done with a file
  struct headway headway;
  const char *path;
  const char *units; // "spans"; NULL: steps
};
void output_headway_step(void *context, uint64_t done, uint64_t total); // of a struct output_steps, for headway_watcher
// The same as lines that stay, for what has few of them and no terminal.
void output_progress_line(const char *text, bool is_last);
// Columns of stdout's terminal (COLUMNS wins); 0: no terminal, unlimited.
unsigned output_width(void);
// The first Ctrl-C, hang-up or plain kill calls `handler`, the next one ends the program. Ignored ones stay ignored.
void output_catch_signals(void (*handler)(int));
// Such a handler: removes unfinished files, private copies too, and ends the program by the signal.
void output_remove_unfinished(int signal_number);

// For what ends early and completes its file: 0; of Ctrl-C, SIGTERM and SIGHUP, unless ignored, the first sets 1, the next ones 2, once
// they are watched.
const volatile sig_atomic_t *output_interruptions(void);
void output_watch_interruptions(void);
// Returns `status` if no such signal came. Else prints *err where there is one, and ends xsp by the first signal.
enum status output_end_interrupted(enum status status, struct error *err);
// Ends xsp by that signal, SIGINT if none was watched, so that a shell's loop around it ends, too. All output must have been written.
_Noreturn void output_leave_interrupted(void);

#endif

// SPDX-License-Identifier: Apache-2.0
// Checked writes to stdout, messages to stderr. Called by the verbs and, last, by main. Never exits.
#include "programs/xsp/output.h"

#include "base/clock.h"
#include "base/file_place.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/scoped.h"
#include "data/data.h"
#include "report/display.h"
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MESSAGE_BYTES_MAXIMUM ((size_t)1 << 16) // longer messages are dropped

#define PROGRESS_EVERY_NS UINT64_C(5000000000) // unless stderr is a terminal

static bool reader_left, is_quiet, has_progress; // has_progress: on the terminal's last line
static bool has_data;                            // on a terminal, into which a line of progress must not be put

static void clear_progress(void)
{
  if (has_progress)
    fputs("\r\033[K", stderr);
  has_progress = false;
}

static enum status output_failed(struct error *err)
{
  if (errno == EPIPE) {
    reader_left = true;
    return STATUS_SYSTEM;
  }
  if (errno == EBADF) // main opened it for reading
    return error_set(err, STATUS_SYSTEM, "cannot write the output", "stdout", "again with > FILE", "it is closed");
  return error_set_errno(err, STATUS_SYSTEM, "cannot write the output", "stdout", "another place with room for it");
}

enum status output_buf(struct buf *buf, struct error *err)
{
  enum status status = STATUS_OK;
  clear_progress();
  has_data |= buf->length > 0 && isatty(STDOUT_FILENO) == 1;
  if (buf->failed)
    status = error_set(err, STATUS_MEMORY, "cannot hold the output", NULL, "asking for less, with --top or a limit",
                       "more than %zu bytes", BUF_MAXIMUM_DEFAULT);
  else if (!reader_left && buf->length > 0 && fwrite(buf->data, 1, buf->length, stdout) != buf->length)
    status = output_failed(err);
  buf_done(buf);
  return status == STATUS_OK ? output_finish(err) : status; // flushed: later messages come after it
}

enum status output_tables(const struct table *tables, size_t count, enum report_format format, bool as_array,
                          struct error *err)
{
  struct buf out = {0};
  report_tables(tables, count, format, as_array, output_width(), &out);
  return output_buf(&out, err);
}

enum status output_finish(struct error *err)
{
  if (reader_left)
    return STATUS_SYSTEM;
  if (fflush(stdout) != 0)
    return output_failed(err);
  return STATUS_OK;
}

void output_note_reader(const char *path, enum status status, const struct error *err)
{
  reader_left |= strcmp(path, "-") == 0 && status == STATUS_SYSTEM && err->what[0] == 0;
}

bool output_reader_left(void)
{
  return reader_left;
}

void output_be_quiet(void)
{
  is_quiet = true;
}

bool output_is_quiet(void)
{
  return is_quiet;
}

void output_message(const char *format, ...)
{
  char *line SCOPED(scoped_free) = NULL;
  va_list args;
  va_start(args, format);
  int length = vasprintf(&line, format, args);
  va_end(args);
  if (length < 0)
    memory_exhausted();
  struct buf escaped SCOPED(buf_done);
  buf_init(&escaped, MESSAGE_BYTES_MAXIMUM);
  display_escape(&escaped, line, (size_t)length);
  clear_progress();
  if (buf_text(&escaped, "\n"))
    fwrite(escaped.data, 1, escaped.length, stderr);
}

// For errors without advice of their own: each ends with a next step.
static const char *const common_advice[] = {
    [STATUS_NO] = "`xsp info FILE`, which lists what a file has",
    [STATUS_USE] = "`xsp help`",
    [STATUS_INPUT] = "another file, or the same one made anew",
    [STATUS_SYSTEM] = "`xsp check`, which lists what this machine has",
    [STATUS_MEMORY] = "again with more memory free",
};

// Of a file that is missing: the one of its folder with the nearest name.
static void advise_missing(struct error *err)
{
  const char *slash = strrchr(err->where, '/'), *name = slash != NULL ? slash + 1 : err->where;
  char folder[sizeof err->where], best[sizeof((struct dirent *)NULL)->d_name] = "";
  struct nearest nearest;
  snprintf(folder, sizeof folder, "%.*s", (int)(name - err->where), err->where);
  nearest_start(&nearest, name);
  DIR *files SCOPED(scoped_closedir) = opendir(folder[0] != 0 ? folder : ".");
  for (struct dirent *file; files != NULL && (file = readdir(files)) != NULL;) {
    if (!text_is_one_of(file->d_name, ".", ".."))
      nearest_offer(&nearest, file->d_name);
    if (nearest.best == file->d_name) // the next call replaces it
      nearest.best = memcpy(best, file->d_name, sizeof best);
  }
  nearest_advice(&nearest, folder, "a look at the name", err->advice, sizeof err->advice);
}

bool output_has_colors(void)
{
  const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
  return (no_color == NULL || no_color[0] == 0) && terminal != NULL && strcmp(terminal, "dumb") != 0 &&
         isatty(STDERR_FILENO) == 1;
}

void output_error(const struct error *err)
{
  struct error whole = *err;
  if (whole.advice[0] == 0 && whole.status == STATUS_INPUT && strcmp(whole.why, strerror(ENOENT)) == 0)
    advise_missing(&whole);
  if (whole.advice[0] == 0)
    snprintf(whole.advice, sizeof whole.advice, "%s", common_advice[err->status]);
  char line[4 * sizeof whole]; // an escape is four characters
  size_t length = error_line(&whole, line, sizeof line - 1);
  line[length++] = '\n';
  static const char name[] = "xsp:"; // begins the line
  size_t colored = output_has_colors() ? sizeof name - 1 : 0;
  clear_progress();
  if (colored > 0)
    fprintf(stderr, "\033[1;31m%s\033[0m", name);
  fwrite(line + colored, 1, length - colored, stderr);
}

void output_next(const char *path)
{
  output_note("next:    xsp analyze %s   (a summary)", path);
  output_note("         xsp report %s    (one page for the browser)", path);
}

void output_progress(const char *text, bool is_last)
{
  static uint64_t shown_ns;
  if (is_quiet)
    return;
  bool is_terminal = isatty(STDERR_FILENO) == 1;
  uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
  if (!is_terminal && (text == NULL || (now_ns - shown_ns < PROGRESS_EVERY_NS && !is_last)))
    return;
  shown_ns = now_ns;
  fprintf(stderr, "%s%s%s", is_terminal ? "\r\033[K" : "", text != NULL ? text : "",
          text == NULL || (is_terminal && !is_last) ? "" : "\n");
  has_progress = is_terminal && text != NULL && !is_last;
}

static void show_headway(const char *path, const char *text)
{
  const char *slash = strrchr(path, '/');
  struct buf line SCOPED(buf_done) = {0};
  buf_init(&line, MESSAGE_BYTES_MAXIMUM);
  display_escape(&line, slash != NULL ? slash + 1 : path, strlen(slash != NULL ? slash + 1 : path));
  buf_format(&line, ": %s", text);
  if (!line.failed)
    output_progress(line.data, false);
}

void output_headway(struct headway *headway, const char *path, uint64_t done_bytes, uint64_t total_bytes)
{
  char text[96];
  if (!is_quiet && output_has_colors() &&
      headway_bytes(headway, clock_now_ns(CLOCK_MONOTONIC), done_bytes, total_bytes, text, sizeof text))
    show_headway(path, text);
}

void output_headway_step(void *context, uint64_t done, uint64_t total)
{
  struct output_steps *steps = context;
  struct headway *headway = &steps->headway;
  char text[96];
  if (done >= total)
    output_headway_end(headway);
  else if (!is_quiet && !has_data && output_has_colors()) {
    uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
    if (steps->units != NULL ? headway_units(headway, steps->units, now_ns, done, total, text, sizeof text)
                             : headway_steps(headway, now_ns, done, total, text, sizeof text))
      show_headway(steps->path, text);
  }
}

void output_headway_end(const struct headway *headway)
{
  if (headway->shown_ns != 0)
    output_progress(NULL, true);
}

void output_progress_line(const char *text, bool is_last)
{
  if (text != NULL)
    output_message("xsp: %s", text);
}

unsigned output_width(void)
{
  const char *columns = getenv("COLUMNS");
  if (columns != NULL && columns[0] != 0) {
    char *end = NULL;
    unsigned long value = strtoul(columns, &end, 10);
    if (*end == 0 && value > 0 && value < 10000)
      return (unsigned)value;
  }
  struct winsize size;
  if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return 0;
}

void output_remove_unfinished(int signal_number)
{
  report_unfinished_remove();
  store_unfinished_remove();
  data_writer_unfinished_remove();
  raise(signal_number); // blocked until the handler is left; SA_RESETHAND made it the default again
}

enum status output_file(const char *path, const void *bytes, size_t size_bytes, bool may_replace, struct error *err)
{
  if (strcmp(path, "-") == 0)
    return fwrite(bytes, 1, size_bytes, stdout) == size_bytes ? output_finish(err) : output_failed(err);
  XSP_TRY(file_place_check(path, may_replace, err));
  return file_place_whole(path, bytes, size_bytes, may_replace)
             ? STATUS_OK
             : error_set_errno(err, STATUS_SYSTEM, "cannot write the file", path, "another -o");
}

static void catch_signals(void (*handler)(int), int flags)
{
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  const struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction before;
    if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) // nohup
      sigaction(numbers[i], &action, NULL);
  }
}

void output_catch_signals(void (*handler)(int))
{
  catch_signals(handler, (int)SA_RESETHAND);
}

static volatile sig_atomic_t interruptions, interrupted_by = SIGINT;

static void on_interruption(int number)
{
  if (interruptions == 0)
    interrupted_by = number;
  interruptions = interruptions == 0 ? 1 : 2;
}

const volatile sig_atomic_t *output_interruptions(void)
{
  return &interruptions;
}

void output_watch_interruptions(void)
{
  catch_signals(on_interruption, 0);
}

enum status output_end_interrupted(enum status status, struct error *err)
{
  if (interruptions == 0)
    return status;
  if (status == STATUS_OK)
    status = output_finish(err);
  if (status != STATUS_OK && !reader_left)
    output_error(err);
  output_leave_interrupted();
}

void output_leave_interrupted(void)
{
  int number = interrupted_by;
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, number);
  fflush(NULL);
  signal(number, SIG_DFL);
  raise(number);
  sigprocmask(SIG_UNBLOCK, &interrupt, NULL);
  exit(128 + number);
}

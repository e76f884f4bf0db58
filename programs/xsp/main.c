// SPDX-License-Identifier: Apache-2.0
// xsp: finds the verb, parses its options, runs it, turns its status into the exit status. Nothing else.
#include "base/debug.h"
#include "base/memory.h"
#include "base/slice.h"
#include "data/data.h"
#include "programs/xsp/output.h"
#include "programs/xsp/verb.h"
#include "programs/xsp/verb_help/help.h"
#include "report/report.h"
#include "store/store.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static int exit_code(enum status status, const struct verb *verb)
{
  if (verb != NULL && verb->wrong_use_status != 0 && status == STATUS_USE)
    return verb->wrong_use_status;
  return status_exit_code(status);
}

// A handler, not SIG_IGN: writes then fail with EPIPE here, and programs that are started get the default back.
static void on_broken_pipe(int signal_number)
{
}

static void remove_half_made_files(void)
{
  report_unfinished_remove();
  store_unfinished_remove();
  data_writer_unfinished_remove();
}

static enum status show_help(const struct verb *verb, struct error *err)
{
  struct buf text = {0};
  help_text(verb, output_width(), &text);
  return output_buf(&text, err);
}

// Of xsp alone: where to begin. Still wrong use, for a script whose verb is empty.
static enum status show_start(struct error *err)
{
  struct buf text = {0};
  help_start(&text);
  XSP_TRY(output_buf(&text, err));
  return STATUS_USE;
}

static enum status show_version(struct error *err)
{
  const struct verb *verb;
  XSP_TRY(verb_find("version", "xsp", &verb, err));
  return verb->run(&(struct invocation){.verb = verb}, err);
}

static enum status run_verb(const struct verb *verb, int count, char **texts, struct error *err)
{
  struct invocation invocation;
  enum status status = invocation_parse(verb, count, texts, &invocation, err);
  debug_stop(verb->name);
  if (status == STATUS_OK && invocation_has(&invocation, "quiet"))
    output_be_quiet();
  if (status == STATUS_OK && invocation_has(&invocation, "help"))
    status = show_help(verb, err);
  else if (status == STATUS_OK && invocation_has(&invocation, "version"))
    status = show_version(err);
  else if (status == STATUS_OK)
    status = verb->run(&invocation, err);
  invocation_done(&invocation);
  return status;
}

static enum status run(int argc, char **argv, const struct verb **ret_verb, struct error *err)
{
  if (argc < 2)
    return show_start(err);
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
    return show_help(NULL, err);
  const char *name = text_is_one_of(argv[1], "--version", "-V") ? "version" : argv[1];
  XSP_TRY(verb_find(name, "xsp", ret_verb, err));
  return run_verb(*ret_verb, argc - 2, argv + 2, err);
}

// Where a standard descriptor is closed, the next file opened would take its number, and be written to by what is meant
// for a person. Read only: writing to a closed stdout stays an error. Closed again in a program that is started.
static void fill_standard_descriptors(void)
{
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; number++)
    if (fcntl(number, F_GETFD) < 0)
      (void)open("/dev/null", O_RDONLY | O_CLOEXEC); // the lowest free number is this one
}

int main(int argc, char **argv)
{
  fill_standard_descriptors();
  memory_on_exhausted(remove_half_made_files);
  debug_start();
  setlocale(LC_CTYPE, "C.UTF-8"); // for the widths of characters; numbers stay in the C locale
  struct sigaction action = {.sa_handler = on_broken_pipe}, before;
  if (sigaction(SIGPIPE, NULL, &before) == 0 && before.sa_handler != SIG_IGN) // ignored: programs that are started, too
    sigaction(SIGPIPE, &action, NULL);
  struct error err = {0};
  const struct verb *verb = NULL;
  enum status status = run(argc, argv, &verb, &err);
  struct error finish_err = {0};
  enum status finish_status = output_finish(&finish_err);
  if (output_reader_left())
    return status == STATUS_NO ? status_exit_code(status) : 0;
  if (status != STATUS_OK && err.what[0] != 0)
    output_error(&err);
  if (finish_status != STATUS_OK && status != STATUS_SYSTEM) {
    output_error(&finish_err);
    status = finish_status;
  }
  return exit_code(status, verb);
}

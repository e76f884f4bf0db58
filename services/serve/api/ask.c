// SPDX-License-Identifier: Apache-2.0
// Runs xsp itself for a reply. Called through services/serve/routes.c; blocks until the program ended or its client left.
#include "serve/api/ask.h"

#include "analyze/analyze.h"
#include "base/arena.h"
#include "base/vector.h"
#include "http/connections.h"
#include "http/exchange.h"
#include "serve/kept.h"
#include "serve/server.h"
#include "serve/turn.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NICE 5 // receiving comes first
#define GRACE_MS 10000
#define MESSAGES_BYTES 4096

#define TYPE_COUNT ROUTE_COUNT
#define TYPE_TEXT ROUTE_TEXT
#define TYPE_PERCENT ROUTE_NUMBER
#define TYPE_FLAG ROUTE_FLAG
#define TYPE_LIST ROUTE_TEXT
const struct route_parameter ask_analysis_parameters[] = {
#define X(name, form, member, count, most, value_name, default_value, of, help) {name, TYPE_##form, help},
    ANALYZE_OPTIONS(X)
#undef X
        {0},
};
const struct route_parameter ask_report_parameters[] = {
    {"max-spans", ROUTE_COUNT, "Rectangles that the page holds"},
    {"run", ROUTE_TEXT, "Only these runs' spans: ids with commas between them"},
    {"range", ROUTE_TEXT, "Only spans that overlap this range: 1.2s-1.5s"},
    {0},
};

// ---- the process -----------------------------------------------------------------------------------------------------
// In a process group of its own, which a terminal's Ctrl-C does not reach: the requests in progress are still answered. One that is
// stopped gets SIGTERM first, so that it removes what it made.
int ask_run(const struct ask_command *command, struct child_text *messages, int *ret_status, bool *ret_is_stopped)
{
  struct child child;
  const struct child_command start = {.arguments = command->arguments,
                                      .program = "/proc/self/exe",
                                      .folder = command->folder,
                                      .input = CHILD_NULL,
                                      .output = command->output,
                                      .errors = CHILD_NULL,
                                      .errors_text = messages,
                                      .death_signal = SIGKILL,
                                      .nice = command->nice,
                                      .has_group = true};
  *ret_is_stopped = false;
  int failure = child_start(&start, &child);
  if (failure != 0)
    return failure;
  *ret_is_stopped = child_wait(&child, -1, &command->stop) == CHILD_STOP;
  *ret_status = child_end(&child, GRACE_MS);
  return 0;
}

// ---- its answer ------------------------------------------------------------------------------------------------------
// docs/exit-status.md
static unsigned status_of(int state)
{
  static const unsigned statuses[] = {200, 404, 400};
  unsigned code = WIFEXITED(state) ? (unsigned)WEXITSTATUS(state) : 3;
  return code < sizeof statuses / sizeof statuses[0] ? statuses[code] : 500;
}

static void reply(struct exchange *exchange, int state, int *output, const struct child_text *messages,
                  const char *type)
{
  struct slice line = child_last_line((struct slice){messages->bytes, messages->length});
  unsigned status = status_of(state);
  if (status == 200) {
    exchange_reply_file(exchange, status, type, *output, 0, (uint64_t)lseek(*output, 0, SEEK_END));
    *output = -1;
  } else if (WIFSIGNALED(state)) {
    exchange_refuse(exchange, status, "the answer took too much: xsp ended by signal %d", WTERMSIG(state));
  } else if (line.length > 0) {
    exchange_refuse(exchange, status, "%.*s", (int)line.length, line.data);
  } else {
    exchange_refuse(exchange, status, "xsp failed");
  }
}

// Runs `xsp ARGUMENT…`, which ends with NULL, in the folder.
static void run(struct exchange *exchange, const char *const *arguments, const char *type)
{
  struct child_text messages = {.most = MESSAGES_BYTES, .is_tail = true};
  bool is_left = false;
  int output SCOPED(scoped_close) = kept_temporary(serve_of(exchange)->folder), status = 0;
  const struct ask_command command = {.arguments = arguments,
                                      .folder = serve_of(exchange)->folder,
                                      .output = output,
                                      .nice = NICE,
                                      .stop = {.fd = exchange->connection->socket, .events = POLLRDHUP}};
  int failure = output < 0 ? errno : ask_run(&command, &messages, &status, &is_left);
  if (failure != 0)
    exchange_refuse_for_now(exchange, 10, "xsp cannot be started: %s", strerror(failure));
  else if (is_left)
    exchange_refuse_for_now(exchange, 1, "the client left");
  else
    reply(exchange, status, &output, &messages, type);
  free(messages.bytes);
}

// ---- handlers --------------------------------------------------------------------------------------------------------
// Arguments: VERB… NAME OPTION…, and `parameters` of the query as options.
static void ask(struct exchange *exchange, const char *const *arguments, const struct route_parameter *parameters,
                const char *type)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct stat facts;
  VECTOR(const char *) all SCOPED(vector_end) = {0};
  int file SCOPED(scoped_close) =
      kept_open(serve_of(exchange)->folder, exchange->parts[0], &facts); // no link, nor a name of something else
  if (file < 0) {
    exchange_refuse(exchange, 404, "there is no file %s", exchange->parts[0]);
    return;
  }
  *vector_add(&all) = "xsp";
  for (; *arguments != NULL; arguments++)
    *vector_add(&all) = *arguments;
  for (; parameters != NULL && parameters->name != NULL; parameters++) {
    const char *value = exchange_parameter(exchange, parameters->name);
    if (value != NULL && parameters->type != ROUTE_FLAG)
      *vector_add(&all) = arena_format(&arena, "--%s=%s", parameters->name, value);
    else if (value != NULL && strcmp(value, "true") == 0)
      *vector_add(&all) = arena_format(&arena, "--%s", parameters->name);
  }
  *vector_add(&all) = NULL;
  if (turn_take(exchange)) {
    run(exchange, all.items, type);
    turn_end(exchange);
  }
}

bool ask_to_make(struct exchange *exchange, const char *const *arguments)
{
  VECTOR(const char *) all = {0};
  *vector_add(&all) = "xsp";
  for (; *arguments != NULL; arguments++)
    *vector_add(&all) = *arguments;
  *vector_add(&all) = NULL;
  if (turn_take(exchange)) {
    run(exchange, all.items, "text/plain");
    turn_end(exchange);
  }
  vector_done(&all);
  if (exchange->status != 200)
    return false;
  close(exchange->reply_file); // empty
  exchange->reply_file = -1;
  exchange->status = 0;
  return true;
}

void ask_info(struct exchange *exchange)
{
  ask(exchange, (const char *const[]){"info", exchange->parts[0], "--json", NULL}, NULL, "application/json");
}

void ask_analysis(struct exchange *exchange)
{
  if (analyze_find(exchange->parts[1]) == NULL) {
    exchange_refuse(exchange, 404, "there is no analysis %s", exchange->parts[1]);
    return;
  }
  ask(exchange, (const char *const[]){"analyze", exchange->parts[1], exchange->parts[0], "--json", "--no-source", NULL},
      ask_analysis_parameters, "application/json");
}

// The page has its own policy, in its head: hashes of its scripts. A policy of the reply's would have to allow the same again.
void ask_report(struct exchange *exchange)
{
  exchange_add_header(exchange, "Content-Security-Policy", "frame-ancestors 'none'");
  ask(exchange, (const char *const[]){"report", exchange->parts[0], "-o", "-", "--no-source", NULL},
      ask_report_parameters, "text/html; charset=utf-8");
}

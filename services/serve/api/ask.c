// SPDX-License-Identifier: Apache-2.0
// Runs xsp itself for a reply. Called through services/serve/routes.c; blocks until the program ended or its client left.
#include "serve/api/ask.h"

#include "analyze/analyze.h"
#include "base/arena.h"
#include "base/slice.h"
#include "base/vector.h"
#include "http/connections.h"
#include "http/exchange.h"
#include "serve/kept.h"
#include "serve/server.h"
#include "serve/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NICE 5
#define POLL_MS 50 // where the kernel has no descriptors of processes (Linux < 5.3)

extern char **environ;

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
// In a process group of its own, which a terminal's Ctrl-C does not reach: the requests in progress are still answered.
int ask_start(int folder, char *const *arguments, int output, int errors, pid_t *ret_child)
{
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGXFSZ);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, errors, 2);
  posix_spawn_file_actions_addfchdir_np(&actions, folder);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  int failure = posix_spawn(ret_child, "/proc/self/exe", &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failure;
}

// Returns the wait status. A program whose client left gets SIGTERM, so that it removes what it made.
static int wait_for(const struct exchange *exchange, pid_t child, bool *ret_is_left)
{
  int process = (int)syscall(SYS_pidfd_open, child, 0), state = 0;
  struct pollfd waits[] = {{.fd = process, .events = POLLIN},
                           {.fd = exchange->connection->socket, .events = POLLRDHUP}};
  *ret_is_left = false;
  while (waitpid(child, &state, WNOHANG) == 0) {
    poll(waits, 2, process >= 0 ? -1 : POLL_MS);
    if (waits[1].revents == 0 || *ret_is_left)
      continue;
    *ret_is_left = true;
    waits[1].fd = -1;
    kill(child, SIGTERM);
  }
  if (process >= 0)
    close(process);
  return state;
}

// ---- its answer ------------------------------------------------------------------------------------------------------
// The last line that xsp wrote to stderr, without its name.
static void last_line(int errors, char *line, size_t size)
{
  char text[4096];
  off_t end = lseek(errors, 0, SEEK_END);
  off_t from = end > (off_t)sizeof text ? end - (off_t)sizeof text : 0;
  ssize_t count = pread(errors, text, sizeof text, from);
  struct slice rest = slice_trim((struct slice){text, count > 0 ? (size_t)count : 0}), part, last = {0};
  while (slice_cut(&rest, '\n', &part))
    last = part;
  if (slice_starts_with(last, "xsp: "))
    last = slice_after(last, strlen("xsp: "));
  snprintf(line, size, "%.*s", (int)last.length, last.data);
}

// docs/exit-status.md
static unsigned status_of(int state)
{
  static const unsigned statuses[] = {200, 404, 400};
  unsigned code = WIFEXITED(state) ? (unsigned)WEXITSTATUS(state) : 3;
  return code < sizeof statuses / sizeof statuses[0] ? statuses[code] : 500;
}

static void reply(struct exchange *exchange, int state, int *output, int errors, const char *type)
{
  char line[400];
  unsigned status = status_of(state);
  last_line(errors, line, sizeof line);
  if (status == 200) {
    exchange_reply_file(exchange, status, type, *output, 0, (uint64_t)lseek(*output, 0, SEEK_END));
    *output = -1;
  } else if (WIFSIGNALED(state)) {
    exchange_refuse(exchange, status, "the answer took too much: xsp ended by signal %d", WTERMSIG(state));
  } else {
    exchange_refuse(exchange, status, "%s", line[0] != 0 ? line : "xsp failed");
  }
}

// Runs `xsp ARGUMENT…`, which ends with NULL, in the folder.
static void run(struct exchange *exchange, const char *const *arguments, const char *type)
{
  struct serve *serve = serve_of(exchange);
  pid_t child;
  bool is_left;
  int output = kept_temporary(serve->folder), errors = kept_temporary(serve->folder);
  int failure = output < 0 || errors < 0 ? errno : 0;
  if (failure == 0)
    failure = ask_start(serve->folder, (char *const *)(uintptr_t)arguments, output, errors, &child);
  if (failure != 0) {
    exchange_refuse_for_now(exchange, 10, "xsp cannot be started: %s", strerror(failure));
  } else {
    (void)setpriority(PRIO_PROCESS, (id_t)child, NICE); // receiving comes first
    int state = wait_for(exchange, child, &is_left);
    if (is_left)
      exchange_refuse_for_now(exchange, 1, "the client left");
    else
      reply(exchange, state, &output, errors, type);
  }
  if (output >= 0)
    close(output);
  if (errors >= 0)
    close(errors);
}

// ---- handlers --------------------------------------------------------------------------------------------------------
// Arguments: VERB… NAME OPTION…, and `parameters` of the query as options.
static void ask(struct exchange *exchange, const char *const *arguments, const struct route_parameter *parameters,
                const char *type)
{
  struct arena arena = {0};
  struct stat facts;
  VECTOR(const char *) all = {0};
  int file = kept_open(serve_of(exchange)->folder, exchange->parts[0], &facts); // no link, nor a name of something else
  if (file < 0) {
    exchange_refuse(exchange, 404, "there is no file %s", exchange->parts[0]);
    return;
  }
  close(file);
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
  vector_done(&all);
  arena_done(&arena);
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
  ask(exchange, (const char *const[]){"analyze", exchange->parts[1], exchange->parts[0], "--json", NULL},
      ask_analysis_parameters, "application/json");
}

// The page has its own policy, in its head: hashes of its scripts. A policy of the reply's would have to allow the same again.
void ask_report(struct exchange *exchange)
{
  exchange_add_header(exchange, "Content-Security-Policy", "frame-ancestors 'none'");
  ask(exchange, (const char *const[]){"report", exchange->parts[0], "-o", "-", NULL}, ask_report_parameters,
      "text/html; charset=utf-8");
}

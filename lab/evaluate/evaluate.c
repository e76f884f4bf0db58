// SPDX-License-Identifier: Apache-2.0
// Runs `xsp evaluate` for a host program; see <xsp/evaluate.h>. A guest in the host: it prints nothing, changes no signal and waits for no
// other child than its own.
#include <xsp/evaluate.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_BYTES_MOST ((size_t)256 << 20)
#define ERROR_BYTES 2048

static _Thread_local char error[ERROR_BYTES];

struct text {
  char *bytes; // NUL-terminated; NULL: nothing came
  size_t length, room;
  bool failed; // no memory, or too long
};

uint32_t xsp_evaluate_version(void)
{
  return XSP_EVALUATE_VERSION;
}

const char *xsp_evaluate_error(void)
{
  return error;
}

void xsp_evaluate_free(char *json)
{
  free(json);
}

// In the build folder xsp lies next to the library; where it is installed in ../bin.
static void find_program(char path[PATH_MAX])
{
  static const char *const places[] = {"xsp", "../bin/xsp"};
  const char *own = getenv("XSP_PROGRAM");
  snprintf(path, PATH_MAX, "%s", own != NULL && own[0] != 0 ? own : "xsp"); // the last: in PATH
  Dl_info info;
  char real[PATH_MAX];
  if ((own != NULL && own[0] != 0) || dladdr(places, &info) == 0 || realpath(info.dli_fname, real) == NULL)
    return;
  const char *slash = strrchr(real, '/');
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    char beside[PATH_MAX];
    int length = snprintf(beside, sizeof beside, "%.*s/%s", (int)(slash - real), real, places[i]);
    if (length < PATH_MAX && access(beside, X_OK) == 0) {
      memcpy(path, beside, (size_t)length + 1);
      return;
    }
  }
}

// ---- the process -----------------------------------------------------------------------------------------------------
// Between fork and exec of a program with threads: calls that are safe in a signal handler.
__attribute__((noreturn)) static void become(const char *program, const char *const *arguments, int output,
                                             int messages, pid_t host)
{
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (getppid() == host && null_fd >= 0 && dup2(null_fd, 0) == 0 && dup2(output, 1) == 1 && dup2(messages, 2) == 2)
    execvp(program, (char *const *)(uintptr_t)arguments);
  static const char text[] = "xsp could not be started\n";
  (void)!write(messages, text, sizeof text - 1);
  _exit(127);
}

static void take(struct text *text, int from, bool *is_open)
{
  char part[1 << 14];
  ssize_t got = read(from, part, sizeof part);
  if (got <= 0) {
    *is_open = got < 0 && errno == EINTR;
    return;
  }
  if (text->length + (size_t)got + 1 > text->room) {
    size_t room = 2 * (text->length + (size_t)got + 1);
    char *bytes = room <= TEXT_BYTES_MOST ? realloc(text->bytes, room) : NULL;
    text->failed |= bytes == NULL;
    if (bytes == NULL)
      return;
    text->bytes = bytes;
    text->room = room;
  }
  memcpy(text->bytes + text->length, part, (size_t)got);
  text->length += (size_t)got;
  text->bytes[text->length] = 0;
}

static void read_both(int output, int messages, struct text *json, struct text *told)
{
  bool is_open[] = {true, true};
  while (is_open[0] || is_open[1]) {
    struct pollfd waits[] = {{.fd = is_open[0] ? output : -1, .events = POLLIN},
                             {.fd = is_open[1] ? messages : -1, .events = POLLIN}};
    if (poll(waits, 2, -1) < 0 && errno != EINTR)
      return;
    if (waits[0].revents != 0)
      take(json, output, &is_open[0]);
    if (waits[1].revents != 0)
      take(told, messages, &is_open[1]);
  }
}

// The last line of what it wrote to stderr.
static void keep_message(const struct text *told, int state)
{
  const char *bytes = told->bytes != NULL ? told->bytes : "";
  size_t end = strlen(bytes);
  while (end > 0 && bytes[end - 1] == '\n')
    end--;
  size_t start = end;
  while (start > 0 && bytes[start - 1] != '\n')
    start--;
  if (end > start)
    snprintf(error, sizeof error, "%.*s", (int)(end - start < ERROR_BYTES ? end - start : ERROR_BYTES), bytes + start);
  else if (WIFSIGNALED(state))
    snprintf(error, sizeof error, "xsp was ended by signal %d", WTERMSIG(state));
  else
    snprintf(error, sizeof error, "xsp ended with status %d", WEXITSTATUS(state));
}

static int fail(const char *what)
{
  int number = errno;
  snprintf(error, sizeof error, "%s: %s", what, strerror(number));
  return number == ENOMEM ? XSP_EVALUATE_MEMORY : XSP_EVALUATE_SYSTEM;
}

static int run(const char *program, const char *const *arguments, struct text *json)
{
  int output[2], messages[2], state = 0;
  struct text told = {0};
  if (pipe2(output, O_CLOEXEC) != 0)
    return fail("cannot start xsp");
  if (pipe2(messages, O_CLOEXEC) != 0) {
    int status = fail("cannot start xsp");
    close(output[0]);
    close(output[1]);
    return status;
  }
  pid_t host = getpid(), child = fork();
  int status = child < 0 ? fail("cannot start xsp") : XSP_EVALUATE_OK;
  if (child == 0)
    become(program, arguments, output[1], messages[1], host);
  close(output[1]);
  close(messages[1]);
  if (child > 0) {
    read_both(output[0], messages[0], json, &told);
    pid_t ended;
    while ((ended = waitpid(child, &state, 0)) < 0 && errno == EINTR)
      ;
    if (ended < 0) // the host ignores SIGCHLD, or waits for any child
      status = fail("how xsp ended is not known");
    else if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) {
      keep_message(&told, state);
      int code = WIFEXITED(state) ? WEXITSTATUS(state) : XSP_EVALUATE_SYSTEM;
      status = code <= XSP_EVALUATE_SYSTEM ? code : XSP_EVALUATE_SYSTEM;
    }
  }
  close(output[0]);
  close(messages[0]);
  free(told.bytes);
  return status;
}

int xsp_evaluate(const char *const *arguments, char **ret_json)
{
  char program[PATH_MAX];
  size_t count = 0;
  struct text json = {0};
  *ret_json = NULL;
  error[0] = 0;
  while (arguments[count] != NULL)
    count++;
  const char **list = calloc(count + 5, sizeof *list);
  if (list == NULL)
    return fail("cannot start xsp");
  find_program(program);
  list[0] = program;
  list[1] = "evaluate";
  memcpy(list + 2, arguments, count * sizeof *list);
  list[count + 2] = "--json";
  list[count + 3] = "--quiet";
  int status = run(program, list, &json);
  free(list);
  if (status == XSP_EVALUATE_OK && json.failed) {
    snprintf(error, sizeof error, "there is no memory for the tables");
    status = XSP_EVALUATE_MEMORY;
  }
  if (status != XSP_EVALUATE_OK) {
    free(json.bytes);
    return status;
  }
  *ret_json = json.bytes != NULL ? json.bytes : calloc(1, 1);
  return XSP_EVALUATE_OK;
}

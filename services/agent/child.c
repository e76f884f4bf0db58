// SPDX-License-Identifier: Apache-2.0
// Starts xsp for an evaluation, and waits for it. Called by queue.c.
#include "agent/child.h"

#include "base/memory.h"
#include "base/slice.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 500
#define LOOK_OFTEN_MS 20 // where the kernel has no descriptors of processes (Linux < 5.3)

extern char **environ;

// Without the registry's password, which is no business of models.
static char **environment(void)
{
  size_t count = 0, kept = 0;
  while (environ[count] != NULL)
    count++;
  char **texts = memory_new(count + 1, sizeof *texts);
  for (size_t i = 0; i < count; i++)
    if (!text_begins_with(environ[i], "ETCDCTL_USER="))
      texts[kept++] = environ[i];
  return texts;
}

// After a fork among threads: system calls only.
_Noreturn static void become(char *const *arguments, char *const *variables, int folder, int output, int errors,
                             pid_t parent)
{
  sigset_t none;
  sigemptyset(&none);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) // it ended before prctl took effect
    _exit(127);
  int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0)
    dup2(nothing, 0);
  if (dup2(output, 1) < 0 || dup2(errors, 2) < 0 || fchdir(folder) != 0)
    _exit(127);
  (void)close_range(3, ~0u, CLOSE_RANGE_CLOEXEC); // sockets of libraries; Linux < 5.11 keeps them
  signal(SIGXFSZ, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, NULL);
  execve("/proc/self/exe", arguments, variables);
  _exit(127);
}

static int make_file(int folder, const char *name)
{
  return folder >= 0 ? openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
}

enum status child_start(char *const *arguments, const char *folder, const char *output, const char *errors,
                        struct child *ret_child, struct error *err)
{
  *ret_child = (struct child){.descriptor = -1};
  int place = mkdir(folder, 0700) == 0 ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  int files[] = {make_file(place, output), make_file(place, errors)};
  char **variables = environment();
  pid_t parent = getpid(), process = files[0] >= 0 && files[1] >= 0 ? fork() : -1;
  if (process == 0)
    become(arguments, variables, place, files[0], files[1], parent);
  enum status status = STATUS_OK;
  free(variables);
  if (process > 0) {
    setpgid(process, process); // both do it: whoever comes first
    ret_child->process = process;
    ret_child->descriptor = (int)syscall(SYS_pidfd_open, process, 0);
  } else {
    status = error_set_errno(err, STATUS_SYSTEM, "cannot start xsp evaluate", folder, "TMPDIR=FOLDER with more room");
  }
  for (size_t i = 0; i < 2; i++)
    if (files[i] >= 0)
      close(files[i]);
  if (place >= 0)
    close(place);
  return status;
}

bool child_has_ended(const struct child *child)
{
  siginfo_t info = {0};
  struct pollfd wait = {.fd = child->descriptor, .events = POLLIN};
  poll(&wait, 1, child->descriptor >= 0 ? LOOK_MS : LOOK_OFTEN_MS);
  return waitid(P_PID, (id_t)child->process, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

int child_reap(struct child *child)
{
  int how = 0;
  while (waitpid(child->process, &how, 0) < 0 && errno == EINTR)
    continue;
  if (child->descriptor >= 0)
    close(child->descriptor);
  return how;
}

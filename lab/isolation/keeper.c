// SPDX-License-Identifier: Apache-2.0
// The keeper: the process between xsp and the isolated one. It has a mount namespace of its own, in which it makes the root file system,
// so that its mounts end with it. It lets runc start the process, waits, and takes everything away. One thread; no code of it runs
// in xsp itself, except isolation_end_create, _free and _explain.
#include "base/scoped.h"
#include "isolation/bundle.h"
#include "isolation/isolation.h"

#include "base/child.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/small_file.h"
#include "base/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifndef MOUNT_ATTR_RDONLY // glibc before 2.36; from then on the two headers do not go together
#include <linux/mount.h>
#endif

#define CONTAINER "runner" // its name in a state folder of its own

enum end_kind { END_OWN, END_NOT_STARTED, END_MEMORY, END_MEMORY_AROUND, END_TIME };

struct isolation_end {
  enum end_kind how;
  char memory_events[512]; // file that counts processes killed for memory; "": none found
};

struct keeper {
  const struct isolation *isolation;
  const struct isolation_process *process;
  char folder[200];       // the bundle
  char cgroup[512];       // as runc gets it
  char outer_cgroup[512]; // the folder of the group around it; "": none (cgroup version 1)
  pid_t init;             // the isolated process, a child by adoption; 0: none
  int lock;               // on the folder: it is in use
  bool is_orphan;         // xsp is gone
};

// ---- in xsp ----------------------------------------------------------------------------------------------------------

struct isolation_end *isolation_end_create(void)
{
  void *memory = mmap(NULL, sizeof(struct isolation_end), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    memory_exhausted();
  return memory;
}

void isolation_end_free(struct isolation_end *end)
{
  if (end != NULL)
    munmap(end, sizeof *end);
}

static unsigned long count_in(const char *text, const char *name)
{
  const char *at = strstr(text, name);
  return at != NULL ? strtoul(at + strlen(name), NULL, 10) : 0;
}

// How it ended, if a process of the container was killed for memory; its cgroup has to be there. The kernel counts those that it killed
// for the container's own limit, for one around it, and for the machine's; version 2 also counts how often its own was reached.
static enum end_kind end_by_memory(const struct isolation *isolation, const struct isolation_end *end)
{
  char text[1024];
  if (end->how != END_OWN || end->memory_events[0] == 0 ||
      small_file_read(end->memory_events, text, sizeof text) == 0 || count_in(text, "oom_kill ") == 0)
    return end->how;
  bool is_own = isolation->memory_bytes > 0 && (strstr(text, "\noom ") == NULL || count_in(text, "\noom ") > 0);
  return is_own ? END_MEMORY : END_MEMORY_AROUND;
}

bool isolation_explain(const struct isolation *isolation, const struct isolation_end *end, const char *output,
                       struct error *err)
{
  const char *where = isolation->container;
  enum end_kind how = end_by_memory(isolation, end);
  if (how == END_MEMORY)
    (void)!error_set(err, STATUS_SYSTEM, "the runner was killed", where, "a larger --memory, or a smaller --batch",
                     "it needed more than the %" PRId64 " bytes of --memory", isolation->memory_bytes);
  else if (how == END_MEMORY_AROUND)
    (void)!error_set(err, STATUS_SYSTEM, "the runner was killed", where,
                     "a smaller --batch, more memory, or a larger limit of xsp's own cgroup",
                     "the machine's memory ran out, or that of a cgroup around it");
  else if (how == END_TIME)
    (void)!error_set(err, STATUS_SYSTEM, "the runner was killed", where, "a larger --time-limit, or a smaller --limit",
                     "it ran longer than the %u s of --time-limit", isolation->time_limit_s);
  else if (how == END_NOT_STARTED)
    (void)!error_set(err, STATUS_SYSTEM, "the runner could not be isolated", where,
                     "without --isolate; docs/isolation.md has what runc needs", "%s", output);
  return how != END_OWN;
}

// ---- its folder and mounts ---------------------------------------------------------------------------------------------

static bool failed(const char *what)
{
  dprintf(STDERR_FILENO, "cannot %s: %s\n", what, strerror(errno));
  return false;
}

static void path_in(const struct keeper *keeper, const char *name, char path[256])
{
  snprintf(path, 256, "%s/%s", keeper->folder, name);
}

// Version 2: beside the group of xsp, which has processes and so can't have limited groups inside, and a group in a group. systemd
// takes controllers, and with them the limits, away from a group that it did not make (at `systemctl daemon-reload`); it can't where
// that group has passed them on.
static void name_cgroup(struct keeper *keeper)
{
  char text[4096], *line, *rest = text;
  snprintf(keeper->cgroup, sizeof keeper->cgroup, "xsp-%d", (int)getpid());
  if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) != 0 ||
      small_file_read("/proc/self/cgroup", text, sizeof text) == 0)
    return;
  while ((line = strsep(&rest, "\n")) != NULL)
    if (strncmp(line, "0::/", 4) == 0 && strlen(line) < 400) {
      *strrchr(line, '/') = 0;
      snprintf(keeper->cgroup, sizeof keeper->cgroup, "%s/xsp-%d/runner", line + 3, (int)getpid());
      snprintf(keeper->outer_cgroup, sizeof keeper->outer_cgroup, "/sys/fs/cgroup%s/xsp-%d", line + 3, (int)getpid());
    }
}

static bool make_folders(struct keeper *keeper)
{
  static const char *const names[] = {"rootfs", "scratch", "state"};
  const char *base = getenv("TMPDIR");
  char path[256];
  int length = snprintf(keeper->folder, sizeof keeper->folder, "%s/xsp-isolation-XXXXXX",
                        base != NULL && base[0] == '/' ? base : "/tmp");
  if ((size_t)length >= sizeof keeper->folder || mkdtemp(keeper->folder) == NULL) {
    keeper->folder[0] = 0;
    return failed("make a folder in TMPDIR");
  }
  keeper->lock = open(keeper->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  (void)flock(keeper->lock,
              LOCK_EX); // for `xsp recover`, which lists those that are left and holds their locks for an instant
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    path_in(keeper, names[i], path);
    if (mkdir(path, 0700) != 0)
      return failed("make a folder in TMPDIR");
  }
  name_cgroup(keeper);
  return true;
}

static bool mount_host(const char *root)
{
  struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};
  if (mount("/", root, NULL, MS_BIND | MS_REC, NULL) != 0)
    return failed("mount the host's file system");
  return syscall(SYS_mount_setattr, AT_FDCWD, root, AT_RECURSIVE, &attributes, sizeof attributes) == 0 ||
         failed("make the host's file system read-only (Linux 5.12 can)");
}

// What runc makes in it, places of mounts, is in memory: the container itself stays as it is.
static bool mount_container(const struct keeper *keeper, const char *root)
{
  char scratch[256], upper[300], work[300], options[PATH_MAX + 700];
  path_in(keeper, "scratch", scratch);
  snprintf(upper, sizeof upper, "%s/upper", scratch);
  snprintf(work, sizeof work, "%s/work", scratch);
  if (mount("tmpfs", scratch, "tmpfs", MS_NOSUID | MS_NODEV, "size=16m") != 0 || mkdir(upper, 0755) != 0 ||
      mkdir(work, 0755) != 0)
    return failed("make a file system in memory");
  snprintf(options, sizeof options, "lowerdir=%s,upperdir=%s,workdir=%s", keeper->isolation->root, upper, work);
  return mount("overlay", root, "overlay", MS_NODEV | MS_NOSUID, options) == 0 ||
         failed("mount the container's file system (overlay)");
}

static bool mount_root(const struct keeper *keeper)
{
  char root[256];
  path_in(keeper, "rootfs", root);
  if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
    return failed("make a mount namespace");
  return keeper->isolation->root != NULL ? mount_container(keeper, root) : mount_host(root);
}

static bool write_config(const struct keeper *keeper)
{
  char path[256];
  struct buf text SCOPED(buf_done) = {0};
  path_in(keeper, "config.json", path);
  bundle_describe(keeper->isolation, keeper->process, keeper->cgroup, &text);
  int file SCOPED(scoped_close) = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  return (file >= 0 && transfer_write(file, text.data, text.length)) || failed("write config.json in TMPDIR");
}

// Nothing below a mount is ever removed: only files and empty folders of the keeper's own.
static void remove_folders(const struct keeper *keeper)
{
  static const char *const names[] = {"rootfs", "scratch", ("state/" CONTAINER), "state"};
  char path[256];
  if (keeper->folder[0] == 0)
    return;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    path_in(keeper, names[i], path);
    umount2(path, MNT_DETACH);
    rmdir(path);
  }
  folder_remove_flat(keeper->folder);
}

// ---- runc --------------------------------------------------------------------------------------------------------------

// Runs `runc --root STATE arguments…` and waits for it. Its messages become those of the process.
static bool run_runtime(const struct keeper *keeper, const char *const *arguments)
{
  char state[256];
  const char *command[16] = {keeper->isolation->runtime, "--root", state};
  size_t count = 3;
  path_in(keeper, "state", state);
  while (*arguments != NULL)
    command[count++] = *arguments++;
  struct child child;
  errno = child_start(
      &(struct child_command){.arguments = command, .kept = {ISOLATION_CONTROL_FD, ISOLATION_VALUES_FD}}, &child);
  if (errno != 0)
    return failed("start runc");
  (void)child_wait(&child, -1, NULL);
  return child_end(&child, 0) == 0;
}

// Where the kernel counts the processes of its cgroup that it killed for memory: cgroup version 1, then 2.
static void find_memory_events(const struct keeper *keeper)
{
  struct isolation_end *end = keeper->process->end;
  char path[64], text[4096], *line, *rest = text;
  snprintf(path, sizeof path, "/proc/%d/cgroup", (int)keeper->init);
  if (small_file_read(path, text, sizeof text) == 0)
    return;
  while ((line = strsep(&rest, "\n")) != NULL) {
    const char *memory = strstr(line, ":memory:");
    if (memory != NULL)
      snprintf(end->memory_events, sizeof end->memory_events, "/sys/fs/cgroup/memory%s/memory.oom_control",
               memory + strlen(":memory:"));
    else if (strncmp(line, "0::", 3) == 0 && end->memory_events[0] == 0)
      snprintf(end->memory_events, sizeof end->memory_events, "/sys/fs/cgroup%s/memory.events", line + 3);
  }
}

static bool start(struct keeper *keeper)
{
  char pid_file[256], text[32];
  path_in(keeper, "pid", pid_file);
  const char *const run[] = {"run",    "--detach", "--preserve-fds", "2",       "--pid-file",
                             pid_file, "--bundle", keeper->folder,   CONTAINER, NULL};
  if (!run_runtime(keeper, run) || !small_file_line(pid_file, text, sizeof text))
    return false;
  keeper->init = (pid_t)strtol(text, NULL, 10);
  find_memory_events(keeper);
  return true;
}

// ---- its life ----------------------------------------------------------------------------------------------------------

static int64_t now_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

// Until the process ends, which it also brings about. Returns its wait status.
static int watch(struct keeper *keeper, const sigset_t *signals)
{
  const unsigned limit_s = keeper->isolation->time_limit_s;
  int64_t end_s = now_s() + limit_s;
  int how = 0;
  for (;;) {
    pid_t ended = waitpid(-1, &how, WNOHANG); // also what the process leaves behind
    if (ended == keeper->init)
      return how;
    if (ended > 0)
      continue;
    const struct timespec wait = {.tv_sec = limit_s > 0 && end_s > now_s() ? end_s - now_s() : limit_s > 0 ? 0 : 3600};
    int signal_number = sigtimedwait(signals, NULL, &wait);
    keeper->is_orphan = getppid() != keeper->process->owner;
    bool is_late = signal_number < 0 && errno == EAGAIN && limit_s > 0 && now_s() >= end_s;
    if (is_late && keeper->process->end->how == END_OWN)
      keeper->process->end->how = END_TIME;
    if (signal_number == SIGTERM || keeper->is_orphan || is_late)
      kill(keeper->init, SIGKILL); // the first process of its namespace: all others end, too
  }
}

static void take_away(const struct keeper *keeper)
{
  const char *const remove[] = {"delete", "--force", CONTAINER, NULL};
  char state[256];
  path_in(keeper, "state/" CONTAINER, state);
  if (access(state, F_OK) == 0)
    (void)run_runtime(keeper, remove);
  if (keeper->outer_cgroup[0] != 0)
    rmdir(keeper->outer_cgroup);
  remove_folders(keeper);
  if (keeper->is_orphan)
    folder_remove_flat(keeper->process->work_folder);
}

// To 3 and 4, and nothing else stays open: neither the other end of the control socket nor files of xsp.
static void place_descriptors(const struct isolation_process *process)
{
  int control = fcntl(process->control, F_DUPFD, 10), values = fcntl(process->values, F_DUPFD, 10);
  dup2(control, ISOLATION_CONTROL_FD);
  dup2(values, ISOLATION_VALUES_FD);
  syscall(SYS_close_range, ISOLATION_VALUES_FD + 1, ~0u, 0);
}

_Noreturn static void end_as(int how)
{
  if (!WIFSIGNALED(how))
    _exit(WEXITSTATUS(how));
  sigset_t all;
  setrlimit(RLIMIT_CORE, &(struct rlimit){0});
  signal(WTERMSIG(how), SIG_DFL);
  sigfillset(&all);
  sigprocmask(SIG_UNBLOCK, &all, NULL);
  kill(getpid(), WTERMSIG(how));
  _exit(128 + WTERMSIG(how));
}

_Noreturn void isolation_keep(const struct isolation *isolation, const struct isolation_process *process)
{
  struct keeper keeper = {.isolation = isolation, .process = process};
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGTERM);
  signal(SIGCHLD, SIG_DFL);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  place_descriptors(process);
  int how = 0;
  if (make_folders(&keeper) && write_config(&keeper) && mount_root(&keeper) && start(&keeper)) {
    close(ISOLATION_CONTROL_FD);
    close(ISOLATION_VALUES_FD);
    how = watch(&keeper, &signals);
    process->end->how = end_by_memory(isolation, process->end);
  } else {
    process->end->how = END_NOT_STARTED;
    how = 127 << 8;
  }
  take_away(&keeper);
  end_as(how);
}

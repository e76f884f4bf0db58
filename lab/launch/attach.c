// SPDX-License-Identifier: Apache-2.0
// Finds libxsp.so's block in another process, and writes the question into it. Called by execute.c and `xsp run --pid`.
// Whatever the process's memory holds is only compared and copied.
#include "launch/attach.h"

#include "base/clock.h"
#include "base/debug.h"
#include "base/memory.h"
#include "base/proc.h"
#include "base/scoped.h"
#include "base/small_file.h"
#include "launch/install.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define DATA_MOST (UINT64_C(64) << 20) // of one library or program
#define SLICE_NS INT64_C(50000000)
#define WITHDRAW_PAUSE_NS 2000000
#define WITHDRAW_PAUSES 500 // a thread that takes the question needs some 100 µs
#define WHAT "cannot attach to the process"

// ---- its memory --------------------------------------------------------------------------------------------------------
static bool copy_in(const struct attached *attached, uint64_t address, void *bytes, size_t size)
{
  struct iovec here = {bytes, size}, there = {(void *)(uintptr_t)address, size};
  return process_vm_readv(attached->process, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static bool copy_out(const struct attached *attached, size_t offset, const void *bytes, size_t size)
{
  struct iovec here = {(void *)(uintptr_t)bytes, size}, there = {(void *)(uintptr_t)(attached->address + offset), size};
  return process_vm_writev(attached->process, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static bool is_block(const struct attached *attached, uint64_t address, struct attach_block *ret_block)
{
  static const uint8_t magic[] = ATTACH_MAGIC;
  return copy_in(attached, address, ret_block, sizeof *ret_block) &&
         memcmp(ret_block->magic, magic, sizeof magic) == 0 && (uint64_t)(uintptr_t)ret_block->self == address &&
         ret_block->size == sizeof *ret_block && memchr(ret_block->directory, 0, sizeof ret_block->directory) != NULL;
}

// A block in bytes that lie at `begin` in the process.
static bool find_in(struct attached *attached, uint64_t begin, uint64_t size, struct attach_block *ret_block)
{
  static const uint8_t magic[] = ATTACH_MAGIC;
  char *bytes SCOPED(scoped_free) = memory_new(1, size);
  bool is_found = false;
  const char *at = copy_in(attached, begin, bytes, size) ? memmem(bytes, size, magic, sizeof magic) : NULL;
  while (at != NULL && !is_found) {
    attached->address = begin + (uint64_t)(at - bytes);
    is_found = is_block(attached, attached->address, ret_block);
    at = memmem(at + 1, size - (size_t)(at + 1 - bytes), magic, sizeof magic);
  }
  return is_found;
}

// The block is data with a value at the start, so it lies where a file is mapped writable.
static bool find_block(struct attached *attached, FILE *maps, struct attach_block *ret_block)
{
  char *line SCOPED(scoped_free) = NULL;
  size_t room = 0;
  bool is_found = false;
  while (!is_found && getline(&line, &room, maps) > 0) {
    uint64_t begin, end;
    char allowed[5], first = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %c", &begin, &end, allowed, &first) == 4 &&
        strcmp(allowed, "rw-p") == 0 && first == '/' && end > begin && end - begin <= DATA_MOST)
      is_found = find_in(attached, begin, end - begin, ret_block);
  }
  return is_found;
}

// ---- whether it may join -----------------------------------------------------------------------------------------------
static enum status refuse_access(const char *name, int error, struct error *err)
{
  char scope[16] = "";
  (void)small_file_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
  bool is_yama = error == EPERM && scope[0] != '\0' && scope[0] != '0';
  if (!is_yama) {
    errno = error;
    return error_set_errno(err, STATUS_INPUT, WHAT, name,
                           "as root, or a process that may be traced (prctl PR_SET_DUMPABLE)");
  }
  return error_set(err, STATUS_INPUT, WHAT, name,
                   scope[0] == '3' ? "a start with `xsp run`; this machine allows it to nobody until its next start"
                                   : "as root, or sysctl kernel.yama.ptrace_scope=0",
                   "this machine lets only a parent trace a process (kernel.yama.ptrace_scope is %s)", scope);
}

static bool is_same(const char *left, const char *right)
{
  struct stat a, b;
  return stat(left, &a) != 0 || stat(right, &b) != 0 || (a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

static enum status check_place(pid_t process, const char *name, struct error *err)
{
  char path[64];
  struct stat facts;
  snprintf(path, sizeof path, "/proc/%ld", (long)process);
  char state = proc_state(process, NULL);
  if (state == 0 || state == 'Z' || state == 'X' || stat(path, &facts) != 0)
    return error_set(err, STATUS_INPUT, WHAT, name, "its number, as ps shows it", "there is no such process");
  if (facts.st_uid != geteuid())
    return error_set(err, STATUS_INPUT, WHAT, name, "as that user", "it is user %u's, or may not be traced",
                     (unsigned)facts.st_uid);
  static const char *const spaces[] = {"mnt", "pid"};
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
    char own[64];
    snprintf(path, sizeof path, "/proc/%ld/ns/%s", (long)process, spaces[i]);
    snprintf(own, sizeof own, "/proc/self/ns/%s", spaces[i]);
    if (!is_same(path, own))
      return error_set(err, STATUS_INPUT, WHAT, name, "xsp inside the container", "it is in a container");
  }
  if (proc_seccomp(process) > proc_seccomp(getpid())) // joining opens files: what it may do is not known here
    return error_set(err, STATUS_INPUT, WHAT, name, "a start with `xsp run`, which joins before the filter",
                     "it has a seccomp filter, which may end it when it joins");
  return STATUS_OK;
}

static enum status refuse_without_library(const char *name, struct error *err)
{
  char library[PATH_MAX] = "libxsp.so";
  char advice[PATH_MAX + 128];
  struct error missing = {0};
  if (install_find("libxsp.so", library, sizeof library, &missing) != STATUS_OK)
    strcpy(library, "libxsp.so");
  snprintf(advice, sizeof advice, "a start with `xsp run`, or with LD_PRELOAD=%.100s, which records nothing until then",
           library);
  return error_set(err, STATUS_INPUT, WHAT, name, advice,
                   "it was started without libxsp.so of this version, and xsp puts no code into a program that runs");
}

// Held until attach_close: two xsp that write into one block would undo each other. The kernel forgets the name with its xsp.
static enum status lock_process(struct attached *attached, const char *name, struct error *err)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX}; // the name begins with a zero byte: it is in no folder
  int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "xsp-attach-%s", name);
  attached->lock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (attached->lock >= 0 && bind(attached->lock, (struct sockaddr *)&address,
                                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0)
    return STATUS_OK;
  return errno == EADDRINUSE
             ? error_set(err, STATUS_SYSTEM, WHAT, name, "again when that xsp has ended", "another xsp records it")
             : error_set_errno(err, STATUS_SYSTEM, WHAT, name, NULL);
}

enum status attach_open(pid_t process, struct attached *ret_attached, struct error *err)
{
  char name[24], path[64];
  *ret_attached = (struct attached){.process = process, .handle = -1, .lock = -1};
  snprintf(name, sizeof name, "%ld", (long)process);
  XSP_TRY(check_place(process, name, err));
  XSP_TRY(lock_process(ret_attached, name, err));
  ret_attached->handle = (int)syscall(SYS_pidfd_open, process, 0);
  if (ret_attached->handle < 0)
    return error_set_errno(err, STATUS_INPUT, WHAT, name, NULL);
  snprintf(path, sizeof path, "/proc/%ld/maps", (long)process);
  FILE *maps SCOPED(scoped_fclose) = fopen(path, "re");
  if (maps == NULL)
    return refuse_access(name, errno, err);
  struct attach_block block;
  char byte;
  bool is_found = find_block(ret_attached, maps, &block);
  errno = 0; // nothing lies at address 0: EFAULT, where reading is allowed at all
  if (!is_found && !copy_in(ret_attached, 0, &byte, 1) && errno == EPERM)
    return refuse_access(name, errno, err);
  if (!is_found)
    return refuse_without_library(name, err);
  bool is_asked = block.state == ATTACH_JOINED || block.state == ATTACH_ASKED || block.state == ATTACH_BUSY;
  if (is_asked && access(block.directory, F_OK) == 0)
    memcpy(ret_attached->session, block.directory, sizeof block.directory);
  else if (block.state == ATTACH_JOINED)
    return error_set(err, STATUS_INPUT, WHAT, name, "a new start of it",
                     "it was in a session that has ended, and a process joins one in its life");
  return STATUS_OK;
}

char **attach_command(pid_t process, struct arena *arena)
{
  char path[64], text[4096];
  snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)process);
  size_t size = small_file_read(path, text, sizeof text), count = 0;
  if (size == 0) {
    snprintf(path, sizeof path, "/proc/%ld/comm", (long)process);
    if (!small_file_line(path, text, sizeof text))
      return NULL;
    size = strlen(text);
  }
  text[size] = '\0';
  char *copy = arena_copy(arena, text, size);
  char **command = arena_alloc_array(arena, size + 2, sizeof *command);
  for (size_t at = 0; at < size; at += strlen(copy + at) + 1)
    command[count++] = copy + at;
  command[count] = NULL;
  return command;
}

// Signals that end the recording; an ignored one (nohup) does not.
static void ends_set(sigset_t *ret_ends)
{
  static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
  sigemptyset(ret_ends);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction action;
    if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
      sigaddset(ret_ends, numbers[i]);
  }
}

// ---- asking --------------------------------------------------------------------------------------------------------------
#define PUT(attached, field, ...)                                                                                      \
  copy_out(attached, offsetof(struct attach_block, field), &(uint32_t){__VA_ARGS__}, sizeof(uint32_t))

enum status attach_begin(struct attached *attached, const char *session, struct process *ret_process, struct error *err)
{
  char name[24];
  sigset_t ends;
  ends_set(&ends);
  sigprocmask(SIG_BLOCK, &ends, NULL);
  *ret_process = (struct process){.process = attached->process, .start_ns = (int64_t)clock_now_ns(CLOCK_REALTIME)};
  snprintf(name, sizeof name, "%ld", (long)attached->process);
  size_t size = strlen(session) + 1;
  if (size > ATTACH_DIRECTORY_BYTES)
    return error_set(err, STATUS_SYSTEM, WHAT, name, "a shorter TMPDIR", "the session folder's path is too long");
  if (attached->session[0] == '\0' &&
      (!copy_out(attached, offsetof(struct attach_block, directory), session, size) ||
       !PUT(attached, state, ATTACH_ASKED) || !PUT(attached, before_session, UINT32_MAX)))
    return refuse_access(name, errno, err);
  DEBUG(launch, "recording of process %s in %s", name, session);
  return STATUS_OK;
}

enum status attach_check(const struct attached *attached, const char *session, bool *ret_has_joined, struct error *err)
{
  struct attach_block block;
  char name[24];
  snprintf(name, sizeof name, "%ld", (long)attached->process);
  *ret_has_joined = false;
  if (!is_block(attached, attached->address, &block)) // it has ended, or became another program
    return STATUS_OK;
  *ret_has_joined = block.state == ATTACH_JOINED;
  if (block.state == ATTACH_FAILED) {
    errno = -block.error;
    return error_set_errno(err, STATUS_SYSTEM, WHAT, name, NULL);
  }
  if (*ret_has_joined && !is_same(block.directory, session))
    return error_set(err, STATUS_SYSTEM, WHAT, name, NULL, "it joined another session meanwhile: %.200s",
                     block.directory);
  return STATUS_OK;
}

void attach_wait(const struct attached *attached, struct process *process, int64_t timeout_ns)
{
  int64_t deadline_ns = (int64_t)clock_now_ns(CLOCK_MONOTONIC) + timeout_ns;
  sigset_t ends;
  ends_set(&ends);
  for (int64_t left_ns; (left_ns = deadline_ns - (int64_t)clock_now_ns(CLOCK_MONOTONIC)) > 0;) {
    struct timespec slice = {0, left_ns < SLICE_NS ? left_ns : SLICE_NS};
    process->was_interrupted |= sigtimedwait(&ends, NULL, &slice) > 0;
    process->has_ended = poll(&(struct pollfd){.fd = attached->handle, .events = POLLIN}, 1, 0) > 0;
    if (process->was_interrupted || process->has_ended)
      break;
  }
  process->end_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
}

// The state stays, so that a thread that has taken the question is seen: without a folder it fails.
bool attach_withdraw(const struct attached *attached)
{
  struct attach_block block;
  const struct timespec pause_time = {0, WITHDRAW_PAUSE_NS};
  if (!is_block(attached, attached->address, &block))
    return false;
  if (block.state == ATTACH_ASKED)
    (void)(PUT(attached, before_session, 0) && PUT(attached, directory, 0));
  for (int i = 0; i < WITHDRAW_PAUSES && block.state != ATTACH_JOINED; i++) {
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause_time, NULL);
    if (!is_block(attached, attached->address, &block) || (i > 0 && block.state != ATTACH_BUSY))
      break;
  }
  return block.state == ATTACH_JOINED;
}

void attach_close(struct attached *attached)
{
  if (attached->handle >= 0)
    close(attached->handle);
  if (attached->lock >= 0)
    close(attached->lock);
  attached->handle = attached->lock = -1;
}

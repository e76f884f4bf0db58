// SPDX-License-Identifier: Apache-2.0
// Files of the session folder: create, map, give storage to more of them. System calls only.
// A descriptor lives no longer than one call: a program that daemonises closes all it finds, and would later hand the
// number to a file of its own.
#include "capture/capture.h"

#include "base/scoped.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void capture_file_path(char path[PATH_MAX], const char *name)
{
  size_t folder = strlen(capture.directory), length = strlen(name); // the folder leaves 64 bytes for names
  memcpy(path, capture.directory, folder);
  path[folder] = '/';
  memcpy(path + folder + 1, name, length + 1);
}

void capture_file_path_number(char path[PATH_MAX], const char *name, uint32_t number)
{
  capture_file_path(path, name);
  char *end = path + strlen(path), digits[10];
  int count = 0;
  do
    digits[count++] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  while (count > 0)
    *end++ = digits[--count];
  *end = '\0';
}

void capture_file_number_return(uint32_t *next, uint32_t number)
{
  uint32_t after = number + 1;
  (void)__atomic_compare_exchange_n(next, &after, number, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// By the system call: tracers interpose what the program calls.
void signals_hold(struct signals_held *ret_before)
{
  sigset_t all;
  sigfillset(&all);
  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ret_before->cancel_state);
  (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &ret_before->mask, _NSIG / 8);
}

void signals_release(const struct signals_held *before)
{
  (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before->mask, NULL, _NSIG / 8);
  (void)pthread_setcancelstate(before->cancel_state, NULL);
}

// A program whose standard output is closed may write there at this moment, on another thread: that must not reach the file. What
// holds these places meanwhile rejects it as before.
int capture_file_open(const char *path, int more_flags)
{
  int holders[STDERR_FILENO + 1], count = 0;
  for (int place = 0; place <= STDERR_FILENO; place++)
    if (fcntl(place, F_GETFD) < 0)
      holders[count++] = open("/", O_PATH | O_CLOEXEC);
  int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | more_flags, 0600);
  while (count > 0)
    scoped_close(&holders[--count]);
  return file;
}

// Storage for the first `bytes` of the file. Refuses what would raise SIGXFSZ in the traced program.
static int reserve(int file, uint64_t bytes)
{
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur)
    return EFBIG;
  int error;
  do
    error = posix_fallocate(file, 0, (off_t)bytes);
  while (error == EINTR);
  return error;
}

uint64_t capture_file_address_share(void)
{
  struct rlimit addresses, size;
  uint64_t share = UINT64_MAX;
  if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY)
    share = addresses.rlim_cur / 32;
  if (getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur != RLIM_INFINITY && size.rlim_cur < share)
    share = size.rlim_cur;
  return share;
}

static void touch(char *memory, size_t bytes)
{
  // An atomic add of nothing: a write fault for the page, harmless where another process already writes to it.
  for (size_t at = 0; at < bytes; at += 4096)
    (void)__atomic_fetch_add((uint32_t *)(memory + at), 0, __ATOMIC_RELAXED);
}

// All addresses at once; only the first `bytes` may be touched. Who reads or locks all of a program's memory (mlockall, a
// checker that looks for leaks) would give storage to all of the file else.
static void *map_sparse(int file, size_t bytes, size_t address_bytes)
{
  void *memory = mmap(NULL, address_bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED)
    return MAP_FAILED;
  (void)munlock(memory, address_bytes);
  (void)madvise(memory, address_bytes, MADV_DONTDUMP);
  if (mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0)
    return memory;
  int error = errno;
  munmap(memory, address_bytes);
  errno = error;
  return MAP_FAILED;
}

void *capture_file_create(const char *path, size_t bytes, size_t address_bytes)
{
  int file = capture_file_open(path, O_CREAT | O_EXCL);
  if (file < 0)
    return NULL;
  void *memory = MAP_FAILED;
  bool is_sparse = address_bytes > bytes;
  int error = is_sparse && ftruncate(file, (off_t)address_bytes) != 0 ? errno : reserve(file, bytes);
  if (error == 0) {
    memory = is_sparse ? map_sparse(file, bytes, address_bytes)
                       : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    error = memory == MAP_FAILED ? errno : 0;
  }
  close(file);
  if (error != 0) {
    unlink(path);
    errno = error;
    return NULL;
  }
  touch(memory, bytes);
  return memory;
}

// Linux before 5.14. Apart, because of what it takes of the stack.
__attribute__((noinline)) static int back_by_name(const char *name, uint32_t number, uint64_t bytes)
{
  char path[PATH_MAX];
  capture_file_path_number(path, name, number);
  return capture_file_extend(path, bytes);
}

int capture_file_use(void *memory, uint64_t from, uint64_t bytes, bool is_used)
{
  return mprotect((char *)memory + from, bytes, is_used ? PROT_READ | PROT_WRITE : PROT_NONE) == 0 ? 0 : -errno;
}

int capture_file_back(const char *name, uint32_t number, void *memory, uint64_t from, uint64_t bytes)
{
  if (madvise((char *)memory + from, bytes, MADV_POPULATE_WRITE) == 0)
    return 0;
  int error = errno == EINVAL ? back_by_name(name, number, from + bytes) : -errno;
  if (error == 0)
    touch((char *)memory + from, bytes);
  return error;
}

int capture_file_return(void *memory, uint64_t from, uint64_t bytes)
{
  return madvise((char *)memory + from, bytes, MADV_REMOVE) == 0 ? 0 : -errno;
}

void *capture_file_map(const char *path, size_t bytes)
{
  int file = capture_file_open(path, O_NONBLOCK); // xsp may have a lease on it for an instant
  if (file < 0)
    return NULL;
  struct stat status;
  void *memory = MAP_FAILED;
  int error = 0;
  if (fstat(file, &status) != 0)
    error = errno;
  else if (status.st_uid != geteuid())
    error = EPERM;
  else if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size < bytes)
    error = EPROTO;
  else if ((memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)) == MAP_FAILED)
    error = errno;
  close(file);
  errno = error;
  return memory == MAP_FAILED ? NULL : memory;
}

int capture_file_extend(const char *path, uint64_t bytes)
{
  int file SCOPED(scoped_close) = capture_file_open(path, 0);
  if (file < 0)
    return -errno;
  return -reserve(file, bytes);
}

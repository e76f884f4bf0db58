// SPDX-License-Identifier: Apache-2.0
// Files of the session folder: create with storage behind every byte, map, extend. System calls only.
// A descriptor lives no longer than one call: a program that daemonises closes all it finds, and would later hand the
// number to a file of its own.
#include "capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_FLAGS (O_RDWR | O_CLOEXEC | O_NOFOLLOW)

void file_path(char path[PATH_MAX], const char *name)
{
  size_t folder = strlen(capture.directory), length = strlen(name); // the folder leaves 64 bytes for names
  memcpy(path, capture.directory, folder);
  path[folder] = '/';
  memcpy(path + folder + 1, name, length + 1);
}

void file_path_number(char path[PATH_MAX], const char *name, uint32_t number)
{
  file_path(path, name);
  char *end = path + strlen(path), digits[10];
  int count = 0;
  do
    digits[count++] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  while (count > 0)
    *end++ = digits[--count];
  *end = '\0';
}

void file_number_return(uint32_t *next, uint32_t number)
{
  uint32_t after = number + 1;
  (void)__atomic_compare_exchange_n(next, &after, number, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void signals_hold(sigset_t *ret_before)
{
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, ret_before);
}

void signals_release(const sigset_t *before)
{
  pthread_sigmask(SIG_SETMASK, before, NULL);
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

uint64_t file_address_share(void)
{
  struct rlimit limit;
  bool is_limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_limited ? limit.rlim_cur / 32 : UINT64_MAX;
}

void file_touch(void *memory, size_t from, size_t bytes)
{
  // An atomic add of nothing: a write fault for the page, harmless where another process already writes to it.
  for (size_t at = from; at < bytes; at += 4096)
    (void)__atomic_fetch_add((uint32_t *)((char *)memory + at), 0, __ATOMIC_RELAXED);
}

void *file_create(const char *path, size_t bytes, size_t address_bytes)
{
  int file = open(path, FILE_FLAGS | O_CREAT | O_EXCL, 0600);
  if (file < 0)
    return NULL;
  int error = reserve(file, bytes);
  void *memory = MAP_FAILED, *room = NULL;
  if (error == 0 && address_bytes > bytes) {
    room = mmap(NULL, address_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    error = room == MAP_FAILED ? errno : 0;
  }
  if (error == 0) {
    memory = mmap(room, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (room != NULL ? MAP_FIXED : 0), file, 0);
    error = memory == MAP_FAILED ? errno : 0;
  }
  close(file);
  if (error != 0) {
    unlink(path);
    errno = error;
    return NULL;
  }
  file_touch(memory, 0, bytes);
  return memory;
}

void *file_map(const char *path, size_t bytes)
{
  int file = open(path, FILE_FLAGS);
  if (file < 0)
    return NULL;
  struct stat status;
  void *memory = MAP_FAILED;
  int error = 0;
  if (fstat(file, &status) != 0)
    error = errno;
  else if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size < bytes)
    error = EPROTO;
  else if ((memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)) == MAP_FAILED)
    error = errno;
  close(file);
  errno = error;
  return memory == MAP_FAILED ? NULL : memory;
}

int file_extend(const char *path, uint64_t from, uint64_t bytes, void *map_at)
{
  int file = open(path, FILE_FLAGS);
  if (file < 0)
    return -errno;
  int error = reserve(file, bytes);
  from &= ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
  if (error == 0 && map_at != NULL &&
      mmap((char *)map_at + from, bytes - from, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, (off_t)from) ==
          MAP_FAILED)
    error = errno;
  close(file);
  return -error;
}

// SPDX-License-Identifier: Apache-2.0
// What a function owns ends on each of its ways out, in the reverse order of declaration:
//
//   struct arena arena SCOPED(arena_done) = {0};
//   int file SCOPED(scoped_close) = open(path, O_RDONLY | O_CLOEXEC);
//   SCOPED_LOCK(&queue->lock);
//
// `done` gets a pointer to the variable. Never for what is handed on. errno stays what it was.
#ifndef XSP_BASE_SCOPED_H
#define XSP_BASE_SCOPED_H

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCOPED(done) __attribute__((cleanup(done)))

// Of a pointer to memory: char *line SCOPED(scoped_free) = NULL;
static inline void scoped_free(void *pointer)
{
  void *memory;
  memcpy(&memory, pointer, sizeof memory);
  free(memory);
}

static inline void scoped_close(const int *file) // < 0: there is none
{
  int error = errno;
  if (*file >= 0)
    (void)close(*file);
  errno = error;
}

static inline void scoped_closedir(DIR *const *folder) // NULL: there is none
{
  int error = errno;
  if (*folder != NULL)
    (void)closedir(*folder);
  errno = error;
}

static inline void scoped_fclose(FILE *const *stream) // to be read; NULL: there is none
{
  int error = errno;
  if (*stream != NULL)
    (void)fclose(*stream);
  errno = error;
}

static inline pthread_mutex_t *scoped_lock(pthread_mutex_t *mutex)
{
  pthread_mutex_lock(mutex);
  return mutex;
}

static inline void scoped_unlock(pthread_mutex_t *const *mutex)
{
  pthread_mutex_unlock(*mutex);
}

// Holds the lock until the end of the block.
#define SCOPED_LOCK(mutex)                                                                                             \
  __attribute__((unused)) pthread_mutex_t *const scoped_mutex_ SCOPED(scoped_unlock) = scoped_lock(mutex)

#endif

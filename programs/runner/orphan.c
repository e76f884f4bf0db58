// SPDX-License-Identifier: Apache-2.0
// Notices that xsp is gone while the main thread may be deep inside a framework. Sleeps in the kernel all the while, so
// that it disturbs no measurement.
#include "programs/runner/process.h"

#include "base/folder.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define GRACE_MS 2000

static struct {
  int control_fd;
  const char *work_directory;
} watched;

static void *watch(void *unused)
{
  struct pollfd closed = {.fd = watched.control_fd, .events = POLLRDHUP};
  for (;;) {
    int ready = poll(&closed, 1, -1);
    if (ready < 0 && errno != EINTR)
      return NULL;
    if (ready > 0 && (closed.revents & POLLNVAL)) // closed by ourselves: the process is ending in order
      return NULL;
    if (ready > 0)
      break;
  }
  poll(NULL, 0, GRACE_MS); // where the main thread is not stuck it sees the same and ends the process in order
  if (watched.work_directory != NULL)
    folder_remove_tree(watched.work_directory);
  _exit(0);
}

void orphan_watch(int control_fd, const char *work_directory)
{
  watched.control_fd = control_fd;
  watched.work_directory = work_directory;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); // a framework's signals are not this thread's business
  pthread_t thread;
  if (pthread_create(&thread, NULL, watch, NULL) == 0)
    pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// The simulated libcupti: the fault out-of-order. Records of the device wait in a small stash and leave it at random.
#include "profiler.h"

#include <pthread.h>
#include <string.h>

#define STASH 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  uint64_t record[RECORD_MAXIMUM / 8];
  size_t size;
} stash[STASH];
static unsigned stashed;

void disorder_put(const void *record, size_t size)
{
  if (!simulator_has_fault("out-of-order")) {
    buffers_put(record, size);
    return;
  }
  pthread_mutex_lock(&lock);
  unsigned at = stashed;
  if (stashed == STASH) {
    at = 0;
    while (at < STASH - 1 && !faults_hits("out-of-order", 4))
      at++;
    buffers_put(stash[at].record, stash[at].size);
  } else {
    stashed++;
  }
  memcpy(stash[at].record, record, size);
  stash[at].size = size;
  pthread_mutex_unlock(&lock);
}

void disorder_flush(void)
{
  pthread_mutex_lock(&lock);
  while (stashed > 0) {
    stashed--;
    buffers_put(stash[stashed].record, stash[stashed].size);
  }
  pthread_mutex_unlock(&lock);
}

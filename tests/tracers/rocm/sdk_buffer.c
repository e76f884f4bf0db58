// SPDX-License-Identifier: Apache-2.0
// A buffer of records as rocprofiler-sdk has it: two of the asked size, of which one is filled while the other is given to the tool on
// a thread of the library. With the policy to discard, the second has no memory.
#include "sdk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define HEADERS_MOST 65536

struct half {
  uint8_t *bytes;
  size_t used, count;
  struct rocm_header headers[HEADERS_MOST];
};
static struct half halves[2];
static size_t capacity, watermark;
static rocm_buffer_callback *callback;
static void *callback_data;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned active; // the half that is filled
static bool is_asked, is_flushing, is_hanging;
static uint64_t flushes, dropped;

static void disorder(struct rocm_header **headers, size_t n)
{
  for (size_t i = 0; n > 1 && i < n - 1; i++) {
    size_t other = i + (size_t)rand() % (n - i);
    struct rocm_header *kept = headers[i];
    headers[i] = headers[other];
    headers[other] = kept;
  }
}

static void *deliver(void *unused)
{
  static struct rocm_header *headers[HEADERS_MOST];
  pthread_mutex_lock(&lock);
  for (;;) {
    while (!is_asked)
      pthread_cond_wait(&changed, &lock);
    is_asked = false;
    is_flushing = true;
    struct half *half = &halves[active];
    active ^= 1;
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < half->count; i++)
      headers[i] = &half->headers[i];
    if (fault("out-of-order"))
      disorder(headers, half->count);
    if (half->count > 0)
      callback((struct rocm_id){1}, (struct rocm_id){2}, headers, half->count, callback_data, dropped);
    pthread_mutex_lock(&lock);
    half->used = half->count = 0;
    is_flushing = false;
    flushes++;
    count(COUNT_FLUSHES);
    pthread_cond_broadcast(&changed);
  }
  return unused;
}

int sdk_make_buffer(size_t bytes, size_t mark, int policy, rocm_buffer_callback *called, void *data)
{
  pthread_t thread;
  if (fault("no-buffer"))
    return 1;
  capacity = bytes;
  watermark = mark;
  callback = called;
  callback_data = data;
  halves[0].bytes = malloc(bytes);
  halves[1].bytes = policy == ROCM_POLICY_LOSSLESS ? malloc(bytes) : NULL;
  return pthread_create(&thread, NULL, deliver, NULL) == 0 ? ROCM_OK : 1;
}

void sdk_put(uint32_t category, uint32_t kind, const void *record, size_t size)
{
  size_t room = (size + 7) & ~(size_t)7;
  pthread_mutex_lock(&lock);
  if (fault_now("drops")) {
    dropped++;
    count(COUNT_DROPPED);
    pthread_mutex_unlock(&lock);
    return;
  }
  while (halves[active].used + room > capacity || halves[active].count == HEADERS_MOST ||
         halves[active].bytes == NULL) {
    if (halves[active].bytes == NULL)
      abort(); // as the exception that nobody catches
    is_asked = is_asked || !is_flushing;
    pthread_cond_broadcast(&changed);
    pthread_cond_wait(&changed, &lock);
  }
  struct half *half = &halves[active];
  memcpy(half->bytes + half->used, record, size);
  half->headers[half->count++] = (struct rocm_header){category, kind, half->bytes + half->used};
  half->used += room;
  if (half->used >= watermark && !is_flushing) {
    is_asked = true;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
}

int sdk_flush(void)
{
  pthread_mutex_lock(&lock);
  while (fault("flush-hangs")) {
    is_hanging = true;
    pthread_cond_broadcast(&changed);
    pthread_cond_wait(&changed, &lock);
  }
  while (is_flushing)
    pthread_cond_wait(&changed, &lock);
  uint64_t seen = flushes;
  is_asked = true;
  pthread_cond_broadcast(&changed);
  while (flushes == seen)
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  return ROCM_OK;
}

void sdk_wait_for_hang(void)
{
  pthread_mutex_lock(&lock);
  while (fault("flush-hangs") && !is_hanging)
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

// SPDX-License-Identifier: Apache-2.0
// What the tracer keeps for a thread: made when PyTorch first calls the tracer there, freed when the thread ends.
#include "frameworks/pytorch/tracer.h"

#include <pthread.h>
#include <stdlib.h>

__thread struct pytorch_thread *pytorch_thread_own;
static pthread_key_t key;
static bool has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void thread_ends(void *data)
{
  struct pytorch_thread *thread = data;
  pytorch_thread_own = NULL;
  pytorch_steps_end(thread->steps);
  pytorch_tensors_end(thread->blocks);
  free(thread->steps);
  free(thread->blocks);
  free(thread);
}

static void make_key(void)
{
  has_key = pthread_key_create(&key, thread_ends) == 0;
}

struct pytorch_thread *pytorch_thread_make(void)
{
  pthread_once(&once, make_key);
  struct pytorch_thread *thread = has_key ? calloc(1, sizeof *thread) : NULL;
  if (thread == NULL)
    return NULL;
  if (pthread_setspecific(key, thread) != 0) {
    free(thread);
    return NULL;
  }
  pytorch_thread_own = thread;
  thread->number = (uint32_t)torch->current_thread();
  pytorch_links_note_thread(thread->number);
  return thread;
}

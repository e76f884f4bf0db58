// SPDX-License-Identifier: Apache-2.0
// One command after the other. Locks and waits are what is asked for here; each is bounded, because a program that relies
// on commands being asynchronous must still end.
#include "tracers/opencl/serial.h"

#include "base/clock.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LONGEST_NS UINT64_C(60000000000)
#define LONGEST_WITH_USER_EVENTS_NS UINT64_C(100000000)

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool holds, is_in_callback;
static int64_t open_user_events; // atomic: created and not yet set

static uint64_t longest_wait_ns(void)
{
  return __atomic_load_n(&open_user_events, __ATOMIC_RELAXED) > 0 ? LONGEST_WITH_USER_EVENTS_NS : LONGEST_NS;
}

// In the child of a fork the thread that held it does not exist.
static void start_clean(void)
{
  pthread_mutex_init(&one_at_a_time, NULL);
  holds = false;
}

void opencl_serial_start(void)
{
  pthread_atfork(NULL, NULL, start_clean);
}

void opencl_serial_enter(void)
{
  if (is_in_callback || holds)
    return;
  uint64_t longest = longest_wait_ns();
  struct timespec until = {0, 0};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += (time_t)(longest / 1000000000);
  until.tv_nsec += (long)(longest % 1000000000);
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  holds = pthread_mutex_timedlock(&one_at_a_time, &until) == 0;
}

void opencl_serial_leave(void)
{
  if (holds) {
    holds = false;
    pthread_mutex_unlock(&one_at_a_time);
  }
}

bool opencl_serial_report(struct opencl_pending *pending)
{
  uint32_t state = PENDING_RUNNING;
  if (!__atomic_compare_exchange_n(&pending->state, &state, PENDING_DONE, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return false; // abandoned
  // The waiter may give the record back at once; records are never unmapped, so waking at its address does no harm.
  syscall(SYS_futex, &pending->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  return true;
}

void opencl_serial_wait(struct opencl_pending *pending, cl_command_queue queue)
{
  uint64_t begin = clock_now_ns(CLOCK_MONOTONIC), spent = 0;
  if (queue != NULL && opencl_next.clFlush != NULL && !is_in_callback)
    opencl_next.clFlush(queue);
  while (!is_in_callback && __atomic_load_n(&pending->state, __ATOMIC_ACQUIRE) == PENDING_RUNNING &&
         (spent = clock_now_ns(CLOCK_MONOTONIC) - begin) < longest_wait_ns()) {
    const struct timespec pause = {0, 10000000}; // looks at user events meanwhile
    syscall(SYS_futex, &pending->state, FUTEX_WAIT_PRIVATE, PENDING_RUNNING, &pause, NULL, 0);
  }
  uint32_t state = PENDING_RUNNING;
  if (!__atomic_compare_exchange_n(&pending->state, &state, PENDING_ABANDONED, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE))
    opencl_pending_give(pending); // done
}

// ---- what decides how long may be waited
cl_event CL_API_CALL opencl_clCreateUserEvent(cl_context context, cl_int *ret_error)
{
  cl_event event = opencl_next.clCreateUserEvent(context, ret_error);
  if (event != NULL)
    __atomic_add_fetch(&open_user_events, 1, __ATOMIC_RELAXED);
  return event;
}

cl_int CL_API_CALL opencl_clSetUserEventStatus(cl_event event, cl_int status)
{
  cl_int error = opencl_next.clSetUserEventStatus(event, status);
  if (error == CL_SUCCESS)
    __atomic_sub_fetch(&open_user_events, 1, __ATOMIC_RELAXED);
  return error;
}

struct callback {
  void(CL_CALLBACK *notify)(cl_event, cl_int, void *);
  void *data;
};

static void CL_CALLBACK call_back(cl_event event, cl_int status, void *data)
{
  struct callback callback = *(struct callback *)data;
  free(data);
  bool was_in_callback = is_in_callback;
  is_in_callback = true;
  callback.notify(event, status, callback.data);
  is_in_callback = was_in_callback;
}

cl_int CL_API_CALL opencl_clSetEventCallback(cl_event event, cl_int type,
                                             void(CL_CALLBACK *notify)(cl_event, cl_int, void *), void *data)
{
  struct callback *callback = notify == NULL ? NULL : malloc(sizeof *callback);
  if (callback == NULL)
    return opencl_next.clSetEventCallback(event, type, notify, data);
  *callback = (struct callback){notify, data};
  cl_int error = opencl_next.clSetEventCallback(event, type, call_back, callback);
  if (error != CL_SUCCESS)
    free(callback);
  return error;
}

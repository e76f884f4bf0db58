// SPDX-License-Identifier: Apache-2.0
// Level Zero has no variable that names a tool. So frameworks.so, which is in the process, sees the program initialise it, and
// loads this file; programs without Level Zero never do. From then on the loader's own tracing layer calls us.
#include "base/clock.h"
#include "tracers/device/host.h"
#include "tracers/device/host_clock.h"
#include "tracers/levelzero/callbacks.h"
#include "tracers/levelzero/hooks.h"
#include "tracers/levelzero/probe.h"
#include "tracers/levelzero/slots.h"

#include <stdio.h>
#include <stdlib.h>

static const struct xsp_host *host;
static uint32_t is_recording; // atomic
static bool is_by_door;
static uint64_t waited_ms;

static const struct xsp_tracer_option options[] = {
    {"exit_wait_ms", "N", "how long exit may wait for commands in flight (2000)"},
    {NULL, NULL, NULL},
};

// Outside of callbacks.
static uint64_t look(void)
{
  levelzero_callbacks_pause(true);
  pthread_mutex_lock(&levelzero_lock);
  flights_look();
  pthread_mutex_unlock(&levelzero_lock);
  levelzero_callbacks_pause(false);
  return __atomic_load_n(&flight_counts.in_flight, __ATOMIC_RELAXED);
}

static bool stop_recording(void)
{
  return __atomic_exchange_n(&is_recording, 0, __ATOMIC_ACQ_REL) != 0;
}

// Registered after the loader was loaded, so called before it takes its drivers down.
static void at_exit(void)
{
  const struct timespec pause = {0, 1000000};
  uint64_t longest_ms = host_number(host, "exit_wait_ms", 0, 600000, 2000), begin = clock_now_ns(CLOCK_MONOTONIC);
  if (!stop_recording())
    return;
  while (look() != 0 && waited_ms < longest_ms) {
    nanosleep(&pause, NULL);
    waited_ms = (clock_now_ns(CLOCK_MONOTONIC) - begin) / 1000000;
  }
}

// A fork's child has no driver; and nobody would release the lock.
static void in_child(void)
{
  stop_recording();
  levelzero_callbacks_stop();
}

static void record(void *library)
{
  char why[256] = "", line[320];
  void *tracer = NULL;
  host_clock_start();
  if (levelzero_library_find(library, &ze, why, sizeof why) &&
      (tracer = levelzero_library_trace(library, why, sizeof why)) != NULL) {
    levelzero_callbacks_register(library, tracer);
    pthread_atfork(NULL, NULL, in_child);
    atexit(at_exit);
    __atomic_store_n(&is_recording, 1, __ATOMIC_RELEASE);
    if (levelzero_library_enable(library, tracer))
      return;
    snprintf(why, sizeof why, "its tracing layer cannot be enabled");
    stop_recording();
  }
  snprintf(line, sizeof line, "kernels are not recorded: %s", why);
  host_say(host, line);
}

static void initialised(void *library)
{
  static uint32_t calls; // atomic
  if (library == NULL || __atomic_exchange_n(&calls, 1, __ATOMIC_ACQ_REL) != 0)
    return;
  is_by_door = true;
  xsp_attach(NULL);
  (void)xsp_tracer_join(xsp_tracer_entry(NULL));
  if ((xsp_session_levels() & XSP_LEVEL_MASK(XSP_LEVEL_KERNEL)) != 0)
    record(library);
}

static const struct levelzero_hooks hooks = {sizeof hooks, initialised};

const struct levelzero_hooks *xsp_levelzero(void)
{
  return &hooks;
}

static int start(const struct xsp_host *started_by)
{
  host = started_by;
  if (!is_by_door)
    host_say(host, "records programs of `xsp run` only: nothing here tells when Level Zero starts");
  return 0;
}

static void flush(void)
{
  if (__atomic_load_n(&is_recording, __ATOMIC_ACQUIRE) != 0)
    look();
}

// ---- the report at the end
static void say_clock(struct levelzero_device *device)
{
  char line[400];
  double step_ns = device_clock_step_ns(&device->clock.in_time), error_ns = device->clock.error_ns;
  if (error_ns == 0)
    return; // nothing ran there
  snprintf(line, sizeof line, "clock of device %u (%s) known to +-%.2f us", device->number, device->name,
           (error_ns > step_ns ? error_ns : step_ns) / 1000);
  host_say(host, line);
}

static void stop(void)
{
  const struct flight_counts *counts = &flight_counts;
  levelzero_callbacks_stop();
  if (counts->launches == 0)
    return;
  levelzero_devices_each(say_clock);
  host_say_count(host, counts->in_flight,
                 "commands or lists had not ended at exit: they have a launch and no execution");
  host_say_count(host, waited_ms, "ms were waited at exit for commands in flight (option exit_wait_ms)");
  host_say_count(host, counts->without_slot,
                 "commands were more than can be followed together: they have a launch and no execution");
  host_say_count(host, counts->lost_times,
                 "commands whose event the program used again before it was read: no execution");
  host_say_count(host, counts->untimed,
                 "commands with events of another process or an extension, or in lists for copies: no execution");
  host_say_count(host, counts->implausible, "commands with times that cannot be: they have a launch and no execution");
  host_lost(host, counts->without_slot + counts->lost_times + counts->implausible);
}

static const struct xsp_tracer tracer = {
    .size = sizeof tracer,
    .level_mask = XSP_LEVEL_MASK(XSP_LEVEL_KERNEL) | XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY),
    .name = LEVELZERO_TRACER,
    .summary = "kernels, copies, waits and calls of Level Zero (Intel's GPUs and NPUs)",
    .options = options,
    .probe = levelzero_probe,
    .start = start,
    .flush = flush,
    .stop = stop,
};

const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *loaded_by)
{
  return &tracer;
}

// SPDX-License-Identifier: Apache-2.0
// Capture's entry point: options, the report at the end, and the start that both entry points share. A layer that the OpenCL loader brought
// (OPENCL_LAYERS) joins the session by itself.
#include "tracers/device/host_clock.h"
#include "tracers/opencl/calibrate.h"
#include "tracers/opencl/commands.h"
#include "tracers/opencl/drain.h"
#include "tracers/opencl/serial.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_WAIT_MS_DEFAULT 2000
#define EXIT_WAIT_MS_MOST 600000

static const struct xsp_host *host; // NULL: capture has not started us
static uint32_t is_initialised;     // atomic
static bool may_record;

static const struct xsp_tracer_option options[] = {
    {"exit_wait_ms", "N", "how long exit may wait for commands in flight (2000)"},
    {NULL, NULL, NULL},
};

bool opencl_may_record(void)
{
  return may_record;
}

static uint64_t exit_wait_ms(void)
{
  const char *text = host == NULL ? NULL : host->option(host, "exit_wait_ms");
  char *end = NULL;
  unsigned long long wish = text == NULL ? EXIT_WAIT_MS_DEFAULT : strtoull(text, &end, 10);
  if (text != NULL && (*text < '0' || *text > '9' || *end != '\0' || wish > EXIT_WAIT_MS_MOST)) {
    host->say(host, "exit_wait_ms wants a number from 0 to 600000; 2000 is taken");
    wish = EXIT_WAIT_MS_DEFAULT;
  }
  return wish;
}

void opencl_initialise(void)
{
  if (__atomic_exchange_n(&is_initialised, 1, __ATOMIC_ACQ_REL) != 0)
    return;
  int saved_errno = errno;
  xsp_attach(NULL);
  (void)xsp_tracer_join(xsp_tracer_entry(NULL)); // comes back through start() where the loader brought us: options
  const char *serialize = getenv("XSP_SERIALIZE");
  // A process without a session, as one that outlives it, is left as it is.
  opencl_commands_serialize = serialize != NULL && strcmp(serialize, "1") == 0 && xsp_session_levels() != 0;
  may_record = (xsp_session_levels() & XSP_LEVEL_MASK(XSP_LEVEL_KERNEL)) != 0 || opencl_commands_serialize;
  if (may_record) {
    host_clock_start();
    opencl_commands_start();
    opencl_kernels_start();
    opencl_drain_start(exit_wait_ms() * 1000000);
    if (opencl_commands_serialize)
      opencl_serial_start();
  }
  errno = saved_errno;
}

static int start(const struct xsp_host *started_by)
{
  host = started_by;
  opencl_initialise();
  return 0;
}

// ---- the report at the end
static void say_clock(struct opencl_device *device)
{
  char line[256];
  double error_ns = (double)__atomic_load_n(&device->error_ns, __ATOMIC_RELAXED);
  double step_ns = device_clock_step_ns(&device->clock);
  if (error_ns == 0)
    return; // nothing ran there
  snprintf(line, sizeof line, "clock of device %lld (%s) known to +-%.2f us", (long long)device->number, device->name,
           (error_ns > step_ns ? error_ns : step_ns) / 1000);
  host->say(host, line);
}

static void say_if(const uint64_t *counter, const char *what)
{
  char line[160];
  uint64_t count = __atomic_load_n(counter, __ATOMIC_RELAXED);
  if (count == 0)
    return;
  snprintf(line, sizeof line, "%llu %s", (unsigned long long)count, what);
  host->say(host, line);
}

static void stop(void)
{
  if (!may_record || __atomic_load_n(&opencl_command_counts.launches, __ATOMIC_RELAXED) == 0)
    return;
  uint64_t in_flight = opencl_drain_in_flight(), waited_ms = opencl_drain_waited_ns() / 1000000;
  opencl_devices_each(say_clock);
  say_if(&in_flight, "commands had not finished at exit: they have a launch and no execution");
  say_if(&opencl_command_counts.failed, "commands failed on the device: they have a launch and no execution");
  say_if(&opencl_command_counts.without_times,
         "commands without times of the device: they have a launch and no execution");
  say_if(&opencl_command_counts.lost, "commands could not be followed: they have a launch and no execution");
  say_if(&waited_ms, "ms were waited at exit for commands in flight");
}

static const struct xsp_tracer tracer = {
    .size = sizeof tracer,
    .level_mask = XSP_LEVEL_MASK(XSP_LEVEL_KERNEL),
    .name = OPENCL_TRACER,
    .summary = "OpenCL kernels, copies and host calls, through the loader's layers",
    .options = options,
    .probe = opencl_probe,
    .start = start,
    .stop = stop,
};

const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *loaded_by)
{
  return &tracer;
}

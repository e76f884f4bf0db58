// SPDX-License-Identifier: Apache-2.0
// Whether what `xsp run --counters` names can be counted here, before the program starts; libxsp.so says nothing. Called by the
// verb.
#include "launch/launch.h"

#include "base/scoped.h"
#include "base/small_file.h"
#include "format/span_counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SYSTEMS "cpu_ns,page_faults,context_switches"

// As libxsp.so opens it.
static enum status try_system_calls(struct error *err)
{
  static const char *const files[] = {SPAN_SYSTEM_CALLS_FILES};
  char text[32];
  size_t length = 0;
  for (size_t i = 0; i < sizeof files / sizeof files[0] && length == 0; i++)
    length = small_file_read(files[i], text, sizeof text);
  if (length == 0)
    return error_set(err, STATUS_SYSTEM, "cannot count", "system_calls",
                     "as root, `mount -t tracefs tracefs /sys/kernel/tracing`; or " SYSTEMS,
                     "the kernel's trace points are not mounted, or may not be read");
  struct perf_event_attr attr = SPAN_SYSTEM_CALLS_ATTR(strtoull(text, NULL, 10));
  int event SCOPED(scoped_close) = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (event < 0)
    return error_set(
        err, STATUS_SYSTEM, "cannot count", "system_calls", SYSTEMS,
        "the kernel does not allow it (%s): /proc/sys/kernel/perf_event_paranoid above 1 leaves it to root",
        strerror(errno));
  return STATUS_OK;
}

// As libxsp.so reads it: from a page, by the processor's instruction. 0 or an errno.
static int try_hardware(uint64_t config)
{
  struct perf_event_attr attr = {
      .type = PERF_TYPE_HARDWARE, .size = sizeof attr, .config = config, .exclude_kernel = 1, .exclude_hv = 1};
  const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  int event SCOPED(scoped_close) = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC),
            error = errno;
  if (event < 0)
    return error;
  struct perf_event_mmap_page *page = mmap(NULL, page_bytes, PROT_READ, MAP_SHARED, event, 0);
  error = page == MAP_FAILED ? errno : page->cap_user_rdpmc ? 0 : EPERM;
  if (page != MAP_FAILED)
    (void)munmap(page, page_bytes);
  return error;
}

enum status launch_check_span_counters(const char *list, message_fn say, struct error *err)
{
  struct error why = {0};
  uint32_t mask;
  const char *wrong;
  size_t length;
  if (!span_counters_parse(list, &mask, &wrong, &length))
    return error_set(err, STATUS_USE, "wrong use", "--counters", SYSTEMS ",instructions,cycles, and `xsp help run`",
                     "'%.*s' is no counter, or is named twice", (int)length, wrong);
  if ((mask & UINT32_C(1) << SPAN_SYSTEM_CALLS) != 0)
    if (try_system_calls(&why) != STATUS_OK) {
      if ((mask & SPAN_COUNTERS_OF_SYSTEM) == 0) {
        *err = why;
        return why.status;
      }
      say("xsp: system calls are not counted: %s; try: %s", why.why, why.advice);
    }
  for (unsigned i = SPAN_OF_HARDWARE; i < SPAN_COUNTERS; i++) {
    const int error = (mask & UINT32_C(1) << i) != 0 ? try_hardware(span_counter_facts[i].perf_config) : 0;
    if (error != 0)
      return error_set(err, STATUS_SYSTEM, "cannot count", span_counter_facts[i].name, SYSTEMS,
                       "this machine gives programs no such counter (%s): virtual machines mostly hide them, and "
                       "/proc/sys/kernel/perf_event_paranoid above 2 forbids them",
                       strerror(error));
  }
  return STATUS_OK;
}

// SPDX-License-Identifier: Apache-2.0
// Reads /proc and /sys for `xsp check`. Unreadable values are printed as unknown, never guessed.
#include "programs/xsp/verb_check/check.h"

#include "base/scoped.h"
#include "base/small_file.h"
#include "launch/launch.h"
#include "report/display.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#define LABEL_COLUMNS 13

__attribute__((format(printf, 4, 5))) static void put_fact(struct buf *out, const char *label, unsigned width,
                                                           const char *format, ...)
{
  char text[256];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  buf_format(out, "%-*s", LABEL_COLUMNS, label);
  display_wrap(out, text, LABEL_COLUMNS, LABEL_COLUMNS, width);
}

// The flags of the first CPU: all have the same.
static bool clock_is_invariant(void)
{
  FILE *file SCOPED(scoped_fclose) = fopen("/proc/cpuinfo", "re");
  if (file == NULL)
    return false;
  char *line SCOPED(scoped_free) = NULL;
  size_t size = 0;
  bool is_invariant = false;
  while (getline(&line, &size, file) > 0)
    if (strncmp(line, "flags", 5) == 0) {
      line[strcspn(line, "\n")] = ' ';
      is_invariant = strstr(line, " constant_tsc ") != NULL && strstr(line, " nonstop_tsc ") != NULL;
      break;
    }
  return is_invariant;
}

static void put_clock(struct buf *out, unsigned width)
{
  char source[64] = "unknown";
  small_file_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source);
  put_fact(out, "clock", width,
           clock_is_invariant()
               ? "time stamp counter, invariant (the kernel itself uses %s)"
               : "clock_gettime: the time stamp counter is not known to be invariant (the kernel uses %s)",
           source);
}

static void put_shared_memory(struct buf *out, unsigned width)
{
  struct statvfs place;
  if (statvfs("/dev/shm", &place) != 0) {
    put_fact(out, "/dev/shm", width, "missing: capture uses TMPDIR, which may be a disk");
    return;
  }
  double free_mb = (double)place.f_bavail * (double)place.f_frsize / 1e6;
  double all_mb = (double)place.f_blocks * (double)place.f_frsize / 1e6;
  put_fact(out, "/dev/shm", width, "%.0f MB free of %.0f%s", free_mb, all_mb,
           free_mb < 128 ? ": little (a thread's ring takes 2 MB); make it larger, or set TMPDIR" : "");
}

static void put_perf(struct buf *out, unsigned width)
{
  char level[16];
  if (!small_file_line("/proc/sys/kernel/perf_event_paranoid", level, sizeof level))
    put_fact(out, "perf", width, "not offered by this kernel");
  else
    put_fact(out, "perf", width, "perf_event_paranoid is %s%s", level,
             atoi(level) > 2   ? ": closed to ordinary users"
             : atoi(level) > 1 ? ": ordinary users may measure their own programs, without the kernel"
                               : "");
}

static void put_system_calls(struct buf *out, unsigned width)
{
  struct error err = {0};
  if (launch_check_span_counters("system_calls", NULL, &err) == STATUS_OK)
    put_fact(out, "system calls", width, "can be counted within spans (--counters)");
  else
    put_fact(out, "system calls", width, "not counted by --counters: %s; try: %s", err.why, err.advice);
}

static void put_cpus(struct buf *out, unsigned width)
{
  double quota = system_cpu_quota();
  char governor[64];
  system_governor(governor, sizeof governor);
  char quota_text[64] = "no quota";
  if (!isnan(quota))
    snprintf(quota_text, sizeof quota_text, "a quota of %.2g CPUs", quota);
  put_fact(out, "CPUs", width, "%u allowed, %s, load %.2f, %s%s", system_cpus_allowed(), quota_text, system_load_1min(),
           governor[0] != 0 ? "frequency governor " : "no frequency governor shown", governor);
}

static void put_peaks(struct buf *out, const struct peaks *peaks, unsigned width)
{
  char flops[64] = "arithmetic could not be measured";
  char memory[96] = "memory could not be measured";
  if (!isnan(peaks->flops_per_s))
    snprintf(flops, sizeof flops, "%.4g Gflop/s in single precision (%s)", peaks->flops_per_s / 1e9,
             peaks->instructions);
  if (!isnan(peaks->bandwidth_bytes_per_s))
    snprintf(memory, sizeof memory, "%.4g GB/s of memory%s", peaks->bandwidth_bytes_per_s / 1e9,
             peaks->is_beyond_cache ? "" : " (no more than the caches hold)");
  put_fact(out, "peaks", width, "%s, %s, with %u threads, measured in %.2f s", flops, memory, peaks->threads,
           peaks->seconds);
}

void check_machine(struct buf *out, unsigned width, const struct peaks *peaks)
{
  struct utsname kernel;
  if (uname(&kernel) == 0)
    put_fact(out, "system", width, "%s %s, %s", kernel.sysname, kernel.release, kernel.machine);
  put_cpus(out, width);
  put_clock(out, width);
  put_shared_memory(out, width);
  put_perf(out, width);
  put_system_calls(out, width);
  if (peaks != NULL)
    put_peaks(out, peaks, width);
}

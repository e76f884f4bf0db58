// SPDX-License-Identifier: Apache-2.0
// Reads /proc, /sys and the cgroup (version 2, then 1). Any of them may be missing: containers hide most.
#include "experiment/system.h"

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/root.h"
#include "base/scoped.h"
#include "base/small_file.h"
#include "experiment/gpus.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

static double seconds(struct timeval time)
{
  return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

void disturbance_read(struct disturbance *ret_reading)
{
  struct disturbance reading = {NAN, NAN, NAN, NAN, NAN};
  reading.wall_s = (double)clock_now_ns(CLOCK_MONOTONIC) / 1e9;
  char text[4096];
  double tick = (double)sysconf(_SC_CLK_TCK);
  if (small_file_read("/proc/stat", text, sizeof text)) {
    unsigned long long user, nice, kernel, idle, wait, irq, soft, steal;
    if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &kernel, &idle, &wait, &irq, &soft,
               &steal) == 8) {
      reading.steal_s = (double)steal / tick;
      reading.busy_s = (double)(user + nice + kernel + irq + soft) / tick;
    }
  }
  struct cgroup group;
  struct cgroup_throttling throttling;
  cgroup_find(getpid(), &group);
  cgroup_throttling(&group, &throttling);
  reading.throttled_s = throttling.throttled_s;
  struct rusage self, children;
  if (getrusage(RUSAGE_SELF, &self) == 0 && getrusage(RUSAGE_CHILDREN, &children) == 0)
    reading.own_s =
        seconds(self.ru_utime) + seconds(self.ru_stime) + seconds(children.ru_utime) + seconds(children.ru_stime);
  *ret_reading = reading;
}

double system_cpu_quota(void)
{
  struct cgroup group;
  cgroup_find(getpid(), &group);
  return cgroup_cpu_quota(&group);
}

void system_governor(char *text, size_t size)
{
  small_file_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text, size);
}

unsigned system_cpus_allowed(void)
{
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

double system_load_1min(void)
{
  double load;
  return getloadavg(&load, 1) == 1 ? load : NAN;
}

// The text after "key : " in /proc/cpuinfo.
static const char *cpuinfo_text(struct arena *arena, const char *cpuinfo, const char *key)
{
  const char *at = strstr(cpuinfo, key);
  const char *colon = at != NULL ? strchr(at, ':') : NULL;
  if (colon == NULL)
    return NULL;
  colon += 1 + strspn(colon + 1, " ");
  return arena_copy(arena, colon, strcspn(colon, "\n"));
}

const char *system_os_name(int root, struct arena *arena)
{
  char text[4096];
  struct stat facts;
  int file SCOPED(scoped_close) = root_file(root, "/etc/os-release", sizeof text - 1, &facts);
  ssize_t got = file >= 0 ? read(file, text, sizeof text - 1) : 0;
  text[got > 0 ? got : 0] = 0;
  const char *name = strstr(text, "PRETTY_NAME=\"");
  if (name == NULL)
    return NULL;
  name += strlen("PRETTY_NAME=\"");
  return arena_copy(arena, name, strcspn(name, "\"\n"));
}

struct facts {
  struct store_system_value *values;
  size_t count, maximum;
};

static void put_text(struct facts *facts, const char *key, const char *text)
{
  if (text != NULL && text[0] != 0 && facts->count < facts->maximum)
    facts->values[facts->count++] = (struct store_system_value){.key = key, .text = text};
}

static void put_number(struct facts *facts, const char *key, double number)
{
  if (!isnan(number) && facts->count < facts->maximum)
    facts->values[facts->count++] = system_number(key, number);
}

// Key `gpu`, which stands for a roof, is for what computed: model_experiment.c adds it.
static enum status put_gpus(struct facts *facts, struct arena *arena, struct error *err)
{
  struct gpus gpus;
  XSP_TRY(gpus_read(arena, &gpus, err));
  put_text(facts, "gpu_driver", gpus.driver);
  put_number(facts, "cuda_driver_version", gpus.cuda_version > 0 ? (double)gpus.cuda_version : (double)NAN);
  if (gpus.count == 0)
    return STATUS_OK;
  put_text(facts, "gpus", gpus.names);
  put_number(facts, "gpu_count", gpus.count);
  put_number(facts, "gpu_memory_bytes", gpus.memory_bytes);
  return STATUS_OK;
}

enum status system_describe(struct arena *arena, struct store_system_value *values, size_t maximum, size_t *ret_count,
                            struct error *err)
{
  struct facts facts = {values, 0, maximum};
  struct utsname names;
  if (uname(&names) == 0) {
    put_text(&facts, "host", arena_format(arena, "%s", names.nodename));
    put_text(&facts, "kernel", arena_format(arena, "%s %s", names.sysname, names.release));
    put_text(&facts, "architecture", arena_format(arena, "%s", names.machine));
  }
  put_text(&facts, "os", system_os_name(ROOT_OF_HOST, arena));
  char cpuinfo[8192];
  if (small_file_read("/proc/cpuinfo", cpuinfo, sizeof cpuinfo)) {
    put_text(&facts, "cpu_model", cpuinfo_text(arena, cpuinfo, "model name"));
    put_text(&facts, "cpu_microcode", cpuinfo_text(arena, cpuinfo, "microcode"));
    put_text(&facts, "hypervisor", strstr(cpuinfo, " hypervisor") != NULL ? "yes" : NULL);
  }
  put_number(&facts, "cpus", (double)sysconf(_SC_NPROCESSORS_ONLN));
  put_number(&facts, "cpus_allowed", system_cpus_allowed());
  put_number(&facts, "cpu_quota", system_cpu_quota());
  put_number(&facts, "memory_bytes", (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
  char governor[64];
  system_governor(governor, sizeof governor);
  put_text(&facts, "cpu_governor", arena_format(arena, "%s", governor));
  char clock[64];
  small_file_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", clock, sizeof clock);
  put_text(&facts, "clocksource", arena_format(arena, "%s", clock));
  enum status status = put_gpus(&facts, arena, err);
  *ret_count = facts.count;
  return status;
}

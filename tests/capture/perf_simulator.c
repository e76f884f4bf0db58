// SPDX-License-Identifier: Apache-2.0
// A processor's counters, for programs that this is preloaded into: perf_event_open gives pages that look as the kernel's, and the
// instruction that reads a counter, which this machine may forbid, is answered by a signal handler. The counters move when
// the program says so. XSP_TEST_PERF_ERROR: no event can be opened, with this errno.
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define EVENTS_MOST 64
#define WIDTH 48

static struct event {
  struct perf_event_mmap_page *page;
  unsigned long long config, count;
} events[EVENTS_MOST];
static unsigned event_count;

// Each event counts its number + 1 for each unit of work.
void simulated_work(unsigned long long units)
{
  for (unsigned i = 0; i < event_count; i++)
    events[i].count += units * (events[i].config + 1);
}

// All events make room for others for a moment.
void simulated_absence(void)
{
  for (unsigned i = 0; i < event_count; i++)
    events[i].page->time_enabled += 5;
}

static int open_event(const struct perf_event_attr *attr)
{
  const char *error = getenv("XSP_TEST_PERF_ERROR");
  const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
  errno = error != NULL ? atoi(error) : EMFILE;
  if (error != NULL || !attr->exclude_kernel || event_count == EVENTS_MOST)
    return -1;
  int file = memfd_create("perf", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, (off_t)bytes) != 0)
    return -1;
  struct event *event = &events[event_count++];
  event->page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  event->config = attr->config;
  event->count = (1ull << WIDTH) - 5; // as the kernel has it: a negative number on its way to 0
  event->page->index = event_count;
  event->page->cap_user_rdpmc = 1;
  event->page->pmc_width = WIDTH;
  event->page->time_enabled = event->page->time_running = 1000;
  return file;
}

long syscall(long number, ...)
{
  long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  long arguments[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; i++)
    arguments[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_perf_event_open && ((const struct perf_event_attr *)arguments[0])->type == PERF_TYPE_HARDWARE)
    return open_event((const struct perf_event_attr *)arguments[0]);
  return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

static void answer(int number, siginfo_t *info, void *context)
{
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  const unsigned char *code = (const unsigned char *)registers[REG_RIP];
  const unsigned event = (unsigned)registers[REG_RCX];
  (void)info;
  if (code[0] != 0x0f || code[1] != 0x33 || event >= event_count) { // not rdpmc
    signal(number, SIG_DFL);
    return;
  }
  const unsigned long long count = events[event].count & ((1ull << WIDTH) - 1);
  registers[REG_RAX] = (greg_t)(count & 0xffffffffu);
  registers[REG_RDX] = (greg_t)(count >> 32);
  registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void begin(void)
{
  const struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
}

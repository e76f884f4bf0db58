// SPDX-License-Identifier: Apache-2.0
// Counts within spans of the calling thread, where XSP_COUNTERS names counters: tags of each span that starts and finishes here.
// Called by ring.c and span.c, and by tracers for intervals. No descriptor is kept, since programs close what they do not know: hardware
// counters are read from their mapped pages, by the processor's instruction, system calls from how far the kernel has written; it is
// asked for the others.
#include "capture/capture.h"

#include "base/clock.h"
#include "base/scoped.h"
#include "base/small_file.h"
#include "format/span_counters.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <xsp/tracer.h>

#define HARDWARE (SPAN_COUNTERS - SPAN_OF_HARDWARE)

struct reading {
  uint64_t values[SPAN_COUNTERS];
  uint64_t away_ns[HARDWARE]; // that the counter was not on a processor's counter while its thread ran
  uint32_t mask;              // that were read
};
struct span_counters { // of a thread
  uint32_t mask;
  struct perf_event_mmap_page *pages[HARDWARE]; // NULL: not counted
  struct perf_event_mmap_page *calls;           // of system calls; NULL: not counted
  uint64_t own_calls;                           // that reading took
  struct reading marks[XSP_COUNT_PLACES];
  struct {
    uint32_t id; // of a span; 0: none
    struct reading at_start;
  } open[RING_OPEN_SPANS]; // by depth at the start
};

static uint32_t wanted = UINT32_MAX; // atomic; UINT32_MAX: not looked at

static uint32_t wanted_mask(void)
{
  uint32_t mask = __atomic_load_n(&wanted, __ATOMIC_RELAXED);
  const char *wrong;
  size_t length;
  if (mask != UINT32_MAX)
    return mask;
  const char *list = secure_getenv(SPAN_COUNTERS_VARIABLE);
  if (list == NULL || !span_counters_parse(list, &mask, &wrong, &length))
    mask = 0;
  __atomic_store_n(&wanted, mask, __ATOMIC_RELAXED);
  return mask;
}

bool counting_is_wanted(void)
{
  return wanted_mask() != 0;
}

// ---- a thread's counters
static size_t page_bytes(void)
{
  return (size_t)sysconf(_SC_PAGESIZE);
}

static int open_event(uint64_t config, int group)
{
  struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                 .size = sizeof attr,
                                 .config = config,
                                 .exclude_kernel = 1, // else the system asks for more rights
                                 .exclude_hv = 1};
  return (int)syscall(SYS_perf_event_open, &attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

// In one group, which is on the processor's counters together. A mapped page keeps its event.
static void open_hardware(struct span_counters *counters)
{
  int group = -1;
  for (unsigned i = 0; i < HARDWARE; i++) {
    if ((counters->mask & UINT32_C(1) << (SPAN_OF_HARDWARE + i)) == 0)
      continue;
    int event = open_event(span_counter_facts[SPAN_OF_HARDWARE + i].perf_config, group);
    void *page = event < 0 ? MAP_FAILED : mmap(NULL, page_bytes(), PROT_READ, MAP_SHARED, event, 0);
    counters->pages[i] = page == MAP_FAILED ? NULL : page;
    if (group < 0)
      group = event;
    else if (event >= 0)
      (void)close(event);
  }
  if (group >= 0)
    (void)close(group);
}

static void open_calls(struct span_counters *counters)
{
  static const char *const files[] = {SPAN_SYSTEM_CALLS_FILES};
  char text[32];
  size_t length = 0;
  if ((counters->mask & UINT32_C(1) << SPAN_SYSTEM_CALLS) == 0)
    return;
  for (size_t i = 0; i < sizeof files / sizeof files[0] && length == 0; i++)
    length = small_file_read(files[i], text, sizeof text);
  struct perf_event_attr attr = SPAN_SYSTEM_CALLS_ATTR(strtoull(text, NULL, 10));
  int event SCOPED(scoped_close) =
      length == 0 ? -1 : (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  void *page = event < 0 ? MAP_FAILED : mmap(NULL, 2 * page_bytes(), PROT_READ, MAP_SHARED, event, 0);
  counters->calls = page == MAP_FAILED ? NULL : page;
}

void counting_open(void)
{
  const uint32_t mask = wanted_mask();
  if (mask == 0 || capture_thread.counters != NULL)
    return;
  struct span_counters *counters =
      mmap(NULL, sizeof *counters, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (counters == MAP_FAILED)
    return;
  counters->mask = mask;
  open_hardware(counters);
  open_calls(counters);
  __atomic_signal_fence(__ATOMIC_SEQ_CST); // a handler sees all of it or none
  capture_thread.counters = counters;
}

static void close_counters(bool has_pages)
{
  struct span_counters *counters = capture_thread.counters;
  if (counters == NULL)
    return;
  capture_thread.counters = NULL;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  for (unsigned i = 0; i < HARDWARE && has_pages; i++)
    if (counters->pages[i] != NULL)
      (void)munmap(counters->pages[i], page_bytes());
  if (counters->calls != NULL && has_pages)
    (void)munmap(counters->calls, 2 * page_bytes());
  (void)munmap(counters, sizeof *counters);
}

void counting_close(void)
{
  close_counters(true);
}

void counting_start_clean(void)
{
  close_counters(false); // the system maps pages of events in no child
}

// ---- reading
static inline uint64_t read_counter(uint32_t number)
{
#if defined(__x86_64__)
  uint32_t low, high;
  __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number));
  return (uint64_t)high << 32 | low;
#else
  return 0;
#endif
}

// As the head of linux/perf_event.h has it. False: it is not on a counter of the processor, or may not be read.
static bool read_page(const volatile struct perf_event_mmap_page *page, uint64_t *ret_value, uint64_t *ret_away_ns)
{
  uint32_t lock, index;
  do {
    lock = page->lock;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    index = page->index;
    *ret_away_ns = page->time_enabled - page->time_running;
    *ret_value = (uint64_t)page->offset;
    if (index == 0 || !page->cap_user_rdpmc || page->pmc_width == 0 || page->pmc_width > 64)
      return false;
    const unsigned unused_bits = 64u - page->pmc_width;
    *ret_value += (uint64_t)((int64_t)(read_counter(index - 1) << unused_bits) >> unused_bits);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  } while (page->lock != lock);
  return true;
}

#define BIT(counter) (UINT32_C(1) << (counter))
static void read_all(struct span_counters *counters, struct reading *ret_reading)
{
  struct rusage used;
  uint64_t *values = ret_reading->values;
  ret_reading->mask = counters->mask & (BIT(SPAN_CPU_NS) | BIT(SPAN_PAGE_FAULTS) | BIT(SPAN_CONTEXT_SWITCHES));
  if (counters->calls != NULL) {
    ret_reading->mask |= BIT(SPAN_SYSTEM_CALLS);
    values[SPAN_SYSTEM_CALLS] =
        __atomic_load_n(&counters->calls->data_head, __ATOMIC_RELAXED) / SPAN_SYSTEM_CALL_BYTES - counters->own_calls;
  }
  if ((ret_reading->mask & (BIT(SPAN_PAGE_FAULTS) | BIT(SPAN_CONTEXT_SWITCHES))) != 0 &&
      getrusage(RUSAGE_THREAD, &used) == 0) {
    counters->own_calls++;
    values[SPAN_PAGE_FAULTS] = (uint64_t)used.ru_minflt + (uint64_t)used.ru_majflt;
    values[SPAN_CONTEXT_SWITCHES] = (uint64_t)used.ru_nvcsw + (uint64_t)used.ru_nivcsw;
  }
  for (unsigned i = 0; i < HARDWARE; i++)
    if (counters->pages[i] != NULL &&
        read_page(counters->pages[i], &values[SPAN_OF_HARDWARE + i], &ret_reading->away_ns[i]))
      ret_reading->mask |= UINT32_C(1) << (SPAN_OF_HARDWARE + i);
  if ((counters->mask & BIT(SPAN_CPU_NS)) != 0) {
    values[SPAN_CPU_NS] = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
    counters->own_calls++;
  }
}

void counting_start(uint32_t depth, uint32_t id)
{
  struct span_counters *counters = capture_thread.counters;
  if (counters == NULL || depth >= RING_OPEN_SPANS)
    return;
  counters->open[depth].id = 0; // while it is filled, for handlers
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  read_all(counters, &counters->open[depth].at_start);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  counters->open[depth].id = id;
}

// Whether the difference is all that happened between the readings: a counter that made room for others missed a part.
static bool is_whole(const struct reading *start, const struct reading *end, unsigned counter)
{
  if ((start->mask & end->mask & BIT(counter)) == 0)
    return false;
  return counter < SPAN_OF_HARDWARE ||
         start->away_ns[counter - SPAN_OF_HARDWARE] == end->away_ns[counter - SPAN_OF_HARDWARE];
}

static void put_tags(const struct reading *start, const struct reading *end, uint32_t id)
{
  for (unsigned i = 0; i < SPAN_COUNTERS; i++) {
    const uint32_t key = is_whole(start, end, i) ? catalog_text(span_counter_facts[i].name) : 0;
    if (key != 0 && ring_room(1))
      ring_put(end->values[i] - start->values[i], 0, key | (uint64_t)id << 32, RECORD_TAG_INT);
  }
}

void counting_finish(uint32_t id)
{
  struct span_counters *counters = capture_thread.counters;
  struct reading end = {0};
  unsigned at = 0;
  if (counters == NULL)
    return;
  read_all(counters, &end);
  while (at < RING_OPEN_SPANS && counters->open[at].id != id)
    at++;
  if (at == RING_OPEN_SPANS) // too deep, or its place was taken: it finishes out of order
    return;
  put_tags(&counters->open[at].at_start, &end, id);
  counters->open[at].id = 0;
}

// ---- of intervals
void xsp_count(unsigned place)
{
  struct span_counters *counters = capture_thread.counters;
  if (counters != NULL && place < XSP_COUNT_PLACES)
    read_all(counters, &counters->marks[place]);
}

void xsp_count_tag(const struct xsp_span *span, unsigned from, unsigned to)
{
  const struct span_counters *counters = capture_thread.counters;
  if (counters != NULL && span->id != 0 && from < to && to < XSP_COUNT_PLACES)
    put_tags(&counters->marks[from], &counters->marks[to], span->id);
}

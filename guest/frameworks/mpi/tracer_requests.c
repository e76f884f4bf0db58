// SPDX-License-Identifier: Apache-2.0
// Communication that a call starts and a later one waits for: published when a wait or test finds it complete, on a track of its own, as
// the program does other work meanwhile. The wait itself is a span, too. Called by tracer.c.
#include "frameworks/mpi/tracer.h"

#define REQUESTS 256u // at a time; more are not recorded

enum { FREE, WRITTEN, STARTED };
static struct request {
  uint32_t state; // atomic
  uint32_t path;
  mpi_word handle; // atomic
  struct xsp_site *site;
  uint64_t start;
  int64_t sequence, bytes;
} requests[REQUESTS];
static uint32_t started_count; // atomic

void mpi_requests_add(const struct mpi_open *made)
{
  mpi_word handle = mpi_handle_at((const void *)made->arguments[made->call->request - 1], 0);
  for (uint32_t i = 0; i < REQUESTS; i++) {
    uint32_t state = __atomic_load_n(&requests[i].state, __ATOMIC_ACQUIRE);
    bool is_stale =
        state == STARTED && __atomic_load_n(&requests[i].handle, __ATOMIC_RELAXED) == handle; // freed by others
    if ((state != FREE && !is_stale) ||
        !__atomic_compare_exchange_n(&requests[i].state, &state, WRITTEN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      continue;
    struct request *request = &requests[i];
    __atomic_store_n(&request->handle, handle, __ATOMIC_RELAXED);
    request->path = made->path;
    request->site = made->site;
    request->start = made->start;
    request->sequence = made->sequence;
    request->bytes = made->bytes;
    __atomic_add_fetch(&started_count, is_stale ? 0 : 1, __ATOMIC_RELAXED);
    __atomic_store_n(&request->state, STARTED, __ATOMIC_RELEASE);
    return;
  }
}

static void find(struct mpi_open *open, mpi_word handle, uint32_t place)
{
  for (uint32_t i = 0; i < REQUESTS && open->waited_count < MPI_WAITED_MOST; i++)
    if (__atomic_load_n(&requests[i].state, __ATOMIC_ACQUIRE) == STARTED &&
        __atomic_load_n(&requests[i].handle, __ATOMIC_RELAXED) == handle) {
      open->waited[open->waited_count].slot = i;
      open->waited[open->waited_count++].place = place;
      return;
    }
}

void mpi_requests_wait(struct mpi_open *open)
{
  const struct mpi_call *call = open->call;
  const void *handles = (const void *)open->arguments[call->requests - 1];
  int32_t count = call->request_count != 0 ? (int32_t)(uint32_t)open->arguments[call->request_count - 1] : 1;
  const uint32_t started = __atomic_load_n(&started_count, __ATOMIC_RELAXED);
  for (int32_t i = 0; i < count && open->waited_count < started && open->waited_count < MPI_WAITED_MOST; i++)
    find(open, mpi_handle_at(handles, (uint32_t)i), (uint32_t)i);
  if (open->waited_count > 0)
    open->span = xsp_span_start(mpi_wait_site(call));
}

// They overlap each other and what the program does meanwhile.
static uint16_t track_of_requests(void)
{
  static uint16_t kept; // atomic; 0: not made yet
  uint16_t track = __atomic_load_n(&kept, __ATOMIC_RELAXED), none = 0;
  if (track != 0)
    return track;
  const struct xsp_track_options options = {.size = sizeof options, .name = "MPI", .device_id = -1, .stream_id = -1};
  track = xsp_track_create(&options);
  if (!__atomic_compare_exchange_n(&kept, &none, track, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return none; // another thread was faster
  return track;
}

void mpi_requests_waited(struct mpi_open *open)
{
  const void *handles = (const void *)open->arguments[open->call->requests - 1];
  for (uint32_t i = 0; i < open->waited_count; i++) {
    struct request *request = &requests[open->waited[i].slot];
    if (mpi_handle_at(handles, open->waited[i].place) == __atomic_load_n(&request->handle, __ATOMIC_RELAXED))
      continue; // not complete: a test, or a wait for others
    uint32_t state = STARTED;
    if (!__atomic_compare_exchange_n(&request->state, &state, WRITTEN, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      continue;
    const struct request ended = *request;
    __atomic_store_n(&request->state, FREE, __ATOMIC_RELEASE);
    __atomic_sub_fetch(&started_count, 1, __ATOMIC_RELAXED);
    const struct xsp_interval interval = {.size = sizeof interval,
                                          .track = track_of_requests(),
                                          .start = ended.start,
                                          .end = xsp_clock_ticks(),
                                          .call_path = ended.path};
    const struct xsp_span span = xsp_span_emit(ended.site, &interval);
    mpi_tag(&span, ended.sequence, ended.bytes);
  }
}

// SPDX-License-Identifier: Apache-2.0
// Communication that a call starts and a later one waits for: published when a wait or test finds it complete, on a track of its own, as
// the program does other work meanwhile. The wait itself is a span, too. Called by tracer.c.
#include "frameworks/mpi/tracer.h"

#include <string.h>

enum { FREE, WRITTEN, STARTED };
static struct request {
  uint32_t state; // atomic
  uint32_t path;
  mpi_word handle; // atomic
  struct xsp_site *site;
  uint64_t start;
  int64_t sequence, bytes;
} requests[MPI_REQUESTS];
static uint32_t started_count; // atomic

static bool is_of(const struct request *request, mpi_word handle)
{
  return __atomic_load_n(&request->state, __ATOMIC_ACQUIRE) == STARTED &&
         __atomic_load_n(&request->handle, __ATOMIC_RELAXED) == handle;
}

static bool claim(struct request *request, uint32_t state)
{
  return __atomic_compare_exchange_n(&request->state, &state, WRITTEN, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void release(struct request *request)
{
  __atomic_store_n(&request->state, FREE, __ATOMIC_RELEASE);
  __atomic_sub_fetch(&started_count, 1, __ATOMIC_RELAXED);
}

static void forget(mpi_word handle, bool is_one)
{
  if (__atomic_load_n(&started_count, __ATOMIC_RELAXED) == 0)
    return;
  for (uint32_t i = 0; i < MPI_REQUESTS; i++)
    if (is_of(&requests[i], handle) && claim(&requests[i], STARTED)) {
      release(&requests[i]);
      if (is_one)
        return;
    }
}

void mpi_requests_freed(const void *handle)
{
  if (handle != NULL)
    forget(mpi_handle_at(handle, 0), true);
}

// The library has ended an earlier request of the same handle where no call here showed it. But sends that are complete at once share a
// handle.
void mpi_requests_add(const struct mpi_open *made)
{
  mpi_word handle = mpi_handle_at((const void *)made->arguments[made->call->request - 1], 0);
  if (strcmp(made->call->kind, "send") != 0)
    forget(handle, false);
  for (uint32_t i = 0; i < MPI_REQUESTS && made->site != NULL; i++) {
    struct request *request = &requests[i];
    if (__atomic_load_n(&request->state, __ATOMIC_RELAXED) != FREE || !claim(request, FREE))
      continue;
    __atomic_store_n(&request->handle, handle, __ATOMIC_RELAXED);
    request->path = made->path;
    request->site = made->site;
    request->start = made->start;
    request->sequence = made->sequence;
    request->bytes = made->bytes;
    __atomic_add_fetch(&started_count, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&request->state, STARTED, __ATOMIC_RELEASE);
    return;
  }
}

void mpi_requests_wait(struct mpi_open *open)
{
  const struct mpi_call *call = open->call;
  const void *handles = (const void *)open->arguments[call->requests - 1];
  int32_t count = call->request_count != 0 ? (int32_t)(uint32_t)open->arguments[call->request_count - 1] : 1;
  const uint32_t started = __atomic_load_n(&started_count, __ATOMIC_RELAXED);
  bool is_waited[MPI_REQUESTS] = {false}; // several may have one handle
  for (int32_t place = 0; handles != NULL && place < count && open->waited_count < started; place++) {
    const mpi_word handle = mpi_handle_at(handles, (uint32_t)place);
    uint32_t slot = 0;
    while (slot < MPI_REQUESTS && (is_waited[slot] || !is_of(&requests[slot], handle)))
      slot++;
    if (slot == MPI_REQUESTS)
      continue;
    is_waited[slot] = true;
    open->waited[open->waited_count].slot = slot;
    open->waited[open->waited_count++].place = (uint32_t)place;
  }
  if (open->waited_count > 0 && call->is_test)
    open->start = xsp_clock_ticks();
  else if (open->waited_count > 0)
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
  bool has_ended = false;
  for (uint32_t i = 0; i < open->waited_count; i++) {
    struct request *request = &requests[open->waited[i].slot];
    if (mpi_handle_at(handles, open->waited[i].place) == __atomic_load_n(&request->handle, __ATOMIC_RELAXED))
      continue; // not complete: a test, or a wait for others
    if (!claim(request, STARTED))
      continue;
    const struct request ended = *request;
    release(request);
    has_ended = true;
    const struct xsp_interval interval = {.size = sizeof interval,
                                          .track = track_of_requests(),
                                          .start = ended.start,
                                          .end = xsp_clock_ticks(),
                                          .call_path = ended.path};
    const struct xsp_span span = xsp_span_emit(ended.site, &interval);
    mpi_tag(&span, ended.sequence, ended.bytes);
  }
  if (!has_ended || !open->call->is_test) // of tests only those that found something, as programs test again and again
    return;
  const struct xsp_interval interval = {.size = sizeof interval, .start = open->start, .end = xsp_clock_ticks()};
  (void)xsp_span_emit(mpi_wait_site(open->call), &interval);
}

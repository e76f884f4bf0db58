// SPDX-License-Identifier: Apache-2.0
// What may be said about a span of this thread: tags, logs, correlation, parents, W3C trace context; and thread names.
// Each call writes one record, or two for a remote parent. Wrong handles are counted, never guessed at.
#include "capture/capture.h"

#include "format/traceparent.h"

#include <errno.h>
#include <string.h>

static bool is_mine(const struct xsp_span *span)
{
  const struct capture_thread *thread = &capture_thread;
  if (span->start == UINT64_MAX)
    return thread->ring != NULL && span->id == thread->emitted_id && span->site == thread->emitted_site;
  return ring_find_open(span->start, span->site | (uint64_t)span->id << 32) >= 0;
}

// True where `records` records about the span may be written now.
static bool may_annotate(const struct xsp_span *span, uint32_t records)
{
  if (!is_mine(span)) {
    session_count_misused();
    return false;
  }
  return ring_room(records);
}

static bool is_recorded(const struct xsp_span *span)
{
  return span != NULL && span->start != 0;
}

void annotate(const struct xsp_span *span, uint32_t type, uint64_t start, uint32_t site)
{
  if (may_annotate(span, 1))
    ring_put(start, 0, site | (uint64_t)span->id << 32, type);
}

// A tag, or a log with its message as the key.
static void tag(const struct xsp_span *span, enum record_type type, const char *key, uint64_t value)
{
  if (!is_recorded(span))
    return;
  int saved_errno = errno;
  uint32_t id = catalog_text(key);
  if (id != 0)
    annotate(span, type, value, id);
  else
    session_count_lost(1);
  errno = saved_errno;
}

void xsp_span_tag_int(const struct xsp_span *span, const char *key, int64_t value)
{
  tag(span, RECORD_TAG_INT, key, (uint64_t)value);
}

void xsp_span_tag_double(const struct xsp_span *span, const char *key, double value)
{
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  tag(span, RECORD_TAG_DOUBLE, key, bits);
}

void xsp_span_tag_string(const struct xsp_span *span, const char *key, const char *value)
{
  if (!is_recorded(span))
    return;
  int saved_errno = errno;
  uint32_t id = catalog_string(value == NULL ? "" : value, value == NULL ? 0 : strlen(value));
  if (id != 0)
    tag(span, RECORD_TAG_STRING, key, id);
  else
    session_count_lost(1);
  errno = saved_errno;
}

void xsp_span_log(const struct xsp_span *span, const char *message)
{
  if (is_recorded(span))
    tag(span, RECORD_LOG, message, clock_ticks());
}

void xsp_span_correlate(const struct xsp_span *span, enum xsp_kind kind, uint64_t correlation_id)
{
  if (!is_recorded(span))
    return;
  int saved_errno = errno;
  annotate(span, RECORD_CORRELATION | ((uint32_t)kind & 0xf) << 8, correlation_id, 0);
  errno = saved_errno;
}

struct xsp_context xsp_span_context(const struct xsp_span *span)
{
  struct xsp_context context = {0, 0};
  if (!is_recorded(span))
    return context;
  int saved_errno = errno;
  const struct ring_head *ring = ring_own();
  if (ring != NULL && is_mine(span)) {
    context.ring = ring->number;
    context.id = span->id;
  } else {
    session_count_misused();
  }
  errno = saved_errno;
  return context;
}

void xsp_span_set_parent(const struct xsp_span *span, struct xsp_context parent)
{
  if (!is_recorded(span) || parent.id == 0)
    return;
  int saved_errno = errno;
  annotate(span, RECORD_PARENT, (uint64_t)parent.ring << 32 | parent.id, 0);
  errno = saved_errno;
}

uint32_t xsp_string(const char *text, size_t length)
{
  int saved_errno = errno;
  uint32_t id = session_is_in() && text != NULL ? catalog_string(text, length) : 0;
  errno = saved_errno;
  return id;
}

void xsp_thread_name(const char *name)
{
  if (!session_is_in())
    return;
  int saved_errno = errno;
  uint32_t id = catalog_text(name);
  capture_thread.name = id; // a thread without spans needs no ring for its name
  if (id != 0 && capture_thread.ring != NULL && ring_room(1))
    ring_put(0, 0, id, RECORD_THREAD_NAME);
  errno = saved_errno;
}

// ---- W3C trace context: "00-<trace id>-<span id>-<flags>"
// The span that brought a remote trace into this thread is still open.
static bool remote_is_open(const struct ring_head *ring)
{
  const struct ring_producer *lines = &ring->producer;
  for (uint32_t i = 0; i < RING_OPEN_SPANS && i < lines->depth; i++)
    if (lines->open[i].start != 0 && lines->open[i].id == capture_thread.remote_id)
      return true;
  return false;
}

// This thread's innermost open span; 0: none that the ring lists.
static uint32_t innermost_open(const struct ring_head *ring)
{
  const struct ring_producer *lines = &ring->producer;
  for (uint32_t i = lines->depth < RING_OPEN_SPANS ? lines->depth : RING_OPEN_SPANS; i > 0; i--)
    if (lines->open[i - 1].start != 0)
      return lines->open[i - 1].id;
  return 0;
}

// The big-endian id of the span that a callee is to name as its parent. False: there is none.
static bool public_parent(const struct ring_head *ring, uint32_t span_id, uint8_t ret_parent[8])
{
  static const uint8_t none[8];
  const struct session_head *head = capture.session;
  uint64_t id = __atomic_load_n(&head->program_span, __ATOMIC_RELAXED); // partner: collect_traceparent
  if (ring != NULL && span_id != 0)
    id = session_public_id(head->span_base, (uint64_t)ring->number << 32 | span_id);
  for (int i = 0; i < 8; i++)
    ret_parent[i] = (uint8_t)(id != 0 ? id >> (56 - 8 * i) : head->parent_id[i]);
  return memcmp(ret_parent, none, sizeof none) != 0;
}

int xsp_traceparent_out(const struct xsp_span *span, char header[XSP_TRACEPARENT_SIZE])
{
  if (!session_is_in())
    return -1;
  const uint8_t *trace = capture.session->trace_id;
  uint8_t parent[8];
  const struct ring_head *ring = ring_own();
  bool is_named = ring != NULL && is_recorded(span) && is_mine(span);
  uint32_t span_id = is_named ? span->id : ring != NULL ? innermost_open(ring) : 0;
  if (!public_parent(ring, span_id, parent))
    return -1;
  if (span_id != 0 && capture_thread.remote_id != 0 && remote_is_open(ring))
    trace = capture_thread.remote_trace;
  traceparent_write(header, trace, parent);
  return 0;
}

int xsp_traceparent_in(const struct xsp_span *span, const char *header)
{
  uint8_t trace[16], parent[8];
  if (!traceparent_read(header, trace, parent))
    return -1;
  if (!is_recorded(span))
    return 0;
  int saved_errno = errno;
  if (may_annotate(span, 2)) {
    uint64_t words[3];
    memcpy(words, trace, sizeof trace);
    memcpy(words + 2, parent, sizeof parent);
    ring_put(words[0], words[1], (uint64_t)span->id << 32, RECORD_TRACE);
    ring_put(words[2], 0, (uint64_t)span->id << 32, RECORD_REMOTE_PARENT);
    memcpy(capture_thread.remote_trace, trace, sizeof trace);
    capture_thread.remote_id = span->id;
  }
  errno = saved_errno;
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// <xsp/monitor.h>: hands events of tracers to clients in this process. Called on threads of the program in the middle of its
// work. Lock-free: subscriptions are places in a table, taken once and never used again.
#include "capture/capture.h"

#include <errno.h>
#include <xsp/monitor.h>

#define SUBSCRIPTIONS_MOST 16u

struct subscription {
  xsp_event_fn callback; // atomic; NULL: ended, or not made yet
  void *context;
  uint32_t domain;
};
static struct subscription subscriptions[SUBSCRIPTIONS_MOST];
static uint32_t subscription_count;            // atomic: places handed out; may pass SUBSCRIPTIONS_MOST
static uint32_t (*provider)(uint32_t sources); // atomic

volatile uint32_t xsp_monitor_domains_v1; // atomic
static __thread bool is_reporting __attribute__((tls_model("initial-exec")));

int xsp_monitor_init(void)
{
  session_attach_if_asked();
  return capture_attached() ? 0 : -ENOENT;
}

int xsp_monitor_subscribe(enum xsp_domain domain, xsp_event_fn callback, void *context)
{
  if ((unsigned)domain >= XSP_DOMAIN_COUNT || callback == NULL)
    return -EINVAL;
  uint32_t place = __atomic_load_n(&subscription_count, __ATOMIC_RELAXED);
  do
    if (place >= SUBSCRIPTIONS_MOST)
      return -ENOSPC;
  while (
      !__atomic_compare_exchange_n(&subscription_count, &place, place + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  subscriptions[place].context = context;
  subscriptions[place].domain = domain;
  __atomic_store_n(&subscriptions[place].callback, callback, __ATOMIC_RELEASE); // partner: xsp_monitor_report
  __atomic_fetch_or(&xsp_monitor_domains_v1, UINT32_C(1) << domain, __ATOMIC_RELEASE);
  return (int)place + 1;
}

void xsp_monitor_finalize(void)
{
  __atomic_store_n(&xsp_monitor_domains_v1, 0, __ATOMIC_RELEASE);
  for (uint32_t i = 0; i < SUBSCRIPTIONS_MOST; i++)
    __atomic_store_n(&subscriptions[i].callback, NULL, __ATOMIC_RELEASE);
}

void xsp_monitor_report(const struct xsp_event *event)
{
  if (is_reporting)
    return;
  is_reporting = true;
  uint32_t count = __atomic_load_n(&subscription_count, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < count && i < SUBSCRIPTIONS_MOST; i++) {
    xsp_event_fn callback = __atomic_load_n(&subscriptions[i].callback, __ATOMIC_ACQUIRE);
    if (callback != NULL && subscriptions[i].domain == event->domain)
      callback(event, subscriptions[i].context);
  }
  is_reporting = false;
}

static size_t describe(const struct xsp_event *event, int of_results, char *text, size_t size)
{
  if (size > 0)
    *text = '\0';
  return event->describe == NULL ? 0 : event->describe(event, of_results, text, size);
}

size_t xsp_event_arguments(const struct xsp_event *event, char *text, size_t size)
{
  return describe(event, 0, text, size);
}

size_t xsp_event_results(const struct xsp_event *event, char *text, size_t size)
{
  return describe(event, 1, text, size);
}

void xsp_monitor_provide(uint32_t (*find)(uint32_t sources))
{
  __atomic_store_n(&provider, find, __ATOMIC_RELEASE);
}

// ---- call paths -------------------------------------------------------------------------------------------------------

static const char *text_of(uint32_t id)
{
  const struct catalog_string *text = catalog_entry(id, CATALOG_STRING);
  return text == NULL ? NULL : text->text;
}

static bool is_wanted(uint32_t kind, uint32_t sources)
{
  uint32_t source = kind == XSP_FRAME_PYTHON      ? XSP_SOURCE_PYTHON
                    : kind == XSP_FRAME_FRAMEWORK ? XSP_SOURCE_FRAMEWORK
                                                  : XSP_SOURCE_NATIVE;
  return (sources & source) != 0;
}

uint32_t xsp_monitor_path(uint32_t sources)
{
  uint32_t (*find)(uint32_t) = __atomic_load_n(&provider, __ATOMIC_ACQUIRE);
  return find == NULL ? 0 : find(sources);
}

size_t xsp_monitor_call_path(uint32_t sources, struct xsp_frame *frames, size_t most)
{
  uint32_t path = xsp_monitor_path(sources);
  size_t count = 0, kept;
  const struct catalog_path *at;
  const struct catalog_frame *frame;
  for (uint32_t id = path; (at = catalog_entry(id, CATALOG_PATH)) != NULL; id = at->caller)
    count += (frame = catalog_entry(at->frame, CATALOG_FRAME)) != NULL && is_wanted(frame->kind, sources);
  kept = count < most ? count : most;
  for (uint32_t id = path; kept > 0 && (at = catalog_entry(id, CATALOG_PATH)) != NULL; id = at->caller) {
    frame = catalog_entry(at->frame, CATALOG_FRAME);
    if (frame == NULL || !is_wanted(frame->kind, sources))
      continue;
    const bool is_nameless = frame->name == 0 && frame->kind == XSP_FRAME_NATIVE;
    frames[--kept] = (struct xsp_frame){.size = sizeof *frames,
                                        .kind = frame->kind,
                                        .name = text_of(is_nameless ? native_name(at->frame, frame) : frame->name),
                                        .file = text_of(frame->file),
                                        .module = text_of(frame->module),
                                        .line = frame->line,
                                        .address = frame->address};
  }
  return count;
}

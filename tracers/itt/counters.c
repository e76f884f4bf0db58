// SPDX-License-Identifier: Apache-2.0
// Counters and instants: spans of no length, at application level, of category "counter" (tag `value`) and "mark"; and
// events, which any thread starts and ends by number.
// A counter's sum lives with its name, for all modules and threads together.
#include "tracers/itt/itt.h"

#include "base/hash.h"

#include <string.h>

// Sites of one name differ by domain. Threads that come together store the same.
static struct xsp_site *site_of(struct itt_name *name, const char *category)
{
  struct xsp_site *site = __atomic_load_n(&name->site, __ATOMIC_ACQUIRE);
  if (site != NULL)
    return site;
  bool has_domain = *name->second != '\0';
  uint32_t variant = has_domain ? (uint32_t)hash_text(name->second, strlen(name->second), 5) | 1 : 0;
  site = xsp_site_create_variant(ITT_TRACER, XSP_LEVEL_APPLICATION, name->text, category, variant);
  if (site == NULL)
    return NULL;
  if (has_domain)
    xsp_site_tag_string(site, "domain", name->second);
  __atomic_store_n(&name->site, site, __ATOMIC_RELEASE);
  return site;
}

static struct xsp_span emit_at(struct xsp_site *site, uint64_t stamp)
{
  struct xsp_interval instant = {.size = sizeof instant};
  instant.start = instant.end = stamp != 0 ? stamp : xsp_clock_ticks();
  if (itt_is_off(site))
    return (struct xsp_span){0, 0, 0};
  if (!itt_is_possible(instant.start, instant.end)) {
    itt_lose(ITT_LOSS_TIME);
    return (struct xsp_span){0, 0, 0};
  }
  return xsp_span_emit(site, &instant);
}

// A module may have made it before we were loaded.
static struct itt_name *name_of(struct itt_counter *counter)
{
  if (counter == NULL)
    return NULL;
  struct itt_name *name = __atomic_load_n(&counter->extra2, __ATOMIC_ACQUIRE);
  if (name == NULL && counter->name != NULL) {
    name = itt_name(ITT_NAME_COUNTER, counter->name, counter->domain, counter->type);
    __atomic_store_n(&counter->extra2, name, __ATOMIC_RELEASE);
  }
  return name;
}

static bool is_real(int type)
{
  return type == ITT_TYPE_FLOAT || type == ITT_TYPE_DOUBLE;
}

void itt_counter_add(struct itt_counter *counter, int64_t delta)
{
  struct itt_name *name = name_of(counter);
  if (name == NULL)
    return;
  int64_t value = __atomic_add_fetch(&name->value, delta, __ATOMIC_RELAXED);
  struct xsp_span span = emit_at(site_of(name, "counter"), 0);
  xsp_span_tag_int(&span, "value", value);
}

void itt_counter_set(struct itt_counter *counter, uint64_t stamp, const void *value)
{
  struct itt_name *name = name_of(counter);
  struct annotation_tags tags;
  annotation_tags_clear(&tags);
  if (name == NULL || !itt_metadata_read(&tags, "value", name->shared.counter.type, 1, value)) {
    itt_lose(ITT_LOSS_METADATA);
    return;
  }
  if (tags.tag[0].type == ANNOTATION_TAG_INT && !is_real(name->shared.counter.type))
    __atomic_store_n(&name->value, tags.tag[0].value.integer, __ATOMIC_RELAXED);
  struct xsp_span span = emit_at(site_of(name, "counter"), stamp);
  annotation_tags_put(&tags, &span);
}

struct itt_name *itt_counter_by_handle(const struct itt_domain *domain, const struct itt_string *name)
{
  return itt_name(ITT_NAME_COUNTER, itt_text_of(name), domain == NULL ? NULL : domain->name, ITT_TYPE_U64);
}

struct xsp_span itt_instant(const char *text, const char *domain, uint64_t stamp)
{
  struct itt_name *name = itt_name(ITT_NAME_INSTANT, text, domain, 0);
  return emit_at(name == NULL ? NULL : site_of(name, "mark"), stamp);
}

// ---- events: they end by number; one that is not ended is an instant
static void publish_event(struct itt_events *open, uint32_t place, uint64_t end)
{
  struct itt_event *event = &open->event[place];
  const struct annotation *annotation = annotation_find_text(annotation_domain(NULL), NULL, event->name->text);
  struct xsp_interval interval = {.size = sizeof interval, .start = event->start, .end = end};
  (void)xsp_span_emit(annotation->site, &interval);
  open->count--;
  memmove(event, event + 1, (open->count - place) * sizeof *event);
}

void itt_event_start_now(const struct itt_name *event)
{
  struct itt_events *open = itt_thread_events();
  if (open == NULL)
    return;
  if (open->count == ITT_EVENTS_MOST)
    publish_event(open, 0, open->event[0].start);
  open->event[open->count++] = (struct itt_event){event, xsp_clock_ticks()};
}

bool itt_event_end_now(const struct itt_name *event)
{
  uint64_t now = xsp_clock_ticks();
  struct itt_events *open = itt_thread_events();
  for (uint32_t i = open == NULL ? 0 : open->count; i-- > 0;)
    if (open->event[i].name == event) {
      publish_event(open, i, now);
      return true;
    }
  return false;
}

// SPDX-License-Identifier: Apache-2.0
// The functions of the API that announce values: metadata; counters and instants, which are spans of no length, at
// application level, of category "counter" (tag `value`) and "mark"; and events, which any thread starts and ends by number.
// A counter's sum is kept with its name, for all modules and threads together. Called by the program's threads.
#include "tracers/itt/itt.h"

#include <stdio.h>
#include <string.h>

// ---- instants
static struct xsp_span emit_at(struct xsp_site *site, uint64_t stamp)
{
  struct xsp_interval instant = {.size = sizeof instant};
  instant.start = instant.end = stamp != 0 ? stamp : xsp_clock_ticks();
  return itt_accepts(site, instant.start, instant.end) ? xsp_span_emit(site, &instant) : (struct xsp_span){0, 0, 0};
}

static struct xsp_span instant(const char *text, const char *domain, uint64_t stamp) // takes tags
{
  struct itt_name *name = itt_name(ITT_NAME_INSTANT, text, domain, 0);
  return emit_at(name == NULL ? NULL : itt_name_site(name, XSP_LEVEL_APPLICATION, "mark", "domain"), stamp);
}

// ---- metadata
// Metadata of the current task is an instant where no task is open: OpenMP's runtime announces the process so.
static void add_tags(const struct itt_domain *domain, const struct itt_id *id, const struct itt_string *key,
                     const struct annotation_tags *tags)
{
  bool is_of_current = id == NULL || (id->d1 | id->d2 | id->d3) == 0;
  if (itt_task_tag(domain, id, tags))
    return;
  if (is_of_current) {
    struct xsp_span span = instant(itt_text_of(key), domain == NULL ? NULL : domain->name, 0);
    annotation_tags_put(tags, &span);
  } else if (!itt_range_tag(domain, *id, tags)) {
    itt_lose(ITT_LOSS_METADATA);
  }
}

static void add_values(const struct itt_domain *domain, const struct itt_id *id, const struct itt_string *key, int type,
                       size_t count, const void *data)
{
  struct annotation_tags tags;
  annotation_tags_clear(&tags);
  if (count == 0)
    return;
  if (itt_metadata_read(&tags, itt_text_of(key), type, count, data))
    add_tags(domain, id, key, &tags);
  else
    itt_lose(ITT_LOSS_METADATA);
}

static void add_text(const struct itt_domain *domain, const struct itt_id *id, const struct itt_string *key,
                     const char *text, size_t length)
{
  struct annotation_tags tags;
  annotation_tags_clear(&tags);
  if (text == NULL) {
    itt_lose(ITT_LOSS_METADATA);
    return;
  }
  annotation_tags_text(&tags, itt_text_of(key), text, strnlen(text, length < 65535 ? length : 65535)); // -1: to its NUL
  add_tags(domain, id, key, &tags);
}

static void metadata_add(const struct itt_domain *domain, struct itt_id id, struct itt_string *key, int type,
                         size_t count, void *data)
{
  add_values(domain, &id, key, type, count, data);
}

static void metadata_str_add(const struct itt_domain *domain, struct itt_id id, struct itt_string *key,
                             const char *text, size_t length)
{
  add_text(domain, &id, key, text, length);
}

// Of scopes, only that of the current task is something that is recorded.
static void metadata_add_with_scope(const struct itt_domain *domain, int scope, struct itt_string *key, int type,
                                    size_t count, void *data)
{
  if (scope == ITT_SCOPE_TASK)
    add_values(domain, NULL, key, type, count, data);
  else
    itt_lose(ITT_LOSS_METADATA);
}

static void metadata_str_add_with_scope(const struct itt_domain *domain, int scope, struct itt_string *key,
                                        const char *text, size_t length)
{
  if (scope == ITT_SCOPE_TASK)
    add_text(domain, NULL, key, text, length);
  else
    itt_lose(ITT_LOSS_METADATA);
}

// ---- counters
static struct itt_counter *counter_create_typed(const char *name, const char *domain, int type)
{
  struct itt_name *counter = name == NULL ? NULL : itt_name(ITT_NAME_COUNTER, name, domain, type);
  return counter == NULL ? NULL : &counter->shared.counter;
}

static struct itt_counter *counter_create(const char *name, const char *domain)
{
  return counter_create_typed(name, domain, ITT_TYPE_U64);
}

static struct itt_counter *counter_create_v3(const struct itt_domain *domain, const char *name, int type)
{
  return counter_create_typed(name, domain == NULL ? NULL : domain->name, type);
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

static void add(struct itt_counter *counter, int64_t delta)
{
  struct itt_name *name = name_of(counter);
  if (name == NULL)
    return;
  int64_t value = __atomic_add_fetch(&name->value, delta, __ATOMIC_RELAXED);
  struct xsp_span span = emit_at(itt_name_site(name, XSP_LEVEL_APPLICATION, "counter", "domain"), 0);
  xsp_span_tag_int(&span, "value", value);
}

static void set(struct itt_counter *counter, uint64_t stamp, const void *value)
{
  struct itt_name *name = name_of(counter);
  struct annotation_tags tags;
  annotation_tags_clear(&tags);
  if (name == NULL || !itt_metadata_read(&tags, "value", name->shared.counter.type, 1, value)) {
    itt_lose(ITT_LOSS_METADATA);
    return;
  }
  if (tags.tag[0].type == ANNOTATION_TAG_INT)
    __atomic_store_n(&name->value, tags.tag[0].value.integer, __ATOMIC_RELAXED);
  struct xsp_span span = emit_at(itt_name_site(name, XSP_LEVEL_APPLICATION, "counter", "domain"), stamp);
  annotation_tags_put(&tags, &span);
}

static void counter_inc(struct itt_counter *counter)
{
  add(counter, 1);
}

static void counter_dec(struct itt_counter *counter)
{
  add(counter, -1);
}

static void counter_inc_delta(struct itt_counter *counter, unsigned long long delta)
{
  add(counter, (int64_t)delta);
}

static void counter_dec_delta(struct itt_counter *counter, unsigned long long delta)
{
  add(counter, (int64_t)(0 - delta));
}

static struct itt_counter *of_handle(const struct itt_domain *domain, const struct itt_string *name)
{
  return counter_create_v3(domain, itt_text_of(name), ITT_TYPE_U64);
}

static void counter_inc_v3(const struct itt_domain *domain, struct itt_string *name)
{
  add(of_handle(domain, name), 1);
}

static void counter_dec_v3(const struct itt_domain *domain, struct itt_string *name)
{
  add(of_handle(domain, name), -1);
}

static void counter_inc_delta_v3(const struct itt_domain *domain, struct itt_string *name, unsigned long long delta)
{
  add(of_handle(domain, name), (int64_t)delta);
}

static void counter_dec_delta_v3(const struct itt_domain *domain, struct itt_string *name, unsigned long long delta)
{
  add(of_handle(domain, name), (int64_t)(0 - delta));
}

static void counter_set_value(struct itt_counter *counter, void *value)
{
  set(counter, 0, value);
}

static void counter_set_value_ex(struct itt_counter *counter, struct itt_clock_domain *clock, itt_stamp stamp,
                                 void *value)
{
  set(counter, itt_ticks(clock, stamp), value);
}

// ---- markers and marks
static void marker_ex(const struct itt_domain *domain, struct itt_clock_domain *clock, itt_stamp stamp,
                      struct itt_id id, struct itt_string *name, int scope)
{
  static const char *const scopes[] = {NULL, "global", "process", "thread", "task", "marker"};
  bool is_known = scope > ITT_SCOPE_UNKNOWN && scope <= ITT_SCOPE_MARKER;
  struct xsp_span span = instant(itt_text_of(name), domain == NULL ? NULL : domain->name, itt_ticks(clock, stamp));
  if (is_known)
    xsp_span_tag_string(&span, "scope", scopes[scope]);
}

static void marker(const struct itt_domain *domain, struct itt_id id, struct itt_string *name, int scope)
{
  marker_ex(domain, NULL, 0, id, name, scope);
}

static int mark_create(const char *name)
{
  struct itt_name *mark = name == NULL ? NULL : itt_name(ITT_NAME_MARK, name, NULL, 0);
  return mark == NULL ? 0 : itt_number_of(mark);
}

static int mark(int number, const char *parameter)
{
  const struct itt_name *known = itt_name_of_number(ITT_NAME_MARK, number);
  struct xsp_span span = {0, 0, 0};
  if (known != NULL)
    span = instant(known->text, NULL, 0);
  if (parameter != NULL)
    xsp_span_tag_string(&span, "parameter", parameter);
  return 0;
}

// ---- events: one that is not ended is an instant
static void publish_event(struct itt_events *open, uint32_t place, uint64_t end)
{
  struct itt_event *event = &open->event[place];
  const struct annotation *annotation = annotation_find_text(annotation_domain(NULL), NULL, event->name->text);
  struct xsp_interval interval = {.size = sizeof interval, .start = event->start, .end = end};
  (void)xsp_span_emit(annotation->site, &interval);
  open->count--;
  memmove(event, event + 1, (open->count - place) * sizeof *event);
}

static int event_create(const char *name, int length)
{
  char text[256];
  if (name == NULL)
    return 0;
  size_t most = length < 0 || (size_t)length >= sizeof text ? sizeof text - 1 : (size_t)length;
  snprintf(text, sizeof text, "%.*s", (int)most, name);
  struct itt_name *event = itt_name(ITT_NAME_EVENT, text, NULL, 0);
  return event == NULL ? 0 : itt_number_of(event);
}

static int event_start(int number)
{
  const struct itt_name *event = itt_name_of_number(ITT_NAME_EVENT, number);
  struct itt_events *open = event == NULL ? NULL : itt_thread_events();
  if (open == NULL)
    return 0;
  if (open->count == ITT_EVENTS_MOST)
    publish_event(open, 0, open->event[0].start);
  open->event[open->count++] = (struct itt_event){event, xsp_clock_ticks()};
  return 0;
}

static int event_end(int number)
{
  uint64_t now = xsp_clock_ticks();
  const struct itt_name *event = itt_name_of_number(ITT_NAME_EVENT, number);
  struct itt_events *open = event == NULL ? NULL : itt_thread_events();
  for (uint32_t i = open == NULL ? 0 : open->count; i-- > 0;)
    if (open->event[i].name == event) {
      publish_event(open, i, now);
      return 0;
    }
  itt_lose(ITT_LOSS_END);
  return 0;
}

const struct itt_function itt_value_functions[] = {
    ITT_FUNCTION(counter_create),
    ITT_FUNCTION(counter_create_typed),
    ITT_FUNCTION(counter_create_v3),
    ITT_FUNCTION(counter_dec),
    ITT_FUNCTION(counter_dec_delta),
    ITT_FUNCTION(counter_dec_delta_v3),
    ITT_FUNCTION(counter_dec_v3),
    ITT_FUNCTION(counter_inc),
    ITT_FUNCTION(counter_inc_delta),
    ITT_FUNCTION(counter_inc_delta_v3),
    ITT_FUNCTION(counter_inc_v3),
    ITT_FUNCTION(counter_set_value),
    ITT_FUNCTION(counter_set_value_ex),
    ITT_FUNCTION_AS(counter_set_value_v3, counter_set_value),
    ITT_FUNCTION(event_create),
    ITT_FUNCTION(event_end),
    ITT_FUNCTION(event_start),
    ITT_FUNCTION(mark),
    ITT_FUNCTION(mark_create),
    ITT_FUNCTION_AS(mark_global, mark),
    ITT_FUNCTION(marker),
    ITT_FUNCTION(marker_ex),
    ITT_FUNCTION(metadata_add),
    ITT_FUNCTION(metadata_add_with_scope),
    ITT_FUNCTION(metadata_str_add),
    ITT_FUNCTION(metadata_str_add_with_scope),
    {NULL, NULL},
};

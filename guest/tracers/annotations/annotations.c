// SPDX-License-Identifier: Apache-2.0
// Ranges, marks and counters of annotation APIs as spans; nesting per thread and domain; capture ranges. Called by the
// tracers of such APIs, on whatever thread the program calls them.
#include "tracers/annotations/annotations_private.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define DOMAIN_TEXT_BYTES (64 * 1024)
#define GLOB_MOST 1024

char annotation_tracer[32] = "annotations";
const char *annotation_model_range, *annotation_capture_range;
static const volatile uint32_t all_on = UINT32_MAX;
const volatile uint32_t *annotation_switches = &all_on;
uint64_t annotation_started_ticks;

static const struct xsp_host *host;   // atomic
static const char *tracer_name_given; // atomic
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct guest_threads threads; // of struct annotation_thread
static uint32_t depth_is_reported;   // atomic
static uint32_t capturing;           // atomic: capture ranges open in this process
// One that dlopen finds room for among the thread's first ones: a pointer.
__thread struct annotation_thread *annotation_own __attribute__((tls_model("initial-exec")));

void annotation_say(const char *message)
{
  const struct xsp_host *known = __atomic_load_n(&host, __ATOMIC_ACQUIRE);
  if (known != NULL && known->say != NULL)
    known->say(known, message);
}

void annotations_host(const struct xsp_host *given)
{
  __atomic_store_n(&host, given, __ATOMIC_RELEASE);
}

// ---- capture ranges
// The switches are the session's: all tracers of all its processes. This tracer's own word of this name is 0 as soon as a
// first process has switched the others off, so that a child that starts inside of a range leaves them on.
static const char capture_marker[] = "capture-range";

static void switch_all(bool on)
{
  xsp_tracer_set_levels("*", on ? XSP_LEVEL_MASK_ALL : 0);
  xsp_tracer_set_levels(capture_marker, 0);
}

// Whoever stores last looks again afterwards, so that the last change of the count decides.
static void switch_as_counted(void)
{
  bool on;
  do {
    on = __atomic_load_n(&capturing, __ATOMIC_SEQ_CST) > 0;
    switch_all(on);
  } while (on != (__atomic_load_n(&capturing, __ATOMIC_SEQ_CST) > 0));
}

void annotation_capture_enter(void)
{
  if (__atomic_fetch_add(&capturing, 1, __ATOMIC_SEQ_CST) == 0)
    switch_as_counted();
}

void annotation_capture_leave(void)
{
  uint32_t before = __atomic_load_n(&capturing, __ATOMIC_SEQ_CST);
  do
    if (before == 0) // entered before a fork
      return;
  while (!__atomic_compare_exchange_n(&capturing, &before, before - 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  if (before == 1)
    switch_as_counted();
}

void annotation_capture_check(void)
{
  const volatile uint32_t *switches = __atomic_load_n(&annotation_switches, __ATOMIC_ACQUIRE);
  if (__atomic_load_n(switches, __ATOMIC_RELAXED) == 0 && __atomic_load_n(&capturing, __ATOMIC_RELAXED) > 0)
    switch_as_counted();
}

// ---- threads
// Ranges of other threads that share the session stay what they are; what the thread had open is open for ever.
static void thread_ends(void *block)
{
  struct annotation_thread *own = block;
  for (uint32_t i = own->depth; i-- > 0;)
    if (own->open[i].captures)
      annotation_capture_leave();
  own->depth = own->beyond = 0;
  annotation_own = NULL;
  __atomic_store_n(&own->block.in_use, 0, __ATOMIC_RELEASE);
}

// The forking thread lives on alone. What was open is its parent's: it still nests here, but is not recorded twice.
static void child_starts(void)
{
  struct annotation_thread *own = annotation_own;
  for (struct guest_block *block = threads.blocks; block != NULL; block = block->next) {
    struct annotation_thread *other = (struct annotation_thread *)block;
    if (other != own)
      other->depth = other->beyond = block->in_use = 0;
  }
  for (uint32_t i = 0; own != NULL && i < own->depth; i++) {
    own->open[i].captures = 0;
    own->open[i].span = (struct xsp_span){0, 0, 0};
  }
  capturing = 0;
  annotation_started_forget();
}

struct annotation_thread *annotation_thread_begins(void)
{
  return annotation_own = guest_thread_begin(&threads, sizeof *annotation_own);
}

// ---- start
// Environment variables may be changed by the program later.
static const char *copy_variable(const char *name, char *to)
{
  const char *text = secure_getenv(name);
  if (text == NULL || *text == '\0' || strlen(text) >= GLOB_MOST)
    return NULL;
  return strcpy(to, text);
}

static void start_once(void)
{
  annotation_started_ticks = xsp_clock_ticks();
  static char model_range[GLOB_MOST], capture_range[GLOB_MOST];
  const char *name = __atomic_load_n(&tracer_name_given, __ATOMIC_ACQUIRE);
  if (strlen(name) < sizeof annotation_tracer)
    strcpy(annotation_tracer, name);
  threads.has_key = pthread_key_create(&threads.key, thread_ends) == 0;
  pthread_atfork(NULL, NULL, child_starts);
  annotation_model_range = copy_variable("XSP_MODEL_RANGE", model_range);
  annotation_capture_range = copy_variable("XSP_CAPTURE_RANGE", capture_range);
  if (annotation_capture_range != NULL && xsp_tracer_levels(capture_marker) != 0)
    switch_all(false);
}

void annotations_start(const char *tracer_name)
{
  int saved_errno = errno;
  __atomic_store_n(&tracer_name_given, tracer_name, __ATOMIC_RELEASE);
  pthread_once(&once, start_once);
  errno = saved_errno;
}

bool annotations_are_off(void)
{
  const volatile uint32_t *switches = __atomic_load_n(&annotation_switches, __ATOMIC_ACQUIRE);
  return __atomic_load_n(switches, __ATOMIC_RELAXED) == 0 && annotation_capture_range == NULL;
}

// ---- domains
struct annotation_domain annotation_domains[ANNOTATION_DOMAINS_MOST] = {
    {.name = ""},
    {.name = "", .is_nameless = true},
    {.name = "more domains"},
};
static char domain_text[DOMAIN_TEXT_BYTES];
static uint64_t domain_text_used; // atomic

static const char *copy_domain_name(const char *name)
{
  size_t bytes = strlen(name) + 1;
  char *copy = guest_reserve(domain_text, &domain_text_used, bytes, sizeof domain_text);
  return copy == NULL ? NULL : memcpy(copy, name, bytes);
}

struct annotation_domain *annotation_domain(const char *name)
{
  if (name == NULL || *name == '\0')
    return &annotation_domains[0];
  const char *copy = NULL;
  for (uint32_t i = 3; i < ANNOTATION_DOMAINS_MOST; i++) {
    struct annotation_domain *domain = &annotation_domains[i];
    const char *known = __atomic_load_n(&domain->name, __ATOMIC_ACQUIRE);
    if (known == NULL) {
      if (copy == NULL && (copy = copy_domain_name(name)) == NULL)
        break;
      if (__atomic_compare_exchange_n(&domain->name, &known, copy, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
        return domain;
    }
    if (strcmp(known, name) == 0)
      return domain;
  }
  return &annotation_domains[2];
}

struct annotation_domain *annotation_domain_nameless(void)
{
  return &annotation_domains[1];
}

const char *annotation_domain_name(const struct annotation_domain *domain)
{
  return __atomic_load_n(&domain->name, __ATOMIC_RELAXED); // others that want this place may still try to claim it
}

// ---- ranges of a thread
// What annotation_find has just read of this text need not be read again.
static void put_varying(struct annotation_thread *own, const struct annotation *annotation, const char *text,
                        size_t length, const struct xsp_span *span)
{
  struct range range;
  if (own->read_annotation == annotation && own->read_text == text && own->read_length == length) {
    range = own->read;
  } else {
    const struct annotation_text *known = (const struct annotation_text *)(const void *)annotation;
    range_read(annotation_domain_name(known->domain), text, length, annotation_model_range, &range);
  }
  own->read_annotation = NULL;
  if (range.sequence != RANGE_NO_NUMBER)
    xsp_span_tag_int(span, "sequence", range.sequence);
  if (range.op_id != RANGE_NO_NUMBER)
    xsp_span_tag_int(span, "op_id", range.op_id);
  if (range.sizes != NULL) {
    size_t bytes = range.sizes_length < sizeof own->scratch ? range.sizes_length : sizeof own->scratch - 1;
    memcpy(own->scratch, range.sizes, bytes);
    own->scratch[bytes] = '\0';
    xsp_span_tag_string(span, "sizes", own->scratch);
  }
}

static uint32_t level_in(const struct annotation_thread *own, uint32_t depth, const struct annotation_domain *domain)
{
  for (uint32_t i = depth; i-- > 0;)
    if (own->open[i].domain == domain)
      return own->open[i].level + 1;
  return 0;
}

struct xsp_span annotation_push(struct annotation_domain *domain, const struct annotation *annotation, const char *text,
                                size_t length, int *ret_depth)
{
  struct annotation_thread *own = annotation_thread_own();
  struct xsp_span span = {0, 0, 0};
  if (own == NULL || own->depth == ANNOTATION_OPEN_MOST) {
    if (ret_depth != NULL)
      *ret_depth = own == NULL ? 0 : ANNOTATION_OPEN_MOST + (int)own->beyond;
    if (own != NULL && own->beyond++ == 0 && __atomic_exchange_n(&depth_is_reported, 1, __ATOMIC_RELAXED) == 0)
      annotation_say("more than 512 ranges are open on a thread: those inside of them are not recorded");
    return span;
  }
  // Depth first: a handler's ranges go above this one and leave the stack as they found it.
  uint32_t depth = own->depth;
  own->depth = depth + 1;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  struct annotation_open *open = &own->open[depth];
  open->domain = domain;
  open->level = level_in(own, depth, domain);
  open->captures = annotation != NULL && annotation->is_capture_range;
  if (ret_depth != NULL)
    *ret_depth = (int)open->level;
  if (annotation != NULL) {
    if (open->captures)
      annotation_capture_enter();
    else if (annotation_capture_range != NULL)
      annotation_capture_check();
    span = xsp_span_start(annotation->site);
    if (annotation->has_varying_tags && span.start != 0 && text != NULL)
      put_varying(own, annotation, text, length, &span);
  }
  open->span = span;
  return span;
}

int annotation_pop(struct annotation_domain *domain)
{
  struct annotation_thread *own = annotation_own;
  if (own == NULL)
    return -1;
  if (own->beyond > 0) {
    own->beyond--;
    return ANNOTATION_OPEN_MOST + (int)own->beyond;
  }
  uint32_t place = own->depth;
  while (place > 0 && own->open[place - 1].domain != domain)
    place--;
  if (place-- == 0)
    return -1;
  struct annotation_open *open = &own->open[place];
  xsp_span_finish(&open->span);
  int level = (int)open->level;
  bool captures = open->captures != 0;
  if (place + 1 != own->depth) {
    memmove(open, open + 1, (own->depth - place - 1) * sizeof *open);
    memmove(&own->sent[place], &own->sent[place + 1], (own->depth - place - 1) * sizeof own->sent[0]);
  }
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  own->depth--;
  if (captures)
    annotation_capture_leave();
  return level;
}

// The place of the innermost open range of the domain, from 1; 0: none.
static uint32_t innermost_place(const struct annotation_thread *own, const struct annotation_domain *domain)
{
  uint32_t place = own != NULL && own->beyond == 0 ? own->depth : 0;
  while (place > 0 && own->open[place - 1].domain != domain)
    place--;
  return place;
}

struct xsp_span annotation_innermost(struct annotation_domain *domain)
{
  uint32_t place = innermost_place(annotation_own, domain);
  return place != 0 ? annotation_own->open[place - 1].span : (struct xsp_span){0, 0, 0};
}

void annotation_pushed_tags(const struct annotation_tags *tags, const struct xsp_span *span)
{
  struct annotation_thread *own = annotation_own;
  if (span->start == 0)
    return;
  annotation_tags_put(tags, span);
  if (own != NULL && own->depth > 0 && own->open[own->depth - 1].span.start == span->start)
    annotation_tags_note(tags, span->start, &own->sent[own->depth - 1]);
}

void annotation_pop_tags(struct annotation_domain *domain, const struct annotation_tags *tags)
{
  static const struct annotation_sent nothing;
  uint32_t place = innermost_place(annotation_own, domain);
  if (place == 0 || annotation_own->open[place - 1].span.start == 0)
    return;
  const struct xsp_span *span = &annotation_own->open[place - 1].span;
  const struct annotation_sent *sent = &annotation_own->sent[place - 1];
  annotation_tags_put_rest(tags, sent->span == span->start ? sent : &nothing, span);
}

// ---- instants
static struct xsp_span instant(struct xsp_site *site, uint64_t ticks)
{
  struct xsp_span none = {0, 0, 0};
  if (annotation_site_is_off(site))
    return none;
  struct xsp_interval at = {.size = sizeof at};
  uint64_t now = xsp_clock_ticks();
  at.start = at.end = ticks >= annotation_started_ticks && ticks <= now ? ticks : now;
  return xsp_span_emit(site, &at);
}

struct xsp_span annotation_mark(struct annotation_domain *domain, const char *text, size_t length)
{
  return instant(annotation_find_kind(domain, text, length, ANNOTATION_TEXT_MARK)->site, 0);
}

struct xsp_span annotation_counter(struct annotation_domain *domain, const char *name, uint64_t ticks)
{
  return instant(annotation_find_kind(domain, name, strlen(name), ANNOTATION_TEXT_COUNTER)->site, ticks);
}

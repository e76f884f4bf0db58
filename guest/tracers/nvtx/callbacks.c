// SPDX-License-Identifier: Apache-2.0
// Answers NVTX's core calls, on the program's threads: each becomes a range, mark or name of guest/tracers/annotations. Texts
// are valid during the call only.
#include "tracers/nvtx/callbacks.h"

#include "tracers/annotations/value.h"
#include "tracers/nvtx/handles.h"
#include "tracers/nvtx/text.h"

#include <string.h>
#include <wchar.h>

static __thread uint32_t names_seen __attribute__((tls_model("initial-exec")));

static inline void note_thread(void)
{
  uint32_t given = __atomic_load_n(&nvtx_thread_names_given, __ATOMIC_ACQUIRE);
  if (__builtin_expect(given != names_seen, 0)) {
    names_seen = given;
    nvtx_thread_take_name();
  }
}

// ---- messages
struct message {
  const struct annotation *annotation;
  const char *text;
  size_t length; // of the text where it may have varying tags, else 0
};

static struct message find_text(struct annotation_domain *domain, const char *category, const char *text)
{
  if (text == NULL)
    text = NO_NAME;
  struct message message = {annotation_find_text(domain, category, text), text, 0};
  if (__builtin_expect(message.annotation->has_varying_tags, 0))
    message.length = annotation_length_of(message.annotation, text);
  return message;
}

static struct message find_string(struct annotation_domain *domain, const char *category, const void *handle)
{
  const struct nvtx_string *string = string_of(handle);
  if (string == NULL)
    return find_text(domain, category, NULL);
  struct message message = {string->annotation, string->text, string->length};
  if (category != NULL || domain != string->domain || message.annotation->site == NULL)
    message.annotation = annotation_find(domain, category, string->text, string->length);
  return message;
}

// The event as this version knows it; of a shorter one its beginning, the rest zero.
static const struct nvtx_event *whole_event(const struct nvtx_event *event, struct nvtx_event *copy)
{
  if (event != NULL && event->size >= sizeof *event)
    return event;
  memset(copy, 0, sizeof *copy);
  if (event != NULL)
    memcpy(copy, event, event->size);
  return copy;
}

// The event's text, NULL: none. `utf8` is where a wide one is converted to.
static const char *event_text(const struct nvtx_event *event, char utf8[TEXT_WIDE_MOST])
{
  const struct nvtx_string *string;
  switch (event->message_type) {
  case NVTX_MESSAGE_TEXT:
    return event->message.text;
  case NVTX_MESSAGE_WIDE:
    return nvtx_text_of_wide(event->message.wide, utf8);
  case NVTX_MESSAGE_STRING:
    string = string_of(event->message.string);
    return string == NULL ? NULL : string->text;
  default:
    return NULL;
  }
}

static struct message find_event(const void *handle, struct annotation_domain *domain, const struct nvtx_event *event,
                                 char utf8[TEXT_WIDE_MOST])
{
  const char *category = nvtx_category_of(handle, event->category);
  if (event->message_type == NVTX_MESSAGE_STRING)
    return find_string(domain, category, event->message.string);
  return find_text(domain, category, event_text(event, utf8));
}

// The number that an event carries. False: it carries none.
static const char number_key[] = "payload";

static bool read_number(const struct nvtx_event *event, struct annotation_value *ret_value)
{
  static const struct annotation_value_type types[] = {
      [NVTX_VALUE_UINT64] = {VALUE_UNSIGNED, 8}, [NVTX_VALUE_INT64] = {VALUE_SIGNED, 8},
      [NVTX_VALUE_DOUBLE] = {VALUE_REAL, 8},     [NVTX_VALUE_UINT32] = {VALUE_UNSIGNED, 4},
      [NVTX_VALUE_INT32] = {VALUE_SIGNED, 4},    [NVTX_VALUE_FLOAT] = {VALUE_REAL, 4},
  };
  if (event->value_type <= NVTX_VALUE_NONE || event->value_type > NVTX_VALUE_FLOAT)
    return false;
  annotation_value_read(types[event->value_type], &event->value, ret_value);
  return true;
}

static void read_extended(const void *handle, const struct nvtx_event *event, struct payload_event *payload)
{
  const struct nvtx_blob *blobs = (const struct nvtx_blob *)(uintptr_t)event->value.unsigned64;
  nvtx_extensions_read(handle, blobs, event->reserved > 0 ? (size_t)event->reserved : 0, payload);
}

static void put_payload(const void *handle, const struct nvtx_event *event, const struct xsp_span *span)
{
  struct payload_event payload;
  struct annotation_value number;
  if (span->start == 0)
    return;
  if (event->value_type != NVTX_VALUE_EXTENDED) {
    if (read_number(event, &number))
      annotation_value_put(&number, number_key, span);
    return;
  }
  read_extended(handle, event, &payload);
  annotation_pushed_tags(&payload.tags, span);
}

// ---- ranges of a thread
static int push_nothing(struct annotation_domain *domain)
{
  int level = 0;
  annotation_push(domain, NULL, NULL, 0, &level);
  return level;
}

static __attribute__((noinline)) int push_text(struct annotation_domain *domain, const char *text)
{
  if (annotations_are_off())
    return push_nothing(domain);
  int level = 0;
  struct message message = find_text(domain, NULL, text);
  annotation_push(domain, message.annotation, message.text, message.length, &level);
  return level;
}

static int push_a(const char *text)
{
  struct annotation_domain *domain = &annotation_domains[0];
  note_thread();
  int level = annotation_push_off(domain);
  if (level < 0)
    level = annotation_push_known(domain, text);
  return __builtin_expect(level >= 0, 1) ? level : push_text(domain, text);
}

static int push_w(const wchar_t *wide)
{
  char utf8[TEXT_WIDE_MOST];
  return push_a(annotations_are_off() ? NULL : nvtx_text_of_wide(wide, utf8));
}

static __attribute__((noinline)) int push_full(const void *handle, struct annotation_domain *domain,
                                               const struct nvtx_event *given)
{
  if (annotations_are_off())
    return push_nothing(domain);
  struct nvtx_event copy;
  const struct nvtx_event *event = whole_event(given, &copy);
  char utf8[TEXT_WIDE_MOST];
  struct message message = find_event(handle, domain, event, utf8);
  int level = 0;
  struct xsp_span span = annotation_push(domain, message.annotation, message.text, message.length, &level);
  put_payload(handle, event, &span);
  return level;
}

static int domain_push_ex(const void *handle, const struct nvtx_event *event)
{
  struct annotation_domain *domain = domain_of(handle);
  note_thread();
  int level = annotation_push_off(domain);
  if (level >= 0)
    return level;
  if (event != NULL && event->size >= sizeof *event && event->category == 0) {
    if (event->message_type == NVTX_MESSAGE_TEXT) {
      level = annotation_push_known(domain, event->message.text);
    } else if (event->message_type == NVTX_MESSAGE_STRING && annotation_own != NULL) {
      const struct nvtx_string *string = string_of(event->message.string);
      if (string != NULL && string->is_plain && string->domain == domain)
        level = annotation_push_plain(annotation_own, domain, string->annotation->site);
    }
    if (level >= 0 && event->value_type != NVTX_VALUE_NONE)
      put_payload(handle, event, &annotation_own->open[annotation_own->depth - 1].span);
  }
  return __builtin_expect(level >= 0, 1) ? level : push_full(handle, domain, event);
}

static int push_ex(const struct nvtx_event *event)
{
  return domain_push_ex(NULL, event);
}

static int domain_pop(const void *handle)
{
  return annotation_pop_plain(domain_of(handle));
}

static int pop(void)
{
  return annotation_pop_plain(&annotation_domains[0]);
}

// ---- ranges that any thread may end
static uint64_t start_a(const char *text)
{
  note_thread();
  struct message message = find_text(&annotation_domains[0], NULL, text);
  return annotation_range_start(&annotation_domains[0], message.annotation, message.text, message.length);
}

static uint64_t start_w(const wchar_t *wide)
{
  char utf8[TEXT_WIDE_MOST];
  return start_a(nvtx_text_of_wide(wide, utf8));
}

static uint64_t domain_start_ex(const void *handle, const struct nvtx_event *given)
{
  struct nvtx_event copy;
  const struct nvtx_event *event = whole_event(given, &copy);
  char utf8[TEXT_WIDE_MOST];
  struct annotation_domain *domain = domain_of(handle);
  note_thread();
  struct message message = find_event(handle, domain, event, utf8);
  struct payload_event payload;
  struct annotation_value number;
  bool has_payload = message.annotation->site != NULL && event->value_type != NVTX_VALUE_NONE;
  if (has_payload && event->value_type == NVTX_VALUE_EXTENDED) {
    read_extended(handle, event, &payload);
  } else if (has_payload && (has_payload = read_number(event, &number))) {
    annotation_tags_clear(&payload.tags);
    annotation_value_tag(&number, number_key, &payload.tags);
  }
  return annotation_range_start_tagged(domain, message.annotation, message.text, message.length,
                                       has_payload ? &payload.tags : NULL);
}

static uint64_t start_ex(const struct nvtx_event *event)
{
  return domain_start_ex(NULL, event);
}

static void domain_end(const void *handle, uint64_t id)
{
  annotation_range_end(id);
}

// ---- marks
static void mark_a(const char *text)
{
  note_thread();
  nvtx_mark_with_category(NULL, text, 0);
}

static void mark_w(const wchar_t *wide)
{
  char utf8[TEXT_WIDE_MOST];
  mark_a(nvtx_text_of_wide(wide, utf8));
}

static void domain_mark_ex(const void *handle, const struct nvtx_event *given)
{
  struct nvtx_event copy;
  const struct nvtx_event *event = whole_event(given, &copy);
  char utf8[TEXT_WIDE_MOST];
  note_thread();
  struct xsp_span span = nvtx_mark_with_category(handle, event_text(event, utf8), event->category);
  put_payload(handle, event, &span);
}

static void mark_ex(const struct nvtx_event *event)
{
  domain_mark_ex(NULL, event);
}

// ---- names and handles: most are handles.c's functions
static void name_category_a(uint32_t category, const char *name)
{
  nvtx_category_name(NULL, category, name);
}

static void name_category_w(uint32_t category, const wchar_t *wide)
{
  nvtx_category_name_wide(NULL, category, wide);
}

static const void *resource_create(const void *handle, const void *attributes)
{
  static const char resource; // spans know no resources; programs expect a handle
  return &resource;
}

// initialize; resource_destroy; domain_destroy: the same name may come again, and others may hold the handle.
static void do_nothing(const void *handle)
{
}

// ---- tables
#define CALL(callback) ((nvtx_function)(callback))

static void fill(const struct nvtx_callbacks_table *table, int module, const nvtx_function *callbacks, unsigned count)
{
  nvtx_function **slots = NULL;
  unsigned offered = 0;
  if (table->get_functions(module, &slots, &offered) != 1 || slots == NULL)
    return;
  for (unsigned i = 1; i < count && i < offered; i++)
    if (slots[i] != NULL && callbacks[i] != NULL)
      *slots[i] = callbacks[i];
}

void nvtx_callbacks_fill(const struct nvtx_callbacks_table *table)
{
  static const nvtx_function core[] = {
      [NVTX_CORE_MARK_EX] = CALL(mark_ex),
      [NVTX_CORE_MARK_A] = CALL(mark_a),
      [NVTX_CORE_MARK_W] = CALL(mark_w),
      [NVTX_CORE_START_EX] = CALL(start_ex),
      [NVTX_CORE_START_A] = CALL(start_a),
      [NVTX_CORE_START_W] = CALL(start_w),
      [NVTX_CORE_END] = CALL(annotation_range_end),
      [NVTX_CORE_PUSH_EX] = CALL(push_ex),
      [NVTX_CORE_PUSH_A] = CALL(push_a),
      [NVTX_CORE_PUSH_W] = CALL(push_w),
      [NVTX_CORE_POP] = CALL(pop),
      [NVTX_CORE_NAME_CATEGORY_A] = CALL(name_category_a),
      [NVTX_CORE_NAME_CATEGORY_W] = CALL(name_category_w),
      [NVTX_CORE_NAME_THREAD_A] = CALL(nvtx_thread_name),
      [NVTX_CORE_NAME_THREAD_W] = CALL(nvtx_thread_name_wide),
  };
  static const nvtx_function core2[] = {
      [NVTX_CORE2_MARK_EX] = CALL(domain_mark_ex),
      [NVTX_CORE2_START_EX] = CALL(domain_start_ex),
      [NVTX_CORE2_END] = CALL(domain_end),
      [NVTX_CORE2_PUSH_EX] = CALL(domain_push_ex),
      [NVTX_CORE2_POP] = CALL(domain_pop),
      [NVTX_CORE2_RESOURCE_CREATE] = CALL(resource_create),
      [NVTX_CORE2_RESOURCE_DESTROY] = CALL(do_nothing),
      [NVTX_CORE2_NAME_CATEGORY_A] = CALL(nvtx_category_name),
      [NVTX_CORE2_NAME_CATEGORY_W] = CALL(nvtx_category_name_wide),
      [NVTX_CORE2_REGISTER_A] = CALL(nvtx_string_register),
      [NVTX_CORE2_REGISTER_W] = CALL(nvtx_string_register_wide),
      [NVTX_CORE2_DOMAIN_CREATE_A] = CALL(nvtx_domain_create),
      [NVTX_CORE2_DOMAIN_CREATE_W] = CALL(nvtx_domain_create_wide),
      [NVTX_CORE2_DOMAIN_DESTROY] = CALL(do_nothing),
      [NVTX_CORE2_INITIALIZE] = CALL(do_nothing),
  };
  fill(table, NVTX_MODULE_CORE, core, sizeof core / sizeof core[0]);
  fill(table, NVTX_MODULE_CORE2, core2, sizeof core2 / sizeof core2[0]);
}

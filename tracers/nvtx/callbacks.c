// SPDX-License-Identifier: Apache-2.0
// Answers NVTX's core calls, on the program's threads: each becomes a range, mark or name of tracers/annotations. Texts
// are valid during the call only.
#include "tracers/nvtx/callbacks.h"

#include "tracers/nvtx/handles.h"
#include "tracers/nvtx/text.h"

#include <string.h>
#include <wchar.h>

#define UTF8_MOST 4096
#define NO_NAME "(unnamed)"

static __thread uint32_t names_seen __attribute__((tls_model("initial-exec")));

static inline void note_thread(void)
{
  uint32_t given = __atomic_load_n(&thread_names_given, __ATOMIC_ACQUIRE);
  if (__builtin_expect(given != names_seen, 0)) {
    names_seen = given;
    thread_take_name();
  }
}

// ---- what an event says
struct said {
  const struct annotation *annotation;
  const char *text;
  size_t length; // of the text where it may have varying tags, else 0
};

static struct said said_text(struct annotation_domain *domain, const char *category, const char *text)
{
  if (text == NULL)
    text = NO_NAME;
  struct said said = {annotation_find_text(domain, category, text), text, 0};
  if (__builtin_expect(said.annotation->has_varying_tags, 0))
    said.length = annotation_length_of(said.annotation, text);
  return said;
}

static struct said said_wide(struct annotation_domain *domain, const char *category, const wchar_t *wide, char *utf8)
{
  if (wide == NULL)
    return said_text(domain, category, NULL);
  size_t length = text_to_utf8(wide, SIZE_MAX, sizeof *wide, utf8, UTF8_MOST);
  return (struct said){annotation_find(domain, category, utf8, length), utf8, length};
}

static struct said said_string(struct annotation_domain *domain, const char *category, const void *handle)
{
  const struct nvtx_string *string = string_of(handle);
  if (string == NULL)
    return said_text(domain, category, NULL);
  struct said said = {string->annotation, string->text, string->length};
  if (category != NULL || domain != string->domain || said.annotation->site == NULL)
    said.annotation = annotation_find(domain, category, string->text, string->length);
  return said;
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

static struct said said_event(const void *handle, struct annotation_domain *domain, const struct nvtx_event *event,
                              const char *category, char *utf8)
{
  switch (event->message_type) {
  case NVTX_MESSAGE_TEXT:
    return said_text(domain, category, event->message.text);
  case NVTX_MESSAGE_WIDE:
    return said_wide(domain, category, event->message.wide, utf8);
  case NVTX_MESSAGE_STRING:
    return said_string(domain, category, event->message.string);
  default:
    return said_text(domain, category, NULL);
  }
}

// The number that an event carries, as a tag.
struct number {
  enum annotation_tag_type type;
  int64_t integer;
  double real;
  const char *text;
  char digits[24];
};
static const char payload_key[] = "payload";

static bool read_number(const struct nvtx_event *event, struct number *number)
{
  number->type = ANNOTATION_TAG_INT;
  switch (event->value_type) {
  case NVTX_VALUE_UINT64:
    if (event->value.unsigned64 > INT64_MAX) { // more than an integer tag holds: 20 digits
      number->type = ANNOTATION_TAG_TEXT;
      char *at = number->digits + sizeof number->digits;
      *--at = '\0';
      for (uint64_t rest = event->value.unsigned64; rest > 0; rest /= 10)
        *--at = (char)('0' + rest % 10);
      number->text = at;
      return true;
    }
    // fallthrough
  case NVTX_VALUE_INT64:
    number->integer = event->value.signed64;
    return true;
  case NVTX_VALUE_UINT32:
    number->integer = event->value.unsigned32;
    return true;
  case NVTX_VALUE_INT32:
    number->integer = event->value.signed32;
    return true;
  case NVTX_VALUE_DOUBLE:
  case NVTX_VALUE_FLOAT:
    number->type = ANNOTATION_TAG_DOUBLE;
    number->real = event->value_type == NVTX_VALUE_FLOAT ? (double)event->value.real32 : event->value.real;
    return true;
  default:
    return false;
  }
}

static void put_number(const struct nvtx_event *event, const struct xsp_span *span)
{
  struct number number;
  if (span->start == 0 || !read_number(event, &number))
    return;
  if (number.type == ANNOTATION_TAG_INT)
    xsp_span_tag_int(span, payload_key, number.integer);
  else if (number.type == ANNOTATION_TAG_DOUBLE)
    xsp_span_tag_double(span, payload_key, number.real);
  else
    xsp_span_tag_string(span, payload_key, number.text);
}

static void put_payload(const void *handle, const struct nvtx_event *event, const struct xsp_span *span)
{
  struct payload_event payload;
  if (span->start == 0 || event->value_type == NVTX_VALUE_NONE)
    return;
  if (event->value_type != NVTX_VALUE_EXTENDED) {
    put_number(event, span);
    return;
  }
  const struct nvtx_blob *blobs = (const struct nvtx_blob *)(uintptr_t)event->value.unsigned64;
  extensions_read(handle, blobs, event->reserved > 0 ? (size_t)event->reserved : 0, &payload);
  annotation_tags_put(&payload.tags, span);
}

// False: the event has no payload, and `payload` was not touched.
static bool read_payload(const void *handle, const struct nvtx_event *event, struct payload_event *payload)
{
  struct number number;
  if (event->value_type == NVTX_VALUE_NONE)
    return false;
  if (event->value_type == NVTX_VALUE_EXTENDED) {
    const struct nvtx_blob *blobs = (const struct nvtx_blob *)(uintptr_t)event->value.unsigned64;
    extensions_read(handle, blobs, event->reserved > 0 ? (size_t)event->reserved : 0, payload);
    return true;
  }
  payload_event_clear(payload);
  if (!read_number(event, &number))
    return false;
  if (number.type == ANNOTATION_TAG_INT)
    annotation_tags_int(&payload->tags, payload_key, number.integer);
  else if (number.type == ANNOTATION_TAG_DOUBLE)
    annotation_tags_double(&payload->tags, payload_key, number.real);
  else
    annotation_tags_text(&payload->tags, payload_key, number.text, strlen(number.text));
  return true;
}

// ---- ranges of a thread
static __attribute__((noinline)) int push(struct annotation_domain *domain, struct said said)
{
  int level = 0;
  annotation_push(domain, said.annotation, said.text, said.length, &level);
  return level;
}

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
  return push(domain, said_text(domain, NULL, text));
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
  char utf8[UTF8_MOST];
  struct annotation_domain *domain = &annotation_domains[0];
  note_thread();
  if (annotations_are_off())
    return push_nothing(domain);
  return push(domain, said_wide(domain, NULL, wide, utf8));
}

static __attribute__((noinline)) int push_full(const void *handle, struct annotation_domain *domain,
                                               const struct nvtx_event *given)
{
  if (annotations_are_off())
    return push_nothing(domain);
  struct nvtx_event copy;
  const struct nvtx_event *event = whole_event(given, &copy);
  char utf8[UTF8_MOST];
  struct said said = said_event(handle, domain, event, category_of(handle, event->category), utf8);
  int level = 0;
  struct xsp_span span = annotation_push(domain, said.annotation, said.text, said.length, &level);
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
static uint64_t start(struct annotation_domain *domain, struct said said, const struct annotation_tags *tags)
{
  return annotation_range_start_tagged(domain, said.annotation, said.text, said.length, tags);
}

static uint64_t start_a(const char *text)
{
  struct annotation_domain *domain = &annotation_domains[0];
  note_thread();
  return start(domain, said_text(domain, NULL, text), NULL);
}

static uint64_t start_w(const wchar_t *wide)
{
  char utf8[UTF8_MOST];
  struct annotation_domain *domain = &annotation_domains[0];
  note_thread();
  return start(domain, said_wide(domain, NULL, wide, utf8), NULL);
}

static uint64_t domain_start_ex(const void *handle, const struct nvtx_event *given)
{
  struct nvtx_event copy;
  const struct nvtx_event *event = whole_event(given, &copy);
  char utf8[UTF8_MOST];
  struct annotation_domain *domain = domain_of(handle);
  note_thread();
  struct said said = said_event(handle, domain, event, category_of(handle, event->category), utf8);
  struct payload_event payload;
  bool has_payload = said.annotation->site != NULL && read_payload(handle, event, &payload);
  return start(domain, said, has_payload ? &payload.tags : NULL);
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
  if (text == NULL)
    text = NO_NAME;
  annotation_mark(&annotation_domains[0], text, strlen(text));
}

static void mark_w(const wchar_t *wide)
{
  char utf8[UTF8_MOST] = NO_NAME;
  if (wide != NULL)
    text_to_utf8(wide, SIZE_MAX, sizeof *wide, utf8, sizeof utf8);
  mark_a(utf8);
}

static void domain_mark_ex(const void *handle, const struct nvtx_event *given)
{
  struct nvtx_event copy;
  const struct nvtx_event *event = whole_event(given, &copy);
  char utf8[UTF8_MOST] = "";
  const char *text = NULL;
  note_thread();
  if (event->message_type == NVTX_MESSAGE_TEXT) {
    text = event->message.text;
  } else if (event->message_type == NVTX_MESSAGE_WIDE && event->message.wide != NULL) {
    text_to_utf8(event->message.wide, SIZE_MAX, sizeof(wchar_t), utf8, sizeof utf8);
    text = utf8;
  } else if (event->message_type == NVTX_MESSAGE_STRING) {
    const struct nvtx_string *string = string_of(event->message.string);
    text = string == NULL ? NULL : string->text;
  }
  if (text == NULL)
    text = NO_NAME;
  struct xsp_span span = annotation_mark(domain_of(handle), text, strlen(text));
  const char *category = category_of(handle, event->category);
  if (category != NULL) // a mark's own category says that it is one
    xsp_span_tag_string(&span, "category", category);
  put_payload(handle, event, &span);
}

static void mark_ex(const struct nvtx_event *event)
{
  domain_mark_ex(NULL, event);
}

// ---- names
static void domain_name_category_a(const void *handle, uint32_t category, const char *name)
{
  category_name(handle, category, name);
}

static void domain_name_category_w(const void *handle, uint32_t category, const wchar_t *wide)
{
  char utf8[UTF8_MOST];
  if (wide == NULL)
    return;
  text_to_utf8(wide, SIZE_MAX, sizeof *wide, utf8, sizeof utf8);
  category_name(handle, category, utf8);
}

static void name_category_a(uint32_t category, const char *name)
{
  category_name(NULL, category, name);
}

static void name_category_w(uint32_t category, const wchar_t *wide)
{
  domain_name_category_w(NULL, category, wide);
}

static void name_thread_a(uint32_t number, const char *name)
{
  thread_name(number, name);
}

static void name_thread_w(uint32_t number, const wchar_t *wide)
{
  char utf8[UTF8_MOST];
  if (wide == NULL)
    return;
  text_to_utf8(wide, SIZE_MAX, sizeof *wide, utf8, sizeof utf8);
  thread_name(number, utf8);
}

// ---- handles
static const void *register_a(const void *handle, const char *text)
{
  return text == NULL ? NULL : string_register(handle, text, strlen(text));
}

static const void *register_w(const void *handle, const wchar_t *wide)
{
  char utf8[UTF8_MOST];
  if (wide == NULL)
    return NULL;
  return string_register(handle, utf8, text_to_utf8(wide, SIZE_MAX, sizeof *wide, utf8, sizeof utf8));
}

static const void *domain_create_a(const char *name)
{
  return domain_create(name);
}

static const void *domain_create_w(const wchar_t *wide)
{
  char utf8[UTF8_MOST] = "";
  if (wide != NULL)
    text_to_utf8(wide, SIZE_MAX, sizeof *wide, utf8, sizeof utf8);
  return domain_create(utf8);
}

static void domain_destroy(const void *handle) // the same name may come again, and others may hold the handle
{
}

static const void *resource_create(const void *handle, const void *attributes)
{
  static const char resource; // spans know no resources; programs expect a handle
  return &resource;
}

static void resource_destroy(const void *resource)
{
}

static void initialize(const void *reserved)
{
}

// ---- tables
typedef nvtx_function function;
#define CALL(callback) ((function)(callback))

static void fill(const struct nvtx_callbacks_table *table, int module, const function *callbacks, unsigned count)
{
  nvtx_function **slots = NULL;
  unsigned offered = 0;
  if (table->get_functions(module, &slots, &offered) != 1 || slots == NULL)
    return;
  for (unsigned i = 1; i < count && i < offered; i++)
    if (slots[i] != NULL && callbacks[i] != NULL)
      *slots[i] = callbacks[i];
}

void callbacks_fill(const struct nvtx_callbacks_table *table)
{
  static const function core[] = {
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
      [NVTX_CORE_NAME_THREAD_A] = CALL(name_thread_a),
      [NVTX_CORE_NAME_THREAD_W] = CALL(name_thread_w),
  };
  static const function core2[] = {
      [NVTX_CORE2_MARK_EX] = CALL(domain_mark_ex),
      [NVTX_CORE2_START_EX] = CALL(domain_start_ex),
      [NVTX_CORE2_END] = CALL(domain_end),
      [NVTX_CORE2_PUSH_EX] = CALL(domain_push_ex),
      [NVTX_CORE2_POP] = CALL(domain_pop),
      [NVTX_CORE2_RESOURCE_CREATE] = CALL(resource_create),
      [NVTX_CORE2_RESOURCE_DESTROY] = CALL(resource_destroy),
      [NVTX_CORE2_NAME_CATEGORY_A] = CALL(domain_name_category_a),
      [NVTX_CORE2_NAME_CATEGORY_W] = CALL(domain_name_category_w),
      [NVTX_CORE2_REGISTER_A] = CALL(register_a),
      [NVTX_CORE2_REGISTER_W] = CALL(register_w),
      [NVTX_CORE2_DOMAIN_CREATE_A] = CALL(domain_create_a),
      [NVTX_CORE2_DOMAIN_CREATE_W] = CALL(domain_create_w),
      [NVTX_CORE2_DOMAIN_DESTROY] = CALL(domain_destroy),
      [NVTX_CORE2_INITIALIZE] = CALL(initialize),
  };
  fill(table, NVTX_MODULE_CORE, core, sizeof core / sizeof core[0]);
  fill(table, NVTX_MODULE_CORE2, core2, sizeof core2 / sizeof core2[0]);
}

// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share. Private to it.
//
// No locks. What is kept for the process's life (names) comes from malloc at its first use and is published by
// compare-and-swap; open tasks are in a block per thread (tasks.c), open ranges in one table (ranges.c).
#ifndef XSP_TRACERS_ITT_ITT_H
#define XSP_TRACERS_ITT_ITT_H

#include "tracers/annotations/annotations.h"
#include "tracers/itt/abi.h"

#include <stdbool.h>
#include <xsp/tracer.h>

#define ITT_TRACER "itt"

// ---- functions of the API, by the name that modules know them under; a list ends with NULL
struct itt_function {
  const char *name;
  void *function;
};
#define ITT_FUNCTION(name)                                                                                             \
  {                                                                                                                    \
    "__itt_" #name, (void *)(uintptr_t)(name)                                                                          \
  }
#define ITT_FUNCTION_AS(api_name, name)                                                                                \
  {                                                                                                                    \
    "__itt_" #api_name, (void *)(uintptr_t)(name)                                                                      \
  }
extern const struct itt_function itt_value_functions[]; // values.c

// ---- counts of rejected announcements, by reason; reported when the process ends
enum itt_loss {
  ITT_LOSS_END,      // an end without its begin
  ITT_LOSS_DEEP,     // more tasks open on one thread than there is room for
  ITT_LOSS_RANGE,    // more ranges open than there is room for
  ITT_LOSS_TIME,     // times that cannot be
  ITT_LOSS_METADATA, // metadata of nothing that is open, or of an unknown type
  ITT_LOSS_RELATION, // relations that are no parent, or whose ends are not open
  ITT_LOSS_NAME,     // names beyond the limit share one
  ITT_LOSSES,
};
void itt_lose(enum itt_loss reason);
uint64_t itt_lost(enum itt_loss reason);

// ---- names.c: texts that stay as long as the process. Equal texts of one kind give the same entry.
enum itt_name_kind {
  ITT_NAME_DOMAIN,
  ITT_NAME_STRING,
  ITT_NAME_COUNTER,
  ITT_NAME_EVENT,   // numbered
  ITT_NAME_MARK,    // numbered
  ITT_NAME_INSTANT, // second: its domain
  ITT_NAME_LAYER,   // second: its type
};
struct itt_name {
  union { // what the module sees; first
    struct itt_domain domain;
    struct itt_string string;
    struct itt_counter counter;
  } shared;
  uint64_t hash;
  uint32_t kind, length; // bytes of `text`
  int64_t value;         // atomic; a counter's
  struct xsp_site *site; // atomic; a counter's, mark's or layer's; NULL: not made yet
  const char *second;    // into `text`: after its first NUL
  char text[];           // and a NUL
};
// `second` (may be NULL): a second text that makes the difference; for counters also `type`. NULL: no memory.
struct itt_name *itt_name(enum itt_name_kind kind, const char *text, const char *second, int type);
int itt_number_of(const struct itt_name *name); // what a module sees of an event or mark; from 1
struct itt_name *itt_name_of_number(enum itt_name_kind kind, int number); // NULL: none
// The site of the name's spans, with its second text as this tag; remembered with the name. NULL: the session is full.
struct xsp_site *itt_name_site(struct itt_name *name, enum xsp_level level, const char *category, const char *tag);

// The annotation of a string in a domain, remembered with the string. Roles: see opencv.c.
enum itt_role { ITT_ROLE_PLAIN, ITT_ROLE_LAYER, ITT_ROLE_PASS, ITT_ROLE_PLAN, ITT_ROLE_ALLOCATE, ITT_ROLE_INSTANCE };
struct itt_use {
  struct itt_use *next;
  struct annotation_domain *domain;
  const struct annotation *annotation;
  const char *text;
  enum itt_role role;
};
// NULL handles are legal: the default domain, "(unnamed)".
struct annotation_domain *itt_domain_of(const struct itt_domain *domain);
const char *itt_text_of(const struct itt_string *string);
// *ret_storage serves where nothing could be remembered.
const struct itt_use *itt_use_of(const struct itt_domain *domain, struct itt_string *string,
                                 struct itt_use *ret_storage);

// ---- clock.c: every time becomes ticks of the session. clock NULL: itt_get_timestamp's
itt_stamp itt_get_timestamp(void);
struct itt_clock_domain *itt_clock_domain_create(itt_clock_reader read, void *data);
void itt_clock_domain_reset(void);
uint64_t itt_ticks(const struct itt_clock_domain *clock, itt_stamp stamp);
// Whether a span from `start` to `end` is to be recorded; counts it if only its times are impossible.
bool itt_accepts(const struct xsp_site *site, uint64_t start, uint64_t end);
void itt_clock_start(void); // once

// ---- metadata.c: values as tags. Reads `count` values of `type` at `data`, which may be unaligned. False: unknown type.
bool itt_metadata_read(struct annotation_tags *tags, const char *key, int type, size_t count, const void *data);

// ---- tasks.c: what nests on a thread
#define ITT_EVENTS_MOST 32
struct itt_events { // open on one thread
  uint32_t count;
  struct itt_event {
    const struct itt_name *name;
    uint64_t start;
  } event[ITT_EVENTS_MOST];
};
struct itt_events *itt_thread_events(void); // of the calling thread; NULL: no memory
void itt_task_begin_at(const struct itt_domain *domain, uint64_t start, const struct itt_id *id,
                       const struct itt_id *parent, struct itt_string *name); // start 0: now
void itt_task_end_at(const struct itt_domain *domain, uint64_t end);
void itt_tasks_start(void); // once
// The open task of this id on the calling thread (id NULL: the innermost one of the domain) takes the tags. False: none.
bool itt_task_tag(const struct itt_domain *domain, const struct itt_id *id, const struct annotation_tags *tags);
// The span of a task that is open on any thread; {0}: none is.
struct xsp_context itt_task_context(struct itt_id id);
bool itt_task_set_parent(struct itt_id child, struct itt_id parent); // child: open on the calling thread

// ---- ranges.c: what any thread may end; known by (kind, domain, id)
enum itt_range_kind { ITT_RANGE_TASK, ITT_RANGE_REGION, ITT_RANGE_FRAME, ITT_RANGE_GROUP };
void itt_range_begin(enum itt_range_kind kind, const struct itt_domain *domain, struct itt_id id, uint64_t start,
                     struct itt_id parent, const struct annotation *annotation, const char *text);
void itt_range_end(enum itt_range_kind kind, const struct itt_domain *domain, struct itt_id id, uint64_t end);
void itt_frame_emit(const struct annotation *annotation, uint64_t start, uint64_t end);
bool itt_range_tag(const struct itt_domain *domain, struct itt_id id, const struct annotation_tags *tags);
bool itt_group_name(struct itt_id id, char *ret_name, size_t size); // false: no open group has this id
void itt_group_begin(struct itt_id id, const char *name);
void itt_group_end(struct itt_id id);
void itt_ranges_forget(void); // in the child of a fork
const struct annotation *itt_frame_annotation(const struct itt_domain *domain);

// ---- opencv.c: names and types of layers in OpenCV's announcements
struct itt_layer { // a layer that is open: named when it ends
  char name[256], type[64];
  struct annotation_tags tags;
};
struct itt_opencv; // a thread's
bool itt_opencv_is(const struct annotation_domain *domain);
enum itt_role itt_opencv_role(const char *text, const struct annotation *annotation);
void itt_opencv_begin(struct itt_opencv **state, enum itt_role role);
void itt_opencv_end(struct itt_opencv **state, enum itt_role role);
// Reads the tags of a task of this role; `layer`: the open layer that they describe, NULL: none.
void itt_opencv_note(struct itt_opencv **state, struct itt_layer *layer, enum itt_role role,
                     const struct annotation_tags *tags);
void itt_opencv_instance(struct itt_opencv **state, const char *type);
// Completes name and type of the layer that ends now; the site to publish it under, NULL: none.
struct xsp_site *itt_opencv_layer(struct itt_opencv **state, struct itt_layer *layer);
void itt_opencv_free(struct itt_opencv **state);

#endif

// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share. Private to it.
//
// Memory: one mapping for all texts (texts.c), one for ranges that any thread may end (started.c), one block a thread
// (annotations.c); none is ever given back, a thread's block goes to the next thread. No locks: what is published is
// complete, by compare-and-swap, so that a fork or a signal between any two instructions leaves nothing half-made.
#ifndef XSP_TRACERS_ANNOTATIONS_STATE_H
#define XSP_TRACERS_ANNOTATIONS_STATE_H

#include "tracers/annotations/annotations.h"

#include "format/range.h"

#define ANNOTATION_OPEN_MOST 512  // ranges open on one thread, in all domains together
#define ANNOTATION_CACHE_SIZE 256 // power of two

struct annotation_domain {
  const char *name; // "": the default one, and the nameless one
  uint32_t number;  // variant of its sites; 0: the default one
  bool is_nameless;
};

// What a text is kept under. Texts of different kinds are different.
enum annotation_text_kind {
  ANNOTATION_TEXT_EXACT,   // a range, by its whole text
  ANNOTATION_TEXT_VARYING, // a range, by its name; its level is part of the key
  ANNOTATION_TEXT_REDUCED, // a range, by its text with '#' for each run of digits, when there are too many others
  ANNOTATION_TEXT_MARK,
  ANNOTATION_TEXT_COUNTER,
};

struct annotation_text {
  struct annotation annotation; // first: what users of this folder see
  struct annotation_domain *domain;
  const char *category; // own copy; NULL: none
  uint32_t hash, length;
  uint8_t kind, level; // `level`: of VARYING and REDUCED; else 0
  char text[];         // and a NUL
};

struct annotation_open {
  struct annotation_domain *domain;
  const struct annotation *annotation; // NULL: not recorded
  struct xsp_span span;
  int level; // in its domain, 0-based
};

// One a thread. A signal handler of the thread may nest whole calls between any two instructions.
struct annotation_thread {
  struct annotation_thread *next;                             // list of all blocks; set before it is published
  uint32_t in_use;                                            // atomic
  uint32_t depth;                                             // open ranges in `open`
  uint32_t beyond;                                            // open ranges that found no room
  const struct annotation_text *cache[ANNOTATION_CACHE_SIZE]; // by the text's address; checked by content
  // What annotation_find read last, for the push that follows it.
  const struct annotation *read_annotation; // NULL: nothing
  const char *read_text;
  size_t read_length;
  struct range read;
  char scratch[2048]; // a `sizes` that needs a NUL
  struct annotation_open open[ANNOTATION_OPEN_MOST];
};

// ---- annotations.c
extern char annotation_tracer[32];                   // name
extern const char *annotation_model_range;           // NULL: none
extern const char *annotation_capture_range;         // NULL: none
extern const volatile uint32_t *annotation_switches; // atomic; the tracer's levels. NULL: no site was made yet
extern uint64_t annotation_started_ticks;            // when the tracer started
void annotation_say(const char *message);
struct annotation_thread *annotation_thread_own(void); // NULL: no memory
void annotation_capture_enter(void);
void annotation_capture_leave(void);
void annotation_put_range(const struct range *range, const struct xsp_span *span, char *scratch, size_t scratch_size);

static inline bool annotation_site_is_off(const struct xsp_site *site)
{
  return site == NULL ||
         (__atomic_load_n(__atomic_load_n(&site->levels, __ATOMIC_RELAXED), __ATOMIC_RELAXED) & site->mask) == 0;
}

// ---- texts.c
const struct annotation *annotation_find_kind(struct annotation_domain *domain, const char *category, const char *text,
                                              size_t length, enum annotation_text_kind kind);

// ---- started.c
void annotation_started_forget(void); // in the child of a fork

#endif

// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share. Private to it, and to fast.h, which tracers may include.
//
// Memory: one mapping for all texts (texts.c), one for ranges that any thread may end (started.c), one block a thread
// (annotations.c); none is ever given back, a thread's block goes to the next thread. No locks: what is published is
// complete, by compare-and-swap, so that a fork or a signal between any two instructions leaves nothing half-made.
#ifndef XSP_TRACERS_ANNOTATIONS_ANNOTATIONS_PRIVATE_H
#define XSP_TRACERS_ANNOTATIONS_ANNOTATIONS_PRIVATE_H

#include "tracers/annotations/annotations.h"
#include "tracers/annotations/guest.h"

#include "format/range.h"

#define ANNOTATION_OPEN_MOST 512  // ranges open on one thread, in all domains together
#define ANNOTATION_CACHE_SIZE 256 // power of two

#define ANNOTATION_DOMAINS_MOST 1024

struct annotation_domain {
  const char *name; // atomic; NULL: free. "": the default one, and the nameless one
  bool is_nameless;
};
// The default one, the nameless one, the one for all beyond the table, and those that were asked for.
extern struct annotation_domain annotation_domains[ANNOTATION_DOMAINS_MOST];
// Its place in the table: variant of its sites.
static inline uint32_t annotation_domain_number(const struct annotation_domain *domain)
{
  return (uint32_t)(domain - annotation_domains);
}

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
  // The domain where the whole text is known in no category and a span is all that is to be done; else NULL.
  struct annotation_domain *plain_domain;
  const char *category; // own copy; NULL: none
  uint32_t hash, length;
  uint8_t kind, level; // `level`: of VARYING and REDUCED; else 0
  // And a NUL; of a text without a category zeros up to the next multiple of 8.
  _Alignas(8) char text[];
};

struct annotation_open {
  struct annotation_domain *domain;
  struct xsp_span span; // all zero: not recorded
  uint32_t level;       // in its domain, 0-based
  uint32_t captures;    // 1: of a capture range
};

// One a thread. A signal handler of the thread may nest whole calls between any two instructions.
struct annotation_thread {
  struct guest_block block;
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
  struct annotation_sent sent[ANNOTATION_OPEN_MOST]; // with `open`; only of ranges that began with tags
};

// ---- annotations.c
extern char annotation_tracer[32];           // name
extern const char *annotation_model_range;   // NULL: none
extern const char *annotation_capture_range; // NULL: none
// Atomic; the tracer's levels, all ones before its first site.
extern const volatile uint32_t *annotation_switches;
extern uint64_t annotation_started_ticks; // when the tracer started
extern __thread struct annotation_thread *annotation_own __attribute__((tls_model("initial-exec")));
void annotation_say(const char *message);
struct annotation_thread *annotation_thread_begins(void); // NULL: no memory
void annotation_capture_enter(void);
void annotation_capture_leave(void);
void annotation_capture_check(void); // another process's end of a range does not end one that is open here

static inline struct annotation_thread *annotation_thread_own(void)
{
  struct annotation_thread *own = annotation_own;
  return __builtin_expect(own != NULL, 1) ? own : annotation_thread_begins();
}

// Where a text at this address is looked for.
static inline const struct annotation_text **annotation_cache_place(struct annotation_thread *own, const char *text)
{
  return &own->cache[((uint64_t)(uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}
_Static_assert(ANNOTATION_CACHE_SIZE == 256, "the eight bits that annotation_cache_place takes");

// ---- texts.c
const struct annotation *annotation_find_kind(struct annotation_domain *domain, const char *text, size_t length,
                                              enum annotation_text_kind kind);

// ---- started.c
void annotation_started_forget(void); // in the child of a fork

#endif

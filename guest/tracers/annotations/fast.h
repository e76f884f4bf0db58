// SPDX-License-Identifier: Apache-2.0
// The common case of a range, inline: a text that this thread has pushed before, in no category, that needs nothing but a
// span. False and -1: nothing was done; call annotations.h's functions instead.
#ifndef XSP_TRACERS_ANNOTATIONS_FAST_H
#define XSP_TRACERS_ANNOTATIONS_FAST_H

#include "tracers/annotations/annotations_private.h"

// A handle is a pointer into annotation_domains. All else is the default domain.
static inline struct annotation_domain *annotation_domain_checked(const void *handle)
{
  uintptr_t distance = (uintptr_t)handle - (uintptr_t)annotation_domains;
  return distance < sizeof annotation_domains ? (struct annotation_domain *)(uintptr_t)handle : &annotation_domains[0];
}

// What both hold up to and with the NUL. Eight bytes at a time; those behind the NUL are read within its page, which other
// processors may forbid (memory tagging).
__attribute__((no_sanitize("address", "thread"))) static inline bool
annotation_same_text(const struct annotation_text *known, const char *text)
{
#if !defined(__x86_64__)
  return __builtin_strcmp(known->text, text) == 0;
#else
  __asm__("" : "+r"(text)); // the compiler knows nothing of where it ends
  for (uint32_t at = 0;; at += 8) {
    uint64_t theirs, ours;
    if (__builtin_expect(((uintptr_t)(text + at) & 4095) > 4088, 0))
      return __builtin_strcmp(known->text + at, text + at) == 0;
    __builtin_memcpy(&theirs, text + at, 8);
    __builtin_memcpy(&ours, known->text + at, 8);
    uint64_t difference = theirs ^ ours;
    if (at + 8 <= known->length) {
      if (difference != 0)
        return false;
      continue;
    }
    // The last ones: `bytes` with the NUL.
    uint32_t bytes = known->length - at + 1;
    return difference << (64 - 8 * bytes) == 0;
  }
#endif
}

// A range without varying tags whose nesting begins in this domain, or inside a range of it. -1: not so.
static inline int annotation_push_plain(struct annotation_thread *own, struct annotation_domain *domain,
                                        struct xsp_site *site)
{
  uint32_t depth = own->depth, level = 0;
  struct annotation_open *open = &own->open[depth];
  if (depth != 0) {
    if (__builtin_expect(depth == ANNOTATION_OPEN_MOST || open[-1].domain != domain, 0))
      return -1;
    level = open[-1].level + 1;
  }
  own->depth = depth + 1;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  open->domain = domain;
  open->level = level;
  open->captures = 0;
  open->span = xsp_span_start(site);
  return (int)level;
}

// A text that was seen on this thread; -1: not so.
static inline int annotation_push_known(struct annotation_domain *domain, const char *text)
{
  struct annotation_thread *own = annotation_own;
  if (__builtin_expect(own == NULL || text == NULL, 0))
    return -1;
  const struct annotation_text *known = *annotation_cache_place(own, text);
  if (__builtin_expect(known == NULL || known->plain_domain != domain || !annotation_same_text(known, text), 0))
    return -1;
  return annotation_push_plain(own, domain, known->annotation.site);
}

// Of a text with a NUL that annotation_find_text has just found: most likely measured there.
static inline size_t annotation_length_of(const struct annotation *annotation, const char *text)
{
  const struct annotation_thread *own = annotation_own;
  if (own != NULL && own->read_annotation == annotation && own->read_text == text)
    return own->read_length;
  return annotation_site_is_off(annotation->site) ? 0 : __builtin_strlen(text);
}

// Only nesting is kept while the tracer is off; -1: it is on, or a capture range may switch it on.
static inline int annotation_push_off(struct annotation_domain *domain)
{
  const volatile uint32_t *switches = __atomic_load_n(&annotation_switches, __ATOMIC_RELAXED);
  if (__builtin_expect(__atomic_load_n(switches, __ATOMIC_RELAXED) != 0, 1) || annotation_own == NULL)
    return -1;
  if (annotation_capture_range != NULL) {
    annotation_capture_check();
    return -1;
  }
  return annotation_push_plain(annotation_own, domain, NULL);
}

static inline int annotation_pop_plain(struct annotation_domain *domain)
{
  struct annotation_thread *own = annotation_own;
  if (__builtin_expect(own == NULL || own->depth - 1 >= ANNOTATION_OPEN_MOST - 1, 0)) // none, or some beyond
    return annotation_pop(domain);
  struct annotation_open *open = &own->open[own->depth - 1];
  if (__builtin_expect(open->domain != domain || open->captures, 0))
    return annotation_pop(domain);
  xsp_span_finish(&open->span);
  int level = (int)open->level;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  own->depth--;
  return level;
}

#endif

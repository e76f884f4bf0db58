// SPDX-License-Identifier: Apache-2.0
// Domains and registered strings, to which a program gets handles, and names of categories and threads. All of the
// process: libraries that carry NVTX copies of their own exchange handles. Lock-free; live as long as the process.
#ifndef XSP_TRACERS_NVTX_HANDLES_H
#define XSP_TRACERS_NVTX_HANDLES_H

#include "tracers/annotations/fast.h"

#include <stdbool.h>
#include <wchar.h>

struct nvtx_string {
  const struct annotation *annotation; // of its text, without a category
  struct annotation_domain *domain;
  uint32_t length;
  bool is_plain; // needs nothing but a span
  char text[];
};

// Names may be NULL. _wide: the same for wide texts, cut after TEXT_WIDE_MOST bytes of UTF-8.
struct annotation_domain *nvtx_domain_create(const char *name); // a handle is the domain itself
struct annotation_domain *nvtx_domain_create_wide(const wchar_t *name);
// A handle as the program gave it: what is none of ours is the default domain's.
static inline struct annotation_domain *domain_of(const void *handle)
{
  return annotation_domain_checked(handle);
}
static inline uint32_t domain_number(const void *handle)
{
  return annotation_domain_number(annotation_domain_checked(handle));
}

const struct nvtx_string *nvtx_string_register(const void *domain, const char *text); // NULL for NULL only
const struct nvtx_string *nvtx_string_register_wide(const void *domain, const wchar_t *text);
extern void *nvtx_handles_memory;                                     // atomic
#define HANDLES_MEMORY_BYTES (UINT64_C(16) << 20)                     // reserved; touched as it fills
static inline const struct nvtx_string *string_of(const void *handle) // NULL: none of ours
{
  const void *memory = __atomic_load_n(&nvtx_handles_memory, __ATOMIC_ACQUIRE);
  uintptr_t distance = (uintptr_t)handle - (uintptr_t)memory;
  return memory != NULL && distance < HANDLES_MEMORY_BYTES && distance % 8 == 0 ? handle : NULL;
}

void nvtx_category_name(const void *domain, uint32_t category, const char *name);
void nvtx_category_name_wide(const void *domain, uint32_t category, const wchar_t *name);
const char *nvtx_category_of(const void *domain, uint32_t category); // its number where it has no name; NULL: none

// A name for a thread of this process, by its number in the system. Another thread's is taken at its next event.
void nvtx_thread_name(uint32_t number, const char *name);
void nvtx_thread_name_wide(uint32_t number, const wchar_t *name);
extern uint32_t nvtx_thread_names_given; // atomic: counts names for other threads
void nvtx_thread_take_name(void);

// Memory for copies, bounded; NULL: no more.
void *nvtx_handles_reserve(size_t bytes);
const char *nvtx_handles_copy(const char *text); // "" for NULL and where there is no more

#endif

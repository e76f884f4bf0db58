// SPDX-License-Identifier: Apache-2.0
// What a program is given handles to (domains, registered strings), and what it names (categories, threads). All of the
// process: libraries that carry NVTX copies of their own exchange handles. Lock-free; live as long as the process.
#ifndef XSP_TRACERS_NVTX_HANDLES_H
#define XSP_TRACERS_NVTX_HANDLES_H

#include "tracers/annotations/annotations.h"

#include <stdbool.h>

struct nvtx_domain;
struct nvtx_string {
  const struct annotation *annotation; // of its text, without a category
  struct annotation_domain *domain;
  uint32_t length;
  char text[];
};

struct nvtx_domain *domain_create(const char *name);
// A handle as the program gave it: what is none of ours is the default domain's.
struct annotation_domain *domain_of(const void *handle);
uint32_t domain_number(const void *handle);

const struct nvtx_string *string_register(const void *domain, const char *text, size_t length); // never NULL
const struct nvtx_string *string_of(const void *handle);                                        // NULL: none of ours

void category_name(const void *domain, uint32_t category, const char *name);
const char *category_of(const void *domain, uint32_t category); // its number where it has no name; NULL: none

// A name for a thread of this process, by its number in the system. Another thread's is taken at its next event.
void thread_name(uint32_t number, const char *name);
extern uint32_t thread_names_given; // atomic: counts names for other threads
void thread_take_name(void);

// Memory for copies, bounded; NULL: no more.
void *handles_reserve(size_t bytes);
const char *handles_copy(const char *text); // "" for NULL and where there is no more

#endif

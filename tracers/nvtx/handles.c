// SPDX-License-Identifier: Apache-2.0
// Domains, registered strings, categories, threads' names; see handles.h. Called by the callbacks, mostly once a thing.
#include "tracers/nvtx/handles.h"

#include "base/hash.h"
#include "tracers/nvtx/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STRING_SLOTS (UINT32_C(1) << 16)
#define STRINGS_MOST (UINT32_C(1) << 15)
#define MORE (UINT32_C(1) << 13) // strings that stand for many
#define CATEGORY_SLOTS 4096u
#define CATEGORIES_MOST 3072u
#define THREAD_NAMES_MOST 256u

// ---- memory
struct copies {
  uint64_t used;                                // atomic: of `bytes`
  const struct nvtx_string *slot[STRING_SLOTS]; // atomic, by hash
  char bytes[];
};
void *handles_memory;         // struct copies
static uint32_t string_count; // atomic

static struct copies *all_copies(void)
{
  return guest_map_once(&handles_memory, HANDLES_MEMORY_BYTES);
}

void *handles_reserve(size_t bytes)
{
  struct copies *all = all_copies();
  return all == NULL ? NULL : guest_reserve(all->bytes, &all->used, bytes, HANDLES_MEMORY_BYTES - sizeof *all);
}

const char *handles_copy(const char *text)
{
  if (text == NULL || *text == '\0')
    return "";
  size_t bytes = strlen(text) + 1;
  char *copy = handles_reserve(bytes);
  return copy == NULL ? "" : memcpy(copy, text, bytes);
}

// ---- domains
struct annotation_domain *domain_create(const char *name)
{
  return name == NULL || *name == '\0' ? annotation_domain_nameless() : annotation_domain(name);
}

struct annotation_domain *domain_create_wide(const wchar_t *name)
{
  char utf8[TEXT_WIDE_MOST];
  return domain_create(text_of_wide(name, utf8));
}

// ---- registered strings
static uint32_t hash_string(const struct annotation_domain *domain, const char *text, size_t length)
{
  return (uint32_t)hash_text(text, length, (uint64_t)(uintptr_t)domain);
}

static bool same_string(const struct nvtx_string *known, const struct annotation_domain *domain, const char *text,
                        size_t length)
{
  return known->domain == domain && known->length == length && memcmp(known->text, text, length) == 0;
}

static struct nvtx_string *new_string(struct annotation_domain *domain, const char *text, size_t length, uint32_t most)
{
  struct nvtx_string *fresh = NULL;
  if (__atomic_load_n(&string_count, __ATOMIC_RELAXED) < most)
    fresh = handles_reserve(sizeof *fresh + length + 1);
  if (fresh == NULL)
    return NULL;
  fresh->domain = domain;
  fresh->length = (uint32_t)length;
  memcpy(fresh->text, text, length);
  fresh->annotation = annotation_find(domain, NULL, fresh->text, length);
  fresh->is_plain =
      fresh->annotation->site != NULL && !fresh->annotation->has_varying_tags && !fresh->annotation->is_capture_range;
  return fresh;
}

// NULL: there are `most` already.
static const struct nvtx_string *find_or_make(struct copies *all, struct annotation_domain *domain, const char *text,
                                              size_t length, uint32_t most)
{
  struct nvtx_string *fresh = NULL;
  for (uint32_t place = hash_string(domain, text, length);; place++) { // ends: not all slots are ever taken
    const struct nvtx_string **slot = &all->slot[place % STRING_SLOTS];
    const struct nvtx_string *known = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (known == NULL) {
      if (fresh == NULL && (fresh = new_string(domain, text, length, most)) == NULL)
        return NULL;
      if (__atomic_compare_exchange_n(slot, &known, fresh, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
        __atomic_add_fetch(&string_count, 1, __ATOMIC_RELAXED);
        return fresh;
      }
    }
    if (same_string(known, domain, text, length))
      return known;
  }
}

const struct nvtx_string *string_register(const void *domain_handle, const char *text)
{
  static const struct nvtx_string no_room = {.domain = NULL};
  if (text == NULL)
    return NULL;
  struct annotation_domain *domain = domain_of(domain_handle);
  struct copies *all = all_copies();
  size_t length = strnlen(text, 65535);
  const struct nvtx_string *string = all == NULL ? NULL : find_or_make(all, domain, text, length, STRINGS_MOST);
  if (string == NULL && all != NULL) { // as ranges do: by a text that stands for many
    const struct annotation *annotation = annotation_find(domain, NULL, text, length);
    if (annotation->site != NULL)
      string = find_or_make(all, domain, annotation->site->name, strlen(annotation->site->name), STRINGS_MOST + MORE);
  }
  return string != NULL ? string : &no_room; // a handle like any other; string_of knows that it has no text
}

const struct nvtx_string *string_register_wide(const void *domain, const wchar_t *text)
{
  char utf8[TEXT_WIDE_MOST];
  return string_register(domain, text_of_wide(text, utf8));
}

// ---- categories
struct category {
  uint64_t key;     // atomic: domain's number + 1 << 32 | category; 0: free
  const char *name; // atomic; NULL: not yet
};
static struct category categories[CATEGORY_SLOTS];
static uint32_t category_count; // atomic

static struct category *find_category(const void *domain, uint32_t category)
{
  uint64_t key = ((uint64_t)domain_number(domain) + 1) << 32 | category;
  uint32_t place = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 40);
  for (;; place++) { // ends: not all slots are ever taken
    struct category *slot = &categories[place % CATEGORY_SLOTS];
    uint64_t known = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE);
    if (known == key)
      return slot;
    if (known != 0)
      continue;
    if (__atomic_load_n(&category_count, __ATOMIC_RELAXED) >= CATEGORIES_MOST)
      return NULL;
    if (__atomic_compare_exchange_n(&slot->key, &known, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      __atomic_add_fetch(&category_count, 1, __ATOMIC_RELAXED);
      return slot;
    }
    if (known == key)
      return slot;
  }
}

void category_name(const void *domain, uint32_t category, const char *name)
{
  struct category *slot = name == NULL ? NULL : find_category(domain, category);
  if (slot == NULL)
    return;
  const char *known = __atomic_load_n(&slot->name, __ATOMIC_ACQUIRE);
  if (known == NULL || strcmp(known, name) != 0)
    __atomic_store_n(&slot->name, handles_copy(name), __ATOMIC_RELEASE);
}

void category_name_wide(const void *domain, uint32_t category, const wchar_t *name)
{
  char utf8[TEXT_WIDE_MOST];
  category_name(domain, category, text_of_wide(name, utf8));
}

const char *category_of(const void *domain, uint32_t category)
{
  if (category == 0)
    return NULL;
  struct category *slot = find_category(domain, category);
  if (slot == NULL)
    return NULL;
  const char *name = __atomic_load_n(&slot->name, __ATOMIC_ACQUIRE);
  if (name == NULL) {
    char number[16];
    snprintf(number, sizeof number, "%u", (unsigned)category);
    name = handles_copy(number);
    __atomic_store_n(&slot->name, name, __ATOMIC_RELEASE);
  }
  return *name == '\0' ? NULL : name;
}

// ---- threads
struct thread_entry {
  uint32_t number;  // atomic; 0: free
  const char *name; // atomic
};
static struct thread_entry threads[THREAD_NAMES_MOST];
uint32_t thread_names_given;

void thread_name(uint32_t number, const char *name)
{
  if (name == NULL)
    return;
  if (number == (uint32_t)syscall(SYS_gettid)) {
    xsp_thread_name(name);
    return;
  }
  for (uint32_t i = 0; i < THREAD_NAMES_MOST && number != 0; i++) {
    uint32_t known = __atomic_load_n(&threads[i].number, __ATOMIC_ACQUIRE);
    if (known == 0 &&
        __atomic_compare_exchange_n(&threads[i].number, &known, number, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      known = number;
    if (known != number)
      continue;
    __atomic_store_n(&threads[i].name, handles_copy(name), __ATOMIC_RELEASE);
    __atomic_add_fetch(&thread_names_given, 1, __ATOMIC_RELEASE);
    return;
  }
}

void thread_name_wide(uint32_t number, const wchar_t *name)
{
  char utf8[TEXT_WIDE_MOST];
  thread_name(number, text_of_wide(name, utf8));
}

void thread_take_name(void)
{
  uint32_t own = (uint32_t)syscall(SYS_gettid);
  for (uint32_t i = 0; i < THREAD_NAMES_MOST; i++) {
    uint32_t known = __atomic_load_n(&threads[i].number, __ATOMIC_ACQUIRE);
    if (known == 0)
      return;
    const char *name = __atomic_load_n(&threads[i].name, __ATOMIC_ACQUIRE);
    if (known == own && name != NULL)
      xsp_thread_name(name);
  }
}

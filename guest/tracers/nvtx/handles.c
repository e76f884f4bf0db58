// SPDX-License-Identifier: Apache-2.0
// Domains, registered strings, categories, threads' names; see handles.h. Called by the callbacks, mostly once a thing.
#include "tracers/nvtx/handles.h"

#include "base/hash.h"
#include "tracers/annotations/guest_table.h"
#include "tracers/nvtx/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STRING_SLOTS (UINT32_C(1) << 16)
#define STRINGS_MOST (UINT32_C(1) << 15)
#define MORE (UINT32_C(1) << 13) // strings that many share

// ---- memory
struct copies {
  uint64_t used;            // atomic: of `bytes`
  void *slot[STRING_SLOTS]; // atomic: struct nvtx_string, by hash
  char bytes[];
};
void *nvtx_handles_memory;    // struct copies
static uint32_t string_count; // atomic

static struct copies *all_copies(void)
{
  return guest_map_once(&nvtx_handles_memory, HANDLES_MEMORY_BYTES);
}

void *nvtx_handles_reserve(size_t bytes)
{
  struct copies *all = all_copies();
  return all == NULL ? NULL : guest_reserve(all->bytes, &all->used, bytes, HANDLES_MEMORY_BYTES - sizeof *all);
}

const char *nvtx_handles_copy(const char *text)
{
  if (text == NULL || *text == '\0')
    return "";
  size_t bytes = strlen(text) + 1;
  char *copy = nvtx_handles_reserve(bytes);
  return copy == NULL ? "" : memcpy(copy, text, bytes);
}

// ---- domains
struct annotation_domain *nvtx_domain_create(const char *name)
{
  return name == NULL || *name == '\0' ? annotation_domain_nameless() : annotation_domain(name);
}

struct annotation_domain *nvtx_domain_create_wide(const wchar_t *name)
{
  char utf8[TEXT_WIDE_MOST];
  return nvtx_domain_create(nvtx_text_of_wide(name, utf8));
}

// ---- registered strings
struct string_key {
  struct annotation_domain *domain;
  const char *text;
  size_t length;
};

static bool same_string(const void *entry, const void *wanted)
{
  const struct nvtx_string *known = entry;
  const struct string_key *key = wanted;
  return known->domain == key->domain && known->length == key->length &&
         memcmp(known->text, key->text, key->length) == 0;
}

// NULL: there are `most` already.
static const struct nvtx_string *find_or_make(struct copies *all, struct string_key key, uint32_t most)
{
  uint32_t hash = (uint32_t)hash_text(key.text, key.length, (uint64_t)(uintptr_t)key.domain);
  struct nvtx_string *string = guest_find(all->slot, STRING_SLOTS, hash, same_string, &key);
  if (string != NULL || __atomic_load_n(&string_count, __ATOMIC_RELAXED) >= most ||
      (string = nvtx_handles_reserve(sizeof *string + key.length + 1)) == NULL)
    return string;
  string->domain = key.domain;
  string->length = (uint32_t)key.length;
  memcpy(string->text, key.text, key.length);
  string->annotation = annotation_find(key.domain, NULL, string->text, key.length);
  string->is_plain = string->annotation->site != NULL && !string->annotation->has_varying_tags &&
                     !string->annotation->is_capture_range;
  return guest_add(all->slot, STRING_SLOTS, &string_count, hash, same_string, &key, string);
}

const struct nvtx_string *nvtx_string_register(const void *domain_handle, const char *text)
{
  static const struct nvtx_string no_room = {.domain = NULL};
  if (text == NULL)
    return NULL;
  struct copies *all = all_copies();
  struct string_key key = {domain_of(domain_handle), text, strnlen(text, 65535)};
  const struct nvtx_string *string = all == NULL ? NULL : find_or_make(all, key, STRINGS_MOST);
  if (string == NULL && all != NULL) { // as ranges do: a text that many share
    const struct annotation *annotation = annotation_find(key.domain, NULL, text, key.length);
    if (annotation->site != NULL) {
      key.text = annotation->site->name;
      key.length = strlen(key.text);
      string = find_or_make(all, key, STRINGS_MOST + MORE);
    }
  }
  return string != NULL ? string : &no_room; // a handle like any other; string_of knows that it has no text
}

const struct nvtx_string *nvtx_string_register_wide(const void *domain, const wchar_t *text)
{
  char utf8[TEXT_WIDE_MOST];
  return nvtx_string_register(domain, nvtx_text_of_wide(text, utf8));
}

// ---- categories
static struct guest_map categories = {.capacity = 4096}; // their names

static void **category_place(const void *domain, uint32_t category) // NULL: no room
{
  uint64_t key = ((uint64_t)domain_number(domain) + 1) << 32 | category;
  return guest_map_place(&categories, (const void *)key);
}

void nvtx_category_name(const void *domain, uint32_t category, const char *name)
{
  void **place = name == NULL ? NULL : category_place(domain, category);
  const char *known = place == NULL ? NULL : __atomic_load_n(place, __ATOMIC_ACQUIRE);
  if (place != NULL && (known == NULL || strcmp(known, name) != 0))
    __atomic_store_n(place, (void *)(uintptr_t)nvtx_handles_copy(name), __ATOMIC_RELEASE);
}

void nvtx_category_name_wide(const void *domain, uint32_t category, const wchar_t *name)
{
  char utf8[TEXT_WIDE_MOST];
  nvtx_category_name(domain, category, nvtx_text_of_wide(name, utf8));
}

const char *nvtx_category_of(const void *domain, uint32_t category)
{
  void **place = category == 0 ? NULL : category_place(domain, category);
  if (place == NULL)
    return NULL;
  const char *name = __atomic_load_n(place, __ATOMIC_ACQUIRE);
  if (name == NULL) {
    char number[16];
    snprintf(number, sizeof number, "%u", (unsigned)category);
    name = nvtx_handles_copy(number);
    __atomic_store_n(place, (void *)(uintptr_t)name, __ATOMIC_RELEASE);
  }
  return *name == '\0' ? NULL : name;
}

// ---- threads
static struct guest_map threads = {.capacity = 512}; // names of threads, by their number
uint32_t nvtx_thread_names_given;

void nvtx_thread_name(uint32_t number, const char *name)
{
  if (name == NULL)
    return;
  if (number == (uint32_t)syscall(SYS_gettid)) {
    xsp_thread_name(name);
    return;
  }
  void **place = guest_map_place(&threads, (const void *)(uintptr_t)number);
  if (place == NULL)
    return;
  __atomic_store_n(place, (void *)(uintptr_t)nvtx_handles_copy(name), __ATOMIC_RELEASE);
  __atomic_add_fetch(&nvtx_thread_names_given, 1, __ATOMIC_RELEASE);
}

void nvtx_thread_name_wide(uint32_t number, const wchar_t *name)
{
  char utf8[TEXT_WIDE_MOST];
  nvtx_thread_name(number, nvtx_text_of_wide(name, utf8));
}

void nvtx_thread_take_name(void)
{
  const char *name = guest_map_get(&threads, (const void *)(uintptr_t)syscall(SYS_gettid));
  if (name != NULL)
    xsp_thread_name(name);
}

// SPDX-License-Identifier: Apache-2.0
// Texts that modules give us once and name ever after: domains, string handles, counters, events. One table without
// locks for all modules; programs look a text up before each event, so finding one allocates nothing. Never freed:
// a module keeps its handles for as long as it likes, and one module's may be used by another.
#include "tracers/itt/itt.h"

#include "base/hash.h"
#include "tracers/annotations/guest_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS (UINT32_C(1) << 17)
#define NAMES_MOST 65536u  // texts that are kept as they are
#define REDUCED_MOST 8192u // and those that many share
#define TEXT_MOST 65535u
#define USES_MOST 16 // domains that a string remembers

static void *slots[SLOTS];          // atomic: struct itt_name, by hash
static uint32_t name_count;         // atomic
static uint64_t losses[ITT_LOSSES]; // atomic

void itt_lose(enum itt_loss reason)
{
  __atomic_add_fetch(&losses[reason], 1, __ATOMIC_RELAXED);
}

uint64_t itt_lost(enum itt_loss reason)
{
  return __atomic_load_n(&losses[reason], __ATOMIC_RELAXED);
}

// ---- the table
struct key {
  enum itt_name_kind kind;
  int type;
  const char *text, *second;
  size_t length, second_length;
  uint64_t hash;
};

static struct key key_of(enum itt_name_kind kind, const char *text, const char *second, int type)
{
  struct key key = {.kind = kind, .type = type, .text = text, .second = second == NULL ? "" : second};
  key.length = strnlen(text, TEXT_MOST);
  key.second_length = strnlen(key.second, TEXT_MOST);
  uint64_t seed = UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)kind << 32 ^ (uint64_t)(unsigned)type;
  key.hash = hash_text(key.text, key.length, seed);
  if (key.second_length > 0)
    key.hash ^= hash_text(key.second, key.second_length, ~seed);
  return key;
}

static bool is_key_of(const void *entry, const void *wanted)
{
  const struct itt_name *name = entry;
  const struct key *key = wanted;
  return name->hash == key->hash && name->kind == key->kind && name->length == key->length &&
         (key->kind != ITT_NAME_COUNTER || name->shared.counter.type == key->type) &&
         memcmp(name->text, key->text, key->length) == 0 && strlen(name->second) == key->second_length &&
         memcmp(name->second, key->second, key->second_length) == 0;
}

static void fill(struct itt_name *name, const struct key *key)
{
  name->hash = key->hash;
  name->kind = key->kind;
  name->length = (uint32_t)key->length;
  memcpy(name->text, key->text, key->length); // followed by zeros
  char *second = name->text + key->length + 1;
  memcpy(second, key->second, key->second_length);
  name->second = second;
  if (key->kind == ITT_NAME_DOMAIN) {
    name->shared.domain.flags = 1;
    name->shared.domain.name = name->text;
  } else if (key->kind == ITT_NAME_STRING) {
    name->shared.string.text = name->text;
  } else if (key->kind == ITT_NAME_COUNTER) {
    name->shared.counter.name = name->text;
    name->shared.counter.domain = *name->second == '\0' ? NULL : name->second;
    name->shared.counter.type = key->type;
    name->shared.counter.extra2 = name;
  }
}

static struct itt_name *find_or_make(const struct key *key, uint32_t most)
{
  uint32_t place = (uint32_t)key->hash;
  struct itt_name *known = guest_find(slots, SLOTS, place, is_key_of, key);
  if (known != NULL || __atomic_load_n(&name_count, __ATOMIC_RELAXED) >= most)
    return known;
  struct itt_name *fresh = calloc(1, sizeof *fresh + key->length + key->second_length + 2);
  if (fresh == NULL)
    return NULL;
  fill(fresh, key);
  known = guest_add(slots, SLOTS, &name_count, place, is_key_of, key, fresh);
  if (known != fresh)
    free(fresh);
  return known;
}

struct itt_name *itt_name(enum itt_name_kind kind, const char *text, const char *second, int type)
{
  int saved_errno = errno;
  struct key key = key_of(kind, text, second, type);
  struct itt_name *name = find_or_make(&key, NAMES_MOST);
  if (name == NULL) { // too many, or no memory
    char reduced[256];
    size_t length = annotation_without_numbers(text, key.length, reduced, sizeof reduced - 1);
    reduced[length] = '\0';
    itt_lose(ITT_LOSS_NAME);
    key = key_of(kind, reduced, second, type);
    name = find_or_make(&key, NAMES_MOST + REDUCED_MOST);
  }
  errno = saved_errno;
  return name;
}

int itt_number_of(const struct itt_name *name)
{
  uint32_t place = (uint32_t)name->hash % SLOTS;
  while (__atomic_load_n(&slots[place], __ATOMIC_RELAXED) != name)
    place = (place + 1) % SLOTS;
  return (int)place + 1;
}

struct itt_name *itt_name_of_number(enum itt_name_kind kind, int number)
{
  if (number < 1 || number > (int)SLOTS)
    return NULL;
  struct itt_name *name = __atomic_load_n(&slots[number - 1], __ATOMIC_ACQUIRE);
  return name != NULL && name->kind == kind ? name : NULL;
}

struct xsp_site *itt_name_site(struct itt_name *name, enum xsp_level level, const char *category, const char *tag)
{
  struct xsp_site *site = __atomic_load_n(&name->site, __ATOMIC_ACQUIRE);
  if (site != NULL)
    return site;
  uint32_t variant = (uint32_t)hash_text(name->second, strlen(name->second), 5) | 1; // 0 is a plain range of this name
  site = xsp_site_create_variant(ITT_TRACER, level, name->text, category, variant);
  if (site == NULL)
    return NULL;
  if (*name->second != '\0')
    xsp_site_tag_string(site, tag, name->second);
  __atomic_store_n(&name->site, site, __ATOMIC_RELEASE); // the same, whoever stores it
  return site;
}

// ---- handles
struct annotation_domain *itt_domain_of(const struct itt_domain *domain)
{
  if (domain == NULL)
    return annotation_domain(NULL);
  struct itt_domain *shared = (struct itt_domain *)domain; // const is the module's promise; extra2 is ours
  struct annotation_domain *known = __atomic_load_n(&shared->extra2, __ATOMIC_ACQUIRE);
  if (known == NULL) {
    known = annotation_domain(domain->name);
    __atomic_store_n(&shared->extra2, known, __ATOMIC_RELEASE); // the same, whoever stores it
  }
  return known;
}

const char *itt_text_of(const struct itt_string *string)
{
  return string == NULL || string->text == NULL ? "(unnamed)" : string->text;
}

static const struct itt_use *remember(struct itt_string *string, struct itt_use *first, const struct itt_use *use)
{
  struct itt_use *fresh = malloc(sizeof *fresh);
  if (fresh == NULL)
    return use;
  *fresh = *use;
  fresh->next = first;
  // Two threads may remember the same use: both are right.
  while (!__atomic_compare_exchange_n(&string->extra2, (void **)(void *)&fresh->next, fresh, false, __ATOMIC_RELEASE,
                                      __ATOMIC_ACQUIRE))
    ;
  return fresh;
}

const struct itt_use *itt_use_of(const struct itt_domain *domain, struct itt_string *string,
                                 struct itt_use *ret_storage)
{
  struct annotation_domain *wanted = itt_domain_of(domain);
  struct itt_use *first = string == NULL ? NULL : __atomic_load_n(&string->extra2, __ATOMIC_ACQUIRE);
  int uses = 0;
  for (struct itt_use *use = first; use != NULL; use = use->next, uses++)
    if (use->domain == wanted)
      return use;
  int saved_errno = errno;
  const char *text = itt_text_of(string);
  *ret_storage = (struct itt_use){.domain = wanted, .text = text};
  ret_storage->annotation = annotation_find_text(wanted, NULL, text);
  if (itt_opencv_is(wanted))
    ret_storage->role = itt_opencv_role(text, ret_storage->annotation);
  const struct itt_use *use = ret_storage;
  if (string != NULL && uses < USES_MOST && ret_storage->annotation->site != NULL) // without a session: not yet
    use = remember(string, first, ret_storage);
  errno = saved_errno;
  return use;
}

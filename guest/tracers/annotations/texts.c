// SPDX-License-Identifier: Apache-2.0
// From a text in a domain and category to its site: looked up by address (checked by content), else by content, else made.
// Called once a range. What is kept is bounded: beyond it texts share the site of what they are without their numbers.
//
//   one mapping:  | 65,536 pointers, by hash | copies of texts, one after the other →              |
#include "tracers/annotations/annotations_private.h"
#include "tracers/annotations/guest_table.h"

#include <errno.h>
#include <string.h>

#define TABLE_SLOTS (UINT32_C(1) << 16)
#define EXACT_MOST (UINT32_C(1) << 15)                // different texts with sites of their own
#define TEXTS_MOST (EXACT_MOST + (UINT32_C(1) << 13)) // and those that many share
#define MAPPING_BYTES (UINT64_C(64) << 20)            // reserved; touched as it fills
#define MAPPING_BYTES_LEAST (UINT64_C(2) << 20)
#define LENGTH_MOST 65535u // what the session keeps of a text

struct mapping {
  uint64_t bytes;
  uint64_t used;           // atomic
  void *slot[TABLE_SLOTS]; // atomic: struct annotation_text, by hash
  char copies[];
};
static struct mapping *mapping; // atomic
static uint32_t count;          // atomic: texts kept
static uint32_t reported;       // atomic, bits: 1 texts share sites, 2 texts are not recorded

static const struct annotation not_recorded;

struct key {
  struct annotation_domain *domain;
  const char *category;
  const char *text;
  size_t length;
  enum annotation_text_kind kind;
  uint8_t level;
  uint32_t hash; // look_up sets it
};

static struct mapping *texts(void)
{
  struct mapping *known = __atomic_load_n(&mapping, __ATOMIC_ACQUIRE);
  if (known != NULL)
    return known;
  for (uint64_t bytes = MAPPING_BYTES; bytes >= MAPPING_BYTES_LEAST; bytes /= 2) {
    struct mapping *fresh = guest_map(bytes);
    if (fresh == NULL)
      continue;
    fresh->bytes = bytes;
    fresh->used = sizeof *fresh;
    if (__atomic_compare_exchange_n(&mapping, &known, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return fresh;
    munmap(fresh, bytes);
    return known;
  }
  return NULL;
}

static void report_once(uint32_t bit, const char *message)
{
  if ((__atomic_fetch_or(&reported, bit, __ATOMIC_RELAXED) & bit) == 0)
    annotation_say(message);
}

// ---- keys
static uint64_t mix(uint64_t hash, uint64_t word)
{
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t length)
{
  uint64_t word;
  for (; length >= sizeof word; bytes += sizeof word, length -= sizeof word) {
    memcpy(&word, bytes, sizeof word);
    hash = mix(hash, word);
  }
  word = length;
  for (size_t i = 0; i < length; i++)
    word = word << 8 | (unsigned char)bytes[i];
  return mix(hash, word);
}

static uint32_t hash_key(const struct key *key)
{
  uint64_t hash =
      mix((uint64_t)annotation_domain_number(key->domain) << 16 | (uint64_t)key->kind << 8 | key->level, key->length);
  hash = hash_bytes(hash, key->text, key->length);
  if (key->category != NULL)
    hash = hash_bytes(hash, key->category, strlen(key->category));
  return (uint32_t)(hash ^ hash >> 32);
}

static bool same_category(const struct annotation_text *known, const char *category)
{
  if (known->category == NULL || category == NULL)
    return known->category == category;
  return strcmp(known->category, category) == 0;
}

static bool is_key_of(const void *entry, const void *wanted)
{
  const struct annotation_text *known = entry;
  const struct key *key = wanted;
  return known->hash == key->hash && known->kind == key->kind && known->level == key->level &&
         known->domain == key->domain && known->length == key->length && same_category(known, key->category) &&
         memcmp(known->text, key->text, key->length) == 0;
}

static const struct annotation_text *look_up(struct key *key)
{
  const struct mapping *all = __atomic_load_n(&mapping, __ATOMIC_ACQUIRE);
  key->hash = hash_key(key);
  return all == NULL ? NULL : guest_find(all->slot, TABLE_SLOTS, key->hash, is_key_of, key);
}

// ---- making
// oneDNN announces the creation of primitives, too, in a domain of its own: that is no part of what computes a layer.
static bool is_creation(const struct annotation_text *text, unsigned level)
{
  static const char ending[] = "::create";
  const char *name = annotation_domain_name(text->domain);
  const size_t length = strlen(name);
  return level == XSP_LEVEL_LIBRARY && length >= sizeof ending - 1 &&
         strcmp(name + length - (sizeof ending - 1), ending) == 0;
}

// The site's name and domain stay as long as the process; the session copies them anyway.
static struct xsp_site *make_site(const struct annotation_text *text, unsigned level, bool is_step)
{
  const char *category = text->category, *shown = NULL;
  if (text->kind == ANNOTATION_TEXT_MARK || text->kind == ANNOTATION_TEXT_COUNTER) {
    shown = category;
    category = text->kind == ANNOTATION_TEXT_MARK ? "mark" : "counter";
  } else if (category != NULL && strcmp(category, "program") == 0) { // that one is xsp's own
    shown = category;
    category = NULL;
  }
  uint32_t shown_hash = shown == NULL ? 0 : (uint32_t)hash_bytes(1, shown, strlen(shown));
  if (category == NULL && is_creation(text, level))
    category = "create";
  struct xsp_site *site = xsp_site_create_variant(annotation_tracer, (enum xsp_level)level, text->text, category,
                                                  annotation_domain_number(text->domain) ^ shown_hash << 12);
  if (site == NULL)
    return NULL;
  const char *domain_name = annotation_domain_name(text->domain);
  if (domain_name[0] != '\0')
    xsp_site_tag_string(site, "domain", domain_name);
  else if (text->domain->is_nameless && level == XSP_LEVEL_LIBRARY)
    xsp_site_tag_string(site, "domain", "NCCL");
  if (shown != NULL)
    xsp_site_tag_string(site, "category", shown);
  if (is_step)
    xsp_site_tag_int(site, "step", 1);
  __atomic_store_n(&annotation_switches, __atomic_load_n(&site->levels, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
  return site;
}

// NULL: no room, or no session (then it is asked for again next time).
static const struct annotation_text *make(const struct key *key, const struct range *range, uint32_t texts_most)
{
  struct mapping *all = texts();
  if (all == NULL || __atomic_load_n(&count, __ATOMIC_RELAXED) >= texts_most || xsp_session_levels() == 0)
    return NULL;
  size_t category_bytes = key->category == NULL ? 0 : strlen(key->category) + 1;
  // The last eighth is for texts that many share.
  struct annotation_text *fresh =
      guest_reserve(all, &all->used, sizeof *fresh + key->length + 1 + category_bytes, // a multiple of 8, all zero
                    texts_most == TEXTS_MOST ? all->bytes : all->bytes / 8 * 7);
  if (fresh == NULL)
    return NULL;
  fresh->domain = key->domain;
  fresh->hash = key->hash;
  fresh->length = (uint32_t)key->length;
  fresh->kind = (uint8_t)key->kind;
  fresh->level = key->level;
  memcpy(fresh->text, key->text, key->length); // followed by zeros
  if (key->category != NULL) {
    fresh->category = fresh->text + key->length + 1;
    memcpy(fresh->text + key->length + 1, key->category, category_bytes);
  }
  bool is_range = key->kind != ANNOTATION_TEXT_MARK && key->kind != ANNOTATION_TEXT_COUNTER;
  fresh->annotation.has_varying_tags = key->kind == ANNOTATION_TEXT_VARYING;
  fresh->annotation.is_capture_range = is_range && range_matches(annotation_capture_range, key->text, key->length);
  fresh->annotation.site = make_site(fresh, range->level, range->is_step);
  if (key->kind == ANNOTATION_TEXT_EXACT && key->category == NULL && !fresh->annotation.is_capture_range &&
      fresh->annotation.site != NULL)
    fresh->plain_domain = key->domain;
  // Where another thread was faster, the copy stays, unused.
  return guest_add(all->slot, TABLE_SLOTS, &count, key->hash, is_key_of, key, fresh);
}

// ---- finding
size_t annotation_without_numbers(const char *text, size_t length, char *reduced, size_t size)
{
  size_t to = 0;
  bool was_digit = false;
  for (size_t i = 0; i < length && to < size; i++) {
    bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (!is_digit || !was_digit)
      reduced[to++] = is_digit ? '#' : text[i];
    was_digit = is_digit;
  }
  return to;
}

static const struct annotation *find_or_make(struct key *key, const struct range *range)
{
  const struct annotation_text *found = look_up(key);
  if (found == NULL)
    found = make(key, range, EXACT_MOST);
  if (found != NULL)
    return &found->annotation;
  if (xsp_session_levels() == 0)
    return &not_recorded;
  char reduced[512];
  struct key shared = *key;
  shared.length = annotation_without_numbers(key->text, key->length, reduced, sizeof reduced);
  shared.text = reduced;
  if (key->kind == ANNOTATION_TEXT_EXACT)
    shared.kind = ANNOTATION_TEXT_REDUCED;
  shared.level = (uint8_t)range->level;
  found = look_up(&shared);
  if (found == NULL && (found = make(&shared, range, TEXTS_MOST)) != NULL)
    report_once(1, "more than 32,768 different texts: new ones share a name with '#' for their numbers");
  if (found != NULL)
    return &found->annotation;
  report_once(2, "far too many different texts: ranges with new ones are not recorded");
  return &not_recorded;
}

static size_t usable_length(const char *text, size_t length)
{
  return annotation_text_cut(text, strnlen(text, length), LENGTH_MOST);
}

const struct annotation *annotation_find_kind(struct annotation_domain *domain, const char *text, size_t length,
                                              enum annotation_text_kind kind)
{
  int saved_errno = errno;
  struct key key = {domain, NULL, text, usable_length(text, length), kind, 0, 0};
  struct range plain = {.level = XSP_LEVEL_APPLICATION};
  const struct annotation *found = find_or_make(&key, &plain);
  errno = saved_errno;
  return found;
}

// What "aten::mm, seq = 3, …" most likely is: the operator of that name, where it is known. NULL: not so.
static const struct annotation_text *guess_operator(struct key key)
{
  const char *comma = memchr(key.text, ',', key.length);
  if (comma == NULL || comma == key.text)
    return NULL;
  size_t rest = key.length - (size_t)(comma - key.text);
  bool has_field =
      (rest > 8 && memcmp(comma, ", seq = ", 8) == 0) || (rest > 10 && memcmp(comma, ", op_id = ", 10) == 0);
  if (!has_field || range_matches(annotation_model_range, key.text, key.length) ||
      range_matches(annotation_model_range, key.text, (size_t)(comma - key.text)))
    return NULL;
  key.length = (size_t)(comma - key.text);
  key.kind = ANNOTATION_TEXT_VARYING;
  key.level = XSP_LEVEL_LAYER;
  return look_up(&key);
}

static void remember_reading(const struct annotation *found, const char *text, size_t length, const struct range *range)
{
  struct annotation_thread *own = annotation_thread_own();
  if (own == NULL || !found->has_varying_tags)
    return;
  own->read = *range;
  own->read_text = text;
  own->read_length = length;
  own->read_annotation = found;
}

// A text that was not found whole.
static const struct annotation *read_text(const struct annotation_domain *domain, struct key *key, size_t length)
{
  static const char nccl[] = "nccl";
  const struct annotation_text *guess = guess_operator(*key);
  if (guess != NULL && annotation_capture_range == NULL && annotation_site_is_off(guess->annotation.site))
    return &guess->annotation; // nothing will be recorded: the rest need not be read
  const char *domain_name = annotation_domain_name(domain);
  if (domain->is_nameless && key->length >= sizeof nccl - 1 && memcmp(key->text, nccl, sizeof nccl - 1) == 0)
    domain_name = nccl;
  struct range range;
  range_read(domain_name, key->text, key->length, annotation_model_range, &range);
  if (range.sequence != RANGE_NO_NUMBER || range.op_id != RANGE_NO_NUMBER || range.sizes != NULL) {
    key->kind = ANNOTATION_TEXT_VARYING;
    key->level = (uint8_t)range.level;
    key->length = range.name_length;
  }
  const struct annotation *found;
  if (guess != NULL && key->kind == ANNOTATION_TEXT_VARYING && key->level == guess->level &&
      key->length == guess->length)
    found = &guess->annotation;
  else
    found = find_or_make(key, &range);
  remember_reading(found, key->text, length, &range);
  return found;
}

// A range's text that is not in the thread's cache.
static const struct annotation *find_range(struct annotation_domain *domain, const char *category, const char *text,
                                           size_t length, const struct annotation_text **cached)
{
  int saved_errno = errno;
  struct key key = {domain, category, text, usable_length(text, length), ANNOTATION_TEXT_EXACT, 0, 0};
  const struct annotation *found = NULL;
  if (memchr(text, ',', key.length) == NULL) { // then it has no varying tags, and may be known
    const struct annotation_text *known = look_up(&key);
    if (known != NULL)
      found = &known->annotation;
  }
  if (found == NULL)
    found = read_text(domain, &key, length);
  if (cached != NULL && !found->has_varying_tags && found != &not_recorded)
    *cached = (const struct annotation_text *)(const void *)found;
  errno = saved_errno;
  return found;
}

static const struct annotation_text **cache_place(const char *text)
{
  struct annotation_thread *own = annotation_thread_own();
  return own == NULL ? NULL : annotation_cache_place(own, text);
}

// Only whole texts are cached. One whose site is shared is known by another text, so it never hits.
static bool is_cached(const struct annotation_text *known, const struct annotation_domain *domain, const char *category)
{
  return known != NULL && known->domain == domain && (known->category == category || same_category(known, category));
}

const struct annotation *annotation_find(struct annotation_domain *domain, const char *category, const char *text,
                                         size_t length)
{
  if (text == NULL)
    text = "", length = 0;
  const struct annotation_text **place = cache_place(text);
  const struct annotation_text *known = place == NULL ? NULL : *place;
  if (is_cached(known, domain, category) && known->length == length && memcmp(known->text, text, length) == 0)
    return &known->annotation;
  return find_range(domain, category, text, length, place);
}

const struct annotation *annotation_find_text(struct annotation_domain *domain, const char *category, const char *text)
{
  if (text == NULL)
    text = "";
  const struct annotation_text **place = cache_place(text);
  const struct annotation_text *known = place == NULL ? NULL : *place;
  if (is_cached(known, domain, category) && strcmp(known->text, text) == 0)
    return &known->annotation;
  return find_range(domain, category, text, strlen(text), place);
}

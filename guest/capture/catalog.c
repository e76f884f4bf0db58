// SPDX-License-Identifier: Apache-2.0
// The session's catalog: strings, sites, site tags, tracks, frames and call paths, appended by all processes without locks,
// and the process's own table of what it has appended already. Signal-safe; a handler that interrupts an insertion at worst
// appends the same text twice.
#include "capture/capture.h"

#include "base/scoped.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TABLE_ENTRIES (UINT32_C(1) << 20)
#define TABLE_USED_MOST (TABLE_ENTRIES / 4 * 3)
#define TABLE_BUCKET 8u // entries, a cache line
#define TABLE_FIRST_END (UINT32_C(1) << 13)
#define TABLE_SECOND_END (UINT32_C(1) << 16)
#define GROW_BYTES (UINT64_C(256) << 10)
#define WINDOW_LEAST (UINT64_C(1) << 20)
#define STRING_LENGTH_MOST 65535u
#define RECENT_TEXTS 256u

static uint64_t *table; // hash << 32 | id; private memory, touched only where used; 0: free
static uint32_t table_used;
static uint64_t reachable;            // atomic: the first bytes of the window that may be touched
static uint32_t recent[RECENT_TEXTS]; // atomic; by the place of a text: id of the text that was there last

bool catalog_create(const char *path)
{
  struct catalog_head *head = capture_file_create(path, GROW_BYTES, 0);
  if (head == NULL)
    return false;
  head->version = SESSION_VERSION;
  head->head_size = sizeof *head;
  head->used = sizeof *head;
  head->allocated = GROW_BYTES;
  __atomic_store_n(&head->magic, CATALOG_MAGIC, __ATOMIC_RELEASE);
  munmap(head, GROW_BYTES);
  return true;
}

// Maps more than the file holds, so that growing needs no new mapping. What the file does not hold cannot be read either:
// a checker of memory in the program (valgrind looks for leaks in all that can be read) would meet a SIGBUS there for each
// word.
static struct catalog_head *map_window(const char *path, uint64_t *ret_window)
{
  int file SCOPED(scoped_close) = capture_file_open(path, 0);
  if (file < 0)
    return NULL;
  struct stat status;
  void *memory = MAP_FAILED;
  uint64_t most = CATALOG_MAXIMUM_BYTES, share = capture_file_address_share();
  while (most > share && most > WINDOW_LEAST)
    most /= 2;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
      (size_t)status.st_size >= sizeof(struct catalog_head))
    for (uint64_t window = most; memory == MAP_FAILED && window >= WINDOW_LEAST; window /= 2) {
      memory = mmap(NULL, window, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
      *ret_window = window;
    }
  if (memory == MAP_FAILED)
    return NULL;
  reachable = (uint64_t)status.st_size < *ret_window ? (uint64_t)status.st_size : *ret_window;
  if (mprotect(memory, reachable, PROT_READ | PROT_WRITE) == 0)
    return memory;
  munmap(memory, *ret_window);
  return NULL;
}

// Makes the window's first `end` bytes, which some process has allocated, touchable here. Any thread, any number of times.
static bool reach(uint64_t end)
{
  uint64_t before = __atomic_load_n(&reachable, __ATOMIC_ACQUIRE);
  if (__builtin_expect(end <= before, 1))
    return true;
  uint64_t bytes = __atomic_load_n(&capture.catalog->allocated, __ATOMIC_ACQUIRE);
  bytes = bytes < capture.catalog_window ? bytes : capture.catalog_window;
  if (end > bytes || mprotect(capture.catalog, bytes, PROT_READ | PROT_WRITE) != 0)
    return false;
  while (before < bytes &&
         !__atomic_compare_exchange_n(&reachable, &before, bytes, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
    ;
  return true;
}

bool catalog_open(const char *path)
{
  void *memory = mmap(NULL, TABLE_ENTRIES * sizeof *table, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  capture.catalog = map_window(path, &capture.catalog_window);
  if (capture.catalog != NULL && capture.catalog->magic == CATALOG_MAGIC &&
      capture.catalog->version == SESSION_VERSION && capture.catalog->used % 8 == 0 &&
      capture.catalog->used >= sizeof(struct catalog_head)) {
    table = memory;
    return true;
  }
  munmap(memory, TABLE_ENTRIES * sizeof *table);
  if (capture.catalog != NULL)
    munmap(capture.catalog, capture.catalog_window);
  capture.catalog = NULL;
  errno = EPROTO;
  return false;
}

void *catalog_entry(uint32_t id, enum catalog_type type)
{
  uint64_t offset = (uint64_t)id * 8;
  uint64_t used = __atomic_load_n(&capture.catalog->used, __ATOMIC_ACQUIRE);
  if (id == 0 || offset + sizeof(struct catalog_entry) > used || !reach(used))
    return NULL;
  struct catalog_entry *entry = (struct catalog_entry *)((char *)capture.catalog + offset);
  if (__atomic_load_n(&entry->size, __ATOMIC_ACQUIRE) == 0 || entry->type != (uint32_t)type)
    return NULL;
  return entry;
}

static bool grow(uint64_t allocated, uint64_t needed)
{
  uint64_t bytes = (needed + GROW_BYTES - 1) / GROW_BYTES * GROW_BYTES + GROW_BYTES;
  char path[PATH_MAX];
  capture_file_path(path, "catalog");
  struct signals_held before;
  signals_hold(&before);
  int error = capture_file_extend(path, bytes);
  signals_release(&before);
  if (error != 0)
    return false;
  while (allocated < bytes && !__atomic_compare_exchange_n(&capture.catalog->allocated, &allocated, bytes, false,
                                                           __ATOMIC_RELEASE, __ATOMIC_RELAXED))
    ;
  return true;
}

// Hands out zeroed bytes. Only what has storage is handed out, so a full disk leaves no hole for readers to stumble on.
static void *append(size_t bytes, enum catalog_type type, uint32_t *ret_id)
{
  struct catalog_head *catalog = capture.catalog;
  bytes = (bytes + 7) & ~(size_t)7;
  uint64_t used = __atomic_load_n(&catalog->used, __ATOMIC_RELAXED);
  do {
    if (bytes > capture.catalog_window || used > capture.catalog_window - bytes)
      return NULL;
    uint64_t allocated = __atomic_load_n(&catalog->allocated, __ATOMIC_ACQUIRE);
    if ((used + bytes > allocated && !grow(allocated, used + bytes)) || !reach(used + bytes))
      return NULL;
  } while (
      !__atomic_compare_exchange_n(&catalog->used, &used, used + bytes, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
  struct catalog_entry *entry = (struct catalog_entry *)((char *)catalog + used);
  entry->type = (uint32_t)type;
  *ret_id = (uint32_t)(used / 8);
  return entry;
}

// Partner: every reader of the catalog takes `size` by acquire.
static void complete(void *entry, size_t bytes)
{
  __atomic_store_n(&((struct catalog_entry *)entry)->size, (uint32_t)((bytes + 7) & ~(size_t)7), __ATOMIC_RELEASE);
}

static uint32_t hash_words(const void *words, size_t bytes) // a multiple of 4
{
  const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
  uint64_t hash = 0;
  for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
    uint32_t word;
    memcpy(&word, (const char *)words + i, sizeof word);
    hash = (hash ^ word ^ hash >> 29) * factor;
  }
  return (uint32_t)(hash ^ hash >> 32);
}

static uint32_t hash_bytes(const void *bytes, size_t length)
{
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < length; i++)
    hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
  return (uint32_t)(hash ^ hash >> 32);
}

// What makes an entry the same as another: a string's text, else the words that follow the head of the entry.
struct wanted {
  enum catalog_type type;
  const void *key;
  size_t length;
};

static bool is_wanted(uint32_t id, const struct wanted *wanted)
{
  const struct catalog_entry *entry = catalog_entry(id, wanted->type);
  if (entry == NULL)
    return false;
  const struct catalog_string *string = (const struct catalog_string *)entry;
  bool is_string = wanted->type == CATALOG_STRING;
  return (!is_string || string->length == wanted->length) &&
         memcmp(is_string ? (const void *)string->text : (const void *)(entry + 1), wanted->key, wanted->length) == 0;
}

// The table has three parts, so that few entries touch few pages: a full bucket leads to one of the next part, in the last
// part to the places after it.
static uint32_t place_in_part(uint32_t hash, uint32_t from, uint32_t end)
{
  return from + hash % ((end - from) / TABLE_BUCKET) * TABLE_BUCKET;
}

static uint32_t next_place(uint32_t hash, uint32_t place)
{
  uint32_t next = place + 1;
  if (next % TABLE_BUCKET != 0 || (next > TABLE_SECOND_END && next < TABLE_ENTRIES))
    return next;
  if (next <= TABLE_FIRST_END)
    return place_in_part(hash, TABLE_FIRST_END, TABLE_SECOND_END);
  return next <= TABLE_SECOND_END ? place_in_part(hash, TABLE_SECOND_END, TABLE_ENTRIES) : TABLE_SECOND_END;
}

// The id in the table, or 0 and the free place where it belongs (TABLE_ENTRIES: the table is full).
static uint32_t look_up(uint32_t hash, const struct wanted *wanted, uint32_t *ret_place)
{
  uint32_t place = place_in_part(hash, 0, TABLE_FIRST_END);
  for (;; place = next_place(hash, place)) {
    uint64_t found = __atomic_load_n(&table[place], __ATOMIC_ACQUIRE);
    if (found == 0)
      break;
    if (found >> 32 == hash && is_wanted((uint32_t)found, wanted)) {
      *ret_place = place;
      return (uint32_t)found;
    }
  }
  *ret_place = __atomic_load_n(&table_used, __ATOMIC_RELAXED) < TABLE_USED_MOST ? place : TABLE_ENTRIES;
  return 0;
}

// Enters a completed entry. Of two threads that came together the later takes the earlier's id; its own entry stays,
// unused.
static uint32_t enter(uint32_t id, uint32_t hash, uint32_t place, const struct wanted *wanted)
{
  uint64_t free_place = 0;
  while (!__atomic_compare_exchange_n(&table[place], &free_place, (uint64_t)hash << 32 | id, false, __ATOMIC_RELEASE,
                                      __ATOMIC_ACQUIRE)) {
    if (free_place >> 32 == hash && is_wanted((uint32_t)free_place, wanted))
      return (uint32_t)free_place;
    free_place = 0;
    place = next_place(hash, place);
  }
  __atomic_add_fetch(&table_used, 1, __ATOMIC_RELAXED);
  return id;
}

uint32_t catalog_string(const char *text, size_t length)
{
  if (length > STRING_LENGTH_MOST) {
    length = STRING_LENGTH_MOST;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) // not inside a UTF-8 sequence
      length--;
  }
  const struct wanted wanted = {CATALOG_STRING, text, length};
  uint32_t hash = hash_bytes(text, length), place, id;
  if ((id = look_up(hash, &wanted, &place)) != 0 || place == TABLE_ENTRIES)
    return id;
  size_t bytes = sizeof(struct catalog_string) + length + 1;
  struct catalog_string *string = append(bytes, CATALOG_STRING, &id);
  if (string == NULL)
    return 0;
  string->length = (uint32_t)length;
  string->hash = hash;
  memcpy(string->text, text, length);
  complete(string, bytes);
  return enter(id, hash, place, &wanted);
}

// Keys of tags are at the same place each time: comparing one costs less than hashing it.
uint32_t catalog_text(const char *text)
{
  if (text == NULL || *text == '\0')
    return 0;
  uint32_t *place = &recent[(uintptr_t)text / 4 % RECENT_TEXTS], id = __atomic_load_n(place, __ATOMIC_ACQUIRE);
  if (id != 0 && strcmp(((const struct catalog_string *)catalog_at(id))->text, text) == 0)
    return id;
  id = catalog_string(text, strnlen(text, STRING_LENGTH_MOST + 1));
  __atomic_store_n(place, id, __ATOMIC_RELEASE);
  return id;
}

// An entry of `bytes` that begins with the key; what follows it is zero.
static uint32_t intern(struct wanted wanted, size_t bytes)
{
  uint32_t hash = hash_words(wanted.key, wanted.length), place, id;
  if ((id = look_up(hash, &wanted, &place)) != 0 || place == TABLE_ENTRIES)
    return id;
  struct catalog_entry *entry = append(bytes, wanted.type, &id);
  if (entry == NULL)
    return 0;
  memcpy(entry + 1, wanted.key, wanted.length);
  complete(entry, bytes);
  return enter(id, hash, place, &wanted);
}

uint32_t catalog_site(uint32_t level, uint32_t tracer, uint32_t name, uint32_t category, uint32_t variant)
{
  const uint32_t key[] = {level, tracer, name, category, variant};
  return intern((struct wanted){CATALOG_SITE, key, sizeof key}, sizeof(struct catalog_site));
}

uint32_t catalog_frame(const struct catalog_frame *frame)
{
  size_t key_bytes = sizeof *frame - sizeof frame->entry;
  return intern((struct wanted){CATALOG_FRAME, &frame->kind, key_bytes}, sizeof *frame);
}

uint32_t catalog_path(uint32_t caller, uint32_t frame, uint32_t depth)
{
  const uint32_t key[] = {caller, frame, depth};
  return intern((struct wanted){CATALOG_PATH, key, sizeof key}, sizeof(struct catalog_path));
}

bool catalog_site_tag(uint32_t site_id, uint32_t key, enum value_type type, uint64_t value)
{
  struct catalog_site *site = catalog_entry(site_id, CATALOG_SITE);
  if (site == NULL || key == 0)
    return false;
  for (uint32_t id = __atomic_load_n(&site->first_tag, __ATOMIC_ACQUIRE); id != 0;) {
    const struct catalog_site_tag *tag = catalog_entry(id, CATALOG_SITE_TAG);
    if (tag == NULL)
      break;
    if (tag->key == key && tag->value_type == (uint32_t)type && tag->value == value)
      return true;
    id = tag->next;
  }
  uint32_t id;
  struct catalog_site_tag *tag = append(sizeof *tag, CATALOG_SITE_TAG, &id);
  if (tag == NULL)
    return false;
  tag->key = key;
  tag->value_type = (uint32_t)type;
  tag->value = value;
  tag->next = __atomic_load_n(&site->first_tag, __ATOMIC_ACQUIRE);
  complete(tag, sizeof *tag);
  while (!__atomic_compare_exchange_n(&site->first_tag, &tag->next, id, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
    ;
  return true;
}

uint32_t catalog_track(uint32_t name, uint32_t clock, int64_t device_id, int64_t stream_id, uint32_t thread_id)
{
  uint32_t id;
  struct catalog_track *track = append(sizeof *track, CATALOG_TRACK, &id);
  if (track == NULL)
    return 0;
  track->name = name;
  track->clock = clock;
  track->device_id = device_id;
  track->stream_id = stream_id;
  track->thread_id = thread_id;
  complete(track, sizeof *track);
  return id;
}

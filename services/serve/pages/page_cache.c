// SPDX-License-Identifier: Apache-2.0
// Makes, keeps and forgets the parts of files' pages. A file is known by its name, size and time: what was made of an earlier one
// is removed. Called by page_routes.c on the threads of connections.
#include "serve/pages/page_cache.h"

#include "base/clock.h"
#include "base/debug.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "serve/api/ask.h"
#include "serve/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAGES_FOLDER ".pages"
#define ENDING ".parts"
#define OPEN_MOST 8u // files that stay mapped while nobody asks
#define KEY_SIZE 320u
#define RETRY_S 5u
#define NICE 10 // nobody waits for it

struct key {
  char text[KEY_SIZE]; // "NAME.xsp-SIZE-TIME"
};
struct entry {
  struct key key;
  struct report_parts *parts;
  unsigned users;
  uint64_t used; // when it was asked for last: a number that counts up
};
struct page_cache {
  const char *path;
  int folder;
  uint64_t bytes_most;
  pthread_mutex_t lock;              // guards what follows
  pthread_cond_t made;               // one of `making` has ended
  VECTOR(const struct key *) making; // whose parts are made now; borrowed
  VECTOR(struct entry *) entries;
  uint64_t uses;
};

enum status page_cache_open(const char *files, int folder, uint64_t bytes_most, struct page_cache **ret_cache,
                            struct error *err)
{
  struct arena arena = {0};
  const char *path = arena_format(&arena, "%s/%s", files, PAGES_FOLDER);
  enum status status = STATUS_OK;
  *ret_cache = NULL;
  if (mkdir(path, 0700) != 0 && errno != EEXIST)
    status = error_set_errno(err, STATUS_SYSTEM, "cannot make a folder for pages", path, NULL);
  arena_done(&arena);
  XSP_TRY(status);
  kept_remove_partials(folder, PAGES_FOLDER, "");
  struct page_cache *cache = memory_new(1, sizeof *cache);
  *cache = (struct page_cache){.path = files, .folder = folder, .bytes_most = bytes_most};
  pthread_mutex_init(&cache->lock, NULL);
  pthread_cond_init(&cache->made, NULL);
  *ret_cache = cache;
  return STATUS_OK;
}

void page_cache_free(struct page_cache *cache)
{
  if (cache == NULL)
    return;
  for (size_t i = 0; i < cache->entries.count; i++) {
    report_parts_close(cache->entries.items[i]->parts);
    free(cache->entries.items[i]);
  }
  vector_done(&cache->entries);
  vector_done(&cache->making);
  pthread_cond_destroy(&cache->made);
  pthread_mutex_destroy(&cache->lock);
  free(cache);
}

// ---- files -----------------------------------------------------------------------------------------------------------
// False: there is no such file.
static bool find_file(const struct page_cache *cache, const char *name, struct arena *arena, struct key *ret_key)
{
  struct stat facts;
  if (lstat(arena_format(arena, "%s/%s", cache->path, name), &facts) != 0 || !S_ISREG(facts.st_mode))
    return false;
  int length = snprintf(ret_key->text, sizeof ret_key->text, "%s-%llx-%llx", name, (unsigned long long)facts.st_size,
                        (unsigned long long)clock_ns_of(facts.st_mtim));
  return length < (int)sizeof ret_key->text;
}

bool page_cache_has(const struct page_cache *cache, const char *name)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct key key;
  return find_file(cache, name, &arena, &key);
}

static const char *parts_path(const struct page_cache *cache, const struct key *key, struct arena *arena)
{
  return arena_format(arena, "%s/%s/%s%s", cache->path, PAGES_FOLDER, key->text, ENDING);
}

struct kept { // a file of parts
  struct key name;
  int64_t made_ns;
  uint64_t bytes;
};
SORTED_BY(compare_ages, struct kept, RISING(made_ns))

// Removes the oldest ones beyond the limit, and those of earlier contents of the same file.
static void trim(const struct page_cache *cache, const struct key *newest, size_t name_length)
{
  struct arena arena SCOPED(arena_done) = {0};
  VECTOR(struct kept) kept SCOPED(vector_end) = {0};
  uint64_t bytes = 0;
  DIR *folder SCOPED(scoped_closedir) = opendir(arena_format(&arena, "%s/%s", cache->path, PAGES_FOLDER));
  for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    struct stat facts;
    size_t length = strlen(entry->d_name), ending = sizeof ENDING - 1;
    if (length < ending || length >= KEY_SIZE || strcmp(entry->d_name + length - ending, ENDING) != 0 ||
        fstatat(dirfd(folder), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    bool is_newest =
        strncmp(entry->d_name, newest->text, length - ending) == 0 && strlen(newest->text) == length - ending;
    bool is_replaced = !is_newest && strncmp(entry->d_name, newest->text, name_length + 1) == 0;
    if (is_replaced)
      (void)unlinkat(dirfd(folder), entry->d_name, 0);
    bytes += is_replaced ? 0 : (uint64_t)facts.st_size;
    if (is_newest || is_replaced)
      continue;
    struct kept *added = vector_add(&kept);
    memcpy(added->name.text, entry->d_name, length + 1);
    added->made_ns = clock_ns_of(facts.st_mtim);
    added->bytes = (uint64_t)facts.st_size;
  }
  vector_sort(&kept, compare_ages);
  for (size_t i = 0; i < kept.count && bytes > cache->bytes_most; i++)
    if (unlinkat(dirfd(folder), kept.items[i].name.text, 0) == 0)
      bytes -= kept.items[i].bytes;
}

// ---- one maker for each file -----------------------------------------------------------------------------------------
// Locked. SIZE_MAX: nobody makes them.
static size_t find_making(const struct page_cache *cache, const struct key *key)
{
  size_t at = 0;
  while (at < cache->making.count && strcmp(cache->making.items[at]->text, key->text) != 0)
    at++;
  return at < cache->making.count ? at : SIZE_MAX;
}

// Waits until nobody else makes the parts, or the client leaves; does not wait without `exchange`. True: end_making must
// follow, and `key` lives until then. False: the exchange has the refusal.
static bool begin_making(struct page_cache *cache, const struct key *key, struct exchange *exchange)
{
  pthread_mutex_lock(&cache->lock);
  while (find_making(cache, key) != SIZE_MAX && exchange != NULL && !exchange_is_left(exchange)) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec++;
    pthread_cond_timedwait(&cache->made, &cache->lock, &end);
  }
  bool is_free = find_making(cache, key) == SIZE_MAX;
  if (is_free)
    *vector_add(&cache->making) = key;
  pthread_mutex_unlock(&cache->lock);
  if (!is_free && exchange != NULL)
    exchange_refuse_for_now(exchange, RETRY_S, "the page is still being made");
  return is_free;
}

static void end_making(struct page_cache *cache, const struct key *key)
{
  SCOPED_LOCK(&cache->lock);
  cache->making.items[find_making(cache, key)] = cache->making.items[cache->making.count - 1];
  cache->making.count--;
  pthread_cond_broadcast(&cache->made);
}

// ---- making ----------------------------------------------------------------------------------------------------------
static const char *const *command_of(const char *name, const struct key *key, struct arena *arena)
{
  const char **command = arena_alloc_array(arena, 8, sizeof *command);
  const char *const words[] = {"xsp", "report", name, "--parts", "--force"};
  memcpy(command, words, sizeof words);
  command[5] = arena_format(arena, "--max-spans=%d", REPORT_SERVED_SPANS);
  command[6] = arena_format(arena, "--output=%s/%s%s", PAGES_FOLDER, key->text, ENDING);
  return command;
}

// In a process of its own: a file of a stranger may need all memory, and a client may leave.
static bool make(const struct page_cache *cache, struct exchange *exchange, const char *name, const struct key *key)
{
  struct arena arena SCOPED(arena_done) = {0};
  bool is_made = ask_to_make(exchange, command_of(name, key, &arena) + 1);
  if (is_made)
    trim(cache, key, strlen(name));
  DEBUG(serve, "parts of %s: %s", name, is_made ? "made" : exchange->message);
  return is_made;
}

void page_cache_prepare(struct page_cache *cache, const char *name, int stop)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct key key;
  struct stat facts;
  int status = -1;
  bool is_stopped;
  if (find_file(cache, name, &arena, &key) && begin_making(cache, &key, NULL)) {
    const struct ask_command command = {.arguments = command_of(name, &key, &arena),
                                        .folder = cache->folder,
                                        .output = CHILD_NULL,
                                        .nice = NICE,
                                        .stop = {.fd = stop, .events = POLLIN}};
    if (lstat(parts_path(cache, &key, &arena), &facts) != 0 && ask_run(&command, NULL, &status, &is_stopped) == 0 &&
        status == 0)
      trim(cache, &key, strlen(name));
    end_making(cache, &key);
  }
}

// ---- open ones -------------------------------------------------------------------------------------------------------
// Locked. NULL: it is not open.
static const struct report_parts *use_open(struct page_cache *cache, const struct key *key)
{
  for (size_t i = 0; i < cache->entries.count; i++) {
    struct entry *entry = cache->entries.items[i];
    if (strcmp(entry->key.text, key->text) == 0) {
      entry->users++;
      entry->used = ++cache->uses;
      return entry->parts;
    }
  }
  return NULL;
}

// Locked. Closes those that were not asked for the longest.
static void close_unused(struct page_cache *cache)
{
  while (cache->entries.count > OPEN_MOST) {
    size_t oldest = SIZE_MAX;
    for (size_t i = 0; i < cache->entries.count; i++)
      if (cache->entries.items[i]->users == 0 &&
          (oldest == SIZE_MAX || cache->entries.items[i]->used < cache->entries.items[oldest]->used))
        oldest = i;
    if (oldest == SIZE_MAX)
      return;
    report_parts_close(cache->entries.items[oldest]->parts);
    free(cache->entries.items[oldest]);
    cache->entries.items[oldest] = cache->entries.items[--cache->entries.count];
  }
}

// Takes `parts`; closes them where another thread was first.
static const struct report_parts *add_open(struct page_cache *cache, const struct key *key, struct report_parts *parts)
{
  pthread_mutex_lock(&cache->lock);
  const struct report_parts *found = use_open(cache, key);
  if (found == NULL) {
    struct entry *entry = memory_new(1, sizeof *entry);
    *entry = (struct entry){*key, parts, 1, ++cache->uses};
    *vector_add(&cache->entries) = entry;
    close_unused(cache);
  }
  pthread_mutex_unlock(&cache->lock);
  if (found != NULL)
    report_parts_close(parts);
  return found != NULL ? found : parts;
}

// Parts that are there. NULL: there are none, or of a version before.
static const struct report_parts *find_or_open(struct page_cache *cache, const struct key *key, struct arena *arena,
                                               struct error *err)
{
  struct report_parts *parts = NULL;
  pthread_mutex_lock(&cache->lock);
  const struct report_parts *found = use_open(cache, key);
  pthread_mutex_unlock(&cache->lock);
  if (found == NULL && report_parts_open(parts_path(cache, key, arena), &parts, err) == STATUS_OK)
    found = add_open(cache, key, parts);
  return found;
}

static const struct report_parts *open_or_make(struct page_cache *cache, struct exchange *exchange, const char *name,
                                               const struct key *key, struct arena *arena)
{
  struct error error = {0};
  const struct report_parts *parts = find_or_open(cache, key, arena, NULL); // they may have been made meanwhile
  if (parts != NULL || !make(cache, exchange, name, key))
    return parts;
  parts = find_or_open(cache, key, arena, &error);
  if (parts == NULL)
    exchange_refuse_error(exchange, 500, &error);
  return parts;
}

const struct report_parts *page_cache_take(struct page_cache *cache, struct exchange *exchange, const char *name)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct key key;
  const struct report_parts *parts = NULL;
  if (!find_file(cache, name, &arena, &key)) {
    exchange_refuse(exchange, 404, "there is no file %s", name);
  } else if ((parts = find_or_open(cache, &key, &arena, NULL)) == NULL && begin_making(cache, &key, exchange)) {
    parts = open_or_make(cache, exchange, name, &key, &arena);
    end_making(cache, &key);
  }
  return parts;
}

void page_cache_release(struct page_cache *cache, const struct report_parts *parts)
{
  SCOPED_LOCK(&cache->lock);
  for (size_t i = 0; i < cache->entries.count && parts != NULL; i++)
    cache->entries.items[i]->users -= cache->entries.items[i]->parts == parts;
  close_unused(cache);
}

// SPDX-License-Identifier: Apache-2.0
// Makes and opens session folders. Called by session.c. The folder is the caller's (place.c), but any program of the
// caller wrote to it: sizes and magic numbers are checked before a byte is believed. A lock on DIR/session keeps two
// collectors apart.
#include "base/hash.h"
#include "base/small_file.h"
#include "collect/guard.h"
#include "collect/place.h"
#include "collect/state.h"
#include "format/session_clock.h"
#include "format/session_memory.h"
#include "format/traceparent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CATALOG_FIRST_BYTES (UINT64_C(256) << 10)
#define ROOM_WANTED_BYTES (UINT64_C(16) << 20)
#define ORIGIN_BYTES_MAXIMUM (1 << 20)
#define OTHER_BYTES (UINT64_C(64) << 20) // of a bounded session, besides rings

static const char adopting[] = "cannot adopt the capture session";
static const char making[] = "cannot make a capture session";

static void read_boot_id(uint8_t boot_id[16])
{
  char text[64];
  small_file_read("/proc/sys/kernel/random/boot_id", text, sizeof text);
  if (!boot_id_read(text, boot_id))
    memset(boot_id, 0, 16);
}

// ---- making ---------------------------------------------------------------------------------------------------------

// A file with storage for every byte, so that a full file system is an error here and no SIGBUS later.
static enum status make_file(int folder, const char *name, size_t size, int *ret_file, void **ret_bytes,
                             struct error *err)
{
  struct stat facts;
  int file = collect_place_file(folder, name, O_RDWR | O_CREAT | O_EXCL, &facts);
  if (file < 0)
    return error_set_errno(err, STATUS_SYSTEM, making, name, NULL);
  int error = posix_fallocate(file, 0, (off_t)size);
  void *bytes = error ? MAP_FAILED : collect_guard_map(size, PROT_READ | PROT_WRITE, MAP_SHARED, file);
  if (bytes == MAP_FAILED) {
    error = error ? error : errno;
    close(file);
    errno = error;
    return error_set_errno(err, STATUS_SYSTEM, making, name, "TMPDIR=/a/folder/with/room");
  }
  *ret_file = file;
  *ret_bytes = bytes;
  return STATUS_OK;
}

static void fill_session(struct session_head *head, const struct collect_options *options, const char *directory)
{
  uint32_t otherwise = options->flight_recorder ? RING_RECORDS_RECORDER : RING_RECORDS_LEAST;
  uint32_t wanted = options->ring_records ? options->ring_records : otherwise;
  head->ring_records = RING_RECORDS_LEAST;
  while (head->ring_records < wanted && head->ring_records < RING_RECORDS_MOST)
    head->ring_records *= 2;
  head->version = SESSION_VERSION;
  head->head_size = sizeof *head;
  head->tick_clock = session_clock_choose(getenv("XSP_CLOCK"));
  head->flags = options->flight_recorder ? SESSION_FLIGHT_RECORDER : 0;
  head->levels = options->level_mask & XSP_LEVEL_MASK_ALL;
  head->next_process = head->next_ring = 1;
  head->memory_limit = options->memory_limit ? options->memory_limit
                                             : session_memory_limit(getenv("XSP_SESSION_LIMIT_BYTES"), directory);
  head->collector_pid = (uint32_t)getpid();
  read_boot_id(head->boot_id);
  uint64_t random[3] = {hash_new_seed(), hash_new_seed(), hash_new_seed()};
  head->span_base = session_span_base(random[2]);
  if (traceparent_read(getenv("TRACEPARENT"), head->trace_id, head->parent_id))
    return;
  memset(head->parent_id, 0, sizeof head->parent_id);
  memcpy(head->trace_id, random, sizeof head->trace_id);
}

static enum status make_catalog(struct collect_session *session, struct error *err)
{
  void *bytes = NULL;
  XSP_TRY(make_file(session->folder, "catalog", CATALOG_FIRST_BYTES, &session->names.catalog_file, &bytes, err));
  struct catalog_head *head = bytes;
  head->version = SESSION_VERSION;
  head->head_size = sizeof *head;
  head->used = sizeof *head;
  head->allocated = CATALOG_FIRST_BYTES;
  __atomic_store_n(&head->magic, CATALOG_MAGIC, __ATOMIC_RELEASE);
  collect_guard_unmap(bytes, CATALOG_FIRST_BYTES);
  return STATUS_OK;
}

// Maps more than the file holds, so that it may grow; only bytes inside the file are read (names_refresh).
static enum status map_catalog(struct collect_session *session, const char *what, struct error *err)
{
  for (uint64_t window = CATALOG_MAXIMUM_BYTES; window >= CATALOG_FIRST_BYTES; window /= 2) {
    void *bytes = collect_guard_map(window, PROT_READ, MAP_SHARED | MAP_NORESERVE, session->names.catalog_file);
    if (bytes != MAP_FAILED) {
      session->names.catalog.bytes = bytes;
      session->names.catalog_window = window;
      return STATUS_OK;
    }
  }
  return error_set_errno(err, STATUS_SYSTEM, what, session->directory, NULL);
}

static enum status fill_folder(struct collect_session *session, const struct collect_options *options,
                               struct error *err)
{
  XSP_TRY(make_catalog(session, err));
  XSP_TRY(map_catalog(session, making, err));
  void *bytes = NULL;
  XSP_TRY(make_file(session->folder, "session", SESSION_FILE_SIZE, &session->lock, &bytes, err));
  session->head = bytes;
  (void)collect_place_lock(session->lock); // nobody else knows the folder yet
  arrivals_open(session, true);
  fill_session(session->head, options, session->directory);
  struct session_control *control = (void *)((char *)bytes + SESSION_CONTROL_OFFSET);
  for (uint32_t i = 0; i < SESSION_TRACERS; i++)
    control->levels[i] = session->head->levels;
  memcpy(control->tracer[0].name, "app", 4);
  control->tracer[0].claimed = 2;
  __atomic_store_n(&session->head->magic, SESSION_MAGIC, __ATOMIC_RELEASE);
  return STATUS_OK;
}

static uint64_t free_bytes(const char *directory)
{
  struct statvfs status;
  if (access(directory, W_OK | X_OK) != 0 || statvfs(directory, &status) != 0)
    return 0;
  return (uint64_t)status.f_bavail * status.f_frsize;
}

// /dev/shm where a few rings fit, else the roomiest of it, TMPDIR and /tmp.
static const char *choose_base(void)
{
  const char *bases[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"}, *best = "/tmp";
  uint64_t most = 0;
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
    if (!bases[i] || bases[i][0] != '/' || strlen(bases[i]) > PATH_MAX - 128)
      continue;
    uint64_t room = free_bytes(bases[i]);
    if (room >= ROOM_WANTED_BYTES)
      return bases[i];
    if (room > most) {
      most = room;
      best = bases[i];
    }
  }
  return best;
}

static enum status make_directory(struct collect_session *session, const struct collect_options *options,
                                  struct error *err)
{
  const char *wish = options->directory;
  char path[PATH_MAX];
  if (wish) {
    if (mkdir(wish, 0700) != 0 && errno != EEXIST)
      return error_set_errno(err, STATUS_SYSTEM, making, wish, NULL);
  } else {
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
      return error_set_errno(err, STATUS_SYSTEM, making, NULL, NULL);
    snprintf(path, sizeof path, "%s/xsp-%u-%016llx", choose_base(), (unsigned)getuid(), (unsigned long long)random);
    if (mkdir(path, 0700) != 0)
      return error_set_errno(err, STATUS_SYSTEM, making, path, "TMPDIR=/a/folder/with/room");
    session->is_own = true;
  }
  const char *made = wish ? wish : path;
  enum status status =
      options->is_bounded ? collect_place_bound(made, making, options->memory_limit + OTHER_BYTES, err) : STATUS_OK;
  if (status != STATUS_OK) {
    (void)rmdir(made);
    return status;
  }
  return collect_place_open(made, making, session->directory, sizeof session->directory, &session->folder, err);
}

enum status collect_folder_create(struct collect_session *session, const struct collect_options *options,
                                  struct error *err)
{
  struct collect_options own = *options;
  if (own.memory_limit == 0 && own.is_bounded) // of what is around it
    own.memory_limit = session_memory_limit(getenv("XSP_SESSION_LIMIT_BYTES"), choose_base());
  XSP_TRY(make_directory(session, &own, err));
  // Before anything is made, so that nothing of somebody else's is removed.
  if (faccessat(session->folder, "catalog", F_OK, 0) == 0 || faccessat(session->folder, "session", F_OK, 0) == 0)
    return error_set(err, STATUS_USE, making, session->directory, "xsp recover", "the folder holds a session already");
  enum status status = fill_folder(session, &own, err);
  if (status != STATUS_OK) {
    collect_place_remove(session->folder, session->directory);
    session->folder = -1;
  }
  return status;
}

// ---- opening --------------------------------------------------------------------------------------------------------

static enum status open_file(const struct collect_session *session, const char *name, int flags, size_t least_bytes,
                             int *ret_file, struct error *err)
{
  struct stat facts;
  int file = collect_place_file(session->folder, name, flags, &facts);
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", session->directory, name);
  if (file < 0 && errno == ENOENT)
    return error_set(err, STATUS_INPUT, adopting, session->directory, "`xsp recover`, which lists sessions",
                     "it is no session folder: there is no file \"%s\"", name);
  if (file < 0 && errno == EPERM)
    return error_set(err, STATUS_INPUT, adopting, path, NULL, "it belongs to another user");
  if (file < 0 && errno != EINVAL)
    return error_set_errno(err, STATUS_INPUT, adopting, path, NULL);
  *ret_file = file;
  if (file < 0 || (uint64_t)facts.st_size < least_bytes)
    return error_set(err, STATUS_INPUT, adopting, path, NULL, "the file is cut short");
  return STATUS_OK;
}

static enum status check_session(struct collect_session *session, struct error *err)
{
  const struct session_head *head = session->head;
  if (__atomic_load_n(&head->magic, __ATOMIC_ACQUIRE) != SESSION_MAGIC)
    return error_set(err, STATUS_INPUT, adopting, session->directory, NULL, "its file \"session\" is none of ours");
  if (head->version != SESSION_VERSION)
    return error_set(err, STATUS_INPUT, adopting, session->directory, NULL, "it has version %u, this xsp reads %u",
                     head->version, SESSION_VERSION);
  if (head->head_size < sizeof *head || head->head_size > SESSION_CONTROL_OFFSET ||
      (head->tick_clock != SESSION_TICKS_TSC && head->tick_clock != SESSION_TICKS_MONOTONIC))
    return error_set(err, STATUS_INPUT, adopting, session->directory, NULL, "its head is broken");
  uint8_t boot_id[16];
  read_boot_id(boot_id);
  session->foreign_boot =
      memcmp(boot_id, head->boot_id, sizeof boot_id) != 0 || !session_clock_is_usable(head->tick_clock);
  return STATUS_OK;
}

enum status collect_folder_open(struct collect_session *session, const char *directory, struct error *err)
{
  XSP_TRY(
      collect_place_open(directory, adopting, session->directory, sizeof session->directory, &session->folder, err));
  XSP_TRY(open_file(session, "session", O_RDWR, SESSION_FILE_SIZE, &session->lock, err));
  if (!collect_place_lock(session->lock))
    return error_set(err, STATUS_SYSTEM, adopting, directory, "again when that process has ended",
                     "another xsp drains it");
  void *bytes = collect_guard_map(SESSION_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, session->lock);
  if (bytes == MAP_FAILED)
    return error_set_errno(err, STATUS_SYSTEM, adopting, directory, NULL);
  session->head = bytes;
  XSP_TRY(check_session(session, err));
  XSP_TRY(open_file(session, "catalog", O_RDONLY, sizeof(struct catalog_head), &session->names.catalog_file, err));
  XSP_TRY(map_catalog(session, adopting, err));
  (void)names_refresh(&session->names);
  const char *problem = catalog_read_check(&session->names.catalog);
  if (problem)
    return error_set(err, STATUS_INPUT, adopting, directory, NULL, "%s", problem);
  arrivals_open(session, false);
  session->head->collector_pid = (uint32_t)getpid();
  session->was_kept = (session->head->flags & SESSION_KEPT) != 0;
  __atomic_and_fetch(&session->head->flags, ~(uint32_t)SESSION_KEPT, __ATOMIC_RELAXED);
  return STATUS_OK;
}

// ---- what it was drained into -----------------------------------------------------------------------------------------

// DIR/collector: "run N" padded to ORIGIN_HEAD bytes, then a line "RUN<tab>PATH" for each run that was drained into.
#define ORIGIN_HEAD 32

void collect_folder_write_origin(int file, const char *store_path, int64_t run_id)
{
  char line[2 * PATH_MAX], here[PATH_MAX] = "";
  if (file < 0)
    return;
  int length = snprintf(line, sizeof line, "run %27lld\n", (long long)run_id);
  ssize_t written = pwrite(file, line, (size_t)length, 0);
  if (!store_path || strchr(store_path, '\n') || (store_path[0] != '/' && !getcwd(here, sizeof here)))
    return;
  length = snprintf(line, sizeof line, "%lld\t%s%s%s\n", (long long)run_id, here, here[0] ? "/" : "", store_path);
  off_t end = lseek(file, 0, SEEK_END);
  if (length > 0 && (size_t)length < sizeof line && end >= ORIGIN_HEAD)
    written = pwrite(file, line, (size_t)length, end);
  (void)written; // without it, recovery needs the file's name as an argument
}

struct collect_origin collect_origin(const struct collect_session *session, struct arena *arena)
{
  const struct collect_origin none = {NULL, 0, NULL, 0};
  struct stat status;
  if (session->origin_file < 0 || fstat(session->origin_file, &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size <= ORIGIN_HEAD || status.st_size > ORIGIN_BYTES_MAXIMUM)
    return none;
  char *text = arena_alloc(arena, (size_t)status.st_size + 1);
  int64_t *runs = arena_alloc_array(arena, (size_t)status.st_size / 4 + 1, sizeof *runs);
  ssize_t length = pread(session->origin_file, text, (size_t)status.st_size, 0);
  if (length <= ORIGIN_HEAD || strncmp(text, "run ", 4) != 0)
    return none;
  const char *path = NULL;
  size_t count = 0;
  for (char *line = text + ORIGIN_HEAD, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    char *tab = NULL;
    *end = '\0';
    long long run_id = strtoll(line, &tab, 10);
    if (run_id < 1 || *tab != '\t' || tab[1] != '/')
      continue;
    if (!path || strcmp(path, tab + 1) != 0) // the last file counts
      count = 0;
    path = tab + 1;
    runs[count++] = run_id;
  }
  return path ? (struct collect_origin){path, strtoll(text + 4, NULL, 10), runs, count} : none;
}

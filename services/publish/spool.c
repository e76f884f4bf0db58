// SPDX-License-Identifier: Apache-2.0
// The spool's folder and its files; see spool.h. Called by publish.c. Never follows links, never opens a folder or file that
// another user can write to.
#include "publish/spool.h"

#include "base/folder.h"
#include "base/input_file.h"
#include "base/scoped.h"
#include "base/transfer.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x31656c6966707378) // "xspfile1"
#define WAITING_BYTES_MOST (UINT64_C(4) << 30)
#define REQUEST_BYTES_MOST (UINT32_C(1) << 30)

struct file_head {
  uint64_t magic;
  uint64_t position; // of the first request that is not settled
};

static const char cannot_keep[] = "cannot keep spans to publish";
static const char cannot_send[] = "cannot read spans that wait";

// ---- folder ----------------------------------------------------------------------------------------------------------
// The address as the name of a folder: each address has its own, and a person can read it.
static bool append_name(const char *url, char *path, size_t size)
{
  char name[NAME_MAX + 1];
  size_t length = 0;
  for (; *url != 0 && length + 3 < sizeof name; url++)
    length += (size_t)snprintf(name + length, sizeof name - length,
                               isalnum((unsigned char)*url) || strchr("-._", *url) != NULL ? "%c" : "%%%02X",
                               (unsigned char)*url);
  size_t used = strlen(path);
  int added = snprintf(path + used, size - used, "/%s", name);
  return *url == 0 && (size_t)added < size - used;
}

enum status spool_open(const char *folder, const char *url, struct spool *ret_spool, struct error *err)
{
  struct spool *spool = ret_spool;
  *spool = SPOOL_CLOSED;
  if (folder == NULL && !folder_state_path("publish", spool->path, sizeof spool->path))
    return error_set(err, STATUS_SYSTEM, cannot_keep, NULL, "--spool FOLDER", "HOME is not set");
  if (folder != NULL)
    snprintf(spool->path, sizeof spool->path, "%s", folder);
  if (spool->path[0] == 0 || !append_name(url, spool->path, sizeof spool->path))
    return error_set(err, STATUS_USE, cannot_keep, folder != NULL ? folder : url,
                     "--spool FOLDER, and a shorter address", "no folder can have that name");
  return folder_keep(spool->path, cannot_keep, "--spool FOLDER", &spool->folder, err);
}

static void close_one(int *file)
{
  if (*file >= 0)
    close(*file);
  *file = -1;
}

static int try_open(const struct spool *spool, const char *name, int flags)
{
  return openat(spool->folder, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

// ---- names -----------------------------------------------------------------------------------------------------------
struct name {
  char text[32];
};

static struct name name_of(uint64_t number, const char *ending)
{
  struct name name;
  snprintf(name.text, sizeof name.text, "%012" PRIu64 "%s", number, ending);
  return name;
}

// NUMBER.otlp; 0: another name.
static uint64_t number_of(const char *name)
{
  char *end;
  uint64_t number = isdigit((unsigned char)name[0]) ? strtoull(name, &end, 10) : 0;
  return number != 0 && strcmp(name_of(number, ".otlp").text, name) == 0 ? number : 0;
}

struct listing {
  uint64_t after;       // only numbers above it
  uint64_t first, last; // 0: there is none
  uint64_t total_bytes;
};

static bool list_files(const struct spool *spool, struct listing *listing)
{
  struct stat facts;
  int copy = openat(spool->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *folder SCOPED(scoped_closedir) = copy >= 0 ? fdopendir(copy) : NULL;
  for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    uint64_t number = number_of(entry->d_name);
    if (number <= listing->after)
      continue;
    if (listing->first == 0 || number < listing->first)
      listing->first = number;
    if (number > listing->last)
      listing->last = number;
    if (fstatat(spool->folder, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0)
      listing->total_bytes += (uint64_t)facts.st_size;
  }
  if (folder == NULL)
    close_one(&copy);
  return folder != NULL;
}

// ---- add -------------------------------------------------------------------------------------------------------------
static enum status lock(struct spool *spool, const char *name, int *ret_file, struct error *err)
{
  *ret_file = try_open(spool, name, O_RDWR | O_CREAT);
  if (*ret_file >= 0 && flock(*ret_file, LOCK_EX) == 0)
    return STATUS_OK;
  close_one(ret_file);
  return error_set_errno(err, STATUS_SYSTEM, cannot_keep, spool->path, "--spool FOLDER");
}

static enum status put_bytes(struct spool *spool, const void *bytes, size_t length, struct error *err)
{
  return transfer_write(spool->target, bytes, length)
             ? STATUS_OK
             : error_set_errno(err, STATUS_SYSTEM, cannot_keep, spool->path, "--spool FOLDER, with room for them");
}

enum status spool_begin(struct spool *spool, struct error *err)
{
  const struct file_head head = {MAGIC, sizeof head};
  struct listing listing = {0};
  XSP_TRY(lock(spool, "adding", &spool->adding, err));
  if (!list_files(spool, &listing))
    return error_set_errno(err, STATUS_SYSTEM, cannot_keep, spool->path, "--spool FOLDER");
  if (listing.total_bytes > WAITING_BYTES_MOST)
    return error_set(err, STATUS_SYSTEM, cannot_keep, spool->path, "a server that answers, or removing the folder",
                     "more than 4 GiB wait already");
  spool->target_number = listing.last + 1;
  struct name name = name_of(spool->target_number, ".adding");
  unlinkat(spool->folder, name.text, 0); // of a process that was killed: the lock is ours
  spool->target = try_open(spool, name.text, O_WRONLY | O_CREAT | O_EXCL);
  if (spool->target < 0)
    return error_set_errno(err, STATUS_SYSTEM, cannot_keep, spool->path, "--spool FOLDER");
  return put_bytes(spool, &head, sizeof head, err);
}

enum status spool_put(struct spool *spool, const struct spool_head *head, const char *body, struct error *err)
{
  XSP_TRY(put_bytes(spool, head, sizeof *head, err));
  return put_bytes(spool, body, head->length, err);
}

enum status spool_commit(struct spool *spool, struct error *err)
{
  struct name from = name_of(spool->target_number, ".adding"), to = name_of(spool->target_number, ".otlp");
  if (fsync(spool->target) != 0 || renameat(spool->folder, from.text, spool->folder, to.text) != 0)
    return error_set_errno(err, STATUS_SYSTEM, cannot_keep, spool->path, "--spool FOLDER, with room for them");
  fsync(spool->folder); // some file systems cannot; then only a power failure matters
  close_one(&spool->target);
  close_one(&spool->adding);
  return STATUS_OK;
}

void spool_close(struct spool *spool)
{
  if (spool->target >= 0)
    unlinkat(spool->folder, name_of(spool->target_number, ".adding").text, 0);
  close_one(&spool->target);
  close_one(&spool->source);
  close_one(&spool->adding);
  close_one(&spool->sending);
  close_one(&spool->folder);
}

// ---- send ------------------------------------------------------------------------------------------------------------
bool spool_try_lock(struct spool *spool)
{
  spool->sending = try_open(spool, "sending", O_RDWR | O_CREAT);
  if (spool->sending >= 0 && flock(spool->sending, LOCK_EX | LOCK_NB) == 0)
    return true;
  close_one(&spool->sending);
  return false;
}

enum status spool_lock(struct spool *spool, struct error *err)
{
  return lock(spool, "sending", &spool->sending, err);
}

void spool_unlock(struct spool *spool)
{
  close_one(&spool->source);
  close_one(&spool->sending);
}

static enum status broken(const struct spool *spool, uint64_t number, struct error *err)
{
  char where[PATH_MAX + 32];
  snprintf(where, sizeof where, "%s/%s", spool->path, name_of(number, ".otlp").text);
  return error_set(err, STATUS_INPUT, cannot_send, where, "removing this file", "it is damaged");
}

// A file's position and size; -1: it cannot be read, or is none of ours.
static int open_source(const struct spool *spool, uint64_t number, uint64_t *ret_position, uint64_t *ret_bytes)
{
  struct file_head head;
  struct stat facts;
  int file = regular_file_open(spool->folder, name_of(number, ".otlp").text, O_RDWR | O_CLOEXEC, &facts);
  *ret_bytes = file >= 0 ? (uint64_t)facts.st_size : 0;
  if (file >= 0 && (pread(file, &head, sizeof head, 0) != sizeof head || head.magic != MAGIC ||
                    head.position < sizeof head || head.position > *ret_bytes))
    close_one(&file);
  *ret_position = file >= 0 ? head.position : 0;
  return file;
}

static bool read_head(int file, uint64_t position, uint64_t file_bytes, struct spool_head *head)
{
  return file_bytes - position >= sizeof *head && pread(file, head, sizeof *head, (off_t)position) == sizeof *head &&
         head->length <= file_bytes - position - sizeof *head && head->raw_length <= REQUEST_BYTES_MOST &&
         head->settled_count <= head->span_count;
}

static bool read_body(int file, uint64_t position, size_t length, struct buf *body)
{
  buf_clear(body);
  if (!buf_reserve(body, length))
    return false;
  body->length = transfer_read_at(file, body->data, length, position);
  return body->length == length; // less: it was cut meanwhile
}

enum status spool_next(struct spool *spool, struct spool_head *ret_head, struct buf *body, bool *ret_is_empty,
                       struct error *err)
{
  *ret_is_empty = false;
  while (spool->source < 0 || spool->position == spool->source_bytes) {
    if (spool->source >= 0)
      unlinkat(spool->folder, name_of(spool->source_number, ".otlp").text, 0);
    close_one(&spool->source);
    struct listing listing = {0};
    if (!list_files(spool, &listing))
      return error_set_errno(err, STATUS_SYSTEM, cannot_send, spool->path, NULL);
    *ret_is_empty = listing.first == 0;
    if (*ret_is_empty)
      return STATUS_OK;
    spool->source_number = listing.first;
    spool->source = open_source(spool, listing.first, &spool->position, &spool->source_bytes);
    if (spool->source < 0)
      return broken(spool, listing.first, err);
  }
  if (!read_head(spool->source, spool->position, spool->source_bytes, ret_head) ||
      !read_body(spool->source, spool->position + sizeof *ret_head, ret_head->length, body))
    return broken(spool, spool->source_number, err);
  spool->next = spool->position + sizeof *ret_head + ret_head->length;
  return STATUS_OK;
}

static enum status note(const struct spool *spool, const void *bytes, size_t length, uint64_t place, struct error *err)
{
  if (pwrite(spool->source, bytes, length, (off_t)place) != (ssize_t)length)
    return error_set_errno(err, STATUS_SYSTEM, cannot_keep, spool->path, NULL);
  return STATUS_OK;
}

enum status spool_settle(struct spool *spool, uint32_t count, struct error *err)
{
  uint16_t settled = count < UINT16_MAX ? (uint16_t)count : UINT16_MAX; // requests have far fewer spans
  return note(spool, &settled, sizeof settled, spool->position + offsetof(struct spool_head, settled_count), err);
}

enum status spool_advance(struct spool *spool, struct error *err)
{
  spool->position = spool->next;
  return note(spool, &spool->position, sizeof spool->position, offsetof(struct file_head, position), err);
}

uint64_t spool_waiting(struct spool *spool)
{
  struct listing listing = {0};
  struct spool_head head;
  uint64_t count = 0, position, bytes;
  while (list_files(spool, &listing) && listing.first != 0) {
    int file = open_source(spool, listing.first, &position, &bytes);
    for (; file >= 0 && read_head(file, position, bytes, &head); position += sizeof head + head.length)
      count += head.span_count - head.settled_count;
    close_one(&file);
    listing = (struct listing){.after = listing.first};
  }
  return count;
}

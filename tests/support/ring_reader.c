// SPDX-License-Identifier: Apache-2.0
// Tests only: see ring_reader.h. Reads files, not mappings, after the process has ended.
#include "tests/support/ring_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *read_whole(const char *directory, const char *name, size_t *ret_size)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0)
    return NULL;
  off_t hole = lseek(file, 0, SEEK_HOLE); // a ring's file is sparse behind what is used
  lseek(file, 0, SEEK_SET);
  size_t size = (size_t)(hole > 0 ? hole : status.st_size), length = 0;
  char *bytes = malloc(size + 1);
  ssize_t got;
  while (length < size && (got = read(file, bytes + length, size - length)) > 0)
    length += (size_t)got;
  close(file);
  *ret_size = length;
  return bytes;
}

static bool complain(const char *name, const char *what)
{
  fprintf(stderr, "%s: %s\n", name, what);
  return false;
}

uint64_t slots_at(const struct ring_head *ring, uint64_t position)
{
  uint32_t count = __atomic_load_n(&ring->size_count, __ATOMIC_ACQUIRE);
  for (uint32_t i = count; i > 0 && count - i < RING_SIZES; i--)
    if (position >= ring->size[(i - 1) % RING_SIZES].first)
      return ring->size[(i - 1) % RING_SIZES].records;
  return 0;
}

uint64_t not_skipped(const struct ring_head *ring, uint64_t position)
{
  uint32_t count = __atomic_load_n(&ring->size_count, __ATOMIC_ACQUIRE);
  for (uint32_t i = count; i > 0 && count - i < RING_SIZES; i--) {
    const struct ring_size *size = &ring->size[(i - 1) % RING_SIZES];
    if (position >= size->end) // earlier ones are not looked at: their places may be in use again
      return position > size->first ? position : size->first;
  }
  return position;
}

static bool read_ring(struct session_read *read, const char *name, const char *bytes, size_t size)
{
  const struct ring_head *ring = (const struct ring_head *)bytes;
  if (size < RING_HEAD_SIZE || ring->magic == 0)
    return true; // killed while it was being made
  uint64_t slots = slots_at(ring, UINT64_MAX);
  if (ring->magic != RING_MAGIC || ring->version != SESSION_VERSION || slots < RING_RECORDS_LEAST ||
      (slots & (slots - 1)) != 0 || ring->backed < slots || ring->most_records < slots ||
      size < RING_HEAD_SIZE + ring->backed * sizeof(struct record))
    return complain(name, "head is wrong");
  read->rings++;
  read->dropped += ring->producer.dropped;
  const struct record *records = (const struct record *)(bytes + RING_HEAD_SIZE);
  uint64_t head = ring->producer.head, first = head > slots ? head - slots : 0;
  uint32_t process = ring->process, tid = 0;
  if (first == 0 && head > 0 && (records[0].commit != 1 || records[0].type != RECORD_THREAD))
    return complain(name, "does not begin with its thread");
  for (uint64_t position = first; position < head; position++) {
    const struct record *record = &records[position & (slots_at(ring, position) - 1)];
    if (not_skipped(ring, position) != position)
      continue;
    if (record->commit != (uint32_t)(position + 1)) {
      read->incomplete++;
      continue;
    }
    if (record->type == RECORD_THREAD) {
      process = (uint32_t)record->duration;
      tid = (uint32_t)record->start;
    }
    if (read->count == read->capacity) {
      read->capacity = read->capacity * 2 + 1024;
      read->records = realloc(read->records, read->capacity * sizeof *read->records);
    }
    read->records[read->count++] = (struct read_record){*record, ring->number, process, tid, position};
  }
  for (uint32_t i = 0; i < RING_OPEN_SPANS; i++) {
    struct open_span span = ring->producer.open[i];
    bool finished = span.start == 0;
    for (uint64_t back = 0; !finished && back < 64 && back < head; back++) { // killed between record and pop
      const struct record *record = &records[(head - 1 - back) & (slots_at(ring, head - 1 - back) - 1)];
      finished = record->commit == (uint32_t)(head - back) && record->type == RECORD_SPAN && record->id == span.id;
    }
    if (finished)
      continue;
    if (read->open_count == read->open_capacity) {
      read->open_capacity = read->open_capacity * 2 + 64;
      read->open = realloc(read->open, read->open_capacity * sizeof *read->open);
    }
    read->open[read->open_count++] = (struct read_open){span, ring->number};
  }
  return true;
}

static bool read_process(struct session_read *read, const char *name, const char *bytes, size_t size)
{
  const struct process_head *process = (const struct process_head *)bytes;
  if (size < sizeof *process || process->magic == 0)
    return true;
  if (process->magic != PROCESS_MAGIC)
    return complain(name, "head is wrong");
  read->processes++;
  read->lost += process->lost;
  read->misused += process->misused;
  read->ended += process->ended;
  if (process->number < 64)
    read->process[process->number] = *process;
  return true;
}

bool session_read(const char *directory, struct session_read *ret_read)
{
  memset(ret_read, 0, sizeof *ret_read);
  size_t size = 0;
  char *session = read_whole(directory, "session", &size);
  if (session == NULL || size != SESSION_FILE_SIZE)
    return complain(directory, "no session file");
  memcpy(&ret_read->head, session, sizeof ret_read->head);
  memcpy(&ret_read->control, session + SESSION_CONTROL_OFFSET, sizeof ret_read->control);
  free(session);
  ret_read->lost = ret_read->head.lost;
  if (ret_read->head.magic != SESSION_MAGIC)
    return complain(directory, "session magic is wrong");
  ret_read->catalog = read_whole(directory, "catalog", &ret_read->catalog_size);
  DIR *folder = opendir(directory);
  bool good = ret_read->catalog != NULL && folder != NULL;
  for (struct dirent *entry; good && (entry = readdir(folder)) != NULL;) {
    bool is_ring = strncmp(entry->d_name, "ring-", 5) == 0, is_process = strncmp(entry->d_name, "process-", 8) == 0;
    char *bytes = is_ring || is_process ? read_whole(directory, entry->d_name, &size) : NULL;
    if (bytes != NULL)
      good = is_ring ? read_ring(ret_read, entry->d_name, bytes, size)
                     : read_process(ret_read, entry->d_name, bytes, size);
    free(bytes);
  }
  if (folder != NULL)
    closedir(folder);
  return good;
}

void session_read_done(struct session_read *read)
{
  free(read->records);
  free(read->open);
  free(read->catalog);
  memset(read, 0, sizeof *read);
}

static const void *entry_at(const struct session_read *read, uint32_t id, uint32_t type)
{
  size_t offset = (size_t)id * 8;
  if (id == 0 || offset + sizeof(struct catalog_entry) > read->catalog_size)
    return NULL;
  const struct catalog_entry *entry = (const struct catalog_entry *)(read->catalog + offset);
  return entry->type == type && entry->size >= sizeof *entry && offset + entry->size <= read->catalog_size ? entry
                                                                                                           : NULL;
}

const char *read_text(const struct session_read *read, uint32_t string_id)
{
  const struct catalog_string *string = entry_at(read, string_id, CATALOG_STRING);
  return string == NULL ? NULL : string->text;
}

const struct catalog_site *read_site(const struct session_read *read, uint32_t id)
{
  return entry_at(read, id, CATALOG_SITE);
}

static bool is_span_named(const struct session_read *read, const struct read_record *record, const char *name)
{
  if (record->record.type != RECORD_SPAN)
    return false;
  const struct catalog_site *site = read_site(read, record->record.site);
  const char *text = site == NULL ? NULL : read_text(read, site->name);
  return text != NULL && strcmp(text, name) == 0;
}

size_t count_spans(const struct session_read *read, const char *name)
{
  size_t count = 0;
  for (size_t i = 0; i < read->count; i++)
    count += is_span_named(read, &read->records[i], name);
  return count;
}

const struct read_record *find_span(const struct session_read *read, const char *name)
{
  for (size_t i = 0; i < read->count; i++)
    if (is_span_named(read, &read->records[i], name))
      return &read->records[i];
  return NULL;
}

const struct read_record *find_about(const struct session_read *read, const struct read_record *span, unsigned type)
{
  for (size_t i = 0; span != NULL && i < read->count; i++) {
    const struct read_record *record = &read->records[i];
    if (record->record.type == type && record->ring == span->ring && record->record.id == span->record.id)
      return record;
  }
  return NULL;
}

static int compare_ids(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

bool ids_are_unique(const struct session_read *read)
{
  uint64_t *ids = malloc((read->count + 1) * sizeof *ids);
  size_t count = 0;
  bool unique = true;
  for (size_t i = 0; i < read->count; i++)
    if (read->records[i].record.type == RECORD_SPAN)
      ids[count++] = (uint64_t)read->records[i].ring << 32 | read->records[i].record.id;
  qsort(ids, count, sizeof *ids, compare_ids);
  for (size_t i = 1; i < count; i++)
    unique = unique && ids[i] != ids[i - 1];
  free(ids);
  return unique;
}

void remove_folder(const char *directory)
{
  DIR *folder = opendir(directory);
  char path[4096];
  for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
    unlink(path);
  }
  if (folder != NULL)
    closedir(folder);
  rmdir(directory);
}

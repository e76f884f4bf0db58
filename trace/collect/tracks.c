// SPDX-License-Identifier: Apache-2.0
// Numbers tracks and writes their rows. Called by drain.c.
#include "collect/place.h"
#include "collect/state.h"

#include <stdio.h>
#include <string.h>

#include <fcntl.h>
#include <unistd.h>

void tracks_done(struct tracks *tracks)
{
  if (tracks->file >= 0)
    close(tracks->file);
  tracks->file = -1;
  map_done(&tracks->places);
  vector_done(&tracks->entries);
}

static struct map_key key_of(uint32_t process, uint64_t thread, uint32_t number)
{
  return (struct map_key){thread, (uint64_t)process << 32 | number};
}

void tracks_save(const struct tracks *tracks, const struct track_entry *entry)
{
  struct track_saved saved = {entry->thread, entry->process, entry->number, entry->name, 0};
  off_t place = (off_t)((size_t)(entry - tracks->entries.items) * sizeof saved);
  // Where it cannot be written, a successor numbers this track anew: its spans then nest within each other only.
  ssize_t written = tracks->file >= 0 ? pwrite(tracks->file, &saved, sizeof saved, place) : 0;
  (void)written;
}

void tracks_open(struct tracks *tracks, int folder)
{
  struct stat facts;
  tracks->file = collect_place_file(folder, "tracks", O_RDWR | O_CREAT, &facts);
  struct track_saved saved;
  for (uint32_t i = 0; tracks->file >= 0 && i < TRACKS_SAVED_MAXIMUM; i++) {
    if (pread(tracks->file, &saved, sizeof saved, (off_t)(i * sizeof saved)) != (ssize_t)sizeof saved)
      break;
    *map_at(&tracks->places, key_of(saved.process, saved.thread, saved.number), NULL) = tracks->entries.count;
    *vector_add(&tracks->entries) = (struct track_entry){
        .process = saved.process, .thread = saved.thread, .number = saved.number, .name = saved.name};
  }
}

struct track_entry *tracks_find(struct tracks *tracks, uint32_t process, uint64_t thread, uint32_t number)
{
  bool is_new;
  if (number)
    thread = 0; // a made track belongs to the process
  uint64_t *place = map_at(&tracks->places, key_of(process, thread, number), &is_new);
  if (!is_new)
    return &tracks->entries.items[*place];
  *place = tracks->entries.count;
  struct track_entry *entry = vector_add(&tracks->entries);
  *entry = (struct track_entry){.process = process, .thread = thread, .number = number};
  tracks_save(tracks, entry);
  return entry;
}

// "python3" for a main thread, "python3 4711" for another, until the thread is given a name.
static void default_name(const struct track_entry *entry, const struct track_process *process, char *name, size_t size)
{
  const char *base = basename(process->command ? process->command : "");
  if (entry->number)
    snprintf(name, size, "track %u", entry->number);
  else if (entry->thread == 0)
    snprintf(name, size, "unknown thread");
  else if (process->pid != 0 && entry->thread == process->pid && *base)
    snprintf(name, size, "%s", base);
  else
    snprintf(name, size, "%s%s%llu", *base ? base : "thread", " ", (unsigned long long)entry->thread);
}

enum status tracks_publish(struct tracks *tracks, struct track_entry *entry, const struct track_process *process,
                           struct names *names, int64_t run_id, struct error *err)
{
  struct store_track row = {.run_id = run_id,
                            .track_id = tracks_id(tracks, entry),
                            .host = tracks->host,
                            .process_id = process->pid ? (int64_t)process->pid : STORE_NONE,
                            .thread_id = STORE_NONE,
                            .device_id = STORE_NONE,
                            .stream_id = STORE_NONE,
                            .rank = {process->rank.world_size, process->rank.rank, process->rank.local_rank}};
  char text[1024], clock[256];
  row.name = text;
  uint32_t name = entry->name;
  struct catalog_track made;
  if (entry->number == 0) {
    row.thread_id = entry->thread && entry->thread <= INT64_MAX ? (int64_t)entry->thread : STORE_NONE;
  } else if (process->catalog_id && names_track(names, process->catalog_id, &made)) {
    name = made.name;
    if (made.clock) {
      row.clock = names_text(names, made.clock, clock, sizeof clock) ? clock : "unnamed";
      entry->is_foreign = true;
    }
    row.device_id = made.device_id == -1 ? STORE_NONE : made.device_id;
    row.stream_id = made.stream_id == -1 ? STORE_NONE : made.stream_id;
  }
  if (!names_text(names, name, text, sizeof text))
    default_name(entry, process, text, sizeof text);
  XSP_TRY(store_add_track(names->store, &row, err));
  entry->run_id = run_id;
  entry->rank = process->rank;
  return STATUS_OK;
}

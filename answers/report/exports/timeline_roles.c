// SPDX-License-Identifier: Apache-2.0
// What processes and threads are for, by what ran in them and by the names that libraries give their threads. Called by
// timeline.c. A role is only given where something shows it.
#include "report/exports/timeline.h"

#include <inttypes.h>
#include <string.h>

// What spans of a track show.
enum { MAKES_INPUT = 1, HAS_MODEL = 2, IS_ANNOUNCED = 4 }; // the last: ranges or predictions, not operators alone
enum { SERVES = TIMELINE_SERVER | TIMELINE_SERVER_WORKER };

// PyTorch's names of threads, by their beginnings.
static const struct thread_name {
  const char *begins, *role;
} thread_names[] = {{"pt_autograd", "autograd"}, {"pt_data_pin", "pinning"}};

void timeline_see_roles(struct timeline *timeline, struct timeline_run_facts *facts, const struct store_spans *spans)
{
  uint32_t input = 0;
  (void)store_find_string(timeline->store, "input", 5, &input);
  facts->shows = arena_alloc_array(&timeline->arena, facts->track_count, sizeof *facts->shows);
  for (size_t row = 0; row < spans->count; row++) {
    size_t place = timeline_find_track(facts->tracks, facts->track_count, spans->track_id[row]);
    if (place == facts->track_count || spans->level[row] > XSP_LEVEL_MODEL)
      continue;
    bool is_model = spans->level[row] == XSP_LEVEL_MODEL;
    bool makes_input = input != 0 && spans->category[row] == input;
    facts->shows[place] |= (uint8_t)(IS_ANNOUNCED | (is_model ? HAS_MODEL : 0) | (makes_input ? MAKES_INPUT : 0));
  }
}

static bool is_main_thread(const struct store_track *track)
{
  return track->process_id > 0 && track->thread_id == track->process_id && track->device_id == STORE_NONE &&
         track->stream_id == STORE_NONE;
}

static const char *thread_role(const struct timeline *timeline, const struct timeline_run_facts *facts, size_t at)
{
  const struct store_track *track = &facts->tracks[at];
  const char *command = timeline->processes[facts->places[at].process].command;
  if (is_main_thread(track))
    return "main";
  if (track->name == NULL || track->thread_id == STORE_NONE || track->device_id != STORE_NONE)
    return NULL;
  // Named as the thread that started it, and operators are all that it runs.
  if (command != NULL && strcmp(track->name, command) == 0)
    return (facts->shows[at] & IS_ANNOUNCED) == 0 ? "pool" : NULL;
  for (size_t i = 0; i < sizeof thread_names / sizeof thread_names[0]; i++)
    if (strncmp(track->name, thread_names[i].begins, strlen(thread_names[i].begins)) == 0)
      return thread_names[i].role;
  return NULL;
}

// The service whose spans a run has, by OpenTelemetry. NULL: none.
static enum status find_service(struct timeline *timeline, int64_t run_id, const char **ret_service, struct error *err)
{
  struct store_note *notes = NULL;
  size_t count = 0;
  *ret_service = NULL;
  XSP_TRY(store_notes(timeline->store, run_id, &timeline->arena, &notes, &count, err));
  for (size_t i = 0; i < count; i++)
    if (notes[i].run_id == run_id && strcmp(notes[i].key, "service.name") == 0)
      *ret_service = notes[i].value;
  return STATUS_OK;
}

struct role_counts {
  unsigned workers, servers, server_workers;
};

// Workers are processes that make batches and no observations, as in A19. NULL: nothing shows what it is for.
static const char *process_task(struct arena *arena, uint8_t shows, struct role_counts *counts)
{
  if ((shows & (MAKES_INPUT | HAS_MODEL)) == MAKES_INPUT)
    return arena_format(arena, "loader worker %u", ++counts->workers);
  if ((shows & TIMELINE_SERVER_WORKER) != 0)
    return arena_format(arena, "server worker %u", ++counts->server_workers);
  if ((shows & TIMELINE_SERVER) != 0)
    return ++counts->servers == 1 ? "server" : arena_format(arena, "server %u", counts->servers);
  return NULL;
}

// A process of a job has its rank.
static const char *process_role(struct arena *arena, const struct store_rank *rank, uint8_t shows,
                                struct role_counts *counts)
{
  const char *task = process_task(arena, shows, counts);
  if (rank->world_size < 2)
    return task;
  return task != NULL ? arena_format(arena, "%s of rank %" PRId64, task, rank->rank)
                      : arena_format(arena, "rank %" PRId64, rank->rank);
}

static void name_processes(struct timeline *timeline, const struct timeline_run_facts *facts, const uint8_t *shows,
                           const char *service, struct role_counts *counts)
{
  for (size_t i = 0; i < facts->track_count; i++) {
    size_t number = facts->places[i].process;
    struct timeline_process *process = &timeline->processes[number];
    if (process->role != NULL)
      continue;
    process->role = process_role(&timeline->arena, &facts->tracks[i].rank, shows[number], counts);
    if (process->role == NULL)
      process->role = service;
    if (process->role != NULL)
      process->name = arena_format(&timeline->arena, "%s of %s", process->role, process->name);
  }
}

enum status timeline_find_roles(struct timeline *timeline, struct error *err)
{
  uint8_t *shows = arena_alloc_array(&timeline->arena, timeline->process_count, sizeof *shows);
  struct role_counts counts = {0};
  XSP_TRY(timeline_see_servers(timeline, err));
  for (size_t i = 0; i < timeline->run_count; i++) {
    const struct timeline_run_facts *facts = &timeline->run_facts[i];
    for (size_t j = 0; j < facts->track_count; j++) {
      size_t process = facts->places[j].process;
      bool is_main = is_main_thread(&facts->tracks[j]);
      bool can_serve = is_main || (facts->shows[j] & HAS_MODEL) != 0;
      shows[process] |= (uint8_t)(facts->shows[j] & ~(can_serve ? 0 : SERVES));
      if (is_main)
        timeline->processes[process].command = facts->tracks[j].name;
    }
  }
  for (size_t i = 0; i < timeline->run_count; i++) {
    struct timeline_run_facts *facts = &timeline->run_facts[i];
    const char *service = NULL;
    XSP_TRY(find_service(timeline, timeline->runs[i].run_id, &service, err));
    name_processes(timeline, facts, shows, service, &counts);
    for (size_t j = 0; j < facts->track_count; j++)
      facts->places[j].role = thread_role(timeline, facts, j);
  }
  return STATUS_OK;
}

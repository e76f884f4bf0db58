// SPDX-License-Identifier: Apache-2.0
// Which processes serve requests, by the call paths of their samples: a frame of a server's loop. Called by timeline_roles.c.
// A server beside the main thread, such as one of metrics, makes no server of a process unless it runs the model.
#include "report/exports/timeline.h"

#include <fnmatch.h>
#include <string.h>

static const struct server_frame {
  const char *file, *function;
  uint8_t is;
} server_frames[] = {
    {"*/gunicorn/workers/*.py", "*run", TIMELINE_SERVER_WORKER},
    {"*/gunicorn/arbiter.py", "*run", TIMELINE_SERVER},
    {"*/uvicorn/_subprocess.py", "subprocess_started", TIMELINE_SERVER_WORKER},
    {"*/uvicorn/supervisors/*.py", "*run", TIMELINE_SERVER},
    {"*/uvicorn/server.py", "*run", TIMELINE_SERVER},
    {"*/uvicorn/protocols/http/*.py", "*run_asgi", TIMELINE_SERVER}, // in a loop of the program's own
    {"*/socketserver.py", "*serve_forever", TIMELINE_SERVER},        // http.server, wsgiref, Flask's own
    {"*/socketserver.py", "*process_request_thread", TIMELINE_SERVER},
    {"*/asyncio/selector_events.py", "*_accept_connection*", TIMELINE_SERVER},
    {"*/aiohttp/web.py", "run_app", TIMELINE_SERVER},
    {"*/waitress/server.py", "*run", TIMELINE_SERVER},
    {"*/grpc/_server.py", "_*_in_pool", TIMELINE_SERVER},
};

static uint8_t frame_serves(const struct store_frame *frame)
{
  for (size_t i = 0; i < sizeof server_frames / sizeof server_frames[0] && frame->file != NULL; i++)
    if (frame->name != NULL && fnmatch(server_frames[i].file, frame->file, 0) == 0 &&
        fnmatch(server_frames[i].function, frame->name, 0) == 0)
      return server_frames[i].is;
  return 0;
}

// By context id - 1, with what callers show; NULL: no frame of the file shows a server.
static uint8_t *contexts_serve(const struct store_call_paths *paths, struct arena *arena)
{
  uint8_t *frames = arena_alloc_array(arena, paths->frame_count, sizeof *frames);
  uint8_t *contexts = arena_alloc_array(arena, paths->context_count, sizeof *contexts);
  uint8_t any = 0;
  for (size_t i = 0; i < paths->frame_count; i++)
    any |= frames[i] = frame_serves(&paths->frames[i]);
  for (size_t i = 0; i < paths->context_count && any != 0; i++) {
    const struct store_context *context = &paths->contexts[i];
    contexts[i] = frames[context->frame_id - 1] | (context->parent_id > 0 ? contexts[context->parent_id - 1] : 0);
  }
  return any != 0 ? contexts : NULL;
}

struct serving {
  struct timeline_run_facts *facts;
  const uint8_t *contexts;
  size_t context_count;
};

static enum status see_samples(void *context, const struct store_samples *samples, struct error *err)
{
  const struct serving *serving = context;
  for (size_t i = 0; i < samples->count; i++) {
    uint32_t id = samples->context_id[i];
    size_t place = timeline_find_track(serving->facts->tracks, serving->facts->track_count, samples->track_id[i]);
    if (id > 0 && id <= serving->context_count && place < serving->facts->track_count)
      serving->facts->shows[place] |= serving->contexts[id - 1];
  }
  return STATUS_OK;
}

enum status timeline_see_servers(struct timeline *timeline, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_call_paths paths;
  enum status status = store_call_paths(timeline->store, &arena, &paths, err);
  const uint8_t *contexts = status == STATUS_OK ? contexts_serve(&paths, &arena) : NULL;
  for (size_t i = 0; i < timeline->run_count && status == STATUS_OK && contexts != NULL; i++) {
    struct serving serving = {&timeline->run_facts[i], contexts, paths.context_count};
    status = store_walk_samples(timeline->store, timeline->runs[i].run_id, see_samples, &serving, err);
  }
  return status;
}

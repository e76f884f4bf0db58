// SPDX-License-Identifier: Apache-2.0
// Starts and stops the server's parts, in the order in which they need each other: address, journal, keeper, HTTP. Called by the verb.
#include "serve/serve.h"

#include "base/hash.h"
#include "base/memory.h"
#include "serve/kept.h"
#include "serve/pages/live.h"
#include "serve/pages/page_cache.h"
#include "serve/pages/prepare.h"
#include "serve/server.h"

#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPANSIONS_MOST 4u // each takes as many bytes as a body may have
#define ARENAS_MOST 4
#define MAPPED_BYTES (512 << 10)
#define FREE_BYTES_MOST (16 << 20)
#define REFRESH_NS UINT64_C(1000000000)

// Where storing is behind, requests wait instead of being refused. The last journal is for small ones: those of a client that sends
// little, and the large ones that were let in before.
static void on_room(void *context, unsigned journals)
{
  http_server_set_room(context, journals > 1 ? HTTP_ROOM_MUCH : journals == 1 ? HTTP_ROOM_LITTLE : HTTP_ROOM_NONE);
}

// ---- starting --------------------------------------------------------------------------------------------------------
static enum status start(struct serve *serve, struct error *err)
{
  const struct serve_options *options = &serve->options;
  const struct journal_options journal = {.folder = options->folder,
                                          .file_bytes = options->file_bytes,
                                          .quiet_ns = options->quiet_s * UINT64_C(1000000000),
                                          .refresh_ns = REFRESH_NS,
                                          .sync = options->sync,
                                          .seed = serve->seed};
  const struct http_server_options http = {.site = &serve_site,
                                           .context = serve,
                                           .listen = options->listen,
                                           .token = options->token,
                                           .certificate = options->certificate,
                                           .key = options->key,
                                           .limit_body_bytes = options->limit_body_bytes,
                                           .limit_upload_bytes = options->limit_upload_bytes,
                                           .limit_connections = options->limit_connections,
                                           .timeout_s = options->timeout_s,
                                           .library = options->library};
  XSP_TRY(http_server_open(&http, &serve->http, err));
  XSP_TRY(journal_open(&journal, &serve->journal, err));
  XSP_TRY(kept_folder_open(options->folder, &serve->folder, err));
  const struct retention_options retention = {.path = options->folder,
                                              .folder = serve->folder,
                                              .age_s = options->retention_s,
                                              .bytes = options->retention_bytes,
                                              .uses = &serve->uses,
                                              .message = options->message};
  XSP_TRY(retention_start(&retention, &serve->retention, err));
  XSP_TRY(page_cache_open(options->folder, serve->folder, options->page_bytes, &serve->pages, err));
  if (options->page_bytes > 0)
    XSP_TRY(prepare_start(serve->pages, options->folder, serve->folder, &serve->prepare, err));
  XSP_TRY(live_start(options->folder, options->live_spans, options->message, &serve->live, err));
  XSP_TRY(keeper_start(serve->journal, options->folder, options->message, &serve->keeper, err));
  journal_watch(serve->journal, on_room, serve->http);
  return http_server_start(serve->http, err);
}

// Of the whole process: with an arena for each few of a thousand threads, what is free in one is used by no other.
static void limit_memory(void)
{
  (void)mallopt(M_ARENA_MAX, ARENAS_MOST);
  (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES); // fixed: else large blocks that are freed stay in the process
  (void)mallopt(M_TRIM_THRESHOLD, FREE_BYTES_MOST);
}

enum status serve_start(const struct serve_options *options, struct serve **ret_serve, struct error *err)
{
  limit_memory();
  struct serve *serve = memory_new(1, sizeof *serve);
  *serve = (struct serve){.options = *options, .folder = -1, .seed = hash_new_seed()};
  serve->jobs = jobs_new();
  sem_init(&serve->expansions, 0, EXPANSIONS_MOST);
  sem_init(&serve->turns, 0, options->limit_analyses);
  pthread_mutex_init(&serve->uses.lock, NULL);
  catalogue_init(&serve->catalogue);
  enum status status = start(serve, err);
  if (status != STATUS_OK) {
    enum status ignored = serve_stop(serve, NULL); // the first error counts
    (void)ignored;
    serve = NULL;
  }
  *ret_serve = serve;
  return status;
}

const char *serve_url(const struct serve *serve)
{
  return http_server_url(serve->http);
}

uint16_t serve_port(const struct serve *serve)
{
  return http_server_port(serve->http);
}

// ---- stopping --------------------------------------------------------------------------------------------------------
enum status serve_stop(struct serve *serve, struct error *err)
{
  live_end(serve->live); // its clients wait for nothing any more
  if (serve->journal != NULL)
    journal_watch(serve->journal, NULL, NULL);
  http_server_stop(serve->http);
  if (serve->journal != NULL)
    journal_end(serve->journal);
  live_free(serve->live);
  enum status status = keeper_stop(serve->keeper, err);
  prepare_stop(serve->prepare);
  page_cache_free(serve->pages);
  journal_free(serve->journal);
  jobs_free(serve->jobs);
  retention_stop(serve->retention);
  catalogue_done(&serve->catalogue);
  vector_done(&serve->uses.names);
  pthread_mutex_destroy(&serve->uses.lock);
  if (serve->folder >= 0)
    close(serve->folder);
  sem_destroy(&serve->turns);
  sem_destroy(&serve->expansions);
  free(serve);
  return status;
}

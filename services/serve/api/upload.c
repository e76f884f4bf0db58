// SPDX-License-Identifier: Apache-2.0
// Receives a file under a temporary name, checks that it is a trace, and gives it its name. Never replaces a file: a sender can only add.
// Called through services/serve/routes.c.
#include "serve/api/upload.h"

#include "base/arena.h"
#include "base/file_place.h"
#include "base/json_write.h"
#include "base/slice.h"
#include "http/exchange.h"
#include "serve/api/catalogue.h"
#include "serve/kept.h"
#include "serve/retention.h"
#include "serve/server.h"
#include "serve/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define RETRY_DISK_S 10u
_Static_assert(KEPT_PARTIAL_SIZE <= EXCHANGE_NAME_BYTES, "the exchange has the name");

static void refuse_taken(struct exchange *exchange)
{
  exchange_refuse(exchange, 409, "there is a file %s already; files are never replaced", exchange->parts[0]);
}

void upload_begin(struct exchange *exchange)
{
  const char *name = exchange->parts[0];
  int folder = serve_of(exchange)->folder;
  if (retention_is_server_name(name))
    exchange_refuse(exchange, 409, "the server makes files of such a name itself: choose another one than %s", name);
  else if (faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
    refuse_taken(exchange);
  if (exchange->status != 0)
    return;
  exchange->body_file = kept_partial(folder, exchange->body_name);
  if (exchange->body_file < 0)
    exchange_refuse_for_now(exchange, RETRY_DISK_S, "the file cannot be made: %s", strerror(errno));
}

static void reply(struct exchange *exchange)
{
  struct json_writer json;
  struct buf *text = exchange_reply(exchange, 201, "application/json");
  exchange_add_header(exchange, MHD_HTTP_HEADER_LOCATION, "/api/v1/files/%s", exchange->parts[0]);
  json_start(&json, text);
  json_object(&json);
  json_member_string(&json, "name", exchange->parts[0]);
  json_member_int(&json, "size_bytes", (int64_t)exchange->received);
  json_object_end(&json);
  buf_text(text, "\n");
}

static void place(struct exchange *exchange, const char *partial, const char *path)
{
  if (fsync(exchange->body_file) != 0)
    exchange_refuse_for_now(exchange, RETRY_DISK_S, "the file cannot be written: %s", strerror(errno));
  else if (!retention_add(serve_of(exchange)->folder, exchange->parts[0], exchange->body_file))
    exchange_refuse_for_now(exchange, RETRY_DISK_S, "the file cannot be noted: %s", strerror(errno));
  else if (file_place(partial, path, false) == 0) {
    exchange->body_name[0] = 0; // another request may have it from now on
    reply(exchange);
  } else if (errno == EEXIST)
    refuse_taken(exchange);
  else
    exchange_refuse_for_now(exchange, RETRY_DISK_S, "the file cannot be named: %s", strerror(errno));
}

void upload_answer(struct exchange *exchange)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct catalogue_file content = {0};
  struct error error = {0};
  const char *folder = serve_of(exchange)->options.folder;
  const char *partial = arena_format(&arena, "%s/%s", folder, exchange->body_name);
  const char *path = arena_format(&arena, "%s/%s", folder, exchange->parts[0]);
  if (turn_take(exchange)) {
    // Columns are checked where they are read.
    enum status status = catalogue_read(partial, &content, &error);
    catalogue_file_done(&content);
    if (status == STATUS_OK)
      place(exchange, partial, path);
    else if (status == STATUS_INPUT)
      exchange_refuse(exchange, 400, "not a trace that xsp wrote: %s", error.why);
    else
      exchange_refuse_error(exchange, 500, &error);
    turn_end(exchange);
  }
}

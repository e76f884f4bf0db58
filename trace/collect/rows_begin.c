// SPDX-License-Identifier: Apache-2.0
// A drain's beginning: its batches, and the notes by which others find the run's spans. Called by drain.c.
#include "collect/rows.h"

#include "base/hex.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct drain *rows_new(struct collect_session *session, struct store *store, int64_t run_id, struct error *err)
{
  struct drain *drain = memory_resize(NULL, 1, sizeof *drain);
  memset(drain, 0, offsetof(struct drain, spans)); // batches are large and need no zeros
  drain->session = session;
  drain->store = store;
  drain->run_id = run_id;
  drain->err = err;
  return drain;
}

static enum status note_once(struct drain *drain, const char *key, const char *text)
{
  struct arena arena = {0};
  struct store_note *notes;
  size_t count = 0;
  bool is_noted = false;
  enum status status = store_notes(drain->store, drain->run_id, &arena, &notes, &count, drain->err);
  for (size_t i = 0; i < count && status == STATUS_OK; i++)
    is_noted |= notes[i].run_id == drain->run_id && strcmp(notes[i].key, key) == 0;
  arena_done(&arena);
  return status == STATUS_OK && !is_noted ? store_add_note(drain->store, drain->run_id, key, text, drain->err) : status;
}

// What other traces' files need to find this run's spans, and the span that called this session (TRACEPARENT): the parent
// of the run's topmost spans.
static enum status note_trace(struct drain *drain)
{
  static const uint8_t none[8];
  const struct session_head *head = drain->session->head;
  char text[17], boot[33];
  snprintf(text, sizeof text, "%016" PRIx64, head->span_base);
  XSP_TRY(note_once(drain, "span_id_base", text));
  *hex_encode(boot, head->boot_id, sizeof head->boot_id) = '\0';
  XSP_TRY(note_once(drain, "boot_id", boot)); // which clock its times are of
  if (memcmp(head->parent_id, none, sizeof none) == 0)
    return STATUS_OK;
  *hex_encode(text, head->parent_id, sizeof head->parent_id) = '\0';
  return note_once(drain, "remote_parent", text);
}

// Strings, trace and track rows belong to one run of one store.
void rows_begin(struct drain *drain)
{
  struct collect_session *session = drain->session;
  names_use(&session->names, drain->store);
  drain->key_correlation = store_string(drain->store, "recorded_correlation", 20);
  drain->key_remote_parent = store_string(drain->store, "remote_parent", 13);
  if (session->store == drain->store && session->run_id == drain->run_id)
    return;
  if (session->store != drain->store)
    for (uint32_t i = 0; i < session->tracks.entries.count; i++)
      session->tracks.entries.items[i].run_id = 0;
  session->store = drain->store;
  session->run_id = drain->run_id;
  drain->status = store_add_trace(drain->store, drain->run_id, session->trace_text, &session->run_trace, drain->err);
  if (!rows_failed(drain))
    drain->status = note_trace(drain);
  collect_session_write_origin(session);
}

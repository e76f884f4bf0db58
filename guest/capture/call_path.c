// SPDX-License-Identifier: Apache-2.0
// Call paths: frames and their callers, interned in the session's catalog, and the paths of sites and spans. Called by
// tracers for every operator: the paths asked for last are found without hashing their texts.
#include "capture/capture.h"

#include <errno.h>
#include <string.h>
#include <xsp/call_path.h>
#include <xsp/tracer.h>

#define RECENT_PATHS 16384u
static uint64_t recent[RECENT_PATHS]; // atomic: hash of the arguments << 32 | path

// Of the texts only their places: the same text elsewhere takes the catalog's way.
static uint64_t hash_arguments(uint32_t caller, const struct xsp_frame *frame)
{
  const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
  uint64_t hash = (caller + 1) * factor;
  hash = (hash ^ (uintptr_t)frame->name ^ hash >> 29) * factor;
  hash = (hash ^ (uintptr_t)frame->file ^ hash >> 29) * factor;
  hash = (hash ^ (uintptr_t)frame->module ^ frame->address ^ hash >> 29) * factor;
  hash = (hash ^ frame->line ^ frame->kind ^ hash >> 29) * factor;
  return hash ^ hash >> 29;
}

static bool same_text(uint32_t id, const char *text)
{
  if (id == 0 || text == NULL)
    return id == 0 && (text == NULL || *text == '\0');
  return strcmp(((const struct catalog_string *)catalog_at(id))->text, text) == 0;
}

// The texts themselves: a place may hold another one than when the path was made.
static bool is_path_of(uint32_t id, uint32_t caller, const struct xsp_frame *frame)
{
  const struct catalog_path *path = catalog_at(id);
  const struct catalog_frame *known = catalog_at(path->frame);
  return path->caller == caller && known->kind == frame->kind && known->line == frame->line &&
         known->address == frame->address && same_text(known->name, frame->name) &&
         same_text(known->file, frame->file) && same_text(known->module, frame->module);
}

static bool intern_text(const char *text, uint32_t *ret_id)
{
  *ret_id = catalog_text(text);
  return *ret_id != 0 || text == NULL || *text == '\0';
}

// 0: no room.
static uint32_t intern_path(uint32_t caller, uint32_t caller_depth, const struct xsp_frame *frame)
{
  struct catalog_frame wanted = {.kind = frame->kind, .line = frame->line, .address = frame->address};
  bool has_texts = intern_text(frame->name, &wanted.name) && intern_text(frame->file, &wanted.file) &&
                   intern_text(frame->module, &wanted.module);
  uint32_t id = has_texts && caller_depth < XSP_CALL_PATH_FRAMES ? catalog_frame(&wanted) : 0;
  return id == 0 ? 0 : catalog_path(caller, id, caller_depth + 1);
}

static uint32_t find_path(uint32_t caller, const struct xsp_frame *frame)
{
  uint64_t hash = hash_arguments(caller, frame);
  uint64_t *place = &recent[hash % RECENT_PATHS], known = __atomic_load_n(place, __ATOMIC_ACQUIRE);
  if (known != 0 && known >> 32 == hash >> 32 && is_path_of((uint32_t)known, caller, frame))
    return (uint32_t)known;
  const struct catalog_path *called_by = catalog_entry(caller, CATALOG_PATH);
  if (frame->size < sizeof *frame || frame->kind >= XSP_FRAME_KINDS || (caller != 0 && called_by == NULL)) {
    session_count_misused();
    return 0;
  }
  uint32_t path = intern_path(caller, called_by == NULL ? 0 : called_by->depth, frame);
  if (path == 0)
    session_count_lost(1);
  else
    __atomic_store_n(place, hash >> 32 << 32 | path, __ATOMIC_RELEASE);
  return path;
}

uint32_t xsp_call_path(uint32_t caller, const struct xsp_frame *frame)
{
  int saved_errno = errno;
  if (!capture_attached())
    session_attach_if_asked();
  uint32_t path = capture_attached() && frame != NULL ? find_path(caller, frame) : 0;
  errno = saved_errno;
  return path;
}

static uint32_t join(uint32_t caller, uint32_t inner)
{
  const struct catalog_path *called_by = catalog_entry(caller, CATALOG_PATH);
  const struct catalog_path *frames = catalog_entry(inner, CATALOG_PATH);
  if ((caller != 0 && called_by == NULL) || frames == NULL) {
    session_count_misused();
    return 0;
  }
  if (caller == 0)
    return inner;
  const uint32_t depth = called_by->depth + frames->depth;
  const bool is_bounded = frames->depth <= CATALOG_JOINED_FRAMES_MOST && depth <= XSP_CALL_PATH_FRAMES;
  const uint32_t path = is_bounded ? catalog_path(caller, inner, depth) : 0;
  if (path == 0)
    session_count_lost(1);
  return path;
}

uint32_t xsp_sample_path(uint32_t caller, uint32_t inner)
{
  int saved_errno = errno;
  uint32_t path = capture_attached() ? join(caller, inner) : 0;
  errno = saved_errno;
  return path;
}

void xsp_site_call_path(struct xsp_site *site, uint32_t path)
{
  int saved_errno = errno;
  uint32_t id = path == 0 ? 0 : site_id(site);
  struct catalog_site *entry = id == 0 ? NULL : catalog_entry(id, CATALOG_SITE);
  if (entry != NULL)
    __atomic_store_n(&entry->path, path, __ATOMIC_RELEASE); // partner: names_site of collect
  errno = saved_errno;
}

void xsp_span_call_path(const struct xsp_span *span, uint32_t path)
{
  if (span == NULL || span->start == 0 || path == 0)
    return;
  int saved_errno = errno;
  if (span->start == UINT64_MAX)
    session_count_misused(); // emitted: its row is made by now
  else
    annotate(span, RECORD_PATH, path, 0);
  errno = saved_errno;
}

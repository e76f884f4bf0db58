// SPDX-License-Identifier: Apache-2.0
// Where spans of OTLP ran: xsp.track as a number or a text, else thread.id, else what xsp.thread_id, xsp.stream_id and
// the like say. Numbers are kept where they are free. Called once per span.
#include "base/json_read.h"
#include "importers/otlp/model.h"

#include <string.h>

// ---- numbers of tracks -----------------------------------------------------------------------------------------------
// The place in model->tracks of the track of the key in model->text; 0 there: none yet.
static uint32_t find_place(struct otlp_model *model)
{
  uint32_t id = interner_at(&model->track_texts, model->text.data, model->text.length);
  OTLP_REACH(&model->tracks, id);
  return id;
}

static void begin_key(struct otlp_model *model, const struct otlp_run *run, char kind)
{
  buf_clear(&model->text);
  buf_put(&model->text, &run->run_id, sizeof run->run_id);
  buf_put(&model->text, &kind, 1);
}

// Marks a number as taken; false: it is already.
static bool claim(struct otlp_model *model, const struct otlp_run *run, uint32_t number)
{
  begin_key(model, run, 'c');
  buf_put(&model->text, &number, sizeof number);
  uint32_t id = find_place(model); // may move the items
  bool is_free = model->tracks.items[id] == 0;
  model->tracks.items[id] = 1;
  return is_free;
}

// `wanted` where it can be had, else the next free number.
static enum status add_track(struct otlp_model *model, struct otlp_run *run, int64_t wanted, struct store_track *track,
                             struct error *err)
{
  uint32_t number = wanted >= 1 && wanted < UINT32_MAX ? (uint32_t)wanted : 0;
  while (number == 0 || !claim(model, run, number)) {
    number = ++run->next_track;
    if (number == UINT32_MAX)
      return error_set(err, STATUS_INPUT, "cannot import", model->import->input->path, NULL, "it has too many tracks");
  }
  track->track_id = number;
  import_otlp_add_rank(model, run->experiment, &track->rank);
  return import_numbered_track(model->import, track, err);
}

// ---- what a span says ------------------------------------------------------------------------------------------------
static void put_text(struct buf *out, struct slice text)
{
  buf_put(out, &text.length, sizeof text.length);
  buf_put(out, text.data, text.length);
}

static void write_key(struct otlp_model *model, const struct otlp_resource *resource, const struct otlp_place *place,
                      int64_t number)
{
  struct buf *out = &model->text;
  if (place->has_track && place->track.type == OTLP_TEXT) {
    begin_key(model, resource->run, 's');
    buf_put(out, &resource->source->number, sizeof resource->source->number); // numbers and names are the source's
    put_text(out, place->track.text);
  } else if (place->has_track) {
    begin_key(model, resource->run, 'i');
    buf_put(out, &resource->source->number, sizeof resource->source->number);
    buf_put(out, &number, sizeof number);
  } else {
    const int64_t numbers[] = {resource->process_id, place->process_id, place->thread_id,
                               place->device_id,     place->stream_id,  number};
    begin_key(model, resource->run, place->has_thread ? 't' : 'p');
    buf_put(out, numbers, sizeof numbers);
    put_text(out, place->host);
    put_text(out, place->clock);
    buf_put(out, &resource->host_id, sizeof resource->host_id);
    if (place->has_thread && place->thread.type == OTLP_TEXT)
      put_text(out, place->thread.text);
  }
}

static const char *copy(struct otlp_model *model, struct slice text)
{
  return text.data != NULL ? arena_copy(model->import->arena, text.data, text.length) : NULL;
}

static enum status new_track(struct otlp_model *model, const struct otlp_resource *resource,
                             const struct otlp_place *place, int64_t number, struct store_track *track,
                             struct error *err)
{
  bool is_numbered = place->has_track && place->track.type != OTLP_TEXT;
  *track = (struct store_track){.name = copy(model, place->name),
                                .host = copy(model, place->host),
                                .clock = copy(model, place->clock),
                                .process_id = place->process_id,
                                .thread_id = place->thread_id,
                                .device_id = place->device_id,
                                .stream_id = place->stream_id,
                                .rank = place->rank};
  if (track->name == NULL && place->has_track && place->track.type == OTLP_TEXT)
    track->name = copy(model, place->track.text);
  if (!is_numbered) { // a number comes with its own facts; the others lie in the resource's process
    if (track->name == NULL)
      track->name = copy(model, place->thread_name);
    if (track->name == NULL && place->has_thread && place->thread.type == OTLP_TEXT)
      track->name = copy(model, place->thread.text);
    if (track->host == NULL)
      track->host = resource->host;
    if (track->process_id == STORE_NONE)
      track->process_id = resource->process_id;
    if (track->thread_id == STORE_NONE && place->has_thread && place->thread.type != OTLP_TEXT)
      track->thread_id = number;
  }
  return add_track(model, resource->run, is_numbered ? number : 0, track, err);
}

enum status import_otlp_find_track(struct otlp_model *model, const struct otlp_resource *resource,
                                   const struct otlp_place *place, uint32_t *ret_track_id, struct error *err)
{
  bool has_place = place->thread_id != STORE_NONE || place->device_id != STORE_NONE || place->stream_id != STORE_NONE;
  int64_t number = STORE_NONE;
  struct store_track track;
  *ret_track_id = 0;
  if (!place->has_track && !place->has_thread && !has_place)
    return STATUS_OK;
  if (place->has_track)
    (void)otlp_value_int(&place->track, &number);
  else if (place->has_thread)
    (void)otlp_value_int(&place->thread, &number);
  write_key(model, resource, place, number);
  uint32_t id = find_place(model);
  if (model->tracks.items[id] == 0) {
    XSP_TRY(new_track(model, resource, place, number, &track, err));
    model->tracks.items[id] = (uint32_t)track.track_id;
  }
  *ret_track_id = model->tracks.items[id];
  return STATUS_OK;
}

// ---- tracks and messages without spans -------------------------------------------------------------------------------
// A flat object of such a list. Texts live in the import's arena; NULL: absent.
struct listed {
  struct store_track track;
  int64_t span_id, time_ns;
  const char *message;
  size_t message_length;
};

static bool read_listed_member(struct otlp_model *model, struct json_reader *json, const char *key,
                               struct listed *listed)
{
  struct store_track *track = &listed->track;
  const struct {
    const char *key;
    int64_t *number;
  } numbers[] = {{"track", &track->track_id},
                 {"process_id", &track->process_id},
                 {"thread_id", &track->thread_id},
                 {"device_id", &track->device_id},
                 {"stream_id", &track->stream_id},
                 {"span_id", &listed->span_id},
                 {"rank", &track->rank.rank},
                 {"local_rank", &track->rank.local_rank},
                 {"world_size", &track->rank.world_size},
                 {"time_ns", &listed->time_ns}};
  const struct {
    const char *key;
    const char **text;
  } texts[] = {{"name", &track->name}, {"host", &track->host}, {"clock", &track->clock}, {"message", &listed->message}};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    if (strcmp(key, numbers[i].key) == 0)
      return json_int64(json, numbers[i].number);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    if (strcmp(key, texts[i].key) == 0 && json->event == JSON_STRING) {
      *texts[i].text = arena_copy(model->import->arena, json->text, json->length);
      if (texts[i].text == &listed->message)
        listed->message_length = json->length;
      return true;
    }
  return json_skip(json);
}

// The list's next object. False: there is none, or the text is no such list.
static bool next_listed(struct otlp_model *model, struct json_reader *json, struct listed *listed)
{
  *listed = (struct listed){.track = IMPORT_NO_PLACE};
  if (json_next(json) != JSON_OBJECT)
    return false;
  while (json_next(json) == JSON_KEY) {
    char key[32];
    if (json->length >= sizeof key)
      return false;
    memcpy(key, json->text, json->length + 1);
    json_next(json);
    if (!read_listed_member(model, json, key, listed))
      return false;
  }
  return json->event == JSON_OBJECT_END;
}

static enum status take_track(struct otlp_model *model, struct otlp_run *run, struct store_track *track,
                              struct error *err)
{
  const struct otlp_resource resource = {.run = run->joined, .source = run, .process_id = STORE_NONE};
  const struct otlp_place place = {.has_track = true};
  const int64_t wanted = track->track_id;
  write_key(model, &resource, &place, wanted);
  uint32_t id = find_place(model);
  if (model->tracks.items[id] != 0)
    return STATUS_OK;
  enum status status = add_track(model, run->joined, wanted, track, err);
  model->tracks.items[id] = (uint32_t)track->track_id;
  return status;
}

enum status import_otlp_take_list(struct otlp_model *model, struct otlp_run *run, struct slice text, bool are_tracks,
                                  struct error *err)
{
  struct json_reader json SCOPED(json_read_done);
  struct listed listed;
  enum status status = STATUS_OK;
  json_read_start(&json, text.data, text.length);
  bool is_list = json_next(&json) == JSON_ARRAY;
  while (is_list && status == STATUS_OK && next_listed(model, &json, &listed))
    if (are_tracks)
      status = take_track(model, run, &listed.track, err);
    else if (listed.message != NULL)
      status = import_log(model->import, listed.span_id, listed.time_ns, listed.message, listed.message_length, err);
  return status;
}

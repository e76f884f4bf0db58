// SPDX-License-Identifier: Apache-2.0
// Spans of OTLP as spans of a trace: attributes become columns, tracks and tags, events become messages. What makes no
// sense is skipped and counted by reason. Called by the decoders for every span: the hot path of the model.
#include "base/saturate.h"
#include "format/level.h"
#include "format/range.h"
#include "importers/otlp/join.h"

#include <stddef.h>
#include <string.h>

struct facts { // of one span, out of its attributes
  struct otlp_place place;
  unsigned level, kind;
  int basis;
  struct slice category, trace, tracer; // NULL: not recorded
  int64_t correlation_id, start_ns, end_ns;
  bool has_level, has_kind, is_observation, is_open, has_metric, has_remote_parent;
  const char *problem; // why the span is skipped
};

// ---- keys ------------------------------------------------------------------------------------------------------------
static struct otlp_key *new_key(struct otlp_model *model, struct otlp_key *key, struct slice text)
{
  struct slice tag;
  key->role = otlp_span_role(text, &tag);
  key->full = import_slice(model->import, text);
  key->tag = import_slice(model->import, tag);
  key->is_metric = key->role == OTLP_IS_TAG && otlp_is_metric(tag);
  key->is_thread_id = slice_is(text, OTLP_THREAD_ID);
  key->is_thread_name = slice_is(text, OTLP_THREAD_NAME);
  return key;
}

static const struct otlp_key *find_key(struct otlp_model *model, struct slice text)
{
  uint32_t id = interner_at(&model->key_texts, text.data, text.length);
  OTLP_REACH(&model->keys, id);
  struct otlp_key *key = &model->keys.items[id];
  return key->full != 0 ? key : new_key(model, key, text);
}

// ---- attributes ------------------------------------------------------------------------------------------------------
static bool take_name(const struct otlp_value *value, bool (*from_name)(const char *, size_t, unsigned *),
                      unsigned *ret_number)
{
  return value->type == OTLP_TEXT && from_name(value->text.data, value->text.length, ret_number);
}

static bool take_text(const struct otlp_value *value, struct slice *ret_text)
{
  if (value->type != OTLP_TEXT)
    return false;
  *ret_text = value->text;
  if (ret_text->data == NULL)
    ret_text->data = "";
  return true;
}

// True, or a number of at least `least`.
static bool take_flag(const struct otlp_value *value, int64_t least, bool *ret_flag)
{
  int64_t number = 0;
  if (!otlp_value_int(value, &number))
    return false;
  *ret_flag = value->type == OTLP_BOOL ? number != 0 : number >= least;
  return true;
}

static bool take_basis(const struct otlp_value *value, struct facts *facts)
{
  unsigned basis;
  if (!take_name(value, basis_from_name, &basis))
    return false;
  facts->basis = (int)basis;
  return true;
}

static bool take_track(const struct otlp_value *value, struct otlp_place *place)
{
  int64_t number;
  if (value->type != OTLP_TEXT && !otlp_value_int(value, &number))
    return false;
  place->has_track = true;
  place->track = *value;
  return true;
}

// Where texts and whole numbers go, by role; 0: the role has another form.
#define IN_PLACE(member) (offsetof(struct facts, place) + offsetof(struct otlp_place, member))
static const size_t text_offsets[OTLP_ROLE_COUNT] = {
    [OTLP_IS_CATEGORY] = offsetof(struct facts, category),
    [OTLP_IS_TRACER] = offsetof(struct facts, tracer),
    [OTLP_IS_TRACE] = offsetof(struct facts, trace),
    [OTLP_IS_TRACK_NAME] = IN_PLACE(name),
    [OTLP_IS_HOST] = IN_PLACE(host),
    [OTLP_IS_CLOCK] = IN_PLACE(clock),
};
static const size_t number_offsets[OTLP_ROLE_COUNT] = {[OTLP_IS_CORRELATION] = offsetof(struct facts, correlation_id),
                                                       [OTLP_IS_PROCESS] = IN_PLACE(process_id),
                                                       [OTLP_IS_THREAD] = IN_PLACE(thread_id),
                                                       [OTLP_IS_DEVICE] = IN_PLACE(device_id),
                                                       [OTLP_IS_STREAM] = IN_PLACE(stream_id),
                                                       [OTLP_IS_RANK] = IN_PLACE(rank.rank),
                                                       [OTLP_IS_LOCAL_RANK] = IN_PLACE(rank.local_rank),
                                                       [OTLP_IS_WORLD_SIZE] = IN_PLACE(rank.world_size),
                                                       [OTLP_IS_START] = offsetof(struct facts, start_ns),
                                                       [OTLP_IS_END] = offsetof(struct facts, end_ns)};

// False: the value does not fit the role, and becomes a tag.
static bool take_role(enum otlp_role role, const struct otlp_value *value, struct facts *facts)
{
  char *at = (char *)facts;
  if (text_offsets[role] != 0)
    return take_text(value, (struct slice *)(void *)(at + text_offsets[role]));
  if (number_offsets[role] != 0)
    return otlp_value_int(value, (int64_t *)(void *)(at + number_offsets[role]));
  switch (role) {
  case OTLP_IS_LEVEL:
    facts->has_level = true;
    if (!take_name(value, level_from_name, &facts->level))
      facts->problem = "unknown level";
    return true;
  case OTLP_IS_KIND:
    facts->has_kind = true;
    if (!take_name(value, kind_from_name, &facts->kind) && facts->problem == NULL)
      facts->problem = "unknown kind";
    return true;
  case OTLP_IS_BASIS:
    return take_basis(value, facts);
  case OTLP_IS_TRACK:
    return take_track(value, &facts->place);
  case OTLP_IS_OBSERVATION:
    return take_flag(value, 0, &facts->is_observation);
  case OTLP_IS_OPEN:
    return take_flag(value, 1, &facts->is_open);
  case OTLP_IS_REMOTE_PARENT:
    return take_flag(value, 1, &facts->has_remote_parent);
  default:
    return false;
  }
}

static void take_attributes(struct otlp_model *model, const struct otlp_span *span, struct facts *facts)
{
  model->tags.count = 0;
  for (size_t i = 0; i < span->attribute_count; i++) {
    const struct otlp_attribute *attribute = &span->attributes[i];
    if (attribute->key.length == 0)
      continue;
    const struct otlp_key *key = find_key(model, attribute->key);
    if (key->role != OTLP_IS_TAG && take_role(key->role, &attribute->value, facts))
      continue;
    facts->has_metric |= key->is_metric;
    if (key->is_thread_id && (attribute->value.type == OTLP_INT || attribute->value.type == OTLP_TEXT)) {
      facts->place.has_thread = true;
      facts->place.thread = attribute->value;
    } else if (key->is_thread_name) {
      (void)take_text(&attribute->value, &facts->place.thread_name);
    }
    *vector_add(&model->tags) = (struct otlp_tag){&attribute->value, key->role == OTLP_IS_TAG ? key->tag : key->full};
  }
}

// ---- traces ----------------------------------------------------------------------------------------------------------
// Lower-case hex digits of 16 bytes; what JSON has in place of them is taken as it is. False: too long.
static bool trace_text(const struct otlp_span *span, struct buf *out)
{
  const struct slice raw = span->trace_id;
  bool is_hex = raw.length == 32;
  bool is_zero = true;
  buf_clear(out);
  if (raw.length > OTLP_TRACE_TEXT_MOST / 2)
    return false;
  for (size_t i = 0; i < raw.length; i++) {
    unsigned char byte = (unsigned char)raw.data[i];
    bool is_digit = (byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'f');
    is_hex = is_hex && is_digit;
    is_zero = is_zero && byte == (span->is_json ? '0' : 0);
  }
  for (size_t i = 0; i < raw.length && !is_zero; i++) {
    char byte = raw.data[i];
    char lower = is_hex && byte >= 'A' && byte <= 'F' ? (char)(byte | 32) : byte;
    if (span->is_json)
      buf_put(out, &lower, 1);
    else
      buf_format(out, "%02x", (unsigned char)byte);
  }
  return true;
}

// The trace's number in the run; 0: the run's own, or none. Neighbours in a file are mostly of one trace.
static enum status find_trace(struct otlp_model *model, const struct otlp_run *run, const struct otlp_span *span,
                              const struct facts *facts, uint32_t *ret_trace_id, const char **ret_problem,
                              struct error *err)
{
  struct otlp_trace_cache *cache = &model->trace;
  *ret_trace_id = 0;
  if (facts->trace.data != NULL) {
    buf_clear(&model->text);
    buf_put(&model->text, facts->trace.data, facts->trace.length);
  } else if (span->trace_id.length == 0) {
    return STATUS_OK;
  } else if (cache->run == run && cache->length == span->trace_id.length &&
             memcmp(cache->text, span->trace_id.data, cache->length) == 0) {
    *ret_trace_id = cache->trace_id;
    return STATUS_OK;
  } else if (!trace_text(span, &model->text)) {
    *ret_problem = "bad trace id";
    return STATUS_OK;
  }
  if (model->text.failed)
    return import_too_many_texts(model->import, err);
  const char *text = model->text.length > 0 ? model->text.data : "";
  bool is_own = run->trace != NULL && strcmp(text, run->trace) == 0;
  if (text[0] != 0 && (!is_own || model->join != NULL)) // a server finds runs by their own traces, too
    XSP_TRY(import_trace(model->import, text, ret_trace_id, err));
  if (is_own)
    *ret_trace_id = 0;
  if (facts->trace.data == NULL) {
    memcpy(cache->text, span->trace_id.data, span->trace_id.length);
    cache->run = run;
    cache->length = span->trace_id.length;
    cache->trace_id = *ret_trace_id;
  }
  return STATUS_OK;
}

// ---- times, ids, levels ----------------------------------------------------------------------------------------------
static void take_times(const struct otlp_span *span, const struct facts *facts, struct store_span *row,
                       const char **ret_problem)
{
  bool is_open = facts->is_open ||
                 (span->start_ns > 0 && span->end_ns == OTLP_NO_TIME && facts->end_ns == STORE_NONE); // never finished
  int64_t end_ns = facts->end_ns != STORE_NONE ? facts->end_ns : span->end_ns != OTLP_NO_TIME ? span->end_ns : 0;
  row->start_ns = facts->start_ns != STORE_NONE ? facts->start_ns : span->start_ns;
  if (is_open) {
    row->flags |= STORE_SPAN_OPEN;
    return;
  }
  if (end_ns < row->start_ns)
    *ret_problem = "negative duration";
  else if (__builtin_sub_overflow(end_ns, row->start_ns, &row->duration_ns))
    *ret_problem = "duration beyond int64";
}

static void take_level(struct otlp_model *model, const struct otlp_span *span, struct facts *facts,
                       struct store_span *row)
{
  const char *glob = model->import->options->model_range;
  if (!facts->has_level && span->name.length > 0 && range_matches(glob, span->name.data, span->name.length)) {
    facts->level = XSP_LEVEL_MODEL;
    facts->is_observation = true;
  }
  row->level = (uint8_t)facts->level;
  row->kind = (uint8_t)facts->kind;
  row->category = facts->category.data != NULL ? import_slice(model->import, facts->category) : 0;
  bool is_kernel = row->level == XSP_LEVEL_KERNEL;
  if (is_kernel && facts->category.data == NULL && row->kind != XSP_KIND_LAUNCH &&
      (row->kind == XSP_KIND_EXECUTION || facts->correlation_id == 0))
    row->category = model->category_kernel;
  if (is_kernel && !facts->has_kind && row->category == model->category_api && facts->correlation_id != 0)
    row->flags |= STORE_SPAN_CALL;
  if (row->level == XSP_LEVEL_MODEL && facts->is_observation)
    row->flags |= STORE_SPAN_STEP;
  if (facts->basis >= 0)
    row->flags |= STORE_FLAG_BASIS((unsigned)facts->basis);
}

// The number of an id within its run: what its session added is taken off. A file that was exported lacks the top bit of ids.
static uint64_t own_number(const struct otlp_run *run, uint64_t id)
{
  if (run->has_joined)
    return id & INT64_MAX;
  return run->span_base != 0 ? (id - run->span_base) & INT64_MAX : id;
}

static void take_ids(const struct otlp_model *model, const struct otlp_span *span, bool has_remote_parent,
                     struct store_span *row, const char **ret_problem)
{
  struct otlp_run *run = model->resource->run;
  if (has_remote_parent && model->join != NULL)
    has_remote_parent = !import_otlp_join_is_caller(model->join, span->parent_id.number & INT64_MAX);
  uint32_t trace = run->ids_are_unique ? 0 : row->trace_id;
  bool is_repeated = false, ignored;
  row->span_id = otlp_ids_find(&run->ids, trace, own_number(run, span->span_id.number), true, &is_repeated);
  if (is_repeated)
    *ret_problem = "duplicate id";
  else if (span->parent_id.state == OTLP_ID_GIVEN && !has_remote_parent)
    row->recorded_parent_id = otlp_ids_find(&run->ids, trace, own_number(run, span->parent_id.number), false, &ignored);
}

// ---- spans -----------------------------------------------------------------------------------------------------------
static const char *check_ids(const struct otlp_span *span, bool needs_trace)
{
  return span->span_id.state == OTLP_ID_NONE       ? "no span id"
         : span->span_id.state == OTLP_ID_BAD      ? "bad span id"
         : span->parent_id.state == OTLP_ID_BAD    ? "bad parent id"
         : needs_trace && !otlp_has_trace_id(span) ? "bad trace id"
                                                   : NULL;
}

// Ids of a run that joined another must not meet that run's.
static int64_t correlation_in(const struct otlp_resource *resource, int64_t id)
{
  if (id == 0 || resource->run == resource->source)
    return id;
  uint64_t mixed = ((uint64_t)id ^ ((uint64_t)resource->source->number + 1) << 40) * UINT64_C(0x9e3779b97f4a7c15);
  return (int64_t)((mixed ^ mixed >> 29) >> 2 | UINT64_C(1) << 62);
}

static void move_times(const struct otlp_run *source, struct store_span *row)
{
  int64_t end_ns = import_otlp_join_time(source, row->start_ns + row->duration_ns);
  row->start_ns = import_otlp_join_time(source, row->start_ns);
  row->duration_ns = end_ns > row->start_ns ? saturate_subtract(end_ns, row->start_ns) : 0;
}

// False: it has none. Neighbours are mostly of one trace; in both encodings a trace is the same text.
static bool survey_trace(struct otlp_model *model, const struct otlp_span *span, const struct facts *facts,
                         uint32_t *ret_trace)
{
  struct otlp_trace_cache *cache = &model->trace;
  if (facts->trace.data != NULL) {
    *ret_trace = import_otlp_join_trace(model->join, facts->trace);
    return true;
  }
  if (cache->length != span->trace_id.length || cache->run != model->resource->source ||
      memcmp(cache->text, span->trace_id.data, cache->length) != 0) {
    if (span->trace_id.length == 0 || !trace_text(span, &model->text) || model->text.length == 0)
      return false;
    memcpy(cache->text, span->trace_id.data, span->trace_id.length);
    cache->run = model->resource->source;
    cache->length = span->trace_id.length;
    cache->trace_id = import_otlp_join_trace(model->join, (struct slice){model->text.data, model->text.length});
  }
  *ret_trace = cache->trace_id;
  return true;
}

static enum status survey_span(struct otlp_model *model, const struct otlp_span *span, const struct facts *facts,
                               const struct store_span *row)
{
  enum { OTLP_KIND_CONSUMER = 5 };
  struct otlp_run *run = model->resource->source;
  struct otlp_join_span surveyed = {
      .number = span->span_id.number & INT64_MAX,
      .parent = span->parent_id.state == OTLP_ID_GIVEN ? span->parent_id.number & INT64_MAX : 0,
      .start_ns = row->start_ns,
      .end_ns = row->start_ns + row->duration_ns,
      .may_outlive = span->kind == OTLP_KIND_CONSUMER || (row->flags & STORE_SPAN_OPEN) != 0,
      .name = span->name};
  if (run->clock == NULL && facts->place.host.length > 0)
    run->clock = arena_copy(model->import->arena, facts->place.host.data, facts->place.host.length);
  if (survey_trace(model, span, facts, &surveyed.trace))
    import_otlp_join_span(model->join, run, &surveyed);
  return STATUS_OK;
}

enum status import_otlp_take_span(void *context, const struct otlp_span *span, struct error *err)
{
  struct otlp_model *model = context;
  if (model->resource == NULL)
    XSP_TRY(import_otlp_take_resource(model, NULL, 0, err));
  XSP_TRY(otlp_check_texts(model, err));
  const struct otlp_resource *resource = model->resource;
  struct store_span row = {0};
  struct facts facts = {.basis = -1, .start_ns = STORE_NONE, .end_ns = STORE_NONE};
  struct otlp_place *place = &facts.place;
  place->process_id = place->thread_id = place->device_id = place->stream_id = place->rank.local_rank = STORE_NONE;
  take_attributes(model, span, &facts);
  if (facts.problem == NULL)
    facts.problem = check_ids(span, model->join != NULL && facts.trace.length == 0); // as the server judged it
  if (facts.problem == NULL)
    take_times(span, &facts, &row, &facts.problem);
  if (facts.problem == NULL && model->is_survey)
    return survey_span(model, span, &facts, &row);
  if (facts.problem == NULL && resource->source->shift != NULL)
    move_times(resource->source, &row);
  if (facts.problem == NULL)
    XSP_TRY(find_trace(model, resource->run, span, &facts, &row.trace_id, &facts.problem, err));
  if (facts.problem == NULL)
    take_ids(model, span, facts.has_remote_parent, &row, &facts.problem);
  if (facts.problem != NULL) {
    if (!model->is_survey)
      import_skip(model->import, facts.problem);
    return STATUS_OK;
  }
  take_level(model, span, &facts, &row);
  row.correlation_id = correlation_in(resource, facts.correlation_id);
  row.name = import_slice(model->import, span->name);
  row.tracer = facts.tracer.data == NULL  ? model->scope_tracer
               : facts.tracer.length == 0 ? IMPORT_NO_TRACER
                                          : import_slice(model->import, facts.tracer);
  XSP_TRY(import_otlp_find_track(model, resource, place, &row.track_id, err));
  XSP_TRY(import_span(model->import, &row, err));
  resource->run->level_mask |= XSP_LEVEL_MASK(row.level);
  resource->run->has_metric |= facts.has_metric && row.level == XSP_LEVEL_KERNEL;
  return import_otlp_put_parts(model, row.span_id, span, err);
}

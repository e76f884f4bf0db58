// SPDX-License-Identifier: Apache-2.0
// Reads what a program answers to `predict`: times, stages, layers; see messages.h. All times are held against
// those of the request and its answer, on the program's clock.
#include "frameworks/program/messages.h"

#include "base/slice.h"
#include "frameworks/program/messages_private.h"

#include <inttypes.h>
#include <string.h>

// ---- times -----------------------------------------------------------------------------------------------------------

// A time in ns on the program's clock: between the request and its answer.
static bool read_time(struct program_reader *reader, void *target)
{
  const struct program_question *question = reader->question;
  int64_t time = 0;
  if (!program_read_number(reader, 0, INT64_MAX, &time))
    return false;
  if ((uint64_t)time < question->sent_ns && question->is_simulated)
    return program_wrong(reader, "is %" PRIu64 " ns before the end of the last prediction",
                         question->sent_ns - (uint64_t)time);
  if ((uint64_t)time < question->sent_ns)
    return program_wrong(reader, "is %" PRIu64 " ns before the request was sent: another clock, or another unit?",
                         question->sent_ns - (uint64_t)time);
  if ((uint64_t)time > question->received_ns)
    return program_wrong(reader, "is %" PRIu64 " ns after its answer came: another clock, or another unit?",
                         (uint64_t)time - question->received_ns);
  *(uint64_t *)target = (uint64_t)time;
  return true;
}

static bool check_order(struct program_reader *reader, const struct predictor_interval *interval)
{
  if (interval->end_ns >= interval->start_ns)
    return true;
  program_path_push(reader, reader->path_length > 0 ? ".%s" : "%s", "end", 0);
  return program_wrong(reader, "is before its \"start\"");
}

static bool read_interval(struct program_reader *reader, void *target)
{
  struct predictor_interval *interval = target;
  struct program_field fields[] = {
      {.name = "start", .read = read_time, .target = &interval->start_ns, .is_required = true},
      {.name = "end", .read = read_time, .target = &interval->end_ns, .is_required = true},
  };
  return program_read_object(reader, fields, sizeof fields / sizeof fields[0]) && check_order(reader, interval);
}

// ---- layers ----------------------------------------------------------------------------------------------------------

struct layer_list {
  struct program_prediction *prediction;
  size_t capacity;
};

struct shape {
  int64_t sizes[TENSOR_MAXIMUM_RANK];
  size_t rank;
};

static bool read_size(struct program_reader *reader, void *target, size_t at)
{
  struct shape *shape = target;
  shape->rank = at + 1;
  return program_read_number(reader, 0, INT64_MAX, &shape->sizes[at]);
}

static bool read_layer_shape(struct program_reader *reader, void *target)
{
  struct shape shape = {0};
  if (!program_read_array(reader, TENSOR_MAXIMUM_RANK, read_size, &shape))
    return false;
  char text[TENSOR_MAXIMUM_RANK * 21 + 3];
  framework_layer_shape_text(shape.sizes, shape.rank, text, sizeof text);
  *(const char **)target = arena_copy(reader->arena, text, strlen(text));
  return true;
}

// Keys of tags that xsp itself writes.
static bool is_own_key(const char *key)
{
  return text_is_one_of(key, "layer_index", "layer_type", "layer_shape", "alloc_bytes", "untold", "thread");
}

static bool read_tag(struct program_reader *reader, struct layer_tags *list)
{
  struct layer_tag *tag = &list->items[list->count];
  size_t before = program_path_push(reader, ".%s", reader->json.text, 0);
  if (reader->json.length == 0 || reader->json.length > PROGRAM_NAME_MOST ||
      strlen(reader->json.text) != reader->json.length || is_own_key(reader->json.text))
    return program_wrong(reader,
                         "is no key for a tag: empty, longer than %d bytes, with a zero byte, or one of xsp's own",
                         PROGRAM_NAME_MOST);
  for (size_t i = 0; i < list->count; i++)
    if (strcmp(list->items[i].key, reader->json.text) == 0)
      return program_wrong(reader, "is told twice");
  if (list->count == PROGRAM_TAGS_MOST)
    return program_wrong(reader, "is one tag more than the %d there may be", PROGRAM_TAGS_MOST);
  tag->key = arena_copy(reader->arena, reader->json.text, reader->json.length);
  if (!program_next(reader))
    return false;
  bool good = reader->json.event == JSON_NUMBER ? program_read_number(reader, INT64_MIN, INT64_MAX, &tag->number)
                                                : program_read_text(reader, &tag->text);
  list->count += good;
  program_path_pop(reader, before);
  return good;
}

static bool read_tags(struct program_reader *reader, void *target)
{
  struct layer_tags *list = target;
  if (reader->json.event != JSON_OBJECT)
    return program_wrong(reader, "is no object");
  for (;;) {
    if (!program_next(reader))
      return false;
    if (reader->json.event == JSON_OBJECT_END)
      return true;
    if (!read_tag(reader, list))
      return false;
  }
}

// A field is missing exactly where `untold` lists it.
static bool check_presence(struct program_reader *reader, const char *name, bool is_present, bool is_untold)
{
  if (is_present != is_untold)
    return true;
  program_path_push(reader, ".%s", name, 0);
  return program_wrong(reader, is_present ? "is told, though \"untold\" has it"
                                          : "is missing, and \"untold\" does not have it");
}

static bool read_layer_fields(struct program_reader *reader, struct layer_report *layer, size_t at)
{
  const struct program_question *question = reader->question;
  struct predictor_interval times = {0};
  struct layer_tags *tags = arena_alloc(reader->arena, sizeof *tags);
  int64_t duration = 0, parent = 0, thread = 0;
  *layer = (struct layer_report){.index = -1, .alloc_bytes = -1, .parent = LAYER_PARENT_MODEL, .tags = tags};
  enum { START, END, DURATION, NAME, TYPE, THREAD, PARENT, UNIT = 11 };
  struct program_field fields[] = {
      [START] = {.name = "start", .read = read_time, .target = &times.start_ns},
      [END] = {.name = "end", .read = read_time, .target = &times.end_ns},
      [DURATION] = {.name = "duration", .read = program_read_count, .target = &duration},
      [NAME] = {.name = "name", .read = program_read_name, .target = &layer->name},
      [TYPE] = {.name = "type", .read = program_read_name, .target = &layer->type},
      [THREAD] = {.name = "thread", .read = program_read_count, .target = &thread},
      [PARENT] = {.name = "parent", .read = program_read_count, .target = &parent},
      {.name = "index", .read = program_read_count, .target = &layer->index},
      {.name = "shape", .read = read_layer_shape, .target = &layer->shape},
      {.name = "alloc_bytes", .read = program_read_count, .target = &layer->alloc_bytes},
      {.name = "tags", .read = read_tags, .target = tags},
      [UNIT] = {.name = "unit", .read = program_read_name, .target = &layer->unit},
  };
  if (!program_read_object(reader, fields, sizeof fields / sizeof fields[0]) ||
      !check_presence(reader, "start", fields[START].is_present, question->untold & PROGRAM_NO_START) ||
      !check_presence(reader, "end", fields[END].is_present, question->untold & PROGRAM_NO_START) ||
      !check_presence(reader, "duration", fields[DURATION].is_present, !(question->untold & PROGRAM_NO_START)) ||
      !check_presence(reader, "name", fields[NAME].is_present, question->untold & PROGRAM_NO_NAME) ||
      !check_presence(reader, "type", fields[TYPE].is_present, question->untold & PROGRAM_NO_TYPE) ||
      !check_presence(reader, "thread", fields[THREAD].is_present, question->untold & PROGRAM_NO_THREAD) ||
      !check_order(reader, &times))
    return false;
  if (fields[UNIT].is_present && !question->is_simulated) {
    program_path_push(reader, ".%s", "unit", 0);
    return program_wrong(reader, "is told, though the clock is not \"simulated\"");
  }
  if (fields[UNIT].is_present) { // a kernel or a copy, as analyses count it
    layer->category = layer->type;
    layer->type = NULL;
  }
  if (fields[PARENT].is_present && (uint64_t)parent >= at) {
    program_path_push(reader, ".%s", "parent", 0);
    return program_wrong(reader, "is %" PRId64 ", not the place of an earlier layer", parent);
  }
  layer->start_ns = times.start_ns;
  layer->duration_ns = fields[DURATION].is_present ? (uint64_t)duration : times.end_ns - times.start_ns;
  layer->parent = fields[PARENT].is_present ? (size_t)parent : LAYER_PARENT_MODEL;
  if (fields[THREAD].is_present)
    layer_tags_add(tags, (struct layer_tag){.key = "thread", .number = thread});
  return true;
}

static bool read_layer(struct program_reader *reader, void *target, size_t at)
{
  struct layer_list *list = target;
  struct program_prediction *prediction = list->prediction;
  prediction->layers = program_grow(reader, prediction->layers, at, &list->capacity, sizeof *prediction->layers);
  prediction->layer_count = at + 1;
  return read_layer_fields(reader, &prediction->layers[at], at);
}

static bool read_layers(struct program_reader *reader, void *target)
{
  if (!reader->question->wants_layers)
    return program_wrong(reader, "is told, though \"layers\" was false in the request");
  struct layer_list list = {.prediction = target};
  return program_read_array(reader, PROGRAM_LAYERS_MOST, read_layer, &list);
}

// A layer is a part of the prediction: what lies outside of it would be counted as the model's.
static bool check_inside(struct program_reader *reader, const struct program_prediction *prediction, size_t at)
{
  const struct predictor_interval *model = &prediction->model;
  const struct layer_report *layer = &prediction->layers[at];
  bool is_laid_out = reader->question->untold & PROGRAM_NO_START;
  if (is_laid_out ? layer->duration_ns <= model->end_ns - model->start_ns
                  : layer->start_ns >= model->start_ns && layer->start_ns + layer->duration_ns <= model->end_ns)
    return true;
  program_path_push(reader, "%s", "layers", 0);
  program_path_push(reader, NULL, NULL, at);
  return is_laid_out ? program_wrong(reader, "is longer than the prediction")
                     : program_wrong(reader, "lies outside of the prediction, from its \"start\" to its \"end\"");
}

// Pre-processing ends before the prediction begins, post-processing begins after its end, layers lie between.
static bool check_stages(struct program_reader *reader, const struct program_prediction *prediction)
{
  if (!check_order(reader, &prediction->model))
    return false;
  if (prediction->preprocess.end_ns > prediction->model.start_ns) {
    program_path_push(reader, "%s", "preprocess.end", 0);
    return program_wrong(reader, "is after the prediction's \"start\"");
  }
  if (prediction->postprocess.end_ns != 0 && prediction->postprocess.start_ns < prediction->model.end_ns) {
    program_path_push(reader, "%s", "postprocess.start", 0);
    return program_wrong(reader, "is before the prediction's \"end\"");
  }
  for (size_t i = 0; i < prediction->layer_count; i++)
    if (!check_inside(reader, prediction, i))
      return false;
  return true;
}

enum status program_read_prediction(const char *line, size_t length, const char *program,
                                    const struct program_question *question, struct arena *arena,
                                    struct program_prediction *ret_prediction, struct error *err)
{
  *ret_prediction = (struct program_prediction){0};
  struct program_reader reader = {
      .message = "predict", .program = program, .arena = arena, .err = err, .question = question};
  struct program_field fields[] = {
      {.name = "start", .read = read_time, .target = &ret_prediction->model.start_ns, .is_required = true},
      {.name = "end", .read = read_time, .target = &ret_prediction->model.end_ns, .is_required = true},
      {.name = "preprocess", .read = read_interval, .target = &ret_prediction->preprocess},
      {.name = "postprocess", .read = read_interval, .target = &ret_prediction->postprocess},
      {.name = "layers", .read = read_layers, .target = ret_prediction, .is_required = question->wants_layers},
      {.name = "outputs",
       .read = program_read_outputs,
       .target = ret_prediction,
       .is_required = question->wants_outputs},
  };
  enum status status = program_read_answer(&reader, line, length, fields, sizeof fields / sizeof fields[0]);
  if (status == STATUS_OK)
    (void)check_stages(&reader, ret_prediction);
  return reader.status;
}

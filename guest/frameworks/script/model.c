// SPDX-License-Identifier: Apache-2.0
// Reads the text of a scripted model; see model.h. Pure: no I/O, no clock.
#include "frameworks/script/model.h"

#include "base/slice.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAXIMUM 16
#define DURATION_MAXIMUM_NS UINT64_C(3600000000000)

struct parser {
  struct arena *arena;
  struct script_model *model;
  const char *path;
  size_t line;
  struct script_layer **last_layer;   // where the next one is hooked in
  struct script_kernel **last_kernel; // of the last layer; NULL: there is none yet
  size_t input_capacity;
  struct error *err;
};

static enum status wrong(const struct parser *parser, const char *why, const char *what)
{
  char where[512];
  snprintf(where, sizeof where, "%s:%zu", parser->path, parser->line);
  return error_set(parser->err, STATUS_INPUT, "cannot read scripted model", where, NULL, "%s: %s", why, what);
}

static bool read_whole(const char *text, uint64_t maximum, uint64_t *ret_value)
{
  if (text[0] < '0' || text[0] > '9')
    return false;
  char *end = NULL;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  *ret_value = value;
  return errno == 0 && *end == 0 && value <= maximum;
}

// "150us", "2ms", "800ns", "1.5s"
static bool read_duration(const char *text, uint64_t *ret_ns)
{
  static const struct {
    const char *unit;
    double ns;
  } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  char *end = NULL;
  double number = strtod(text, &end);
  if (end == text || !(number >= 0))
    return false;
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (strcmp(end, units[i].unit) == 0 && number * units[i].ns <= (double)DURATION_MAXIMUM_NS) {
      *ret_ns = (uint64_t)llround(number * units[i].ns);
      return true;
    }
  return false;
}

static enum tensor_type type_of(const char *text)
{
  return strcmp(text, "float") == 0                                ? TENSOR_FLOAT
         : strcmp(text, "double") == 0                             ? TENSOR_DOUBLE
         : text_is_one_of(text, "int64", "int32", "uint8", "bool") ? tensor_type_named(text)
                                                                   : 0;
}

// "N,3,224,224": numbers, names of free dimensions, "?" for a free one without a name.
static enum status read_shape(struct parser *parser, char *text, struct tensor_info *info)
{
  char *rest = NULL;
  for (char *part = strtok_r(text, ",", &rest); part != NULL; part = strtok_r(NULL, ",", &rest)) {
    if (info->rank == TENSOR_MAXIMUM_RANK)
      return wrong(parser, "too many dimensions", text);
    uint64_t number = 0;
    unsigned at = info->rank++;
    if (read_whole(part, INT32_MAX, &number)) {
      info->shape[at] = (int64_t)number;
    } else if (part[0] >= '0' && part[0] <= '9') {
      return wrong(parser, "no dimension", part);
    } else {
      info->shape[at] = -1;
      if (strcmp(part, "?") != 0)
        info->dimension_name[at] = arena_copy(parser->arena, part, strlen(part));
    }
  }
  return STATUS_OK;
}

static enum status read_input(struct parser *parser, char **fields, size_t count)
{
  struct script_model *model = parser->model;
  if (count < 3 || count > 4)
    return wrong(parser, "expected", "input NAME TYPE [DIMENSIONS]");
  if (model->input_count == parser->input_capacity) {
    size_t capacity = parser->input_capacity == 0 ? 4 : parser->input_capacity * 2;
    struct tensor_info *grown = arena_alloc_array(parser->arena, capacity, sizeof *grown);
    if (model->input_count > 0)
      memcpy(grown, model->inputs, model->input_count * sizeof *grown);
    model->inputs = grown;
    parser->input_capacity = capacity;
  }
  struct tensor_info *info = &model->inputs[model->input_count++];
  *info = (struct tensor_info){.name = arena_copy(parser->arena, fields[1], strlen(fields[1]))};
  if ((info->type = type_of(fields[2])) == 0)
    return wrong(parser, "unknown type", fields[2]);
  return count == 4 ? read_shape(parser, fields[3], info) : STATUS_OK;
}

static enum status read_layer(struct parser *parser, char **fields, size_t count)
{
  if (count < 4)
    return wrong(parser, "expected", "layer NAME TYPE DURATION [shape=DIMENSIONS] [alloc=BYTES]");
  struct script_layer *layer = arena_alloc(parser->arena, sizeof *layer);
  layer->name = arena_copy(parser->arena, fields[1], strlen(fields[1]));
  layer->type = arena_copy(parser->arena, fields[2], strlen(fields[2]));
  layer->alloc_bytes = -1;
  if (!read_duration(fields[3], &layer->duration_ns))
    return wrong(parser, "no duration", fields[3]);
  for (size_t i = 4; i < count; i++) {
    uint64_t bytes = 0;
    if (strncmp(fields[i], "shape=", 6) == 0) {
      layer->shape = arena_copy(parser->arena, fields[i] + 6, strlen(fields[i] + 6));
    } else if (strncmp(fields[i], "alloc=", 6) == 0 && read_whole(fields[i] + 6, INT64_MAX, &bytes)) {
      layer->alloc_bytes = (int64_t)bytes;
    } else {
      return wrong(parser, "unknown word", fields[i]);
    }
  }
  *parser->last_layer = layer;
  parser->last_layer = &layer->next;
  parser->last_kernel = &layer->kernels;
  parser->model->layer_count++;
  return STATUS_OK;
}

static enum status read_kernel(struct parser *parser, char **fields, size_t count)
{
  if (count != 3)
    return wrong(parser, "expected", "kernel NAME DURATION");
  if (parser->last_kernel == NULL)
    return wrong(parser, "a kernel before the first layer", fields[1]);
  struct script_kernel *kernel = arena_alloc(parser->arena, sizeof *kernel);
  kernel->name = arena_copy(parser->arena, fields[1], strlen(fields[1]));
  if (!read_duration(fields[2], &kernel->duration_ns))
    return wrong(parser, "no duration", fields[2]);
  *parser->last_kernel = kernel;
  parser->last_kernel = &kernel->next;
  return STATUS_OK;
}

static enum status read_batch(struct parser *parser, char **fields, size_t count)
{
  char *end = NULL;
  double factor = count == 2 ? strtod(fields[1], &end) : -1;
  if (count != 2 || end == fields[1] || *end != 0 || !(factor >= 0 && factor <= 1000))
    return wrong(parser, "expected", "batch-factor NUMBER, from 0 to 1000");
  parser->model->batch_factor = factor;
  return STATUS_OK;
}

// fault abort|segv|hang [at N], fault exit STATUS [at N], fault allocate BYTES [at N]
static enum status read_fault(struct parser *parser, char **fields, size_t count)
{
  static const struct {
    const char *name;
    enum script_fault fault;
    uint64_t maximum; // of its value; 0: takes none
  } faults[] = {{"abort", SCRIPT_ABORT, 0},
                {"segv", SCRIPT_SEGV, 0},
                {"hang", SCRIPT_HANG, 0},
                {"exit", SCRIPT_EXIT, 255},
                {"allocate", SCRIPT_ALLOCATE, SIZE_MAX}};
  struct script_model *model = parser->model;
  const char *usage = "fault abort|segv|hang|exit STATUS|allocate BYTES [at N]";
  for (size_t i = 0; count > 1 && i < sizeof faults / sizeof faults[0]; i++) {
    if (strcmp(fields[1], faults[i].name) != 0)
      continue;
    size_t at = 2;
    if (faults[i].maximum != 0 && (count < 3 || !read_whole(fields[at++], faults[i].maximum, &model->fault_value)))
      return wrong(parser, "expected", usage);
    model->fault = faults[i].fault;
    model->fault_prediction = 1;
    if (at == count)
      return STATUS_OK;
    if (count != at + 2 || strcmp(fields[at], "at") != 0 ||
        !read_whole(fields[at + 1], UINT32_MAX, &model->fault_prediction))
      break;
    return STATUS_OK;
  }
  return wrong(parser, "expected", usage);
}

static enum status read_line(struct parser *parser, char *line)
{
  static const struct {
    const char *word;
    enum status (*read)(struct parser *, char **, size_t);
  } statements[] = {{"input", read_input},
                    {"layer", read_layer},
                    {"kernel", read_kernel},
                    {"batch-factor", read_batch},
                    {"fault", read_fault}};
  char *fields[FIELDS_MAXIMUM];
  size_t count = 0;
  char *rest = NULL;
  line[strcspn(line, "#")] = 0;
  for (char *field = strtok_r(line, " \t\r", &rest); field != NULL; field = strtok_r(NULL, " \t\r", &rest)) {
    if (count == FIELDS_MAXIMUM)
      return wrong(parser, "too many words", field);
    fields[count++] = field;
  }
  if (count == 0)
    return STATUS_OK;
  for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++)
    if (strcmp(fields[0], statements[i].word) == 0)
      return statements[i].read(parser, fields, count);
  return wrong(parser, "unknown statement", fields[0]);
}

enum status script_parse(const char *text, size_t length, const char *path, struct arena *arena,
                         struct script_model *ret_model, struct error *err)
{
  *ret_model = (struct script_model){.batch_factor = 1};
  struct parser parser = {
      .arena = arena, .model = ret_model, .path = path, .last_layer = &ret_model->layers, .err = err};
  if (length > SCRIPT_TEXT_MAXIMUM)
    return error_set(err, STATUS_INPUT, "cannot read scripted model", path, NULL, "longer than %zu bytes",
                     SCRIPT_TEXT_MAXIMUM);
  const char *end = text + length;
  while (text < end) {
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    size_t line_length = (size_t)((newline != NULL ? newline : end) - text);
    parser.line++;
    char *line = arena_copy(arena, text, line_length);
    if (memchr(line, 0, line_length) != NULL)
      return wrong(&parser, "no text", "a NUL byte");
    XSP_TRY(read_line(&parser, line));
    text += line_length + 1;
  }
  if (ret_model->layers == NULL)
    return wrong(&parser, "ends", "without a layer");
  return STATUS_OK;
}

// SPDX-License-Identifier: Apache-2.0
// Decodes shapes from the texts of layer tags. Called by tags.c; the texts are hostile (fuzz/shapes_fuzz.c):
// lengths are bounded, nothing recurses, no allocation outlives a call.
#include "analyze/flops/shapes.h"

#include "base/json_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIMENSION_MOST 1e15 // larger ones are no sizes
// Tags of ONNX Runtime's shapes are cut at 512 bytes, between two shapes: a text this long may lack some.
#define SUSPICIOUS_LENGTH 448

double shape_elements(const struct shape *shape)
{
  if (shape->rank < 0)
    return NAN;
  double elements = 1;
  for (int i = 0; i < shape->rank; i++)
    elements *= shape->dims[i];
  return elements;
}

// "float", "c10::Half", "long int", "float16".
static struct element_type shape_element_type_find(const char *name, size_t length)
{
  static const struct {
    const char *name;
    struct element_type type;
  } known[] = {
      {"float", {4, true}},
      {"double", {8, true}},
      {"c10::Half", {2, true}},
      {"c10::BFloat16", {2, true}},
      {"float16", {2, true}},
      {"bfloat16", {2, true}},
      {"long int", {8, false}},
      {"long", {8, false}},
      {"int", {4, false}},
      {"short", {2, false}},
      {"short int", {2, false}},
      {"unsigned char", {1, false}},
      {"signed char", {1, false}},
      {"char", {1, false}},
      {"bool", {1, false}},
      {"int64", {8, false}},
      {"int32", {4, false}},
      {"int16", {2, false}},
      {"int8", {1, false}},
      {"uint64", {8, false}},
      {"uint32", {4, false}},
      {"uint16", {2, false}},
      {"uint8", {1, false}},
      {"c10::Float8_e4m3fn", {1, true}},
      {"c10::Float8_e5m2", {1, true}},
      {"float8e4m3fn", {1, true}},
      {"float8e5m2", {1, true}},
  };
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strlen(known[i].name) == length && memcmp(known[i].name, name, length) == 0)
      return known[i].type;
  return (struct element_type){0};
}

static struct shape *add_shape(struct shapes *shapes, unsigned argument)
{
  if (shapes->count == SHAPES_MOST) {
    shapes->is_cut = true;
    return NULL;
  }
  struct shape *shape = &shapes->items[shapes->count++];
  *shape = (struct shape){.argument = argument};
  return shape;
}

// NULL is a shape beyond the last that there is room for.
static void add_dimension(struct shape *shape, double dimension)
{
  if (shape == NULL || shape->rank < 0)
    return;
  if (shape->rank == SHAPE_RANK_MOST || !(dimension >= 0 && dimension <= DIMENSION_MOST)) {
    shape->rank = -1; // of more dimensions than anybody uses, or a free one (-1)
    return;
  }
  shape->dims[shape->rank++] = dimension;
}

static bool number_of(const struct json_reader *json, double *ret_number)
{
  char *end;
  *ret_number = strtod(json->text, &end);
  return *end == 0;
}

// ---- xsp's own form -------------------------------------------------------------------------------------------------
// Digits up to anything else; NaN where there are none. Never beyond `end`.
static double read_digits(const char **at, const char *end)
{
  double number = 0;
  const char *first = *at;
  for (; *at < end && **at >= '0' && **at <= '9'; (*at)++)
    number = number * 10 + (**at - '0');
  return *at == first ? NAN : number;
}

bool shapes_read(const char *text, size_t length, struct shapes *ret_shapes)
{
  *ret_shapes = (struct shapes){.is_cut = length >= SUSPICIOUS_LENGTH};
  const char *at = text;
  const char *end = text + length;
  while (at < end) {
    if (*at++ != '[')
      return false;
    struct shape *shape = add_shape(ret_shapes, (unsigned)ret_shapes->count);
    while (at < end && *at != ']') {
      bool is_negative = *at == '-';
      at += is_negative;
      double dimension = read_digits(&at, end);
      if (isnan(dimension) || at == end)
        return false;
      add_dimension(shape, is_negative ? -1 : dimension);
      if (*at == ',' && at + 1 < end && at[1] != ']')
        at++;
      else if (*at != ']')
        return false;
    }
    if (at == end)
      return false;
    at++;
    if (at < end && *at++ != ' ')
      return false;
  }
  return true;
}

// ---- ONNX Runtime's -------------------------------------------------------------------------------------------------
static bool read_typed(struct json_reader *json, struct shapes *shapes)
{
  if (json_next(json) != JSON_ARRAY)
    return false;
  while (json_next(json) == JSON_OBJECT) {
    struct shape *shape = add_shape(shapes, (unsigned)shapes->count);
    if (json_next(json) != JSON_KEY)
      return false;
    if (shape != NULL)
      shape->type = shape_element_type_find(json->text, json->length);
    if (json_next(json) != JSON_ARRAY)
      return false;
    while (json_next(json) == JSON_NUMBER) {
      double dimension;
      if (!number_of(json, &dimension))
        return false;
      add_dimension(shape, dimension);
    }
    if (json->event != JSON_ARRAY_END || json_next(json) != JSON_OBJECT_END)
      return false;
  }
  return json->event == JSON_ARRAY_END && json_next(json) == JSON_END;
}

bool shapes_read_typed(const char *text, size_t length, struct shapes *ret_shapes)
{
  struct json_reader json SCOPED(json_read_done);
  *ret_shapes = (struct shapes){0};
  json_read_start(&json, text, length);
  return read_typed(&json, ret_shapes);
}

// ---- Kineto's -------------------------------------------------------------------------------------------------------
// Behind the bracket of an argument: numbers (a tensor), lists of them (a list of tensors), or nothing.
static bool read_argument(struct json_reader *json, struct shapes *shapes, unsigned argument)
{
  struct shape *shape = NULL;
  bool is_list = false;
  for (;;) {
    double dimension;
    switch (json_next(json)) {
    case JSON_NUMBER:
      if (is_list || !number_of(json, &dimension))
        return false;
      if (shape == NULL)
        shape = add_shape(shapes, argument);
      add_dimension(shape, dimension);
      break;
    case JSON_ARRAY:
      if (shape != NULL)
        return false;
      is_list = true;
      struct shape *item = add_shape(shapes, argument);
      while (json_next(json) == JSON_NUMBER) {
        if (!number_of(json, &dimension))
          return false;
        add_dimension(item, dimension);
      }
      if (json->event != JSON_ARRAY_END)
        return false;
      break;
    case JSON_ARRAY_END:
      if (shape == NULL && !is_list)
        add_shape(shapes, argument);
      return true;
    default:
      return false;
    }
  }
}

static bool read_arguments(struct json_reader *json, struct shapes *shapes)
{
  if (json_next(json) != JSON_ARRAY)
    return false;
  for (unsigned argument = 0; json_next(json) == JSON_ARRAY; argument++)
    if (!read_argument(json, shapes, argument))
      return false;
  return json->event == JSON_ARRAY_END && json_next(json) == JSON_END;
}

bool shapes_read_arguments(const char *text, size_t length, struct shapes *ret_shapes)
{
  struct json_reader json SCOPED(json_read_done);
  *ret_shapes = (struct shapes){0};
  json_read_start(&json, text, length);
  return read_arguments(&json, ret_shapes);
}

bool shapes_read_types(const char *text, size_t length, struct shapes *shapes)
{
  struct json_reader json SCOPED(json_read_done);
  json_read_start(&json, text, length);
  bool is_good = json_next(&json) == JSON_ARRAY;
  size_t at = 0;
  for (unsigned argument = 0; is_good && json_next(&json) == JSON_STRING; argument++) {
    struct element_type type = shape_element_type_find(json.text, json.length);
    for (; at < shapes->count && shapes->items[at].argument <= argument; at++)
      if (shapes->items[at].argument == argument)
        shapes->items[at].type = type;
  }
  is_good = is_good && json.event == JSON_ARRAY_END && json_next(&json) == JSON_END;
  return is_good;
}

static bool is_text(const char *text, size_t length, const char *expected)
{
  return length == strlen(expected) && memcmp(text, expected, length) == 0;
}

static struct shape_value read_numbers(const char *text, size_t length)
{
  struct shape_value value = {.kind = VALUE_NUMBERS};
  struct shape_value none = {0};
  struct json_reader json SCOPED(json_read_done);
  json_read_start(&json, text, length);
  bool is_list = json_next(&json) == JSON_ARRAY;
  if (is_list)
    json_next(&json);
  while (json.event == JSON_NUMBER || json.event == JSON_TRUE || json.event == JSON_FALSE) {
    double number = json.event == JSON_TRUE;
    if (value.count == VALUE_NUMBERS_MOST || (json.event == JSON_NUMBER && !number_of(&json, &number)))
      break;
    value.numbers[value.count++] = number;
    json_next(&json);
  }
  bool is_good = is_list ? json.event == JSON_ARRAY_END && json_next(&json) == JSON_END
                         : json.event == JSON_END && value.count == 1;
  return is_good ? value : none;
}

// PyTorch writes Python's truths, in lists too ("[True, False]"), which is not JSON.
static struct shape_value read_truths(const char *text, size_t length)
{
  struct shape_value value = {.kind = VALUE_NUMBERS};
  const char *at = text + 1;
  const char *end = text + length - 1;
  while (at < end && value.count < VALUE_NUMBERS_MOST) {
    size_t word = 0;
    while (at + word < end && at[word] != ',')
      word++;
    bool is_true = is_text(at, word, "True");
    if (!is_true && !is_text(at, word, "False"))
      return (struct shape_value){0};
    value.numbers[value.count++] = is_true;
    at += word;
    while (at < end && (*at == ',' || *at == ' '))
      at++;
  }
  return at == end ? value : (struct shape_value){0};
}

struct shape_value shape_value_read(const char *text, size_t length)
{
  if (is_text(text, length, "True") || is_text(text, length, "False"))
    return (struct shape_value){.kind = VALUE_TRUTH, .truth = length == 4};
  if (length >= 2 && text[0] == '[' && text[length - 1] == ']' && (text[1] == 'T' || text[1] == 'F'))
    return read_truths(text, length);
  if (length > 0 && (text[0] == '[' || text[0] == '-' || (text[0] >= '0' && text[0] <= '9')))
    return read_numbers(text, length);
  struct shape_value value = {.kind = length > 0 ? VALUE_TEXT : VALUE_NONE};
  memcpy(value.text, text, length < sizeof value.text ? length : sizeof value.text - 1);
  return value;
}

bool shape_values_read(const char *text, size_t length, struct values *ret_values)
{
  struct json_reader json SCOPED(json_read_done);
  *ret_values = (struct values){0};
  json_read_start(&json, text, length);
  bool is_good = json_next(&json) == JSON_ARRAY;
  while (is_good && json_next(&json) == JSON_STRING)
    if (ret_values->count < VALUES_MOST)
      ret_values->items[ret_values->count++] = shape_value_read(json.text, json.length);
  is_good = is_good && json.event == JSON_ARRAY_END && json_next(&json) == JSON_END;
  return is_good;
}

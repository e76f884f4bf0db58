// SPDX-License-Identifier: Apache-2.0
// Reads pprof's profile.proto (https://github.com/google/pprof/blob/main/proto/profile.proto); see profile.h. Messages come in
// any order, so texts, functions and mappings are found first, then locations, then samples.
#include "importers/pprof/profile.h"

#include "importers/text_file.h"

#include <inttypes.h>

enum { // field numbers
  PROFILE_SAMPLE_TYPE = 1,
  PROFILE_SAMPLE,
  PROFILE_MAPPING,
  PROFILE_LOCATION,
  PROFILE_FUNCTION,
  PROFILE_STRING_TABLE,
  PROFILE_TIME_NANOS = 9,
  PROFILE_DURATION_NANOS,
  PROFILE_PERIOD_TYPE,
  PROFILE_PERIOD,
  PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { MAPPING_ID = 1, MAPPING_FILENAME = 5 };
enum { LOCATION_ID = 1, LOCATION_MAPPING_ID, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION_ID = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILENAME = 4 };
#define NUMBERS 6             // of fields that are numbers
#define PARTS_MOST (1u << 24) // texts, functions, locations, lines: as long as two bytes in the file

enum status pprof_broken(const struct pprof_profile *profile, const char *at, const char *problem, struct error *err)
{
  return import_broken(profile->import, err, profile->offset + (uint64_t)(at - profile->whole.data), "%s", problem);
}

struct slice pprof_text(const struct pprof_profile *profile, uint64_t number)
{
  return number < profile->texts.count ? profile->texts.items[number] : slice_of("");
}

struct slice pprof_text_of(const struct pprof_sample *sample, const char *key)
{
  for (size_t i = 0; i < sample->labels.count; i++)
    if (!sample->labels.items[i].is_number && slice_is(sample->labels.items[i].key, key))
      return sample->labels.items[i].text;
  return slice_of("");
}

// The values of a message's fields that are numbers, by field.
static bool read_numbers(const struct wire_field *message, uint64_t numbers[NUMBERS])
{
  struct wire wire = wire_inside(message);
  struct wire_field field;
  memset(numbers, 0, NUMBERS * sizeof *numbers);
  while (wire_next(&wire, &field))
    if (field.type == WIRE_VARINT && field.number < NUMBERS)
      numbers[field.number] = field.value;
  return wire.problem == NULL;
}

// ---- what locations and samples refer to -----------------------------------------------------------------------------
static void read_number(struct pprof_profile *profile, const struct wire_field *field)
{
  int64_t *const of_field[] = {[PROFILE_TIME_NANOS] = &profile->time_ns,
                               [PROFILE_DURATION_NANOS] = &profile->duration_ns,
                               [PROFILE_PERIOD] = &profile->period_count,
                               [PROFILE_DEFAULT_SAMPLE_TYPE] = &profile->default_type};
  if (field->number < sizeof of_field / sizeof of_field[0] && of_field[field->number] != NULL)
    *of_field[field->number] = (int64_t)field->value;
}

static bool read_message(struct pprof_profile *profile, const struct wire_field *field)
{
  uint64_t numbers[NUMBERS];
  if (field->number == PROFILE_STRING_TABLE) {
    *vector_add(&profile->texts) = (struct slice){field->bytes, field->length};
    return true;
  }
  bool is_read = field->number == PROFILE_SAMPLE_TYPE || field->number == PROFILE_PERIOD_TYPE ||
                 field->number == PROFILE_FUNCTION || field->number == PROFILE_MAPPING;
  if (!is_read)
    return true;
  if (!read_numbers(field, numbers))
    return false;
  if (field->number == PROFILE_SAMPLE_TYPE) {
    *vector_add(&profile->types) = (struct pprof_type){numbers[TYPE_TYPE], numbers[TYPE_UNIT]};
  } else if (field->number == PROFILE_PERIOD_TYPE) {
    profile->period = (struct pprof_type){numbers[TYPE_TYPE], numbers[TYPE_UNIT]};
  } else if (field->number == PROFILE_FUNCTION) {
    *vector_add(&profile->functions) = (struct pprof_function){numbers[FUNCTION_NAME], numbers[FUNCTION_FILENAME]};
    *map_at(&profile->function_of, map_number(numbers[FUNCTION_ID]), NULL) = profile->functions.count;
  } else {
    profile->main_module = profile->main_module == 0 ? numbers[MAPPING_FILENAME] : profile->main_module;
    *map_at(&profile->module_of, map_number(numbers[MAPPING_ID]), NULL) = numbers[MAPPING_FILENAME] + 1;
  }
  return true;
}

static enum status read_parts(struct pprof_profile *profile, struct error *err)
{
  struct wire wire = wire_over(profile->whole.data, profile->whole.length);
  struct wire_field field;
  while (wire_next(&wire, &field)) {
    if (field.type == WIRE_VARINT)
      read_number(profile, &field);
    if (field.type == WIRE_BYTES && !read_message(profile, &field))
      return pprof_broken(profile, field.start, "a message in it is damaged", err);
    if (profile->texts.count + profile->functions.count + profile->types.count > PARTS_MOST)
      return pprof_broken(profile, field.start, "it has too many texts and functions", err);
  }
  return wire.problem == NULL ? STATUS_OK : pprof_broken(profile, field.start, wire.problem, err);
}

// ---- locations -------------------------------------------------------------------------------------------------------
// "file.py(12): function", as import_path takes frames apart.
static uint32_t intern_with_line(struct pprof_profile *profile, struct slice name, struct slice file, int64_t line)
{
  if (file.length == 0 || line < 1 || name.length == 0)
    return import_repaired(profile->import, name);
  buf_clear(&profile->scratch);
  buf_utf8(&profile->scratch, file.data, file.length);
  buf_format(&profile->scratch, "(%" PRId64 "): ", line);
  buf_utf8(&profile->scratch, name.data, name.length);
  return import_string(profile->import, profile->scratch.data, profile->scratch.length);
}

static void add_frame(struct pprof_profile *profile, const uint64_t line[NUMBERS], struct slice module)
{
  const uint64_t *place = map_find(&profile->function_of, map_number(line[LINE_FUNCTION_ID]));
  struct pprof_function function = place != NULL ? profile->functions.items[*place - 1] : (struct pprof_function){0, 0};
  struct slice file = pprof_text(profile, function.file), name = pprof_text(profile, function.name);
  bool is_python = slice_ends_with(file, ".py") || slice_starts_with(file, "<");
  bool is_span = profile->is_own && file.length == 0 && module.length == 0; // xsp writes no place for names of spans
  *vector_add(&profile->frames) =
      (struct pprof_frame){.function = import_repaired(profile->import, name),
                           .name = intern_with_line(profile, name, file, (int64_t)line[LINE_LINE]),
                           .module = is_python ? 0 : import_repaired(profile->import, module),
                           .kind = is_python ? XSP_FRAME_PYTHON
                                   : is_span ? XSP_FRAME_FRAMEWORK
                                             : XSP_FRAME_NATIVE};
}

static bool read_location(struct pprof_profile *profile, const struct wire_field *message)
{
  struct pprof_location location = {profile->frames.count, 0};
  uint64_t numbers[NUMBERS], line[NUMBERS];
  if (!read_numbers(message, numbers))
    return false;
  const uint64_t *mapping = map_find(&profile->module_of, map_number(numbers[LOCATION_MAPPING_ID]));
  struct slice module = pprof_text(profile, mapping != NULL ? *mapping - 1 : 0);
  struct wire wire = wire_inside(message);
  struct wire_field field;
  while (wire_next(&wire, &field))
    if (wire_is(&field, LOCATION_LINE, WIRE_BYTES)) {
      if (!read_numbers(&field, line))
        return false;
      add_frame(profile, line, module);
    }
  if (profile->frames.count == location.first) { // not symbolised: only the module is known
    memset(line, 0, sizeof line);
    add_frame(profile, line, module);
  }
  location.count = profile->frames.count - location.first;
  *vector_add(&profile->locations) = location;
  *map_at(&profile->location_of, map_number(numbers[LOCATION_ID]), NULL) = profile->locations.count;
  return true;
}

static enum status read_locations(struct pprof_profile *profile, struct error *err)
{
  struct wire wire = wire_over(profile->whole.data, profile->whole.length);
  struct wire_field field;
  while (wire_next(&wire, &field))
    if (wire_is(&field, PROFILE_LOCATION, WIRE_BYTES) &&
        (!read_location(profile, &field) || profile->frames.count > PARTS_MOST))
      return pprof_broken(profile, field.start, "a location is damaged, or there are too many", err);
  return STATUS_OK;
}

// What is found by type and unit of xsp's own values: spans, and the time of spans.
static bool is_own(const struct pprof_profile *profile)
{
  return profile->types.count >= 2 && slice_is(pprof_text(profile, profile->types.items[0].type), "spans") &&
         slice_is(pprof_text(profile, profile->types.items[1].type), "time");
}

enum status pprof_profile_read(struct pprof_profile *profile, struct error *err)
{
  struct input *input = profile->import->input;
  XSP_TRY(input_whole(input, &profile->whole, err));
  profile->offset = input_offset(input, profile->whole.data);
  XSP_TRY(read_parts(profile, err));
  profile->is_own = is_own(profile);
  return read_locations(profile, err);
}

// ---- samples ---------------------------------------------------------------------------------------------------------
static bool add_label(struct pprof_profile *profile, const struct wire_field *message, struct pprof_sample *sample)
{
  struct pprof_label label = {.key = slice_of(""), .text = slice_of("")};
  struct wire wire = wire_inside(message);
  struct wire_field field;
  while (wire_next(&wire, &field)) {
    if (wire_is(&field, LABEL_KEY, WIRE_VARINT))
      label.key = pprof_text(profile, field.value);
    else if (wire_is(&field, LABEL_TEXT, WIRE_VARINT))
      label.text = pprof_text(profile, field.value);
    label.is_number |= wire_is(&field, LABEL_NUMBER, WIRE_VARINT);
    label.number = wire_is(&field, LABEL_NUMBER, WIRE_VARINT) ? (int64_t)field.value : label.number;
  }
  if (label.key.length > 0 && sample->labels.count < PPROF_LABELS_MOST)
    *vector_add(&sample->labels) = label;
  return wire.problem == NULL;
}

static bool read_sample(struct pprof_profile *profile, const struct wire_field *message, struct pprof_sample *sample)
{
  struct wire wire = wire_inside(message);
  struct wire_field field;
  uint64_t number;
  sample->start = message->start;
  sample->locations.count = sample->values.count = sample->labels.count = 0;
  while (wire_next(&wire, &field)) {
    struct wire packed = wire_inside(&field);
    if (field.number == SAMPLE_LABEL) {
      if (field.type != WIRE_BYTES || !add_label(profile, &field, sample))
        return false;
    } else if (field.number == SAMPLE_LOCATION_ID || field.number == SAMPLE_VALUE) {
      bool is_location = field.number == SAMPLE_LOCATION_ID;
      if (field.type == WIRE_VARINT)
        *(is_location ? vector_add(&sample->locations) : vector_add(&sample->values)) = field.value;
      while (field.type == WIRE_BYTES && packed.at < packed.end && wire_varint(&packed, &number))
        *(is_location ? vector_add(&sample->locations) : vector_add(&sample->values)) = number;
      if (packed.problem != NULL)
        return false;
    }
  }
  return wire.problem == NULL;
}

enum status pprof_each_sample(struct pprof_profile *profile, pprof_take *take, void *context, struct error *err)
{
  struct wire wire = wire_over(profile->whole.data, profile->whole.length);
  struct wire_field field;
  struct pprof_sample sample = {0};
  enum status status = STATUS_OK;
  while (status == STATUS_OK && wire_next(&wire, &field)) {
    if (!wire_is(&field, PROFILE_SAMPLE, WIRE_BYTES))
      continue;
    if (!read_sample(profile, &field, &sample))
      status = pprof_broken(profile, field.start, "a sample is damaged", err);
    else if (sample.values.count != profile->types.count)
      status = pprof_broken(profile, field.start, "a sample has not one value of each type", err);
    else
      status = take(context, &sample, err);
  }
  vector_done(&sample.locations);
  vector_done(&sample.values);
  vector_done(&sample.labels);
  return status;
}

void pprof_profile_done(struct pprof_profile *profile)
{
  vector_done(&profile->texts);
  vector_done(&profile->types);
  vector_done(&profile->functions);
  vector_done(&profile->locations);
  vector_done(&profile->frames);
  map_done(&profile->function_of);
  map_done(&profile->location_of);
  map_done(&profile->module_of);
  buf_done(&profile->scratch);
}

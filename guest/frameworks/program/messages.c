// SPDX-License-Identifier: Apache-2.0
// Reads what a program answers to `open` and `prepare`; see messages.h. Predictions: prediction.c.
#include "frameworks/program/messages.h"

#include "frameworks/program/messages_private.h"

#include <string.h>

static const struct {
  enum program_untold bit;
  const char *name;
} untold_names[] = {
    {PROGRAM_NO_START, "start"},
    {PROGRAM_NO_THREAD, "thread"},
    {PROGRAM_NO_NAME, "name"},
    {PROGRAM_NO_TYPE, "type"},
};

const char *program_untold_text(unsigned untold, struct arena *arena)
{
  const char *text = NULL;
  for (size_t i = 0; i < sizeof untold_names / sizeof untold_names[0]; i++)
    if (untold & untold_names[i].bit)
      text = arena_format(arena, "%s%s%s", text != NULL ? text : "", text != NULL ? "," : "", untold_names[i].name);
  return text;
}

enum status program_read_done(const char *line, size_t length, const char *message, const char *program,
                              struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct program_reader reader = {.message = message, .program = program, .arena = &arena, .err = err};
  return program_read_answer(&reader, line, length, NULL, 0);
}

// ---- open ------------------------------------------------------------------------------------------------------------

static bool read_version(struct program_reader *reader, void *target)
{
  return program_read_number(reader, 1, PROGRAM_VERSION, target);
}

static bool read_framework(struct program_reader *reader, void *target)
{
  if (!program_read_name(reader, target))
    return false;
  const char *name = *(const char **)target;
  if (strlen(name) > PROGRAM_NAME_MOST)
    return program_wrong(reader, "is longer than %d bytes", PROGRAM_NAME_MOST);
  if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != strlen(name))
    return program_wrong(reader, "has other characters than letters, digits, '_', '.', '-'");
  return true;
}

static bool read_clock(struct program_reader *reader, void *target)
{
  const char *name = NULL;
  if (!program_read_text(reader, &name))
    return false;
  enum xsp_clock *clock = target;
  *clock = strcmp(name, "realtime") == 0    ? XSP_CLOCK_REALTIME
           : strcmp(name, "monotonic") == 0 ? XSP_CLOCK_MONOTONIC
                                            : XSP_CLOCK_FOREIGN;
  return *clock != XSP_CLOCK_FOREIGN || strcmp(name, "simulated") == 0 ||
         program_wrong(reader, "is none of \"monotonic\", \"realtime\", \"simulated\"");
}

static bool read_untold_one(struct program_reader *reader, void *target, size_t at)
{
  const char *name = NULL;
  if (!program_read_text(reader, &name))
    return false;
  for (size_t i = 0; i < sizeof untold_names / sizeof untold_names[0]; i++)
    if (strcmp(untold_names[i].name, name) == 0) {
      *(unsigned *)target |= untold_names[i].bit;
      return true;
    }
  return program_wrong(reader, "is none of start, thread, name, type");
}

static bool read_untold(struct program_reader *reader, void *target)
{
  return program_read_array(reader, sizeof untold_names / sizeof untold_names[0], read_untold_one, target);
}

bool program_read_type(struct program_reader *reader, void *target)
{
  const char *name = NULL;
  if (!program_read_text(reader, &name))
    return false;
  enum tensor_type type = *(enum tensor_type *)target = tensor_type_named(name);
  return (type != 0 && type != TENSOR_STRING) || program_wrong(reader, "is no type of the protocol");
}

static bool read_dimension(struct program_reader *reader, void *target, size_t at)
{
  struct tensor_info *info = target;
  info->rank = (unsigned)at + 1;
  info->shape[at] = -1;
  if (reader->json.event == JSON_STRING)
    return program_read_name(reader, &info->dimension_name[at]);
  if (!program_read_number(reader, -1, INT32_MAX, &info->shape[at]))
    return false;
  return info->shape[at] != 0 || program_wrong(reader, "is 0; a free dimension is -1 or a name");
}

static bool read_input_shape(struct program_reader *reader, void *target)
{
  return program_read_array(reader, TENSOR_MAXIMUM_RANK, read_dimension, target);
}

static bool read_input(struct program_reader *reader, void *target, size_t at)
{
  struct program_facts *facts = target;
  struct tensor_info *info = &facts->inputs[at];
  struct program_field fields[] = {
      {.name = "name", .read = program_read_name, .target = &info->name, .is_required = true},
      {.name = "type", .read = program_read_type, .target = &info->type, .is_required = true},
      {.name = "shape", .read = read_input_shape, .target = info, .is_required = true},
  };
  if (!program_read_object(reader, fields, sizeof fields / sizeof fields[0]))
    return false;
  for (size_t i = 0; i < at; i++)
    if (strcmp(facts->inputs[i].name, info->name) == 0)
      return program_wrong(reader, "has the name of another");
  facts->input_count = at + 1;
  return true;
}

static bool read_inputs(struct program_reader *reader, void *target)
{
  struct program_facts *facts = target;
  facts->inputs = arena_alloc_array(reader->arena, PROGRAM_INPUTS_MOST, sizeof *facts->inputs);
  return program_read_array(reader, PROGRAM_INPUTS_MOST, read_input, facts);
}

static bool check_simulated(struct program_reader *reader, const struct program_facts *facts)
{
  program_path_push(reader, "%s", "clock", 0);
  if (facts->version < PROGRAM_SIMULATED_VERSION)
    return program_wrong(reader, "is \"simulated\", which version %d does not have", (int)facts->version);
  return !(facts->untold & PROGRAM_NO_START) || program_wrong(reader, "is \"simulated\", and \"untold\" has start");
}

enum status program_read_open(const char *line, size_t length, const char *program, struct arena *arena,
                              struct program_facts *ret_facts, struct error *err)
{
  *ret_facts = (struct program_facts){0};
  struct program_reader reader = {.message = "open", .program = program, .arena = arena, .err = err};
  struct program_field fields[] = {
      {.name = "version", .read = read_version, .target = &ret_facts->version, .is_required = true},
      {.name = "framework", .read = read_framework, .target = &ret_facts->framework, .is_required = true},
      {.name = "framework_version",
       .read = program_read_name,
       .target = &ret_facts->framework_version,
       .is_required = true},
      {.name = "clock", .read = read_clock, .target = &ret_facts->clock, .is_required = true},
      {.name = "inputs", .read = read_inputs, .target = ret_facts, .is_required = true},
      {.name = "untold", .read = read_untold, .target = &ret_facts->untold},
      {.name = "note", .read = program_read_name, .target = &ret_facts->note},
      {.name = "device", .read = program_read_name, .target = &ret_facts->device},
  };
  XSP_TRY(program_read_answer(&reader, line, length, fields, sizeof fields / sizeof fields[0]));
  if (ret_facts->clock == XSP_CLOCK_FOREIGN)
    (void)check_simulated(&reader, ret_facts);
  return reader.status;
}

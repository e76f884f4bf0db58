// SPDX-License-Identifier: Apache-2.0
// Names and devices of rocprofv3's JSON; see names.h. Called before the records are read, which have numbers only.
#include "importers/rocprof/names.h"

struct reading { // of one list
  struct rocprof_names *names;
  // Of the item that is read:
  int64_t id, kind, operation;
  uint32_t name, better_name;
  bool is_gpu;
};

static uint32_t text_of(const struct rocprof_names *names, const struct json_reader *reader)
{
  return reader->event == JSON_STRING ? import_string(names->import, reader->text, reader->length) : 0;
}

// ---- kernels ---------------------------------------------------------------------------------------------------------
static bool take_symbol_member(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  if (strcmp(key, "kernel_id") == 0)
    (void)json_int64(reader, &reading->id);
  else if (strcmp(key, "kernel_name") == 0)
    reading->name = text_of(reading->names, reader);
  else if (strcmp(key, "formatted_kernel_name") == 0) // demangled
    reading->better_name = text_of(reading->names, reader);
  return true;
}

static bool take_symbol(void *context, struct json_reader *reader, const char *key)
{
  struct reading reading = {.names = context};
  if (reader->event == JSON_OBJECT && !json_each(reader, take_symbol_member, &reading))
    return false;
  *map_at(&reading.names->kernels, map_number((uint64_t)reading.id), NULL) =
      reading.better_name != 0 ? reading.better_name : reading.name;
  return true;
}

// ---- devices ---------------------------------------------------------------------------------------------------------
static bool take_handle(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  if (strcmp(key, "handle") == 0)
    (void)json_int64(reader, &reading->id);
  return true;
}

static bool take_agent_member(void *context, struct json_reader *reader, const char *key)
{
  enum { AGENT_GPU = 2 };
  struct reading *reading = context;
  int64_t type = 0;
  if (strcmp(key, "id") == 0 && reader->event == JSON_OBJECT)
    return json_each(reader, take_handle, context);
  if (strcmp(key, "type") == 0)
    reading->is_gpu = (json_int64(reader, &type) && type == AGENT_GPU) ||
                      (reader->event == JSON_STRING && strcmp(reader->text, "GPU") == 0);
  else if (strcmp(key, "product_name") == 0)
    reading->name = text_of(reading->names, reader);
  return true;
}

static bool take_agent(void *context, struct json_reader *reader, const char *key)
{
  struct rocprof_names *names = context;
  struct reading reading = {.names = names};
  if (reader->event == JSON_OBJECT && !json_each(reader, take_agent_member, &reading))
    return false;
  *map_at(&names->devices, map_number((uint64_t)reading.id), NULL) =
      reading.is_gpu ? (uint64_t)names->gpu_count++ + 2 : 1;
  if (reading.is_gpu && reading.name != 0)
    import_system_text(names->import, "gpu", import_text(names->import, reading.name, NULL));
  return true;
}

// ---- calls and ranges ------------------------------------------------------------------------------------------------
static bool take_operation(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  struct map_key place = {(uint64_t)reading->kind, (uint64_t)reading->operation++};
  *map_at(&reading->names->operations, place, NULL) = text_of(reading->names, reader);
  return true;
}

static bool take_kind_member(void *context, struct json_reader *reader, const char *key)
{
  return strcmp(key, "operations") != 0 || reader->event != JSON_ARRAY || json_each(reader, take_operation, context);
}

// A kind is its place in the list.
static bool take_kind(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  reading->operation = 0;
  bool is_read = reader->event != JSON_OBJECT || json_each(reader, take_kind_member, context);
  reading->kind++;
  return is_read;
}

static bool take_marker_member(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  if (strcmp(key, "key") == 0)
    (void)json_int64(reader, &reading->id);
  else if (strcmp(key, "value") == 0)
    reading->name = text_of(reading->names, reader);
  return true;
}

static bool take_marker(void *context, struct json_reader *reader, const char *key)
{
  struct reading reading = {.names = context};
  if (reader->event == JSON_OBJECT && !json_each(reader, take_marker_member, &reading))
    return false;
  *map_at(&reading.names->markers, map_number((uint64_t)reading.id), NULL) = reading.name;
  return true;
}

static bool take_strings(void *context, struct json_reader *reader, const char *key)
{
  struct reading reading = {.names = context};
  if (reader->event != JSON_ARRAY)
    return true;
  if (strcmp(key, "buffer_records") == 0)
    return json_each(reader, take_kind, &reading);
  return strcmp(key, "marker_api") != 0 || json_each(reader, take_marker, context);
}

// ---- the process -----------------------------------------------------------------------------------------------------
static bool take_metadata(void *context, struct json_reader *reader, const char *key)
{
  struct rocprof_names *names = context;
  if (strcmp(key, "pid") == 0)
    (void)json_int64(reader, &names->process_id);
  return true;
}

static bool take_member(void *context, struct json_reader *reader, const char *key)
{
  bool is_list = reader->event == JSON_ARRAY, is_object = reader->event == JSON_OBJECT;
  if (is_object && strcmp(key, "metadata") == 0)
    return json_each(reader, take_metadata, context);
  if (is_object && strcmp(key, "strings") == 0)
    return json_each(reader, take_strings, context);
  if (is_list && strcmp(key, "agents") == 0)
    return json_each(reader, take_agent, context);
  return !is_list || strcmp(key, "kernel_symbols") != 0 || json_each(reader, take_symbol, context);
}

bool rocprof_names_read(struct rocprof_names *names, struct slice process)
{
  return json_each_of_text(process.data, process.length, take_member, names);
}

void rocprof_names_done(struct rocprof_names *names)
{
  map_done(&names->kernels);
  map_done(&names->operations);
  map_done(&names->markers);
  map_done(&names->devices);
}

// SPDX-License-Identifier: Apache-2.0
// Looks up what rows of rocpd refer to; see rocpd.h. Called by rocpd.c. A text is taken over when it is asked for first: all that
// are interned are stored.
#include "importers/rocprof/rocpd.h"

#include "base/json_read.h"
#include "importers/rocprof/executions.h"
#include "importers/text_file.h"

#include <string.h>

enum { STRING_TEXT };
enum { SYMBOL_NAME, SYMBOL_DISPLAY_NAME };
enum { PROCESS_PID };
enum { PLACE_PROCESS, PLACE_THREAD, PLACE_AGENT, PLACE_QUEUE, PLACE_STREAM };
enum { TIME_VALUE };
enum { EVENT_CATEGORY, EVENT_STACK, EVENT_DATA };
static const struct {
  const char *table;
  size_t count;
  struct import_column columns[5];
} lookups[ROCPD_LOOKUPS] = {
    [ROCPD_STRINGS] = {"rocpd_string", 1, {{"string", IMPORT_NEEDED}}},
    [ROCPD_SYMBOLS] = {"rocpd_info_kernel_symbol",
                       2,
                       {{"kernel_name", IMPORT_NEEDED}, {"display_name", IMPORT_OPTIONAL}}},
    [ROCPD_PROCESSES] = {"rocpd_info_process", 1, {{"pid", IMPORT_NEEDED}}},
    [ROCPD_THREADS] = {"rocpd_info_thread", 1, {{"tid", IMPORT_NEEDED}}},
    [ROCPD_PLACES] = {"rocpd_track",
                      5,
                      {{"pid", IMPORT_NEEDED},
                       {"tid", IMPORT_NEEDED},
                       {"agent_id", IMPORT_OPTIONAL},
                       {"queue_id", IMPORT_OPTIONAL},
                       {"stream_id", IMPORT_OPTIONAL}}},
    [ROCPD_TIMES] = {"rocpd_timestamp", 1, {{"value", IMPORT_NEEDED}}},
    [ROCPD_EVENTS] = {"rocpd_event",
                      3,
                      {{"category_id", IMPORT_NEEDED}, {"stack_id", IMPORT_NEEDED}, {"extdata", IMPORT_OPTIONAL}}},
};

const char *rocpd_table(struct rocpd *rocpd, const char *base)
{
  size_t length = strlen(base), suffix = strlen(rocpd->suffix);
  char *name = arena_alloc(rocpd->import->arena, length + suffix + 1);
  memcpy(name, base, length);
  memcpy(name + length, rocpd->suffix, suffix + 1);
  return name;
}

static enum status find(struct rocpd *rocpd, enum rocpd_lookup which, int64_t number, bool *ret_has_row,
                        struct error *err)
{
  return import_scan_seek(&rocpd->lookups[which], number, ret_has_row, err);
}

// ---- texts -----------------------------------------------------------------------------------------------------------
enum status rocpd_string(struct rocpd *rocpd, int64_t number, uint32_t *ret_string, struct error *err)
{
  uint64_t *known = map_at(&rocpd->strings, map_number((uint64_t)number), NULL);
  bool has_row = false;
  if (*known == 0) {
    struct import_scan *scan = &rocpd->lookups[ROCPD_STRINGS];
    XSP_TRY(find(rocpd, ROCPD_STRINGS, number, &has_row, err));
    *known = 1 + (uint64_t)(has_row ? import_repaired(rocpd->import, import_scan_text(scan, STRING_TEXT)) : 0);
    XSP_TRY(import_scan_check(scan, err));
  }
  *ret_string = (uint32_t)(*known - 1);
  return STATUS_OK;
}

enum status rocpd_kernel_name(struct rocpd *rocpd, int64_t number, uint32_t *ret_string, struct error *err)
{
  uint64_t *known = map_at(&rocpd->symbols, map_number((uint64_t)number), NULL);
  bool has_row = false;
  if (*known == 0) {
    struct import_scan *scan = &rocpd->lookups[ROCPD_SYMBOLS];
    XSP_TRY(find(rocpd, ROCPD_SYMBOLS, number, &has_row, err));
    struct slice text = has_row ? import_scan_text(scan, SYMBOL_DISPLAY_NAME) : slice_of("");
    if (has_row && text.length == 0)
      text = import_scan_text(scan, SYMBOL_NAME);
    *known = 1 + (uint64_t)import_repaired(rocpd->import, text);
    XSP_TRY(import_scan_check(scan, err));
  }
  *ret_string = (uint32_t)(*known - 1);
  return STATUS_OK;
}

// ---- numbers ---------------------------------------------------------------------------------------------------------
enum status rocpd_system_id(struct rocpd *rocpd, enum rocpd_lookup which, int64_t row, int64_t *ret_id,
                            struct error *err)
{
  bool has_row;
  XSP_TRY(find(rocpd, which, row, &has_row, err));
  *ret_id = has_row ? import_scan_int(&rocpd->lookups[which], PROCESS_PID, row) : row;
  return import_scan_check(&rocpd->lookups[which], err);
}

enum status rocpd_place_of(struct rocpd *rocpd, int64_t track, struct rocpd_place *ret_place, struct error *err)
{
  struct import_scan *scan = &rocpd->lookups[ROCPD_PLACES];
  bool has_row;
  XSP_TRY(find(rocpd, ROCPD_PLACES, track, &has_row, err));
  if (!has_row)
    return STATUS_OK;
  *ret_place = (struct rocpd_place){.process = import_scan_int(scan, PLACE_PROCESS, STORE_NONE),
                                    .thread = import_scan_int(scan, PLACE_THREAD, STORE_NONE),
                                    .agent = import_scan_int(scan, PLACE_AGENT, STORE_NONE),
                                    .queue = import_scan_int(scan, PLACE_QUEUE, STORE_NONE),
                                    .stream = import_scan_int(scan, PLACE_STREAM, STORE_NONE)};
  return import_scan_check(scan, err);
}

enum status rocpd_time(struct rocpd *rocpd, int64_t number, int64_t *ret_ns, bool *ret_has_time, struct error *err)
{
  struct import_scan *scan = &rocpd->lookups[ROCPD_TIMES];
  XSP_TRY(find(rocpd, ROCPD_TIMES, number, ret_has_time, err));
  *ret_ns = *ret_has_time ? import_scan_int(scan, TIME_VALUE, 0) : 0;
  return import_scan_check(scan, err);
}

int64_t rocpd_gpu(const struct rocpd *rocpd, int64_t agent)
{
  const uint64_t *device = map_find(&rocpd->devices, map_number((uint64_t)agent));
  return device != NULL ? (int64_t)*device - 2 : ROCPROF_NO_GPU;
}

// ---- events ----------------------------------------------------------------------------------------------------------
static enum rocpd_class class_of(const char *category)
{
  static const struct {
    const char *prefix;
    enum rocpd_class class;
  } classes[] = {
      {"HIP_", ROCPD_CALL},        {"HSA_", ROCPD_CALL},    {"RCCL_", ROCPD_LIBRARY}, {"ROCDECODE_", ROCPD_LIBRARY},
      {"ROCJPEG_", ROCPD_LIBRARY}, {"OMPT", ROCPD_LIBRARY}, {"KFD_", ROCPD_KFD}};
  for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
    if (strncmp(category, classes[i].prefix, strlen(classes[i].prefix)) == 0)
      return classes[i].class;
  return ROCPD_RANGE;
}

struct message {
  struct import *import;
  uint32_t text;
};

// {"message": "step 1"}: what the program calls a range of roctx, whose name is that of the function that began it.
static bool take_message(void *context, struct json_reader *reader, const char *key)
{
  struct message *message = context;
  if (strcmp(key, "message") == 0 && reader->event == JSON_STRING)
    message->text = import_string(message->import, reader->text, reader->length);
  return true;
}

enum status rocpd_event_of(struct rocpd *rocpd, int64_t number, struct rocpd_event *ret_event, struct error *err)
{
  struct import_scan *scan = &rocpd->lookups[ROCPD_EVENTS];
  uint32_t category = 0;
  size_t length;
  bool has_row;
  *ret_event = (struct rocpd_event){.class = ROCPD_RANGE};
  XSP_TRY(find(rocpd, ROCPD_EVENTS, number, &has_row, err));
  if (!has_row)
    return STATUS_OK;
  ret_event->correlation = import_scan_int(scan, EVENT_STACK, 0);
  int64_t number_of_category = import_scan_int(scan, EVENT_CATEGORY, 0);
  struct slice data = import_scan_text(scan, EVENT_DATA);
  XSP_TRY(import_scan_check(scan, err));
  XSP_TRY(rocpd_string(rocpd, number_of_category, &category, err));
  ret_event->class = class_of(import_text(rocpd->import, category, &length));
  if (ret_event->class == ROCPD_RANGE && data.length > 2) {
    struct message message = {rocpd->import, 0};
    (void)json_each_of_text(data.data, data.length, take_message, &message);
    ret_event->message = message.text;
  }
  return STATUS_OK;
}

// ---- the part --------------------------------------------------------------------------------------------------------
enum { AGENT_ID, AGENT_TYPE, AGENT_PRODUCT, AGENT_COLUMNS };

static enum status read_agent(void *context, struct import_scan *scan, struct error *err)
{
  struct rocpd *rocpd = context;
  bool is_gpu = slice_is(import_scan_text(scan, AGENT_TYPE), "GPU");
  *map_at(&rocpd->devices, map_number((uint64_t)import_scan_int(scan, AGENT_ID, 0)), NULL) =
      is_gpu ? (uint64_t)rocpd->gpu_count++ + 2 : 1;
  uint32_t product = is_gpu ? import_repaired(rocpd->import, import_scan_text(scan, AGENT_PRODUCT)) : 0;
  if (product != 0)
    import_system_text(rocpd->import, "gpu", import_text(rocpd->import, product, NULL));
  return import_scan_check(scan, err);
}

static enum status read_node(void *context, struct import_scan *scan, struct error *err)
{
  struct rocpd *rocpd = context;
  uint32_t host = import_repaired(rocpd->import, import_scan_text(scan, 0));
  if (host != 0)
    import_system_text(rocpd->import, "host", import_text(rocpd->import, host, NULL));
  return import_scan_check(scan, err);
}

enum status rocpd_open(struct rocpd *rocpd, struct error *err)
{
  static const struct import_column agents[AGENT_COLUMNS] = {
      {"id", IMPORT_NEEDED}, {"type", IMPORT_NEEDED}, {"product_name", IMPORT_OPTIONAL}};
  static const struct import_column nodes[] = {{"hostname", IMPORT_OPTIONAL}};
  for (size_t i = 0; i < ROCPD_LOOKUPS; i++)
    XSP_TRY(import_scan_begin_seek(rocpd->database, rocpd_table(rocpd, lookups[i].table), lookups[i].columns,
                                   lookups[i].count, &rocpd->lookups[i], err));
  XSP_TRY(import_read_rows(rocpd->database, rocpd_table(rocpd, "rocpd_info_node"), nodes, 1, read_node, rocpd, err));
  return import_read_rows(rocpd->database, rocpd_table(rocpd, "rocpd_info_agent"), agents, AGENT_COLUMNS, read_agent,
                          rocpd, err);
}

void rocpd_close(struct rocpd *rocpd)
{
  for (size_t i = 0; i < ROCPD_LOOKUPS; i++)
    import_scan_end(&rocpd->lookups[i]);
  map_done(&rocpd->strings);
  map_done(&rocpd->symbols);
  map_done(&rocpd->devices);
}

// SPDX-License-Identifier: Apache-2.0
// NVTX of an Nsight Systems export: ranges on threads, ranges on none, and the rows of the same table that only name
// domains, categories and threads. What a range is, is trace/format/range.h's to say.
#include "importers/nsys/reader.h"

#include "format/range.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char table[] = "NVTX_EVENTS";

enum { // values of eventType; those of NVTX text files (nvtxt) mean the same
  CATEGORY = 33,
  MARK = 34,
  THREAD = 39,
  PUSH_POP = 59,
  START_END = 60,
  TEXT_CATEGORY = 64,
  TEXT_MARK = 65,
  TEXT_PUSH_POP = 70,
  TEXT_START_END = 71,
  TEXT_THREAD = 72,
  DOMAIN_CREATE = 75,
  DOMAIN_DESTROY = 76,
  NAME_DEVICE = 97,
  NAME_STREAM = 99,
};
enum {
  START,
  END,
  TYPE,
  TEXT,
  TEXT_ID,
  THREAD_ID,
  DOMAIN,
  CATEGORY_ID,
  JSON,
  JSON_ID,
  FIRST_PAYLOAD,
  UINT64_PAYLOAD = FIRST_PAYLOAD,
  LAST_PAYLOAD = FIRST_PAYLOAD + 5,
  COLUMNS,
};
static const struct import_column columns[COLUMNS] = {
    {"start", true},           {"end", true},         {"eventType", true},    {"text", IMPORT_EITHER},
    {"textId", IMPORT_EITHER}, {"globalTid", true},   {"domainId", false},    {"category", false},
    {"jsonText", false},       {"jsonTextId", false}, {"uint64Value", false}, {"int64Value", false},
    {"uint32Value", false},    {"int32Value", false}, {"doubleValue", false}, {"floatValue", false},
};

static bool is_on_thread(int64_t type)
{
  return type == PUSH_POP || type == TEXT_PUSH_POP;
}

static bool is_range(int64_t type)
{
  return is_on_thread(type) || type == START_END || type == TEXT_START_END;
}

// Rows that name something, or that mark a domain's beginning and end: no events.
static bool is_name(int64_t type)
{
  return type == CATEGORY || type == THREAD || type == TEXT_CATEGORY ||
         (type >= TEXT_THREAD && type <= DOMAIN_DESTROY) || (type >= NAME_DEVICE && type <= NAME_STREAM);
}

// Whether the row's text is written out, not registered.
static bool is_written_out(struct import_scan *scan)
{
  return import_scan_type(scan, TEXT_ID) == IMPORT_NULL || import_scan_text(scan, TEXT).length > 0;
}

// A registered text may be that of a million rows, so what it means is not asked of more than what anybody writes there.
#define REGISTERED_TEXT_MOST ((size_t)64 << 10)

static bool is_beyond_reading(struct import_scan *scan, size_t length)
{
  return length > REGISTERED_TEXT_MOST && !is_written_out(scan);
}

// The row's text. Valid until the next row.
static enum status row_text(struct nsys_reader *reader, struct import_scan *scan, struct slice *ret_text,
                            struct error *err)
{
  uint32_t string = 0;
  *ret_text = is_written_out(scan) ? import_scan_text(scan, TEXT) : (struct slice){NULL, 0};
  if (ret_text->data != NULL)
    return import_scan_check(scan, err);
  XSP_TRY(nsys_column_string(reader, scan, TEXT_ID, &string, err));
  ret_text->data = import_text(reader->import, string, &ret_text->length);
  return STATUS_OK;
}

static enum status row_string(struct nsys_reader *reader, struct import_scan *scan, uint32_t *ret_string,
                              struct error *err)
{
  struct slice text;
  if (!is_written_out(scan))
    return nsys_column_string(reader, scan, TEXT_ID, ret_string, err);
  XSP_TRY(row_text(reader, scan, &text, err));
  *ret_string = import_repaired(reader->import, text);
  return STATUS_OK;
}

// ---- names: a pass of its own, because a domain may be named after its ranges ---------------------------------------
#define ANY_PROCESS INT64_C(-1) // of names that no process gave

static struct nsys_key domain_key(struct import_scan *scan)
{
  int64_t process = import_scan_type(scan, THREAD_ID) == IMPORT_NULL
                        ? ANY_PROCESS
                        : nsys_process(import_scan_int(scan, THREAD_ID, 0));
  return (struct nsys_key){process, import_scan_int(scan, DOMAIN, 0), 0};
}

// Ranges of a domain less those that begin with "nccl", twice: above 0 means that most begin so. Values of `balances`
// are offset, so that they stay positive and never wrap.
#define BALANCE_ZERO UINT32_C(0x80000000)

static enum status weigh_domain(struct nsys_reader *reader, struct import_scan *scan, struct error *err)
{
  struct slice text;
  uint32_t balance = BALANCE_ZERO;
  struct nsys_key key = domain_key(scan);
  XSP_TRY(row_text(reader, scan, &text, err));
  nsys_map_find(&reader->balances, key, &balance);
  bool is_nccl = slice_starts_with(text, "nccl");
  if (is_nccl && balance < UINT32_MAX)
    balance++;
  else if (!is_nccl && balance > 0)
    balance--;
  nsys_map_put(&reader->balances, key, balance);
  return STATUS_OK;
}

static enum status read_name(void *context, struct import_scan *scan, struct error *err)
{
  struct nsys_reader *reader = context;
  struct nsys_map *names;
  uint32_t name = 0;
  int64_t type = import_scan_int(scan, TYPE, 0);
  struct nsys_key key = domain_key(scan);
  switch (type) {
  case DOMAIN_CREATE:
    names = &reader->domains;
    break;
  case CATEGORY:
  case TEXT_CATEGORY:
    names = &reader->categories;
    key.c = import_scan_int(scan, CATEGORY_ID, 0);
    break;
  case THREAD:
  case TEXT_THREAD:
    names = &reader->thread_names;
    key = (struct nsys_key){import_scan_int(scan, THREAD_ID, 0), 0, 0};
    break;
  default:
    return is_range(type) && key.b != 0 ? weigh_domain(reader, scan, err) : STATUS_OK;
  }
  XSP_TRY(row_string(reader, scan, &name, err));
  if (name != 0)
    nsys_map_put(names, key, name);
  return STATUS_OK;
}

static void name_domains(struct nsys_reader *reader)
{
  const struct nsys_map *balances = &reader->balances;
  uint32_t known;
  for (uint32_t i = 0; i < balances->values.count; i++) {
    struct nsys_key key = nsys_map_key(balances, i), anywhere = {ANY_PROCESS, key.b, 0};
    if (balances->values.items[i] > BALANCE_ZERO && !nsys_map_find(&reader->domains, key, &known) &&
        !nsys_map_find(&reader->domains, anywhere, &known))
      nsys_map_put(&reader->domains, key, import_word(reader->import, "NCCL"));
  }
}

// ---- ranges ----------------------------------------------------------------------------------------------------------
static uint32_t find_name(struct nsys_map *names, struct nsys_key key)
{
  uint32_t name = 0;
  if (nsys_map_find(names, key, &name))
    return name;
  key.a = ANY_PROCESS;
  return nsys_map_find(names, key, &name) ? name : 0;
}

// "[[4, 2], [2]]" as "[[4,2],[2]]": equal shapes are equal texts, and those of other importers.
static void tag_dims(struct nsys_reader *reader, const struct range *range, int64_t span_id)
{
  char compact[4096];
  size_t length = 0;
  uint32_t text;
  for (size_t i = 0; i < range->sizes_length && length < sizeof compact; i++)
    if (range->sizes[i] != ' ')
      compact[length++] = range->sizes[i];
  bool fits = length < sizeof compact;
  text = import_repaired(reader->import,
                         fits ? (struct slice){compact, length} : (struct slice){range->sizes, range->sizes_length});
  import_tag_text(reader->import, span_id, reader->keys.input_dims, text);
}

// SQLite's numbers have a sign: uint64Value has the bits of what is above them.
static void tag_payload(struct nsys_reader *reader, struct import_scan *scan, size_t column, int64_t span_id)
{
  char text[24];
  bool is_integer = import_scan_type(scan, column) == IMPORT_INTEGER;
  int64_t number = is_integer ? import_scan_int(scan, column, 0) : 0;
  if (column != UINT64_PAYLOAD || number >= 0) {
    nsys_tag(reader, scan, column, span_id, reader->keys.payload);
    return;
  }
  int length = snprintf(text, sizeof text, "%" PRIu64, (uint64_t)number);
  import_tag_bytes(reader->import, span_id, reader->keys.payload, text, (size_t)length);
}

static enum status tag_range(struct nsys_reader *reader, struct import_scan *scan, const struct range *range,
                             int64_t span_id, struct error *err)
{
  struct import *import = reader->import;
  uint32_t text;
  if (range->sequence != RANGE_NO_NUMBER)
    import_tag_int(import, span_id, reader->keys.sequence, range->sequence);
  if (range->op_id != RANGE_NO_NUMBER)
    import_tag_int(import, span_id, reader->keys.op_id, range->op_id);
  if (range->sizes != NULL)
    tag_dims(reader, range, span_id);
  if (import_scan_type(scan, CATEGORY_ID) != IMPORT_NULL && import_scan_int(scan, CATEGORY_ID, 0) != 0) {
    struct nsys_key key = domain_key(scan);
    key.c = import_scan_int(scan, CATEGORY_ID, 0);
    text = find_name(&reader->categories, key);
    if (text != 0)
      import_tag_text(import, span_id, reader->keys.nvtx_category, text);
    else
      import_tag_int(import, span_id, reader->keys.nvtx_category, key.c);
  }
  if (import_scan_type(scan, JSON) != IMPORT_NULL) {
    nsys_tag(reader, scan, JSON, span_id, reader->keys.payload);
    return STATUS_OK;
  }
  XSP_TRY(nsys_column_string(reader, scan, JSON_ID, &text, err));
  if (text != 0)
    import_tag_text(import, span_id, reader->keys.payload, text);
  for (size_t column = FIRST_PAYLOAD; column <= LAST_PAYLOAD && text == 0; column++)
    if (import_scan_type(scan, column) != IMPORT_NULL) {
      tag_payload(reader, scan, column, span_id);
      break;
    }
  return STATUS_OK;
}

static enum status read_range(struct nsys_reader *reader, struct import_scan *scan, int64_t type, struct error *err)
{
  struct import *import = reader->import;
  struct store_span span = {.kind = XSP_KIND_SYNC};
  XSP_TRY(nsys_begin_span(reader, scan, START, END, &span, err));
  if (span.span_id == 0)
    return STATUS_OK;
  if (is_on_thread(type) && import_scan_type(scan, THREAD_ID) != IMPORT_NULL)
    XSP_TRY(nsys_thread_track(reader, import_scan_int(scan, THREAD_ID, 0), &span.track_id, err));
  struct nsys_key key = domain_key(scan);
  uint32_t domain = key.b == 0 ? 0 : find_name(&reader->domains, key);
  span.category = domain != 0 ? domain : reader->keys.nvtx;
  struct slice text;
  struct range range;
  XSP_TRY(row_text(reader, scan, &text, err));
  bool is_plain = is_beyond_reading(scan, text.length);
  range_read(domain == 0 ? "" : import_text(import, domain, NULL), text.data, is_plain ? 0 : text.length,
             import->options->model_range, &range);
  if (is_plain)
    XSP_TRY(nsys_column_string(reader, scan, TEXT_ID, &span.name, err));
  else
    span.name = import_repaired(import, (struct slice){range.name, range.name_length});
  span.level = (uint8_t)range.level;
  span.flags = range.is_step ? STORE_SPAN_STEP : 0;
  if (range.level == XSP_LEVEL_LAYER) {
    reader->has_torch |= range.name_length > 6 && memcmp(range.name, "aten::", 6) == 0;
    import_tag_text(import, span.span_id, reader->keys.layer_type, span.name);
  }
  XSP_TRY(tag_range(reader, scan, &range, span.span_id, err));
  return nsys_add(reader, scan, &span, err);
}

static enum status read_row(void *context, struct import_scan *scan, struct error *err)
{
  struct nsys_reader *reader = context;
  int64_t type = import_scan_int(scan, TYPE, 0);
  if (is_range(type))
    return read_range(reader, scan, type, err);
  if (type == MARK || type == TEXT_MARK)
    import_skip(reader->import, "mark");
  else if (!is_name(type))
    import_skip(reader->import, "other NVTX event");
  return STATUS_OK;
}

enum status nsys_read_ranges(struct nsys_reader *reader, struct error *err)
{
  XSP_TRY(import_read_rows(&reader->database, table, columns, JSON, read_name, reader, err));
  name_domains(reader);
  return import_read_rows(&reader->database, table, columns, COLUMNS, read_row, reader, err);
}

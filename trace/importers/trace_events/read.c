// SPDX-License-Identifier: Apache-2.0
// One trace event from its opening to its closing brace: gaps by the tree of shapes where it knows them, else by the
// grammar; values by the scanners of json_scan.h. Called by trace_events.c, which starts again where the window was too
// short. This is where an import of JSON spends its time.
#include "importers/trace_events/trace_events_private.h"

#include "base/memory.h"
#include "base/utf8.h"

// ---- text

static char *scratch_room(struct trace_reader_private *own, size_t bytes)
{
  if (bytes <= SCRATCH_BYTES - own->scratch_used)
    return own->scratch + own->scratch_used;
  return arena_alloc(&own->more_scratch, bytes);
}

static struct slice keep_scratch(struct trace_reader_private *own, char *room, size_t length)
{
  if (room == own->scratch + own->scratch_used)
    own->scratch_used += length;
  return (struct slice){room, length};
}

static struct slice decode_text(struct trace_reader_private *own, const struct json_string *string)
{
  if (string->is_plain)
    return (struct slice){string->at, string->length};
  if (memchr(string->at, '\\', string->length) == NULL && utf8_is_valid(string->at, string->length))
    return (struct slice){string->at, string->length};
  char *room = scratch_room(own, string->length * 3);
  return keep_scratch(own, room, json_decode(string->at, string->length, room));
}

// ---- values

static uint64_t eight_digits(uint64_t word) // the first digit in the lowest byte, '0' taken off
{
  word = word * 10 + (word >> 8);
  return ((word & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
          (word >> 16 & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001)) >>
         32;
}

// A number of up to 16 digits; 16 bytes may be read at `at`.
static uint64_t few_digits(const char *at, unsigned count)
{
  uint64_t first, second;
  memcpy(&first, at, sizeof first);
  memcpy(&second, at + 8, sizeof second);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  first = __builtin_bswap64(first);
  second = __builtin_bswap64(second);
#endif
  first -= UINT64_C(0x3030303030303030);
  if (count - 1 < 8)
    return eight_digits(first << (64 - 8 * count));
  if (count == 0)
    return 0;
  second -= UINT64_C(0x3030303030303030);
  static const uint32_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  return eight_digits(first) * powers[count - 8] + eight_digits(second << (128 - 8 * count));
}

static enum trace_value_type value_type(char first)
{
  switch (first) {
  case '"':
    return TRACE_STRING;
  case '{':
    return TRACE_OBJECT;
  case '[':
    return TRACE_ARRAY;
  case 't':
    return TRACE_TRUE;
  case 'f':
    return TRACE_FALSE;
  case 'n':
  case 'N': // as in NaN
  case 'i':
  case 'I':
    return TRACE_NULL;
  default:
    return TRACE_NUMBER;
  }
}

// After the opening quote.
static const char *read_string(struct trace_reader_private *own, const char *at, struct trace_value *ret_value)
{
  struct json_string string;
  if ((at = json_scan_string(&own->scan, at, &string)) == NULL)
    return NULL;
  ret_value->type = TRACE_STRING;
  ret_value->is_whole = false;
  ret_value->raw = decode_text(own, &string);
  return at;
}

static void set_null(struct trace_value *value)
{
  value->type = TRACE_NULL;
  value->raw = (struct slice){"null", 4};
}

static const char *read_number(struct trace_reader_private *own, const char *at, struct trace_value *ret_value)
{
  unsigned digits;
  const char *end = json_scan_digits(&own->scan, at, &digits);
  ret_value->type = TRACE_NUMBER;
  ret_value->is_whole = digits > 0;
  ret_value->whole = (int64_t)few_digits(at, digits);
  ret_value->raw = (struct slice){at, (size_t)(end - at)};
  if (digits == 0 && end != NULL && (end[-1] < '0' || end[-1] > '9')) // -Infinity, -nan(ind)
    set_null(ret_value);
  return end;
}

const char *trace_read_value(struct trace_reader_private *own, const char *at, unsigned depth,
                             struct trace_value *ret_value)
{
  const char *start = at;
  bool is_plain;
  uint64_t nonfinite_count = own->scan.nonfinite_count;
  if (*at == '"')
    return read_string(own, at + 1, ret_value);
  if ((at = json_scan_value(&own->scan, at, depth, &is_plain)) == NULL)
    return NULL;
  ret_value->type = value_type(*start);
  ret_value->is_whole = false;
  ret_value->raw = (struct slice){start, (size_t)(at - start)};
  if (own->scan.nonfinite_count > nonfinite_count) {
    char *room = scratch_room(own, ret_value->raw.length * 2);
    if (*start != '{' && *start != '[')
      set_null(ret_value);
    else
      ret_value->raw = keep_scratch(own, room, json_null_nonfinite(start, ret_value->raw.length, room));
  }
  if (!is_plain && !utf8_is_valid(ret_value->raw.data, ret_value->raw.length)) {
    char *room = scratch_room(own, ret_value->raw.length * 3);
    ret_value->raw = keep_scratch(own, room, json_repair_utf8(ret_value->raw.data, ret_value->raw.length, room));
  }
  return at;
}

// ---- gaps

const char *trace_read_key(struct trace_reader_private *own, const char *at, struct slice *ret_key, bool *ret_is_plain)
{
  struct json_string key;
  if ((at = json_scan_key(&own->scan, at, &key)) == NULL)
    return NULL;
  *ret_key = decode_text(own, &key);
  *ret_is_plain &= key.is_plain;
  return at;
}

static enum trace_field find_field(struct slice key)
{
  static const char *const names[FIELD_COUNT] = {
      [FIELD_NAME] = "name",    [FIELD_CATEGORY] = "cat", [FIELD_PHASE] = "ph",   [FIELD_TIME] = "ts",
      [FIELD_DURATION] = "dur", [FIELD_PROCESS] = "pid",  [FIELD_THREAD] = "tid", [FIELD_ID] = "id",
      [FIELD_ID2] = "id2",      [FIELD_SCOPE] = "scope"};
  for (enum trace_field field = FIELD_NAME; field < FIELD_COUNT; field++)
    if (slice_is(key, names[field]))
      return field;
  return FIELD_OTHER;
}

// From after a value, or after the event's opening brace (`is_first`), to the next value or after the event's end.
static const char *scan_gap(struct trace_reader_private *own, const char *at, bool is_first, bool in_arguments,
                            struct gap *ret_gap)
{
  *ret_gap = (struct gap){.in_arguments = in_arguments, .is_plain = true};
  for (;;) {
    at = json_scan_space(at);
    if (*at == '}') {
      at++;
      if (!ret_gap->in_arguments) {
        ret_gap->end = GAP_EVENT;
        ret_gap->is_special = true;
        return at;
      }
      ret_gap->in_arguments = is_first = false;
      continue;
    }
    if (!is_first) {
      if (*at != ',')
        return json_scan_short(&own->scan, at, "',' or '}' was expected");
      at = json_scan_space(at + 1);
    }
    if ((at = trace_read_key(own, at, &ret_gap->key, &ret_gap->is_plain)) == NULL)
      return NULL;
    if (ret_gap->in_arguments) {
      ret_gap->field = FIELD_ARGUMENT;
      break;
    }
    ret_gap->field = find_field(ret_gap->key);
    if (ret_gap->field != FIELD_OTHER || !slice_is(ret_gap->key, "args"))
      break;
    ret_gap->begins_arguments = true;
    if (*at != '{')
      break;
    ret_gap->in_arguments = is_first = true;
    at++;
  }
  if (at >= own->scan.end)
    return json_scan_short(&own->scan, at, "a value was expected");
  ret_gap->end = *at == '"' ? GAP_STRING : *at >= '-' && *at <= '9' ? GAP_NUMBER : GAP_VALUE;
  ret_gap->is_special = ret_gap->begins_arguments;
  return at + (*at == '"');
}

// Room for more arguments; NULL: there are too many.
static struct trace_argument *more_arguments(struct trace_reader_private *own, const char *at)
{
  size_t capacity = own->argument_capacity * 2;
  if (capacity > ARGUMENTS_MOST) {
    json_scan_fail(&own->scan, at, "an event has more than 65536 arguments");
    return NULL;
  }
  own->arguments = memory_resize(own->arguments, capacity, sizeof *own->arguments);
  struct trace_argument *next = own->arguments + own->argument_capacity;
  own->argument_capacity = capacity;
  return next;
}

// ---- times

// µs with up to 16 digits and three decimals or none, as nearly all are; false: let json_time look.
static bool read_time_fast(const struct slice *number, int64_t *ret_ns)
{
  const char *at = number->data;
  uint32_t digits = block_digits(at);
  unsigned whole = block_first(~digits);
  if (whole == 0)
    return false;
  uint64_t ns = few_digits(at, whole) * 1000;
  if (number->length == whole + 4 && at[whole] == '.' && (block_digits(at + whole + 1) & 7) == 7)
    ns += (uint64_t)(at[whole + 1] * 100 + at[whole + 2] * 10 + at[whole + 3] - '0' * 111);
  else if (number->length != whole)
    return false;
  *ret_ns = (int64_t)ns;
  return ns < INT64_MAX / 2; // so that a start and a duration have a sum
}

// Some write times as strings, so that no reader of JSON makes doubles of them.
static bool is_time(const struct trace_value *value)
{
  return value->type == TRACE_NUMBER ||
         (value->type == TRACE_STRING && json_time_is_number(value->raw.data, value->raw.length));
}

// False where a time cannot be represented.
static bool set_times(struct trace_event *event, const struct trace_value *time, const struct trace_value *duration)
{
  int64_t duration_ns = 0;
  event->has_start = is_time(time);
  event->has_duration = is_time(duration);
  event->start_ns = event->end_ns = 0;
  bool is_string = time->type == TRACE_STRING || duration->type == TRACE_STRING; // may lie where no 16 bytes follow
  if (event->has_start && !is_string && read_time_fast(&time->raw, &event->start_ns) &&
      (!event->has_duration || read_time_fast(&duration->raw, &duration_ns))) {
    event->end_ns = event->start_ns + duration_ns;
    return true;
  }
  struct slice from = event->has_start ? time->raw : (struct slice){"0", 1};
  return json_time(from.data, from.length, event->has_duration ? duration->raw.data : NULL,
                   event->has_duration ? duration->raw.length : 0, &event->start_ns, &event->end_ns);
}

// ---- events

static struct slice string_or_nothing(const struct trace_value *value)
{
  return value->type == TRACE_STRING ? value->raw : (struct slice){"", 0};
}

// The gap at `at` by the grammar; kept after *node, which becomes NULL where there is no room for it.
static const char *read_new_gap(struct trace_reader_private *own, const char *at, const struct gap *before,
                                struct trace_shape **node, struct gap *read)
{
  const char *behind = scan_gap(own, at, before == NULL, before != NULL && before->in_arguments, read);
  if (behind != NULL && *node != NULL)
    *node = trace_shapes_add(&own->shapes, *node, at, (size_t)(behind - at), read);
  return behind;
}

static struct trace_value value_or_nothing(const struct trace_value *value)
{
  return value->type != TRACE_NONE ? *value : (struct trace_value){0};
}

static bool finish_event(struct trace_reader_private *own, const char *start, struct trace_event *event)
{
  const struct trace_value *fields = own->fields;
  struct slice phase = string_or_nothing(&fields[FIELD_PHASE]);
  event->name = string_or_nothing(&fields[FIELD_NAME]);
  event->category = string_or_nothing(&fields[FIELD_CATEGORY]);
  event->phase = phase.length == 1 ? phase.data[0] : 0;
  event->process_id = value_or_nothing(&fields[FIELD_PROCESS]);
  event->thread_id = value_or_nothing(&fields[FIELD_THREAD]);
  event->id = value_or_nothing(&fields[FIELD_ID]);
  event->id2 = value_or_nothing(&fields[FIELD_ID2]);
  event->scope = string_or_nothing(&fields[FIELD_SCOPE]);
  event->arguments = own->arguments;
  event->offset = input_offset(own->input, start);
  return set_times(event, &fields[FIELD_TIME], &fields[FIELD_DURATION]);
}

const char *trace_read_event(struct trace_reader_private *own, const char *at, unsigned depth,
                             struct trace_event *event)
{
  const char *start = at++;
  struct trace_shape *node = own->shapes.nodes; // where we are in the tree; NULL: outside
  const struct gap *gap = NULL;
  struct gap read; // by the grammar
  struct trace_argument *argument = own->arguments;
  for (unsigned i = 0; i < FIELD_COUNT; i++) // by itself, a compiler makes a slow fill of whole values out of this
    own->fields[i].type = TRACE_NONE;
  for (;;) {
    struct trace_shape *next = node != NULL ? shapes_find(node, at) : NULL;
    if (next != NULL) {
      node = next;
      at += next->length;
      gap = &next->gap;
    } else {
      if ((at = read_new_gap(own, at, gap, &node, &read)) == NULL)
        return NULL;
      gap = node != NULL ? &node->gap : &read;
    }
    if (gap->is_special) {
      if (gap->begins_arguments)
        argument = own->arguments;
      if (gap->end == GAP_EVENT)
        break;
    }
    struct trace_value *value = &own->fields[gap->field];
    if (gap->field == FIELD_ARGUMENT) {
      if (argument == own->arguments + own->argument_capacity && (argument = more_arguments(own, at)) == NULL)
        return NULL;
      argument->key = gap->key;
      argument->key_number = gap->key_number;
      value = &argument++->value;
    }
    if (gap->end == GAP_NUMBER)
      at = read_number(own, at, value);
    else if (gap->end == GAP_STRING)
      at = read_string(own, at, value);
    else
      at = trace_read_value(own, at, depth + 1 + gap->in_arguments, value);
    if (at == NULL)
      return NULL;
  }
  event->argument_count = (size_t)(argument - own->arguments);
  if (!finish_event(own, start, event))
    return json_scan_fail(&own->scan, start, "a time of this event is beyond 64 bits of nanoseconds");
  return at;
}

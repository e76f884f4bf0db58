// SPDX-License-Identifier: Apache-2.0
// Decodes an event and its values, most of an import's work: called by xplane.c for each event of the second and third pass, by
// names.c for the facts of planes.
#include "importers/xplane/xplane.h"

enum { EVENT_NAME = 1, EVENT_OFFSET = 2, EVENT_DURATION = 3, EVENT_STATS = 4, EVENT_COUNT = 5 };     // XEvent
enum { STAT_NAME = 1, STAT_DOUBLE, STAT_UINT64, STAT_INT64, STAT_TEXT, STAT_BYTES, STAT_REFERENCE }; // XStat
#define PS_PER_NS 1000
#define ENDS_OF_NUMBERS UINT64_C(0x8080808080808080) // highest bits: 0 in a number's last byte only

// ---- values ----------------------------------------------------------------------------------------------------------

static inline void set_reference(const struct xplane *x, const struct xplane_plane *plane, struct xplane_value *value,
                                 uint64_t number)
{
  uint32_t place = xplane_place(&plane->stats, number);
  if (place == 0)
    return;
  value->type = VALUE_TEXT;
  value->reference = x->stat_names.items[place - 1].text + 1;
  value->text = xplane_text(x, value->reference - 1);
}

// XStat: a name and one value, which may be the name of another value. False: a field of another kind.
static inline bool take_stat(const struct xplane *x, const struct xplane_plane *plane, const struct wire_field *field,
                             struct xplane_value *value)
{
  switch (WIRE_KEY(field->number, field->type)) {
  case WIRE_KEY(STAT_UINT64, WIRE_VARINT):
  case WIRE_KEY(STAT_INT64, WIRE_VARINT):
    value->type = VALUE_INT;
    value->integer = (int64_t)field->value;
    value->is_large = field->number == STAT_UINT64 && field->value > INT64_MAX;
    return true;
  case WIRE_KEY(STAT_REFERENCE, WIRE_VARINT):
    set_reference(x, plane, value, field->value);
    return true;
  case WIRE_KEY(STAT_DOUBLE, WIRE_FIXED64):
    value->type = VALUE_DOUBLE;
    memcpy(&value->real, &field->value, sizeof value->real);
    return true;
  case WIRE_KEY(STAT_TEXT, WIRE_BYTES):
    value->type = VALUE_TEXT;
    value->text = (struct slice){field->bytes, field->length};
    value->reference = 0;
    return true;
  default:
    return field->number > STAT_REFERENCE || field->number == STAT_BYTES;
  }
}

// Reads one value; inline, as an event has several.
static inline bool read_value(const struct xplane *x, const struct xplane_plane *plane, struct wire *stat,
                              enum xplane_stat *ret_stat, struct xplane_value *ret_value)
{
  struct wire_field field;
  uint32_t place = 0;
  *ret_value = (struct xplane_value){.type = VALUE_NONE};
  *ret_stat = STAT_OTHER;
  while (wire_next_quick(stat, &field)) {
    if (wire_is(&field, STAT_NAME, WIRE_VARINT))
      place = xplane_place(&plane->stats, field.value);
    else if (!take_stat(x, plane, &field, ret_value))
      return false;
  }
  if (place != 0) {
    *ret_stat = (enum xplane_stat)x->stat_names.items[place - 1].stat;
    ret_value->name = x->stat_names.items[place - 1].text;
  } else {
    ret_value->type = VALUE_NONE;
  }
  return stat->problem == NULL;
}

bool xplane_value_read(const struct xplane *x, const struct xplane_plane *plane, struct wire *stat,
                       struct xplane_value *ret_value)
{
  enum xplane_stat which;
  return read_value(x, plane, stat, &which, ret_value);
}

// ---- events ----------------------------------------------------------------------------------------------------------

static inline void keep_value(struct xplane_event *event, enum xplane_stat which, const struct xplane_value *value)
{
  if (which != STAT_OTHER)
    event->values[which] = *value;
  else if (event->other_count < XPLANE_OTHERS && value->type != VALUE_NONE)
    event->others[event->other_count++] = *value;
}

// The number at `at`. Returns how many bytes it has; 0: more than eight. What is read after its message is the window's.
static inline unsigned short_number(const char *at, uint64_t *ret_number)
{
  uint64_t word;
  *ret_number = (unsigned char)*at;
  if (*ret_number < 0x80)
    return 1;
  memcpy(&word, at, sizeof word); // x86-64 and aarch64 are little-endian, as the format is
  uint64_t ends = ~word & ENDS_OF_NUMBERS;
  if (ends == 0)
    return 0;
  word &= (ends ^ (ends - 1)) & ~ENDS_OF_NUMBERS;
  word -= (word & UINT64_C(0x7f007f007f007f00)) >> 1;
  word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
  *ret_number = (word & UINT64_C(0x000000000fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
  return (unsigned)__builtin_ctzll(ends) / 8 + 1;
}

// Reads an event's own fields as long as they are numbers of at most eight bytes, as most are.
static inline void read_short_numbers(struct wire *wire, uint64_t *numbers)
{
  const char *at = wire->at;
  while (at < wire->end) {
    unsigned key = (unsigned char)*at;
    uint64_t number;
    if ((key & ~(unsigned)WIRE_KEY(EVENT_DURATION, WIRE_VARINT)) != 0 || key == 0)
      break;
    unsigned bytes = short_number(at + 1, &number);
    if (bytes == 0 || bytes >= (size_t)(wire->end - at))
      break;
    numbers[key >> 3] = number;
    at += 1 + bytes;
  }
  wire->at = at;
}

static inline void set_short_value(const struct xplane *x, const struct xplane_line *line, uint32_t place,
                                   bool is_number, uint64_t number, struct xplane_event *event)
{
  const struct xplane_stat_name *stat = &x->stat_names.items[place - 1];
  struct xplane_value other = {.name = stat->text}, *value = &other;
  if (stat->stat != STAT_OTHER)
    value = &event->values[stat->stat];
  value->type = is_number ? VALUE_INT : VALUE_NONE;
  value->integer = (int64_t)number;
  if (!is_number)
    set_reference(x, line->plane, value, number);
  if (stat->stat == STAT_OTHER)
    keep_value(event, STAT_OTHER, &other);
}

#define SHORT_KIND(stat) (UINT64_C(1) << WIRE_KEY(stat, WIRE_VARINT))
#define SHORT_KINDS (SHORT_KIND(STAT_INT64) | SHORT_KIND(STAT_UINT64) | SHORT_KIND(STAT_REFERENCE))

// Reads values as long as they are as most are: a name's number below 128, and a number of at most eight bytes.
// EVENT_STATS, length, STAT_NAME, name, kind, number.
static inline void read_short_stats(const struct xplane *x, const struct xplane_line *line, struct wire *wire,
                                    struct xplane_event *event)
{
  const struct xplane_numbers *names = &line->plane->stats;
  const char *at = wire->at;
  uint32_t head;
  uint64_t number;
  for (; at < wire->end; at += 5 + (head >> 8 & 0xff) - 3) {
    memcpy(&head, at, sizeof head);
    unsigned bytes = (head >> 8 & 0xff) - 3, name = head >> 24, kind = (unsigned char)at[4];
    if ((head & 0x80ff00ff) != (WIRE_KEY(STAT_NAME, WIRE_VARINT) << 16 | WIRE_KEY(EVENT_STATS, WIRE_BYTES)) ||
        name >= names->direct_count || kind > 63 || (SHORT_KINDS >> kind & 1) == 0 || bytes == 0 ||
        short_number(at + 5, &number) != bytes || bytes + 5 > (size_t)(wire->end - at))
      break;
    if (names->direct[name] != 0)
      set_short_value(x, line, names->direct[name], kind != WIRE_KEY(STAT_REFERENCE, WIRE_VARINT), number, event);
  }
  wire->at = at;
}

static bool read_stat(const struct xplane *x, const struct xplane_line *line, struct wire stat,
                      struct xplane_event *event)
{
  enum xplane_stat which;
  struct xplane_value value;
  if (!read_value(x, line->plane, &stat, &which, &value))
    return false;
  keep_value(event, which, &value);
  return true;
}

// Times relative to the line, in picoseconds, become the file's, in nanoseconds, rounded down. NULL: they are good.
static const char *set_times(const struct xplane_line *line, int64_t offset_ps, int64_t duration_ps,
                             struct xplane_event *event)
{
  int64_t end_ps, length_ns, line_ns = line->timestamp_ns, start_ns = line->plane->start_ns;
  if (duration_ps < 0)
    return "negative duration";
  if (line_ns < start_ns && __builtin_add_overflow(line_ns, start_ns, &line_ns)) // else it is no offset
    return "time beyond 64 bits";
  if (__builtin_add_overflow(offset_ps, duration_ps, &end_ps) ||
      __builtin_add_overflow(line_ns, offset_ps / PS_PER_NS, &event->start_ns) ||
      __builtin_add_overflow(line_ns, end_ps / PS_PER_NS, &event->end_ns))
    return "time beyond 64 bits";
  return __builtin_sub_overflow(event->end_ns, event->start_ns, &length_ns) ? "time beyond 64 bits" : NULL;
}

enum status xplane_read_event(struct xplane *x, struct xplane_line *line, struct slice bytes, struct error *err)
{
  struct xplane_event event; // not cleared: an event has few of the values that there are
#pragma GCC unroll 16
  for (size_t i = 0; i < STAT_OTHER; i++)
    event.values[i].type = VALUE_NONE;
  event.other_count = 0;
  struct wire wire = wire_over(bytes.data, bytes.length);
  struct wire_field field;
  uint64_t numbers[EVENT_DURATION + 1] = {0};
  bool is_sum = false;
  read_short_numbers(&wire, numbers); // its name is mostly the first of them
  if (x->pass == PASS_SPANS && line->plane->kind == PLANE_HOST && xplane_skips(x, line, numbers[EVENT_NAME]))
    return STATUS_OK;
  for (;;) {
    read_short_numbers(&wire, numbers);
    read_short_stats(x, line, &wire, &event);
    if (!wire_next_quick(&wire, &field))
      break;
    if (field.type == WIRE_VARINT && field.number <= EVENT_DURATION)
      numbers[field.number] = field.value;
    else if (wire_is(&field, EVENT_COUNT, WIRE_VARINT))
      is_sum = true;
    else if (wire_is(&field, EVENT_STATS, WIRE_BYTES) && !read_stat(x, line, wire_inside(&field), &event))
      return xplane_broken(x, "an event's value is damaged", err);
  }
  if (wire.problem != NULL)
    return xplane_broken(x, wire.problem, err);
  uint32_t place = xplane_place(&line->plane->events, numbers[EVENT_NAME]);
  const char *reason = place == 0 ? "no name"
                       : is_sum
                           ? "sum of events"
                           : set_times(line, (int64_t)numbers[EVENT_OFFSET], (int64_t)numbers[EVENT_DURATION], &event);
  if (reason != NULL) {
    if (x->pass == PASS_SPANS)
      import_skip(x->import, reason);
    return STATUS_OK;
  }
  event.name = &x->event_names.items[place - 1];
  event.shown = xplane_text(x, event.name->text);
  if (x->pass == PASS_SURVEY)
    return xplane_survey_event(x, line->plane, &event) ? STATUS_OK : STATUS_NO;
  if (line->plane->kind == PLANE_DEVICE)
    return xplane_device_event(x, line, &event, err);
  return xplane_skips(x, line, numbers[EVENT_NAME]) ? STATUS_OK : xplane_host_event(x, line, &event, err);
}

// SPDX-License-Identifier: Apache-2.0
// The tables of planes: names of events and of values, facts about devices. Called by xplane.c in the first pass.
#include "importers/xplane/xplane.h"

#include <ctype.h>
#include <stdlib.h>

enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };            // of a map
enum { EVENT_NAME_TEXT = 2, EVENT_NAME_STATS = 5 }; // XEventMetadata
enum { STAT_NAME_TEXT = 2 };                        // XStatMetadata
enum { STAT_BYTES = 6 };                            // XStat

static struct xplane_plane *current(struct xplane *x)
{
  return &x->planes.items[x->plane];
}

// ---- planes ----------------------------------------------------------------------------------------------------------

// "/device:GPU:4" has 4.
static int64_t ordinal_of(struct slice name)
{
  const char *colon = memrchr(name.data, ':', name.length);
  int64_t number;
  if (colon == NULL || !slice_int64(slice_after(name, (size_t)(colon - name.data) + 1), &number))
    return STORE_NONE;
  return number;
}

void xplane_name_plane(struct xplane *x, struct slice name)
{
  struct xplane_plane *plane = current(x);
  plane->name = xplane_text(x, interner_at(&x->texts, name.data, name.length));
  plane->ordinal = ordinal_of(plane->name);
  plane->is_tpu = slice_starts_with(plane->name, "/device:TPU");
  plane->kind = slice_is(plane->name, "/host:metadata")          ? PLANE_HLO
                : slice_starts_with(plane->name, "/host:")       ? PLANE_HOST
                : slice_starts_with(plane->name, "/device:GPU:") ? PLANE_DEVICE
                : plane->is_tpu                                  ? PLANE_DEVICE
                : slice_is(plane->name, "/xsp:threads")          ? PLANE_THREADS
                                                                 : PLANE_OTHER;
}

// ---- names -----------------------------------------------------------------------------------------------------------

static enum status add_text(struct xplane *x, struct slice text, uint32_t *ret_text, struct error *err)
{
  *ret_text = interner_at(&x->texts, text.data, text.length);
  return x->texts.arena.used_bytes <= import_text_bytes_most(x->import) ? STATUS_OK
                                                                        : import_too_many_texts(x->import, err);
}

// "replica_4/MatMul:MatMul" and "n/_1:_FusedMatMul" end in the operation's type; "ThunkExecutor::Execute" and "a: b" do not.
static size_t type_start(struct slice name)
{
  size_t start = name.length;
  while (start > 0 && (isalnum((unsigned char)name.data[start - 1]) || name.data[start - 1] == '_'))
    start--;
  size_t letter = start + (start < name.length && name.data[start] == '_');
  bool is_type = start > 1 && letter < name.length && name.data[start - 1] == ':' && name.data[start - 2] != ':' &&
                 isalpha((unsigned char)name.data[letter]) && memchr(name.data, ' ', name.length) == NULL;
  return is_type ? start : 0;
}

static const char end_prefix[] = "end: ", call_prefix[] = "PjitFunction(";

static enum status classify(struct xplane *x, struct slice text, struct xplane_event_name *name, struct error *err)
{
  struct slice inner = {"", 0};
  size_t type;
  if (slice_starts_with(text, end_prefix)) {
    name->class = CLASS_END;
    inner = slice_after(text, strlen(end_prefix));
  } else if (slice_starts_with(text, call_prefix) && slice_ends_with(text, ")")) {
    name->class = CLASS_FUNCTION;
    inner = slice_after(text, strlen(call_prefix));
    inner.length--;
  } else if (slice_starts_with(text, "$")) {
    name->class = CLASS_PYTHON;
  } else if (slice_starts_with(text, "ThreadpoolListener::")) {
    name->class = CLASS_MARK;
  } else if (slice_is(text, "trace_to_jaxpr_dynamic") || slice_is(text, "lower_sharding_computation")) {
    name->class = CLASS_PREPARE;
  } else if (slice_starts_with(text, "backend_compile")) {
    name->class = CLASS_COMPILE;
  } else if ((type = type_start(text)) > 0) {
    name->class = CLASS_OPERATION;
    inner = slice_after(text, type);
  }
  return add_text(x, inner, &name->inner, err);
}

// What a map's entry has: a number, and a message.
static bool entry_read(struct wire *entry, uint64_t *ret_key, struct wire *ret_value)
{
  struct wire_field field;
  *ret_key = 0;
  *ret_value = wire_over(NULL, 0);
  while (wire_next(entry, &field)) {
    if (wire_is(&field, ENTRY_KEY, WIRE_VARINT))
      *ret_key = field.value;
    else if (wire_is(&field, ENTRY_VALUE, WIRE_BYTES))
      *ret_value = wire_inside(&field);
  }
  return entry->problem == NULL;
}

// The bytes of the value that a module's entry has.
static void read_module(struct xplane *x, struct slice name, struct wire value)
{
  struct wire_field stat, field;
  while (wire_find(&value, EVENT_NAME_STATS, WIRE_BYTES, &stat)) {
    struct wire inside = wire_inside(&stat);
    while (wire_find(&inside, STAT_BYTES, WIRE_BYTES, &field))
      if (!xplane_add_module(x, name, (struct slice){field.bytes, field.length}))
        import_note(x->import, "the description of module %.100s is damaged: its operations have no types and sources",
                    xplane_text(x, interner_at(&x->texts, name.data, name.length)).data);
  }
}

enum status xplane_add_event_name(struct xplane *x, struct wire entry, struct error *err)
{
  struct xplane_plane *plane = current(x);
  struct wire value;
  struct wire_field field;
  struct slice text = {"", 0};
  uint64_t key;
  if (!entry_read(&entry, &key, &value))
    return xplane_broken(x, entry.problem, err);
  struct wire rest = value;
  while (wire_next(&rest, &field))
    if (wire_is(&field, EVENT_NAME_TEXT, WIRE_BYTES))
      text = (struct slice){field.bytes, field.length};
  if (rest.problem != NULL)
    return xplane_broken(x, rest.problem, err);
  if (plane->kind == PLANE_HLO)
    read_module(x, text, value);
  if (plane->kind != PLANE_HOST && plane->kind != PLANE_DEVICE)
    return STATUS_OK;
  struct xplane_event_name *name = vector_add(&x->event_names);
  *map_at(&plane->events.map, map_number(key), NULL) = x->event_names.count;
  XSP_TRY(add_text(x, text, &name->text, err));
  return classify(x, xplane_text(x, name->text), name, err);
}

static enum xplane_stat stat_of(struct slice name)
{
#define X(member, text)                                                                                                \
  if (slice_is(name, text))                                                                                            \
    return STAT_##member;
  XPLANE_STATS(X)
#undef X
  return STAT_OTHER;
}

enum status xplane_add_stat_name(struct xplane *x, struct wire entry, struct error *err)
{
  struct wire value;
  struct wire_field field;
  struct slice text = {"", 0};
  uint64_t key;
  if (!entry_read(&entry, &key, &value))
    return xplane_broken(x, entry.problem, err);
  while (wire_next(&value, &field))
    if (wire_is(&field, STAT_NAME_TEXT, WIRE_BYTES))
      text = (struct slice){field.bytes, field.length};
  if (value.problem != NULL)
    return xplane_broken(x, value.problem, err);
  struct xplane_stat_name *name = vector_add(&x->stat_names);
  *map_at(&current(x)->stats.map, map_number(key), NULL) = x->stat_names.count;
  name->stat = (uint8_t)stat_of(text);
  return add_text(x, text, &name->text, err);
}

static void make_direct(struct xplane_numbers *numbers)
{
  size_t count = 2 * numbers->map.count;
  if (count == 0)
    return;
  numbers->direct = memory_new(count, sizeof *numbers->direct);
  for (size_t i = 0; i < count; i++)
    numbers->direct[i] = xplane_place(numbers, i);
  numbers->direct_count = count;
}

void xplane_names_end(struct xplane *x)
{
  for (size_t i = 0; i < x->planes.count; i++) {
    make_direct(&x->planes.items[i].events);
    make_direct(&x->planes.items[i].stats);
  }
}

void xplane_numbers_done(struct xplane_numbers *numbers)
{
  map_done(&numbers->map);
  free(numbers->direct);
}

// ---- facts about the machine -----------------------------------------------------------------------------------------

static const struct {
  const char *name, *key;
  double factor;
} device_facts[] = {{"core_count", "gpu_multiprocessors", 1},
                    {"memory_size", "gpu_memory_bytes", 1},
                    {"memory_bandwidth", "memory_bandwidth_bytes_per_s", 1},
                    {"clock_rate", "gpu_clock_hz", 1000}};

static void keep_fact(struct xplane *x, const struct xplane_value *value)
{
  struct xplane_plane *plane = current(x);
  struct slice name = xplane_text(x, value->name);
  char text[128];
  snprintf(text, sizeof text, "%.*s", (int)value->text.length, value->text.length > 0 ? value->text.data : "");
  if (slice_is(name, "process_id") && value->type == VALUE_INT)
    plane->process_id = value->integer;
  else if (slice_is(name, "profile_start_time") && value->type == VALUE_INT && value->integer > 0) {
    x->has_start = true;
    plane->start_ns = value->integer;
  } else if (slice_is(name, "jax_version") && value->type == VALUE_TEXT)
    import_framework(x->import, "jax", text);
  else if (slice_is(name, "jaxlib_version") && value->type == VALUE_TEXT)
    import_system_text(x->import, "jaxlib_version", text);
  else if (slice_is(name, "device_type_string") && value->type == VALUE_TEXT && plane->kind == PLANE_DEVICE)
    import_system_text(x->import, "gpu", text);
  for (size_t i = 0; i < sizeof device_facts / sizeof device_facts[0]; i++)
    if (plane->kind == PLANE_DEVICE && value->type == VALUE_INT && slice_is(name, device_facts[i].name))
      import_system_number(x->import, device_facts[i].key, (double)value->integer * device_facts[i].factor);
}

enum status xplane_plane_fact(struct xplane *x, struct wire stat, struct error *err)
{
  struct xplane_value value;
  if (!xplane_value_read(x, current(x), &stat, &value))
    return xplane_broken(x, stat.problem, err);
  if (value.type != VALUE_NONE)
    keep_fact(x, &value);
  return STATUS_OK;
}

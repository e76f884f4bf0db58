// SPDX-License-Identifier: Apache-2.0
// Asynchronous operations of a TPU: "copy-start.3" begins one and "copy-done.3" ends it, with others between them. Both are on the
// line "XLA Ops", under their name or as HLO's text: "%copy-done.3 = f32[8]{0} copy-done(%copy-start.3)". Called by device.c.
#include "importers/xplane/xplane.h"

static const char start[] = "-start", done[] = "-done";

// What an instruction's text begins with; its name where it is one.
static struct slice name_of(struct slice text)
{
  size_t length = 0;
  if (slice_starts_with(text, "%"))
    text = slice_after(text, 1);
  while (length < text.length && memchr(" ,()", text.data[length], 4) == NULL)
    length++;
  return (struct slice){text.data, length};
}

// "copy-start.3" ends in "-start", but for its number.
static bool is_part(struct slice name, const char *part, struct slice *ret_stem)
{
  const char *dot = name.length > 0 ? memrchr(name.data, '.', name.length) : NULL;
  int64_t number;
  *ret_stem = name;
  if (dot != NULL && slice_int64(slice_after(name, (size_t)(dot - name.data) + 1), &number))
    ret_stem->length = (size_t)(dot - name.data);
  if (!slice_ends_with(*ret_stem, part))
    return false;
  ret_stem->length -= strlen(part);
  return true;
}

static uint32_t reference_of(struct xplane *x, const struct xplane_value *value)
{
  return value->type == VALUE_TEXT ? xplane_value_text(x, value) + 1 : 0;
}

bool xplane_starts(struct xplane *x, struct xplane_line *line, const struct xplane_event *event,
                   struct xplane_started *ret_lost)
{
  struct slice name = name_of(event->shown), stem;
  *ret_lost = (struct xplane_started){0};
  if (!is_part(name, start, &stem))
    return false;
  uint64_t *place = map_at(&line->started_at, map_number(interner_at(&x->texts, name.data, name.length)), NULL);
  if (*place == 0) {
    (void)vector_add(&line->started);
    *place = line->started.count;
  }
  struct xplane_started *started = &line->started.items[*place - 1];
  *ret_lost = *started;
  *started = (struct xplane_started){event->name,
                                     event->start_ns,
                                     event->end_ns,
                                     reference_of(x, &event->values[STAT_hlo_op]),
                                     reference_of(x, &event->values[STAT_hlo_module]),
                                     true};
  return true;
}

// The operand that is a start, else the start of the same number.
struct xplane_started *xplane_started_by(struct xplane *x, struct xplane_line *line, const struct xplane_event *event)
{
  struct slice name = name_of(event->shown), stem, rest = event->shown, operand;
  char text[256];
  if (line->started.count == 0 || !is_part(name, done, &stem))
    return NULL;
  int length = snprintf(text, sizeof text, "%.*s%s%.*s", (int)stem.length, stem.data, start,
                        (int)(name.length - stem.length - strlen(done)), stem.data + stem.length + strlen(done));
  struct slice found = {text, length > 0 && (size_t)length < sizeof text ? (size_t)length : 0};
  while (slice_cut(&rest, '%', &operand)) {
    struct slice operand_stem;
    if (is_part(name_of(operand), start, &operand_stem))
      found = name_of(operand);
  }
  const uint64_t *place =
      found.length > 0 ? map_find(&line->started_at, map_number(interner_at(&x->texts, found.data, found.length)))
                       : NULL;
  struct xplane_started *started = place != NULL ? &line->started.items[*place - 1] : NULL;
  return started != NULL && started->is_open ? started : NULL;
}

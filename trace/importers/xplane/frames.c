// SPDX-License-Identifier: Apache-2.0
// Which lines of Python made an operation of a module, and what called them: numbers of the module's StackFrameIndex. Called by
// hlo.c.
#include "importers/xplane/frames.h"

#define CALLERS_MOST 256u // of a path that are kept: JAX records 10

// Numbers of fields in hlo.proto.
enum { INDEX_FILES = 1, INDEX_FUNCTIONS = 2, INDEX_LOCATIONS = 3, INDEX_FRAMES = 4 };
enum { LOCATION_FILE = 1, LOCATION_FUNCTION = 2, LOCATION_LINE = 3 };
enum { FRAME_LOCATION = 1, FRAME_CALLER = 2 };

static bool read_location(struct wire wire, struct xplane_location *ret)
{
  struct wire_field field;
  while (wire_next(&wire, &field))
    if (wire_is(&field, LOCATION_FILE, WIRE_VARINT))
      ret->file = field.value;
    else if (wire_is(&field, LOCATION_FUNCTION, WIRE_VARINT))
      ret->function = field.value;
    else if (wire_is(&field, LOCATION_LINE, WIRE_VARINT))
      ret->line = field.value;
  return wire.problem == NULL;
}

static bool read_frame(struct wire wire, struct xplane_frame *ret)
{
  struct wire_field field;
  while (wire_next(&wire, &field))
    if (wire_is(&field, FRAME_LOCATION, WIRE_VARINT))
      ret->location = field.value;
    else if (wire_is(&field, FRAME_CALLER, WIRE_VARINT))
      ret->caller = field.value;
  return wire.problem == NULL;
}

bool xplane_frames_read(struct xplane_frames *frames, struct wire index)
{
  struct wire_field field;
  bool is_good = true;
  while (is_good && wire_next(&index, &field)) {
    struct slice bytes = {field.bytes, field.length};
    if (wire_is(&field, INDEX_FILES, WIRE_BYTES))
      *vector_add(&frames->files) = bytes;
    else if (wire_is(&field, INDEX_FUNCTIONS, WIRE_BYTES))
      *vector_add(&frames->functions) = bytes;
    else if (wire_is(&field, INDEX_LOCATIONS, WIRE_BYTES))
      is_good = read_location(wire_inside(&field), vector_add(&frames->locations));
    else if (wire_is(&field, INDEX_FRAMES, WIRE_BYTES))
      is_good = read_frame(wire_inside(&field), vector_add(&frames->frames));
  }
  return is_good && index.problem == NULL;
}

static const struct xplane_location *location_of(const struct xplane_frames *frames, uint64_t frame)
{
  if (frame == 0 || frame > frames->frames.count)
    return NULL;
  uint64_t location = frames->frames.items[frame - 1].location;
  return location > 0 && location <= frames->locations.count ? &frames->locations.items[location - 1] : NULL;
}

void xplane_frames_place(const struct xplane_frames *frames, uint64_t frame, struct slice *ret_file, uint64_t *ret_line)
{
  const struct xplane_location *location = location_of(frames, frame);
  if (location == NULL || location->file == 0 || location->file > frames->files.count)
    return;
  *ret_file = frames->files.items[location->file - 1];
  *ret_line = location->line;
}

// ---- call paths ------------------------------------------------------------------------------------------------------

static const char *text_of(struct xplane *x, struct slice text) // NULL: none
{
  return text.length > 0 ? xplane_text(x, interner_at(&x->texts, text.data, text.length)).data : NULL;
}

static uint32_t add_frame(struct xplane *x, uint32_t caller, enum xsp_frame_kind kind, struct slice name,
                          struct slice file, uint64_t line)
{
  return import_context(x->import, caller,
                        &(struct store_frame){.kind = kind,
                                              .name = text_of(x, name),
                                              .file = text_of(x, file),
                                              .line = line <= INT32_MAX ? (int64_t)line : 0});
}

// A caller has a smaller number, as XLA adds it before.
static uint32_t path_of(struct xplane *x, struct xplane_frames *frames, uint64_t number)
{
  uint32_t path = 0;
  uint64_t callers[CALLERS_MOST], count = 0;
  for (uint64_t at = number; at > 0 && at <= frames->frames.count && count < CALLERS_MOST;) {
    const struct xplane_frame *frame = &frames->frames.items[at - 1];
    callers[count++] = at;
    at = frame->path == 0 && frame->caller < at ? frame->caller : 0;
  }
  while (count > 0) {
    uint64_t at = callers[--count];
    struct xplane_frame *frame = &frames->frames.items[at - 1];
    const struct xplane_location *location = location_of(frames, at);
    struct slice file = {NULL, 0}, function = {NULL, 0};
    uint64_t line = 0;
    xplane_frames_place(frames, at, &file, &line);
    if (location != NULL && location->function > 0 && location->function <= frames->functions.count)
      function = frames->functions.items[location->function - 1];
    if (frame->path == 0)
      frame->path = add_frame(x, path, XSP_FRAME_PYTHON, function, file, line);
    path = frame->path;
  }
  return path;
}

uint32_t xplane_frames_path(struct xplane *x, struct xplane_frames *frames, uint64_t frame, struct slice file,
                            uint64_t line, struct slice type)
{
  static const struct slice none = {NULL, 0};
  uint32_t path = path_of(x, frames, frame);
  if (path == 0 && file.length > 0)
    path = add_frame(x, 0, XSP_FRAME_PYTHON, none, file, line);
  return path != 0 ? add_frame(x, path, XSP_FRAME_FRAMEWORK, type, none, 0) : 0;
}

void xplane_frames_done(struct xplane_frames *frames)
{
  vector_done(&frames->files);
  vector_done(&frames->functions);
  vector_done(&frames->locations);
  vector_done(&frames->frames);
}

// SPDX-License-Identifier: Apache-2.0
// The log of `caffe time`: mean times of each layer, forward and backward, and of a whole pass. There are no starts: layers are
// laid out within one iteration, forward in their order, backward in the opposite one. See docs/importers.md.
//
//      I0913 10:35:19.123456  1234 caffe.cpp:415]      conv1   forward: 1.2345 ms.
#include "base/vector.h"
#include "importers/text_file.h"

#define MILLISECONDS 3 // as a power of ten of µs

static int recognize(struct slice head, bool is_all)
{
  return slice_contains(head, "caffe.cpp:") && slice_contains(head, "Average time per layer") ? 3 : 0;
}

struct layer_pass {
  uint32_t name;
  int64_t duration_ns, index;
  bool is_backward;
};
struct reading {
  struct import *import;
  VECTOR(struct layer_pass) passes;
  int64_t layer_count, iteration_ns; // iteration_ns 0: not in the log
  uint32_t last_name, track_id;
};

// The number of "1.2345 ms." as nanoseconds; false: there is none, which is counted.
static bool read_ms(struct import *import, struct slice text, int64_t *ret_ns, enum status *ret_status,
                    struct error *err)
{
  struct slice number, rest = slice_trim(text);
  struct store_span span;
  bool has_times = false;
  if (!slice_cut(&rest, ' ', &number) || !slice_starts_with(rest, "ms")) {
    import_skip(import, "no times");
    return false;
  }
  *ret_status = import_decimal_times(import, (struct import_decimal){slice_of("0"), 0},
                                     (struct import_decimal){number, MILLISECONDS}, &span, &has_times, err);
  if (has_times)
    *ret_ns = span.duration_ns;
  return has_times;
}

static enum status read_layer(struct reading *reading, struct slice name, struct slice time, bool is_backward,
                              struct error *err)
{
  struct layer_pass pass = {.name = import_slice(reading->import, slice_trim(name)), .is_backward = is_backward};
  enum status status = STATUS_OK;
  if (!read_ms(reading->import, time, &pass.duration_ns, &status, err))
    return status;
  reading->layer_count += pass.name != reading->last_name || !is_backward;
  reading->last_name = pass.name;
  pass.index = reading->layer_count - 1;
  *vector_add(&reading->passes) = pass;
  return STATUS_OK;
}

static enum status read_line(void *context, struct buf *line, struct error *err)
{
  static const char iteration[] = "Average Forward-Backward: ", forward[] = "\tforward: ", backward[] = "\tbackward: ";
  struct reading *reading = context;
  struct slice text = {line->data, line->length};
  const char *end = memmem(text.data, text.length, "] ", 2), *at;
  struct slice rest = end != NULL ? slice_after(text, (size_t)(end - text.data) + 2) : text;
  enum status status = STATUS_OK;
  if ((at = rest.length > 0 ? memmem(rest.data, rest.length, forward, strlen(forward)) : NULL) != NULL)
    return read_layer(reading, (struct slice){rest.data, (size_t)(at - rest.data)},
                      slice_after(rest, (size_t)(at - rest.data) + strlen(forward)), false, err);
  if ((at = rest.length > 0 ? memmem(rest.data, rest.length, backward, strlen(backward)) : NULL) != NULL)
    return read_layer(reading, (struct slice){rest.data, (size_t)(at - rest.data)},
                      slice_after(rest, (size_t)(at - rest.data) + strlen(backward)), true, err);
  if (slice_starts_with(rest, iteration) &&
      !read_ms(reading->import, slice_after(rest, strlen(iteration)), &reading->iteration_ns, &status, err))
    return status;
  import_skip(reading->import, "not a layer's time");
  return STATUS_OK;
}

// ---- spans -----------------------------------------------------------------------------------------------------------
static enum status put_pass(struct reading *reading, const struct layer_pass *pass, int64_t span_id, int64_t *start_ns,
                            struct error *err)
{
  struct import *import = reading->import;
  struct store_span span = {.span_id = span_id,
                            .recorded_parent_id = 1,
                            .start_ns = *start_ns,
                            .duration_ns = pass->duration_ns,
                            .track_id = reading->track_id,
                            .name = pass->name,
                            .category = import_word(import, pass->is_backward ? "backward" : "forward"),
                            .level = XSP_LEVEL_LAYER,
                            .kind = XSP_KIND_SYNC,
                            .flags = STORE_SPAN_PLACED};
  if (__builtin_add_overflow(*start_ns, pass->duration_ns, start_ns))
    return import_broken(import, err, 0, "the times of all layers are beyond 64 bits of nanoseconds");
  import_tag_int(import, span_id, import_word(import, "layer_index"),
                 pass->is_backward ? 2 * reading->layer_count - 1 - pass->index : pass->index);
  return import_span(import, &span, err);
}

static enum status put_all(struct reading *reading, struct error *err)
{
  struct import *import = reading->import;
  struct store_track track = IMPORT_NO_PLACE;
  int64_t end_ns = 0, span_id = 1;
  size_t count = reading->passes.count;
  track.name = "Caffe";
  XSP_TRY(import_track(import, &track, &reading->track_id, err));
  for (size_t i = 0; i < count; i++)
    if (!reading->passes.items[i].is_backward)
      XSP_TRY(put_pass(reading, &reading->passes.items[i], ++span_id, &end_ns, err));
  for (size_t i = count; i-- > 0;)
    if (reading->passes.items[i].is_backward)
      XSP_TRY(put_pass(reading, &reading->passes.items[i], ++span_id, &end_ns, err));
  if (count == 0)
    return STATUS_OK;
  struct store_span iteration = {.span_id = 1,
                                 .duration_ns = reading->iteration_ns > end_ns ? reading->iteration_ns : end_ns,
                                 .track_id = reading->track_id,
                                 .name = import_word(import, "Forward-Backward"),
                                 .level = XSP_LEVEL_MODEL,
                                 .kind = XSP_KIND_SYNC,
                                 .flags = STORE_SPAN_PLACED};
  import_note(import, "times are means over all iterations; layers are one after the other");
  return import_span(import, &iteration, err);
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.import = import};
  import_run(import, &(struct store_run){0});
  import_framework(import, "caffe", NULL);
  enum status status = import_each_line(import, read_line, &reading, err);
  if (status == STATUS_OK)
    status = put_all(&reading, err);
  vector_done(&reading.passes);
  return status;
}

const struct importer importer_caffe = {
    .name = "caffe",
    .summary = "log of caffe time: mean times of layers",
    .recognize = recognize,
    .read = read_file,
};

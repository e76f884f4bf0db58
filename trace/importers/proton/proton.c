// SPDX-License-Identifier: Apache-2.0
// Triton's profiler Proton, in Hatchet's JSON: [{"frame": {"name"}, "metrics": {…}, "children": […]}, {"CUDA": {…}}], a tree of scopes
// with kernels at its leaves, each with the sum over all its executions. There are no times: what lies below a scope is laid
// out within it. See docs/importers.md.
#include "base/vector.h"
#include "format/range.h"
#include "importers/json_document.h"

static int recognize(struct slice head, bool is_all)
{
  head = import_json_head(head);
  return slice_starts_with(head, "[") && slice_contains(head, "\"frame\"") && slice_contains(head, "\"metrics\"") &&
                 slice_contains(head, "\"children\"")
             ? 3
             : 0;
}

#define NO_NODE SIZE_MAX
struct node { // of the tree, before its children
  size_t parent;
  uint32_t name;
  int64_t own_ns, all_ns; // all: with the nodes below
  int64_t next_ns;        // where the next child begins
  int64_t span_id;        // 0: none
  size_t first_tag, tag_count;
  bool has_children;
};
struct reading { // `json` for the visitors
  struct import_json json;
  VECTOR(struct node) nodes;
  VECTOR(struct store_tag) tags;
  size_t node;          // that is read; NO_NODE
  uint32_t track_id[2]; // of scopes, of kernels
  int64_t last_span_id;
};

// ---- the tree --------------------------------------------------------------------------------------------------------
static bool take_frame(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  if (strcmp(key, "name") == 0 && reader->event == JSON_STRING)
    reading->nodes.items[reading->node].name = import_string(reading->json.import, reader->text, reader->length);
  return true;
}

static const char *tag_key(const char *metric)
{
  static const char *const renamed[][2] = {
      {"flops16", "flops_half"}, {"flops32", "flops_single"}, {"flops64", "flops_double"}};
  for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++)
    if (strcmp(metric, renamed[i][0]) == 0)
      return renamed[i][1];
  return metric;
}

static bool take_metric(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  struct node *node = &reading->nodes.items[reading->node];
  struct store_tag tag = {0};
  if (!import_json_value(reading->json.import, reader, &tag))
    return true;
  if (strcmp(key, "time (ns)") == 0) {
    bool is_time =
        tag.type == STORE_INT || (tag.type == STORE_DOUBLE && tag.value.real >= 0 && tag.value.real < 0x1p62);
    int64_t ns = tag.type == STORE_INT ? tag.value.integer : is_time ? (int64_t)tag.value.real : 0;
    node->own_ns = is_time && ns > 0 ? ns : 0;
    return true;
  }
  if (*key == 0 || strncmp(key, "device_", strlen("device_")) == 0)
    return true;
  tag.key = import_word(reading->json.import, tag_key(key));
  *vector_add(&reading->tags) = tag;
  node->tag_count++;
  return true;
}

static bool take_node(void *context, struct json_reader *reader, const char *key);

static bool take_member(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  size_t node = reading->node;
  if (strcmp(key, "children") == 0 && reader->event == JSON_ARRAY) {
    bool is_read = json_each(reader, take_node, context); // at most as deep as JSON may be
    reading->node = node;
    return is_read;
  }
  if (reader->event == JSON_OBJECT && strcmp(key, "frame") == 0)
    return json_each(reader, take_frame, context);
  if (reader->event != JSON_OBJECT || strcmp(key, "metrics") != 0 || reading->nodes.items[node].tag_count > 0)
    return true;
  reading->nodes.items[node].first_tag = reading->tags.count;
  return json_each(reader, take_metric, context);
}

static bool take_node(void *context, struct json_reader *reader, const char *key)
{
  struct reading *reading = context;
  size_t parent = reading->node;
  if (reader->event != JSON_OBJECT)
    return false;
  if (parent != NO_NODE)
    reading->nodes.items[parent].has_children = true;
  reading->node = reading->nodes.count;
  *vector_add(&reading->nodes) = (struct node){.parent = parent};
  bool is_read = json_each(reader, take_member, context);
  reading->node = parent;
  return is_read;
}

// ---- spans -----------------------------------------------------------------------------------------------------------
// The nearest node above that is a span; the root of the tree is none.
static int64_t parent_span(const struct reading *reading, const struct node *node)
{
  return node->parent == NO_NODE ? 0 : reading->nodes.items[node->parent].span_id;
}

static void put_tags(const struct reading *reading, const struct node *node, int64_t span_id)
{
  for (size_t i = 0; i < node->tag_count; i++) {
    struct store_tag tag = reading->tags.items[node->first_tag + i];
    tag.span_id = span_id;
    import_tag(reading->json.import, &tag);
  }
}

static enum status find_track(struct reading *reading, bool is_kernel, uint32_t *ret_track_id, struct error *err)
{
  struct store_track track = IMPORT_NO_PLACE;
  track.name = is_kernel ? "kernels" : "scopes";
  if (reading->track_id[is_kernel] == 0)
    XSP_TRY(import_track(reading->json.import, &track, &reading->track_id[is_kernel], err));
  *ret_track_id = reading->track_id[is_kernel];
  return STATUS_OK;
}

static enum status put_scope(struct reading *reading, struct node *node, int64_t start_ns, struct error *err)
{
  struct import *import = reading->json.import;
  size_t length;
  const char *text = import_text(import, node->name, &length);
  struct range range;
  range_read(NULL, text, length, import->options->model_range, &range);
  struct store_span span = {.span_id = ++reading->last_span_id,
                            .recorded_parent_id = parent_span(reading, node),
                            .start_ns = start_ns,
                            .duration_ns = node->all_ns,
                            .name = import_string(import, range.name, range.name_length),
                            .level = (uint8_t)range.level,
                            .kind = XSP_KIND_SYNC,
                            .flags = STORE_SPAN_PLACED | (range.is_step ? STORE_SPAN_STEP : 0)};
  node->span_id = span.span_id;
  XSP_TRY(find_track(reading, false, &span.track_id, err));
  if (node->own_ns == 0)
    put_tags(reading, node, span.span_id);
  return import_span(import, &span, err);
}

static enum status put_kernel(struct reading *reading, struct node *node, int64_t start_ns, struct error *err)
{
  struct import *import = reading->json.import;
  struct store_span span = {.span_id = ++reading->last_span_id,
                            .recorded_parent_id = node->span_id != 0 ? node->span_id : parent_span(reading, node),
                            .start_ns = start_ns,
                            .duration_ns = node->own_ns,
                            .name = node->name,
                            .category = import_word(import, "kernel"),
                            .level = XSP_LEVEL_KERNEL,
                            .kind = XSP_KIND_EXECUTION,
                            .flags = STORE_SPAN_PLACED};
  XSP_TRY(find_track(reading, true, &span.track_id, err));
  put_tags(reading, node, span.span_id);
  return import_span(import, &span, err);
}

// Nodes stand before those below them: sums from the last to the first, places from the first to the last.
static enum status put_nodes(struct reading *reading, struct error *err)
{
  struct import *import = reading->json.import;
  int64_t top_ns = 0;
  for (size_t i = reading->nodes.count; i-- > 0;) {
    struct node *node = &reading->nodes.items[i];
    int64_t *above = node->parent == NO_NODE ? &top_ns : &reading->nodes.items[node->parent].all_ns;
    if (__builtin_add_overflow(node->all_ns, node->own_ns, &node->all_ns) ||
        __builtin_add_overflow(*above, node->all_ns, above))
      return import_broken(import, err, 0, "its times add up to more than 64 bits of nanoseconds");
  }
  top_ns = 0;
  for (size_t i = 0; i < reading->nodes.count; i++) {
    struct node *node = &reading->nodes.items[i];
    int64_t *next_ns = node->parent == NO_NODE ? &top_ns : &reading->nodes.items[node->parent].next_ns;
    int64_t start_ns = *next_ns;
    *next_ns += node->all_ns;
    node->next_ns = start_ns + node->own_ns;
    if (node->parent == NO_NODE) { // "ROOT", or the object of devices
      import_skip(import, "root of a tree");
      continue;
    }
    bool is_scope = node->has_children || node->own_ns == 0;
    if (is_scope)
      XSP_TRY(put_scope(reading, node, start_ns, err));
    if (node->own_ns > 0)
      XSP_TRY(put_kernel(reading, node, start_ns, err));
  }
  return STATUS_OK;
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.json.import = import, .node = NO_NODE};
  import_run(import, &(struct store_run){0});
  enum status status = import_json_each(&reading.json, take_node, &reading, err);
  if (status == STATUS_OK)
    status = put_nodes(&reading, err);
  if (status == STATUS_OK)
    import_note(import, "kernels are sums over all their executions " STORE_NOTE_SUMS
                        ", laid out one after the other within their scopes");
  vector_done(&reading.nodes);
  vector_done(&reading.tags);
  return status;
}

const struct importer importer_proton = {
    .name = "proton",
    .summary = "Triton's profiler Proton, in Hatchet's JSON",
    .recognize = recognize,
    .read = read_file,
};

// SPDX-License-Identifier: Apache-2.0
// The format of model manifests, as tables of keys; see manifest.h. docs/manifest.schema.json has the same rules, and a test
// compares the two.
#include "manifests/manifest.h"

#include "base/input_file.h"
#include "base/scoped.h"
#include "manifests/document.h"
#include "manifests/manifest_private.h"
#include "manifests/version.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MAXIMUM INT32_MAX
#define BATCH_MAXIMUM (1 << 20)

// ---- the file --------------------------------------------------------------------------------------------------------

static enum status read_constraint(const struct fields *fields, const struct field *field,
                                   const struct document_node *node, void *target)
{
  fields->manifest->framework_version_line = node->line;
  XSP_TRY(field_plain(fields, field, node, target));
  if (!version_constraint_is_valid(node->text))
    return fields_wrong(fields, node, "\">=2.14,<3\"", "version is not a constraint: '%.100s'", node->text);
  return STATUS_OK;
}

static enum status read_framework_name(const struct fields *fields, const struct field *field,
                                       const struct document_node *node, void *target)
{
  fields->manifest->framework_line = node->line;
  XSP_TRY(field_word(fields, field, node, target));
  char *name = arena_copy(fields->arena, node->text, strlen(node->text)); // MXNet is mxnet
  for (size_t i = 0; name[i] != 0; i++)
    name[i] = (char)tolower((unsigned char)name[i]);
  fields->manifest->framework = name;
  return STATUS_OK;
}

static const struct field framework_keys[] = {
    {"name", true, read_framework_name, offsetof(struct manifest, framework), "^[A-Za-z0-9][A-Za-z0-9_-]*$",
     "tensorflow"},
    {"version", false, read_constraint, offsetof(struct manifest, framework_version), NULL, "\">=2.14\""},
    {"container", false, field_container, 0, NULL, "{amd64: {cpu: IMAGE}}"},
    {0},
};

static enum status read_framework(const struct fields *fields, const struct field *field,
                                  const struct document_node *node, void *target)
{
  return fields_read(fields, framework_keys, node, field->key, target);
}

static enum status read_version(const struct fields *fields, const struct field *field,
                                const struct document_node *node, void *target)
{
  const char *ignored = NULL;
  const struct field text = {.key = field->key, .example = field->example};
  XSP_TRY(field_plain(fields, &text, node, &ignored));
  const struct document_node as_text = {.kind = NODE_TEXT, .line = node->line, .text = node->text};
  return field_word(fields, field, &as_text, target);
}

static enum status read_task(const struct fields *fields, const struct field *field, const struct document_node *node,
                             void *target)
{
  static const char *const tasks[] = {"image classification",
                                      "object detection",
                                      "instance segmentation",
                                      "semantic segmentation",
                                      "super resolution",
                                      "text",
                                      "speech",
                                      "other",
                                      NULL};
  size_t index = 0;
  XSP_TRY(fields_choice(fields, field, node, tasks, &index));
  ((struct manifest *)target)->task = tasks[index];
  return STATUS_OK;
}

// Of inputs that have none of their own: these may come before it.
static enum status read_element_type(const struct fields *fields, const struct field *field,
                                     const struct document_node *node, void *target)
{
  struct manifest *manifest = target;
  manifest->element_type_line = node->line;
  return field_tensor_type(fields, field, node, &manifest->element_type);
}

static enum status read_hardware(const struct fields *fields, const struct field *field,
                                 const struct document_node *node, void *target)
{
  fields->manifest->hardware_line = node->line;
  return field_text(fields, field, node, target);
}

static enum status read_dims(const struct fields *fields, const struct field *field, const struct document_node *node,
                             void *target)
{
  struct manifest *manifest = target;
  void *items = NULL;
  XSP_TRY(fields_room(fields, field, node, NODE_MAP, sizeof *manifest->dims, &items));
  manifest->dims = items;
  for (const struct document_node *entry = node->first; entry != NULL; entry = entry->next) {
    struct manifest_size *dim = &manifest->dims[manifest->dim_count++];
    *dim = (struct manifest_size){.name = entry->key, .line = entry->line};
    if (strchr(dim->name, '=') != NULL || dim->name[0] == 0)
      return fields_wrong(fields, entry, "sequence: 128", "a dimension cannot be called '%.100s'", dim->name);
    XSP_TRY(fields_integer(fields, entry, "a size in dims", 1, SIZE_MAXIMUM, &dim->size));
  }
  return STATUS_OK;
}

static enum status read_batches(const struct fields *fields, const struct field *field,
                                const struct document_node *node, void *target)
{
  struct manifest *manifest = target;
  void *items = NULL;
  XSP_TRY(fields_room(fields, field, node, NODE_LIST, sizeof *manifest->batches, &items));
  manifest->batches = items;
  for (const struct document_node *entry = node->first; entry != NULL; entry = entry->next) {
    int64_t *batch = &manifest->batches[manifest->batch_count];
    XSP_TRY(fields_integer(fields, entry, "a batch size", 1, BATCH_MAXIMUM, batch));
    for (size_t i = 0; i < manifest->batch_count; i++)
      if (manifest->batches[i] == *batch)
        return fields_wrong(fields, entry, "each once", "batch size %" PRId64 " is given twice", *batch);
    manifest->batch_count++;
  }
  return STATUS_OK;
}

static const struct field manifest_keys[] = {
    {"name", true, field_word, offsetof(struct manifest, name), "^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$", "ResNet50_v1"},
    {"version", true, read_version, offsetof(struct manifest, version), "^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$",
     "\"1.0\""},
    {"task", false, read_task, 0, NULL, "image classification"},
    {"framework", true, read_framework, 0, NULL, "{name: onnxruntime}"},
    {"model", true, field_model, 0, NULL, "{path: resnet50.onnx}"},
    {"description", false, field_text, offsetof(struct manifest, description), NULL, NULL},
    {"inputs", false, field_tensors, 0, NULL, "[{name: data}]"},
    {"outputs", false, field_tensors, 0, NULL, "[{name: probabilities}]"},
    {"dims", false, read_dims, 0, NULL, "{sequence: 128}"},
    {"batches", false, read_batches, 0, NULL, "[1, 2, 4, 8]"},
    {"reference", false, field_text, offsetof(struct manifest, reference), NULL, NULL},
    {"license", false, field_text, offsetof(struct manifest, license), NULL, NULL},
    {"hardware", false, read_hardware, offsetof(struct manifest, hardware), NULL, "\"memory>=8GiB,gpus>=1\""},
    {"device", false, field_word, offsetof(struct manifest, device), "^[A-Za-z][A-Za-z0-9:,._-]{0,99}$", "gpu"},
    {"element_type", false, read_element_type, 0, NULL, "float32"},
    {"container", false, field_container, 0, NULL, "{amd64: {cpu: IMAGE}}"},
    {"permissions", false, field_permissions, 0, NULL, "{use: [ann]}"},
    {"preprocess", false, field_code, offsetof(struct manifest, preprocess), NULL, "|"},
    {"postprocess", false, field_code, offsetof(struct manifest, postprocess), NULL, "|"},
    {"accuracy", false, field_accuracy, 0, NULL, "{top1_pct: 76.1, source: \"https://…\"}"},
    {"attributes", false, field_attributes, 0, NULL, "{training_dataset: ImageNet}"},
    {0},
};

// By its name, or as INPUT.INDEX, which --dim takes, too.
static bool is_free_dimension(const struct tensor_info *input, const char *name)
{
  for (unsigned i = 0; i < input->rank; i++) {
    char place[512];
    snprintf(place, sizeof place, "%s.%u", input->name, i);
    if (input->shape[i] < 0 && (strcmp(input->dimension_name[i], name) == 0 || strcmp(place, name) == 0))
      return true;
  }
  return false;
}

// If all inputs have shapes, a name in none of them is a mistake.
static enum status check_dims(const struct fields *fields)
{
  const struct manifest *manifest = fields->manifest;
  bool has_shapes = manifest->input_count > 0;
  for (size_t i = 0; i < manifest->input_count; i++)
    has_shapes = has_shapes && manifest->inputs[i].expectation.has_shape;
  for (size_t d = 0; has_shapes && d < manifest->dim_count; d++) {
    bool is_used = false;
    for (size_t i = 0; i < manifest->input_count; i++)
      is_used = is_used || is_free_dimension(&manifest->inputs[i].expectation.info, manifest->dims[d].name);
    if (!is_used)
      return manifest_wrong(manifest, manifest->dims[d].line, STATUS_INPUT, "a name of a free dimension", fields->err,
                            "dims: no input has a free dimension %.100s", manifest->dims[d].name);
  }
  return STATUS_OK;
}

bool manifest_recognises(const char *path)
{
  const char *dot = strrchr(path, '.');
  return dot != NULL && (strcmp(dot, ".yml") == 0 || strcmp(dot, ".yaml") == 0);
}

enum status manifest_parse(const char *bytes, size_t size, const char *path, struct arena *arena,
                           struct manifest *ret_manifest, struct error *err)
{
  *ret_manifest = (struct manifest){.path = path};
  struct document_node *root = NULL;
  XSP_TRY(document_parse(bytes, size, path, arena, &root, err));
  const struct fields fields = {ret_manifest, arena, err};
  XSP_TRY(fields_read(&fields, manifest_keys, root, "a manifest", ret_manifest));
  XSP_TRY(manifest_tensors_complete(&fields));
  return check_dims(&fields);
}

enum status manifest_load(const char *path, struct arena *arena, struct manifest *ret_manifest, struct error *err)
{
  *ret_manifest = (struct manifest){.path = path};
  FILE *file SCOPED(scoped_fclose) = NULL;
  XSP_TRY(input_file_stream(path, INPUT_FILE_REGULAR, "cannot read the manifest", &file, err));
  char *bytes = arena_alloc(arena, DOCUMENT_BYTES_MAXIMUM + 1);
  size_t size = fread(bytes, 1, DOCUMENT_BYTES_MAXIMUM + 1, file);
  if (ferror(file) != 0)
    return error_set_errno(err, STATUS_INPUT, "cannot read the manifest", path, "another path");
  return manifest_parse(bytes, size, path, arena, ret_manifest, err);
}

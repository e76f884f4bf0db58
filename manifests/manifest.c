// SPDX-License-Identifier: Apache-2.0
// The format of model manifests, as tables of keys; see manifest.h. docs/manifest.schema.json has the same rules, and a test
// compares the two.
#include "manifests/manifest.h"

#include "base/input_file.h"
#include "manifests/document.h"
#include "manifests/fields.h"
#include "manifests/version.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MAXIMUM INT32_MAX
#define BATCH_MAXIMUM (1 << 20)

// ---- where the model comes from --------------------------------------------------------------------------------------

static enum status read_requirement(const struct fields *fields, const struct field *field,
                                    const struct document_node *node, void *target)
{
  const char *constraint = NULL;
  XSP_TRY(field_text(fields, field, node, target));
  if (version_split_requirement(node->text, &constraint) == 0)
    return fields_wrong(fields, node, field->example, "%s: '%.100s' is not a package with a version", field->key,
                        node->text);
  return STATUS_OK;
}

static enum status read_requirements(const struct fields *fields, const struct field *field,
                                     const struct document_node *node, void *target)
{
  XSP_TRY(field_texts(fields, field, node, target));
  const char *ignored = NULL;
  const struct field each = {.key = field->key, .example = "[numpy, onnx==1.23.2]"};
  for (const struct document_node *entry = node->first; entry != NULL; entry = entry->next)
    XSP_TRY(read_requirement(fields, &each, entry, &ignored));
  return STATUS_OK;
}

// A path below a folder that is not the manifest's own may not lead out of it.
static enum status read_inner_path(const struct fields *fields, const struct field *field,
                                   const struct document_node *node, void *target)
{
  XSP_TRY(field_text(fields, field, node, target));
  for (const char *part = node->text;; part++) {
    size_t length = strcspn(part, "/");
    if (length == 0 || (length == 1 && part[0] == '.') || (length == 2 && strncmp(part, "..", 2) == 0))
      return fields_wrong(fields, node, field->example,
                          "%s must lie below its folder: without '..', '.' and a '/' at an end", field->key);
    part += length;
    if (*part == 0)
      return STATUS_OK;
  }
}

static enum status read_sha256(const struct fields *fields, const struct field *field, const struct document_node *node,
                               void *target)
{
  fields->manifest->sha256_line = node->line;
  if (node->kind == NODE_TEXT && strlen(node->text) == 64 && strspn(node->text, "0123456789abcdefABCDEF") == 64)
    return field_text(fields, field, node, target);
  XSP_TRY(fields_kind(fields, field, node, NODE_TEXT));
  return fields_wrong(fields, node, "what sha256sum prints", "sha256 must be 64 hexadecimal digits");
}

static const struct field path_keys[] = {
    {"path", true, field_text, offsetof(struct manifest, model_path), NULL, "resnet50.onnx"},
    {"sha256", false, read_sha256, offsetof(struct manifest, sha256), NULL, NULL},
    {0},
};
static const struct field package_keys[] = {
    {"package", true, read_requirement, offsetof(struct manifest, package), NULL, "rapidocr-onnxruntime==1.4.4"},
    {"file", true, read_inner_path, offsetof(struct manifest, file), NULL, "rapidocr_onnxruntime/models/det.onnx"},
    {"sha256", false, read_sha256, offsetof(struct manifest, sha256), NULL, NULL},
    {0},
};
static const struct field generator_keys[] = {
    {"generator", true, read_inner_path, offsetof(struct manifest, generator), NULL, "generators/keras_model.py"},
    {"produces", true, field_word, offsetof(struct manifest, produces), "^[A-Za-z0-9_][A-Za-z0-9_.-]*$", "resnet50.pb"},
    {"arguments", false, field_texts, offsetof(struct manifest, arguments), NULL, "[ResNet50]"},
    {"python", false, read_requirements, offsetof(struct manifest, python), NULL, "[tensorflow-cpu==2.21.0]"},
    {"uses", false, field_texts, offsetof(struct manifest, uses), NULL, "[generators/common.py]"},
    {"sha256", false, read_sha256, offsetof(struct manifest, sha256), NULL, NULL},
    {0},
};

static enum status read_model(const struct fields *fields, const struct field *field, const struct document_node *node,
                              void *target)
{
  static const struct {
    const char *key;
    enum manifest_source source;
    const struct field *keys;
  } sources[] = {{"path", MANIFEST_PATH, path_keys},
                 {"package", MANIFEST_PACKAGE, package_keys},
                 {"generator", MANIFEST_GENERATOR, generator_keys}};
  struct manifest *manifest = target;
  XSP_TRY(fields_kind(fields, field, node, NODE_MAP));
  size_t found = 0, chosen = 0;
  for (const struct document_node *entry = node->first; entry != NULL; entry = entry->next)
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
      if (strcmp(entry->key, sources[i].key) == 0) {
        found++;
        chosen = i;
        manifest->source_line = entry->line;
      }
  if (found != 1)
    return fields_wrong(fields, node, "one of path: …, package: … and generator: …",
                        "model says %s where the model comes from", found == 0 ? "nowhere" : "more than once");
  manifest->source = sources[chosen].source;
  char what[64];
  snprintf(what, sizeof what, "a model from a %s", sources[chosen].key);
  return fields_read(fields, sources[chosen].keys, node, what, manifest);
}

// ---- the file --------------------------------------------------------------------------------------------------------

static enum status read_constraint(const struct fields *fields, const struct field *field,
                                   const struct document_node *node, void *target)
{
  fields->manifest->framework_version_line = node->line;
  XSP_TRY(field_text(fields, field, node, target));
  if (!version_constraint_is_valid(node->text))
    return fields_wrong(fields, node, "\">=2.14,<3\"", "version is not a constraint: '%.100s'", node->text);
  return STATUS_OK;
}

static enum status read_framework_name(const struct fields *fields, const struct field *field,
                                       const struct document_node *node, void *target)
{
  fields->manifest->framework_line = node->line;
  return field_word(fields, field, node, target);
}

static const struct field framework_keys[] = {
    {"name", true, read_framework_name, offsetof(struct manifest, framework), "^[a-z0-9][a-z0-9_-]*$", "tensorflow"},
    {"version", false, read_constraint, offsetof(struct manifest, framework_version), NULL, "\">=2.14\""},
    {0},
};

static enum status read_framework(const struct fields *fields, const struct field *field,
                                  const struct document_node *node, void *target)
{
  return fields_read(fields, framework_keys, node, field->key, target);
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
    {"version", true, field_word, offsetof(struct manifest, version), "^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$", "\"1.0\""},
    {"task", true, read_task, 0, NULL, "image classification"},
    {"framework", true, read_framework, 0, NULL, "{name: onnxruntime}"},
    {"model", true, read_model, 0, NULL, "{path: resnet50.onnx}"},
    {"description", false, field_text, offsetof(struct manifest, description), NULL, NULL},
    {"inputs", false, field_tensors, 0, NULL, "[{name: data}]"},
    {"outputs", false, field_tensors, 0, NULL, "[{name: probabilities}]"},
    {"dims", false, read_dims, 0, NULL, "{sequence: 128}"},
    {"batches", false, read_batches, 0, NULL, "[1, 2, 4, 8]"},
    {"reference", false, field_text, offsetof(struct manifest, reference), NULL, NULL},
    {"license", false, field_text, offsetof(struct manifest, license), NULL, NULL},
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
  return check_dims(&fields);
}

enum status manifest_load(const char *path, struct arena *arena, struct manifest *ret_manifest, struct error *err)
{
  *ret_manifest = (struct manifest){.path = path};
  FILE *file = NULL;
  XSP_TRY(input_file_stream(path, INPUT_FILE_REGULAR, "cannot read the manifest", &file, err));
  char *bytes = arena_alloc(arena, DOCUMENT_BYTES_MAXIMUM + 1);
  size_t size = fread(bytes, 1, DOCUMENT_BYTES_MAXIMUM + 1, file);
  bool has_failed = ferror(file) != 0;
  int reason = errno;
  fclose(file);
  errno = reason;
  if (has_failed)
    return error_set_errno(err, STATUS_INPUT, "cannot read the manifest", path, "another path");
  return manifest_parse(bytes, size, path, arena, ret_manifest, err);
}

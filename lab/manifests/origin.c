// SPDX-License-Identifier: Apache-2.0
// Key `model` of a manifest: where the model comes from. For the table in manifest.c.
#include "base/path_text.h"
#include "manifests/manifest_private.h"
#include "manifests/version.h"

#include <stdio.h>
#include <string.h>

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
  if (path_is_inner(node->text))
    return STATUS_OK;
  return fields_wrong(fields, node, field->example,
                      "%s must lie below its folder: without '..', '.' and a '/' at an end", field->key);
}

static enum status read_sha256(const struct fields *fields, const struct field *field, const struct document_node *node,
                               void *target)
{
  if (strcmp(field->key, "sha256") == 0)
    fields->manifest->sha256_line = node->line;
  if (node->kind == NODE_TEXT && strlen(node->text) == 64 && strspn(node->text, "0123456789abcdefABCDEF") == 64)
    return field_text(fields, field, node, target);
  XSP_TRY(fields_kind(fields, field, node, NODE_TEXT));
  return fields_wrong(fields, node, "what sha256sum prints", "%s must be 64 hexadecimal digits", field->key);
}

static const struct field path_keys[] = {
    {"path", true, field_text, offsetof(struct manifest, model_path), NULL, "resnet50.onnx"},
    {"sha256", false, read_sha256, offsetof(struct manifest, sha256), NULL, NULL},
    {0},
};
// Two files; the framework's predictor knows their names side by side.
static const struct field graph_keys[] = {
    {"graph_path", true, field_text, offsetof(struct manifest, model_path), NULL, "alexnet.json"},
    {"weights_path", false, field_text, offsetof(struct manifest, weights_path), NULL, "alexnet.params"},
    {"graph_sha256", false, read_sha256, offsetof(struct manifest, graph_sha256), NULL, NULL},
    {"weights_sha256", false, read_sha256, offsetof(struct manifest, weights_sha256), NULL, NULL},
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

enum status field_model(const struct fields *fields, const struct field *field, const struct document_node *node,
                        void *target)
{
  static const struct {
    const char *key;
    enum manifest_source source;
    const struct field *keys;
  } sources[] = {{"path", MANIFEST_PATH, path_keys},
                 {"graph_path", MANIFEST_GRAPH, graph_keys},
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
    return fields_wrong(fields, node, "one of path: …, graph_path: …, package: … and generator: …",
                        "model says %s where the model comes from", found == 0 ? "nowhere" : "more than once");
  manifest->source = sources[chosen].source;
  char what[64];
  snprintf(what, sizeof what, "a model from a %s", sources[chosen].key);
  return fields_read(fields, sources[chosen].keys, node, what, manifest);
}

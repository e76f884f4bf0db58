// SPDX-License-Identifier: Apache-2.0
// Keys of a manifest about what is around the model: images of containers, who may use it, code around a prediction, reported
// accuracy, attributes. For the table in manifest.c.
#include "manifests/manifest_private.h"

#include <string.h>

// ---- container -------------------------------------------------------------------------------------------------------
#define IMAGE_PATTERN "^[A-Za-z0-9][A-Za-z0-9._/:@+-]{0,511}$"

static enum status read_image(const struct fields *fields, const struct field *field, const struct document_node *node,
                              void *target)
{
  struct manifest *manifest = fields->manifest;
  struct manifest_image *image = &manifest->images[manifest->image_count];
  *image = (struct manifest_image){.architecture = target, .device = field->key, .line = node->line};
  XSP_TRY(field_word(fields, field, node, &image->name));
  manifest->image_count++;
  return STATUS_OK;
}

static const struct field image_keys[] = {
    {"cpu", false, read_image, 0, IMAGE_PATTERN, "mxnet:1.9.1-cpu"},
    {"gpu", false, read_image, 0, IMAGE_PATTERN, "mxnet:1.9.1-gpu"},
    {0},
};

enum status field_container(const struct fields *fields, const struct field *field, const struct document_node *node,
                            void *target)
{
  static const char *const architectures[] = {"amd64", "arm64", "ppc64le", "riscv64", "s390x", NULL};
  struct manifest *manifest = target;
  void *items = NULL;
  size_t index = 0;
  if (manifest->image_count > 0)
    return fields_wrong(fields, node, "one of them", "container is given twice, first in line %u",
                        manifest->images[0].line);
  XSP_TRY(fields_room(fields, field, node, NODE_MAP, 2 * sizeof *manifest->images, &items));
  manifest->images = items;
  const struct field architecture = {.key = "an architecture", .example = "amd64"};
  for (const struct document_node *entry = node->first; entry != NULL; entry = entry->next) {
    const struct document_node key = {.kind = NODE_TEXT, .line = entry->key_line, .text = entry->key};
    XSP_TRY(fields_choice(fields, &architecture, &key, architectures, &index));
    if (entry->kind == NODE_MAP && entry->count == 0)
      return fields_wrong(fields, entry, "cpu: IMAGE", "%s has no image", entry->key);
    XSP_TRY(fields_read(fields, image_keys, entry, "an architecture", (void *)(uintptr_t)architectures[index]));
  }
  return STATUS_OK;
}

const char *manifest_image(const struct manifest *manifest, const char *machine, const char *device)
{
  static const struct {
    const char *machine, *architecture; // of uname, of images
  } names[] = {{"x86_64", "amd64"}, {"aarch64", "arm64"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(names[i].machine, machine) == 0)
      machine = names[i].architecture;
  for (size_t i = 0; i < manifest->image_count; i++)
    if (strcmp(manifest->images[i].architecture, machine) == 0 && strcmp(manifest->images[i].device, device) == 0)
      return manifest->images[i].name;
  return NULL;
}

// ---- permissions -----------------------------------------------------------------------------------------------------
#define NAME_PATTERN "^[A-Za-z0-9._-]{1,64}$" // as guard_is_name

static enum status read_names(const struct fields *fields, const struct field *field, const struct document_node *node,
                              void *target)
{
  const struct field each = {.key = field->key, .pattern = field->pattern, .example = "ann"};
  const char **joined = (const char **)((char *)target + field->offset), *name = NULL;
  void *room = NULL;
  XSP_TRY(fields_room(fields, field, node, NODE_LIST, 1, &room));
  for (const struct document_node *entry = node->first; entry != NULL; entry = entry->next) {
    XSP_TRY(field_word(fields, &each, entry, &name));
    *joined = *joined == NULL ? name : arena_format(fields->arena, "%s,%s", *joined, name);
  }
  return STATUS_OK;
}

static const struct field permission_keys[] = {
    {"view", false, read_names, offsetof(struct manifest, viewers), NAME_PATTERN, "[ann, bob]"},
    {"use", false, read_names, offsetof(struct manifest, users), NAME_PATTERN, "[ann]"},
    {0},
};

enum status field_permissions(const struct fields *fields, const struct field *field, const struct document_node *node,
                              void *target)
{
  if (node->kind == NODE_MAP && node->count == 0)
    return fields_wrong(fields, node, "{use: [ann]}", "%s gives none", field->key);
  return fields_read(fields, permission_keys, node, field->key, target);
}

// ---- code ------------------------------------------------------------------------------------------------------------
enum status field_code(const struct fields *fields, const struct field *field, const struct document_node *node,
                       void *target)
{
  const char *example = strcmp(field->key, "preprocess") == 0
                            ? "preprocess: | and, below it, def preprocess(env, data): return data"
                            : "postprocess: | and, below it, def postprocess(env, data): return data";
  if (node->kind != NODE_TEXT)
    return fields_wrong(fields, node, example, "%s must be the text of a Python function, this is %s", field->key,
                        document_kind_name(node->kind));
  if (strstr(node->text, "def ") == NULL)
    return fields_wrong(fields, node, example, "%s defines no function", field->key);
  if (strlen(node->text) > MANIFEST_CODE_BYTES)
    return fields_wrong(fields, node, "a module that it imports", "%s has more than %d bytes", field->key,
                        MANIFEST_CODE_BYTES);
  *(const char **)((char *)target + field->offset) = node->text;
  return STATUS_OK;
}

// ---- attributes ------------------------------------------------------------------------------------------------------
#define KEY_MAXIMUM 256
#define DEPTH_MAXIMUM 8 // as documents have

// Values of one key, as of a list, are one text.
static enum status add_attribute(const struct fields *fields, const struct document_node *node, const char *key)
{
  struct manifest *manifest = fields->manifest;
  const char *value = NULL;
  const struct field text = {.key = "an attribute", .example = "ImageNet", .offset = 0};
  const struct document_node as_text = {.kind = NODE_TEXT, .line = node->line, .text = node->text};
  XSP_TRY(field_text(fields, &text, &as_text, &value));
  for (size_t i = 0; i < manifest->attribute_count; i++)
    if (strcmp(manifest->attributes[i].key, key) == 0) {
      manifest->attributes[i].value = arena_format(fields->arena, "%s, %s", manifest->attributes[i].value, value);
      return STATUS_OK;
    }
  if (manifest->attribute_count == MANIFEST_LIST_MAXIMUM)
    return fields_wrong(fields, node, NULL, "there are more than %d attributes", MANIFEST_LIST_MAXIMUM);
  if (strlen(key) > KEY_MAXIMUM)
    return fields_wrong(fields, node, "a shorter one", "an attribute's name is longer than %d bytes", KEY_MAXIMUM);
  manifest->attributes[manifest->attribute_count++] = (struct manifest_attribute){key, value};
  return STATUS_OK;
}

// ---- accuracy --------------------------------------------------------------------------------------------------------
static enum status read_metric(const struct fields *fields, const struct field *field, const struct document_node *node,
                               void *target)
{
  struct manifest *manifest = target;
  struct manifest_metric *metric = &manifest->reported[manifest->reported_count++];
  metric->key = field->key;
  XSP_TRY(fields_number(fields, node, field->key, &metric->value));
  return metric->value >= 0 && metric->value <= 100
             ? STATUS_OK
             : fields_wrong(fields, node, "76.1", "%s is in percent, not %g", field->key, metric->value);
}

static const struct field accuracy_keys[] = {
    {"top1_pct", false, read_metric, 0, NULL, "76.1"},
    {"top5_pct", false, read_metric, 0, NULL, "92.9"},
    {"map_pct", false, read_metric, 0, NULL, "37.0"},
    {"ap50_pct", false, read_metric, 0, NULL, "58.5"},
    {"ap75_pct", false, read_metric, 0, NULL, "39.8"},
    {"mask_map_pct", false, read_metric, 0, NULL, "34.6"},
    {"miou_pct", false, read_metric, 0, NULL, "67.4"},
    {"pixel_pct", false, read_metric, 0, NULL, "92.4"},
    {"exact_pct", false, read_metric, 0, NULL, "81.2"},
    {"cer_pct", false, read_metric, 0, NULL, "3.1"},
    {"source", true, field_text, offsetof(struct manifest, reported_source), NULL,
     "\"https://arxiv.org/abs/1512.03385\""},
    {"data_set", false, field_text, offsetof(struct manifest, reported_data_set), NULL, "ImageNet validation"},
    {0},
};

enum status field_accuracy(const struct fields *fields, const struct field *field, const struct document_node *node,
                           void *target)
{
  const struct manifest *manifest = target;
  XSP_TRY(fields_read(fields, accuracy_keys, node, field->key, target));
  return manifest->reported_count > 0 ? STATUS_OK
                                      : fields_wrong(fields, node, "top1_pct: 76.1", "accuracy has no figure");
}

// ---- attributes ------------------------------------------------------------------------------------------------------
// Any tree; its leaves are attributes by their path, without the places in lists: training_dataset.name.
enum status field_attributes(const struct fields *fields, const struct field *field, const struct document_node *node,
                             void *target)
{
  struct manifest *manifest = target;
  struct {
    const struct document_node *next;
    const char *prefix;
  } open[DEPTH_MAXIMUM] = {{node->first, ""}};
  XSP_TRY(fields_kind(fields, field, node, NODE_MAP));
  manifest->attributes = arena_alloc_array(fields->arena, MANIFEST_LIST_MAXIMUM, sizeof *manifest->attributes);
  for (size_t depth = 1; depth > 0;) {
    const struct document_node *entry = open[depth - 1].next;
    const char *key = open[depth - 1].prefix;
    if (entry == NULL) {
      depth--;
      continue;
    }
    open[depth - 1].next = entry->next;
    if (entry->key != NULL)
      key = arena_format(fields->arena, "%s%s%s", key, key[0] != 0 ? "." : "", entry->key);
    if (entry->kind != NODE_MAP && entry->kind != NODE_LIST) {
      XSP_TRY(add_attribute(fields, entry, key));
    } else { // depth is that of the document, which is bounded
      open[depth].next = entry->first;
      open[depth++].prefix = key;
    }
  }
  return STATUS_OK;
}

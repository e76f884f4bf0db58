// SPDX-License-Identifier: Apache-2.0
// Inputs that are pictures in a manifest's format: entries of `inputs` with `type: image`. For tensors.c.
#include "manifests/modalities.h"

#include <string.h>

// ---- parameters of pictures ------------------------------------------------------------------------------------------
static struct picture *picture_of(void *target)
{
  return &((struct manifest_tensor *)target)->expectation.picture;
}

static enum status read_side(const struct fields *fields, const struct document_node *node, const char *what,
                             unsigned *ret_side)
{
  int64_t side = 0;
  XSP_TRY(fields_integer(fields, node, what, 1, IMAGE_SIDE_MAXIMUM, &side));
  *ret_side = (unsigned)side;
  return STATUS_OK;
}

static enum status read_list(const struct fields *fields, const struct field *field, const struct document_node *node,
                             size_t count)
{
  XSP_TRY(fields_kind(fields, field, node, NODE_LIST));
  return node->count == count ? STATUS_OK
                              : fields_wrong(fields, node, field->example, "%s must have %zu entries, not %zu",
                                             field->key, count, node->count);
}

// [channels, height, width], whatever the layout.
static enum status read_dimensions(const struct fields *fields, const struct field *field,
                                   const struct document_node *node, void *target)
{
  struct picture *picture = picture_of(target);
  unsigned channels = 0;
  XSP_TRY(read_list(fields, field, node, 3));
  const struct document_node *height = node->first->next;
  XSP_TRY(read_side(fields, node->first, "the number of channels", &channels));
  XSP_TRY(read_side(fields, height, "a height", &picture->height));
  XSP_TRY(read_side(fields, height->next, "a width", &picture->width));
  if (channels != 1 && channels != 3)
    return fields_wrong(fields, node, field->example,
                        "dimensions are channels, height, width; %u channels are not 1 or 3", channels);
  if (!image_size_is_possible(picture->width, picture->height))
    return fields_wrong(fields, node, field->example, "an input of %u x %u pixels is too large", picture->width,
                        picture->height);
  ((struct manifest_tensor *)target)->channels = channels;
  return STATUS_OK;
}

static enum status read_resize(const struct fields *fields, const struct field *field, const struct document_node *node,
                               void *target)
{
  struct picture *picture = picture_of(target);
  picture->resize_width = picture->resize_height = picture->shorter_side = 0;
  picture->is_letterbox = node->kind == NODE_TEXT && strcmp(node->text, "letterbox") == 0;
  if (picture->is_letterbox || (node->kind == NODE_TEXT && strcmp(node->text, "none") == 0))
    return STATUS_OK;
  if (node->kind != NODE_LIST)
    return read_side(fields, node, "resize, which keeps the aspect,", &picture->shorter_side);
  XSP_TRY(read_list(fields, field, node, 2));
  XSP_TRY(read_side(fields, node->first, "a height", &picture->resize_height));
  return read_side(fields, node->first->next, "a width", &picture->resize_width);
}

static enum status read_pad(const struct fields *fields, const struct field *field, const struct document_node *node,
                            void *target)
{
  int64_t pad = 0;
  XSP_TRY(fields_integer(fields, node, field->key, 0, UINT8_MAX, &pad));
  picture_of(target)->pad = (uint8_t)pad;
  return STATUS_OK;
}

static enum status read_words(const struct fields *fields, const struct field *field, const struct document_node *node,
                              void *target)
{
  static const char *const layouts[] = {"NCHW", "NHWC", NULL};
  struct picture *picture = picture_of(target);
  size_t index = 0;
  bool is_layout = strcmp(field->key, "layout") == 0, is_color = strcmp(field->key, "color_mode") == 0;
  XSP_TRY(fields_choice(fields, field, node,
                        is_layout  ? layouts
                        : is_color ? image_color_names
                                   : image_filter_names,
                        &index));
  if (is_layout)
    picture->tensor.channels_last = index == 1;
  else if (is_color)
    picture->color = (enum image_color)index;
  else
    picture->filter = (enum image_filter)index;
  return STATUS_OK;
}

// One number for all channels, or a list with one for each.
static enum status read_per_channel(const struct fields *fields, const struct field *field,
                                    const struct document_node *node, void *target)
{
  struct manifest_tensor *tensor = target;
  bool is_mean = strcmp(field->key, "mean") == 0, is_list = node->kind == NODE_LIST;
  float *values = is_mean ? tensor->expectation.picture.tensor.mean : tensor->expectation.picture.tensor.scale;
  size_t count = 0;
  if (is_list && node->count != 1 && node->count != 3)
    return fields_wrong(fields, node, field->example, "%s must be a number, or a list with one for each channel",
                        field->key);
  for (const struct document_node *entry = is_list ? node->first : node; entry != NULL && count < (is_list ? 3 : 1);
       entry = entry->next) {
    XSP_TRY(fields_float(fields, entry, field->key, &values[count]));
    if (!is_mean && values[count] == 0)
      return fields_wrong(fields, entry, field->example, "scale divides: it cannot be 0");
    count++;
  }
  *(is_mean ? &tensor->mean_count : &tensor->scale_count) = is_list ? count : 0;
  for (; count < IMAGE_CHANNELS_MAXIMUM; count++)
    values[count] = values[0];
  return STATUS_OK;
}

static enum status read_element_type(const struct fields *fields, const struct field *field,
                                     const struct document_node *node, void *target)
{
  static const char *const names[] = {"float32", "uint8", NULL};
  size_t index = 0;
  XSP_TRY(fields_choice(fields, field, node, names, &index));
  ((struct manifest_tensor *)target)->expectation.info.type = tensor_type_named(names[index]);
  return STATUS_OK;
}

static const struct field picture_keys[] = {
    {"dimensions", true, read_dimensions, 0, NULL, "[3, 224, 224]"},
    {"color_mode", false, read_words, 0, NULL, "RGB"},
    {"layout", false, read_words, 0, NULL, "NCHW"},
    {"mean", false, read_per_channel, 0, NULL, "[123.675, 116.28, 103.53]"},
    {"scale", false, read_per_channel, 0, NULL, "[58.395, 57.12, 57.375]"},
    {"element_type", false, read_element_type, 0, NULL, "float32"},
    {"resize", false, read_resize, 0, NULL, "256, [256, 256], letterbox or none"},
    {"pad", false, read_pad, 0, NULL, "114"},
    {"filter", false, read_words, 0, NULL, "bilinear"},
    {0},
};

static void set_shape(struct tensor_info *info, const struct picture *picture)
{
  int64_t channels = picture_channels(picture);
  info->rank = 4;
  info->dimension_name[0] = "N";
  info->shape[0] = -1;
  info->shape[1] = picture->tensor.channels_last ? picture->height : channels;
  info->shape[2] = picture->tensor.channels_last ? picture->width : picture->height;
  info->shape[3] = picture->tensor.channels_last ? channels : picture->width;
}

static bool has_arithmetic(const struct image_tensor *tensor)
{
  for (int i = 0; i < IMAGE_CHANNELS_MAXIMUM; i++)
    if (tensor->mean[i] != 0 || tensor->scale[i] != 1)
      return true;
  return false;
}

// What keys together cannot be.
static enum status check_picture(const struct fields *fields, const struct document_node *node,
                                 const struct manifest_tensor *tensor)
{
  const struct picture *picture = &tensor->expectation.picture;
  if (picture_channels(picture) != tensor->channels)
    return fields_wrong(fields, node, tensor->channels == 1 ? "color_mode: GRAY" : "color_mode: RGB",
                        "color_mode %s has %u channels, dimensions have %u", image_color_names[picture->color],
                        picture_channels(picture), tensor->channels);
  if ((tensor->mean_count != 0 && tensor->mean_count != tensor->channels) ||
      (tensor->scale_count != 0 && tensor->scale_count != tensor->channels))
    return fields_wrong(fields, node, "as many as channels",
                        "mean or scale has another number of values than channels");
  return STATUS_OK;
}

enum status manifest_picture_complete(const struct fields *fields, const struct document_node *at,
                                      struct manifest_tensor *tensor)
{
  struct tensor_info *info = &tensor->expectation.info;
  enum tensor_type common = fields->manifest->element_type;
  const struct document_node node = {.line = info->type != 0 || common == 0 ? tensor->line : at->line};
  if (info->type == 0)
    info->type = common != 0 ? common : TENSOR_FLOAT;
  if (info->type != TENSOR_FLOAT && info->type != TENSOR_UINT8)
    return fields_wrong(fields, &node, "element_type: float32", "pictures become float32 or uint8, not %s",
                        tensor_type_facts(info->type)->name);
  if (info->type == TENSOR_UINT8 && has_arithmetic(&tensor->expectation.picture.tensor))
    return fields_wrong(fields, &node, "element_type: float32", "mean and scale make other values than uint8 has");
  return STATUS_OK;
}

static enum status read_picture(const struct fields *fields, const struct field *field,
                                const struct document_node *node, void *target)
{
  struct manifest_tensor *tensor = target;
  struct picture *picture = picture_of(target);
  bool is_resized = false, has_color = false, has_pad = false;
  *picture = (struct picture){.filter = IMAGE_BILINEAR, .tensor.scale = {1, 1, 1}};
  XSP_TRY(fields_read(fields, picture_keys, node, field->key, target));
  for (const struct document_node *entry = node->first; entry != NULL; entry = entry->next) {
    is_resized |= strcmp(entry->key, "resize") == 0;
    has_color |= strcmp(entry->key, "color_mode") == 0;
    has_pad |= strcmp(entry->key, "pad") == 0;
  }
  if (has_pad && !is_resized)
    return fields_wrong(fields, node, "resize: letterbox", "pad has no effect: the picture fills the input");
  if (!has_color && tensor->channels == 1)
    picture->color = IMAGE_GRAY;
  if (!is_resized) { // stretched
    picture->resize_width = picture->width;
    picture->resize_height = picture->height;
  }
  XSP_TRY(check_picture(fields, node, tensor));
  set_shape(&tensor->expectation.info, picture);
  tensor->expectation.has_shape = tensor->expectation.is_image = true;
  return STATUS_OK;
}

// ---- entries ---------------------------------------------------------------------------------------------------------
enum status field_modality(const struct fields *fields, const struct field *field, const struct document_node *node,
                           void *target)
{
  return STATUS_OK; // its word chose the table
}

static const struct field image_keys[] = {
    {"name", false, field_text, offsetof(struct manifest_tensor, expectation.info.name), NULL, "data"},
    {"type", true, field_modality, 0, NULL, "image"},
    {"parameters", true, read_picture, 0, NULL, "{dimensions: [3, 224, 224]}"},
    {0},
};

const struct field *modality_keys(const struct document_node *entry, bool is_input, struct manifest_tensor *tensor)
{
  for (const struct document_node *node = entry->first; entry->kind == NODE_MAP && node != NULL; node = node->next)
    if (strcmp(node->key, "type") == 0 && node->kind == NODE_TEXT) {
      if (!is_input)
        return manifest_output_form_keys(node->text, tensor);
      return strcmp(node->text, "image") == 0 ? image_keys : NULL;
    }
  return NULL;
}

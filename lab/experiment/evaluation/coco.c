// SPDX-License-Identifier: Apache-2.0
// Pictures with true boxes from a JSON file as COCO has it (instances.json): images, annotations, categories. Hostile input:
// the file is read once, in order, without recursion; fuzz/coco_fuzz.c. Called by data_set_read.c.
#include "experiment/evaluation/coco.h"

#include "base/json_read.h"
#include "base/mapped.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "experiment/evaluation/coco_masks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char what[] = "cannot read the data set";

struct coco_image {
  int64_t id;
  const char *file;
  int64_t width, height; // 0: unknown
};
struct coco_box {
  int64_t image, category;
  double sides[4];
  bool is_crowd;
  const struct coco_mask *mask; // NULL: none
};
struct coco {
  struct json_reader json;
  const char *path;
  struct arena *arena;
  struct error *err;
  VECTOR(struct coco_image) images;
  VECTOR(struct coco_box) boxes;
  VECTOR(struct data_category) categories;
  bool has_boxes, with_masks;
};

static enum status wrong(const struct coco *coco, const char *why)
{
  char place[600];
  snprintf(place, sizeof place, "%.500s, byte %zu", coco->path, coco->json.offset);
  return error_set(coco->err, STATUS_INPUT, what, place, "a file as COCO's instances.json", "%s",
                   coco->json.event == JSON_ERROR ? coco->json.problem : why);
}

// ---- values ----------------------------------------------------------------------------------------------------------
static enum status read_id(struct coco *coco, int64_t *ret_id)
{
  return json_next(&coco->json) == JSON_NUMBER && json_int64(&coco->json, ret_id)
             ? STATUS_OK
             : wrong(coco, "an id is not a whole number");
}

static enum status read_text(struct coco *coco, const char **ret_text)
{
  if (json_next(&coco->json) != JSON_STRING || coco->json.length == 0 || strlen(coco->json.text) != coco->json.length)
    return wrong(coco, "a name is not a text");
  *ret_text = arena_copy(coco->arena, coco->json.text, coco->json.length);
  return STATUS_OK;
}

static enum status read_sides(struct coco *coco, double sides[4])
{
  static const char why[] = "a bbox is not [left, top, width, height] in pixels";
  if (json_next(&coco->json) != JSON_ARRAY)
    return wrong(coco, why);
  for (int i = 0; i < 4; i++) {
    if (json_next(&coco->json) != JSON_NUMBER)
      return wrong(coco, why);
    sides[i] = strtod(coco->json.text, NULL);
    if (!isfinite(sides[i]) || (i >= 2 && sides[i] < 0))
      return wrong(coco, why);
  }
  return json_next(&coco->json) == JSON_ARRAY_END ? STATUS_OK : wrong(coco, why);
}

static enum status read_crowd(struct coco *coco, bool *ret_is_crowd)
{
  int64_t number = 0;
  enum json_event event = json_next(&coco->json);
  bool is_number = event == JSON_NUMBER && json_int64(&coco->json, &number);
  *ret_is_crowd = event == JSON_TRUE || number != 0;
  return is_number || event == JSON_TRUE || event == JSON_FALSE ? STATUS_OK : wrong(coco, "iscrowd is not 0 or 1");
}

static enum status skip(struct coco *coco)
{
  return json_next(&coco->json) != JSON_ERROR && json_skip(&coco->json) ? STATUS_OK : wrong(coco, "");
}

// ---- entries: after their '{' up to their '}' -------------------------------------------------------------------------
static enum status read_image(struct coco *coco)
{
  struct coco_image image = {0};
  bool has_id = false;
  while (json_next(&coco->json) == JSON_KEY) {
    bool is_id = strcmp(coco->json.text, "id") == 0;
    has_id |= is_id;
    XSP_TRY(is_id                                       ? read_id(coco, &image.id)
            : strcmp(coco->json.text, "file_name") == 0 ? read_text(coco, &image.file)
            : !coco->with_masks                         ? skip(coco)
            : strcmp(coco->json.text, "width") == 0     ? read_id(coco, &image.width)
            : strcmp(coco->json.text, "height") == 0    ? read_id(coco, &image.height)
                                                        : skip(coco));
  }
  if (coco->json.event != JSON_OBJECT_END || !has_id || image.file == NULL)
    return wrong(coco, "an image lacks id or file_name");
  *vector_add(&coco->images) = image;
  return STATUS_OK;
}

static enum status read_mask(struct coco *coco, const struct coco_mask **ret_mask)
{
  struct coco_mask *mask = arena_alloc(coco->arena, sizeof *mask);
  const char *why = coco_mask_read(&coco->json, coco->arena, mask);
  *ret_mask = mask;
  return why == NULL ? STATUS_OK : wrong(coco, why);
}

static enum status read_box(struct coco *coco)
{
  static const char *const keys[] = {"image_id", "category_id", "bbox", "iscrowd", "segmentation"};
  unsigned key_count = coco->with_masks ? 5 : 4;
  struct coco_box box = {0};
  unsigned seen = 0, key;
  while (json_next(&coco->json) == JSON_KEY) {
    for (key = 0; key < key_count && strcmp(coco->json.text, keys[key]) != 0; key++)
      continue;
    seen |= 1u << key;
    XSP_TRY(key == 0                       ? read_id(coco, &box.image)
            : key == 1                     ? read_id(coco, &box.category)
            : key == 2                     ? read_sides(coco, box.sides)
            : key == 3                     ? read_crowd(coco, &box.is_crowd)
            : key == 4 && coco->with_masks ? read_mask(coco, &box.mask)
                                           : skip(coco));
  }
  if (coco->json.event != JSON_OBJECT_END || (seen & 7) != 7)
    return wrong(coco, "an annotation lacks image_id, category_id or bbox");
  *vector_add(&coco->boxes) = box;
  return STATUS_OK;
}

static enum status read_category(struct coco *coco)
{
  struct data_category category = {.place = DATA_NO_CLASS};
  bool has_id = false;
  while (json_next(&coco->json) == JSON_KEY) {
    bool is_id = strcmp(coco->json.text, "id") == 0;
    has_id |= is_id;
    XSP_TRY(is_id                                  ? read_id(coco, &category.id)
            : strcmp(coco->json.text, "name") == 0 ? read_text(coco, &category.name)
                                                   : skip(coco));
  }
  if (coco->json.event != JSON_OBJECT_END || !has_id || category.name == NULL)
    return wrong(coco, "a category lacks id or name");
  *vector_add(&coco->categories) = category;
  return STATUS_OK;
}

static enum status read_list(struct coco *coco, enum status (*read_entry)(struct coco *))
{
  if (json_next(&coco->json) != JSON_ARRAY)
    return wrong(coco, "images, annotations or categories is not a list");
  while (json_next(&coco->json) == JSON_OBJECT) {
    XSP_TRY(read_entry(coco));
    if (coco->images.count > DATA_ITEMS_MOST || coco->boxes.count > DATA_ITEMS_MOST ||
        coco->categories.count > COCO_CATEGORIES_MOST)
      return wrong(coco, "a list has too many entries");
  }
  return coco->json.event == JSON_ARRAY_END ? STATUS_OK : wrong(coco, "an entry of a list is not an object");
}

static enum status read_document(struct coco *coco)
{
  if (json_next(&coco->json) != JSON_OBJECT)
    return wrong(coco, "it is not an object with images, annotations and categories");
  while (json_next(&coco->json) == JSON_KEY) {
    bool are_boxes = strcmp(coco->json.text, "annotations") == 0;
    coco->has_boxes |= are_boxes;
    XSP_TRY(are_boxes                                    ? read_list(coco, read_box)
            : strcmp(coco->json.text, "images") == 0     ? read_list(coco, read_image)
            : strcmp(coco->json.text, "categories") == 0 ? read_list(coco, read_category)
                                                         : skip(coco));
  }
  return coco->json.event == JSON_OBJECT_END && json_next(&coco->json) == JSON_END ? STATUS_OK
                                                                                   : wrong(coco, "it is not JSON");
}

// ---- all of it -------------------------------------------------------------------------------------------------------
static enum status refuse(const struct coco *coco, const char *why, int64_t id)
{
  return error_set(coco->err, STATUS_INPUT, what, coco->path, "a file as COCO's instances.json", why, id);
}

static enum status put_items(struct coco *coco, const char *folder, struct data_set *set)
{
  set->count = coco->images.count;
  set->items = arena_alloc_array(coco->arena, set->count + 1, sizeof *set->items);
  if (set->count == 0)
    return error_set(coco->err, STATUS_INPUT, what, coco->path, "a file as COCO's instances.json", "it has no images");
  qsort(coco->images.items, set->count, sizeof *coco->images.items,
        sorted_compare_i64); // by id, as pycocotools has them
  for (size_t i = 0; i < set->count; i++) {
    const struct coco_image *image = &coco->images.items[i];
    if (i > 0 && image[-1].id == image->id)
      return refuse(coco, "two images have the id %" PRId64, image->id);
    const char *path = image->file[0] == '/' ? image->file : arena_format(coco->arena, "%s%s", folder, image->file);
    set->items[i] = (struct data_item){path, NULL, DATA_NO_CLASS, NULL, 0, 0};
  }
  return STATUS_OK;
}

static enum status put_categories(struct coco *coco, struct data_set *set)
{
  size_t count = coco->categories.count;
  set->categories = arena_alloc_array(coco->arena, count + 1, sizeof *set->categories);
  set->category_count = count;
  if (count == 0)
    return STATUS_OK;
  qsort(coco->categories.items, count, sizeof *coco->categories.items, sorted_compare_i64);
  memcpy(set->categories, coco->categories.items, count * sizeof *set->categories);
  for (size_t i = 1; i < count; i++)
    if (set->categories[i - 1].id == set->categories[i].id)
      return refuse(coco, "two categories have the id %" PRId64, set->categories[i].id);
  return STATUS_OK;
}

static const char *put_mask(const struct coco *coco, const struct coco_mask *mask, const struct coco_image *image,
                            struct data_item *item, struct mask_runs *ret_runs)
{
  if (mask == NULL)
    return NULL;
  if (image->width < 0 || image->height < 0 || !image_size_is_possible((uint64_t)image->width, (uint64_t)image->height))
    return "width or height is missing";
  item->width = (unsigned)image->width;
  item->height = (unsigned)image->height;
  return coco_mask_runs(mask, item->width, item->height, coco->arena, ret_runs);
}

// By item, those of one in the order of the file.
static enum status put_boxes(struct coco *coco, struct data_set *set)
{
  size_t count = coco->boxes.count;
  struct data_box *boxes SCOPED(scoped_free) = memory_new(count + 1, sizeof *boxes);
  size_t *starts SCOPED(scoped_free) = memory_new(set->count + 1, sizeof *starts);
  enum status status = STATUS_OK;
  set->has_masks = coco->with_masks && coco->has_boxes;
  for (size_t i = 0; i < count && status == STATUS_OK; i++) {
    const struct coco_box *box = &coco->boxes.items[i];
    const struct coco_image *image =
        sorted_find(&box->image, coco->images.items, set->count, sizeof *image, sorted_compare_i64);
    const struct data_category *category =
        sorted_find(&box->category, set->categories, set->category_count, sizeof *category, sorted_compare_i64);
    if (image == NULL || category == NULL) {
      status = refuse(coco,
                      image == NULL ? "an annotation is of image %" PRId64 ", which it does not have"
                                    : "an annotation is of category %" PRId64 ", which it does not have",
                      image == NULL ? box->image : box->category);
      continue;
    }
    boxes[i] = (struct data_box){(size_t)(image - coco->images.items),
                                 (size_t)(category - set->categories),
                                 box->sides[0],
                                 box->sides[1],
                                 box->sides[2],
                                 box->sides[3],
                                 box->is_crowd,
                                 {0}};
    const char *why = put_mask(coco, box->mask, image, &set->items[boxes[i].item], &boxes[i].runs);
    if (why != NULL)
      status = refuse(coco, arena_format(coco->arena, "%s: image %%" PRId64, why), image->id);
    set->has_masks &= box->mask != NULL;
    starts[boxes[i].item + 1]++;
  }
  set->boxes = arena_alloc_array(coco->arena, count + 1, sizeof *set->boxes);
  set->box_count = count;
  for (size_t i = 1; i <= set->count; i++)
    starts[i] += starts[i - 1];
  for (size_t i = 0; i < count && status == STATUS_OK; i++)
    set->boxes[starts[boxes[i].item]++] = boxes[i];
  return status;
}

enum status coco_parse(const char *text, size_t length, const char *path, bool with_masks, struct arena *arena,
                       struct data_set *ret_set, struct error *err)
{
  struct coco coco = {.path = path, .arena = arena, .err = err, .with_masks = with_masks};
  const char *slash = strrchr(path, '/');
  *ret_set = (struct data_set){.path = path, .place = path};
  json_read_start(&coco.json, text, length);
  enum status status = read_document(&coco);
  json_read_done(&coco.json);
  if (status == STATUS_OK)
    status = put_items(&coco, arena_copy(arena, path, slash != NULL ? (size_t)(slash + 1 - path) : 0), ret_set);
  if (status == STATUS_OK)
    status = put_categories(&coco, ret_set);
  if (status == STATUS_OK)
    status = put_boxes(&coco, ret_set);
  ret_set->has_boxes = coco.has_boxes;
  vector_done(&coco.images);
  vector_done(&coco.boxes);
  vector_done(&coco.categories);
  return status;
}

enum status coco_read(const char *path, bool with_masks, struct arena *arena, struct data_set *ret_set,
                      struct error *err)
{
  struct mapped file;
  if (!mapped_open(path, &file))
    return error_set_errno(err, STATUS_INPUT, what, path, "a file as COCO's instances.json");
  enum status status = coco_parse(file.bytes, file.size, path, with_masks, arena, ret_set, err);
  mapped_close(&file);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
// Segmentations of COCO's files as runs of pixels; see coco_masks.h. Hostile input: fuzz/coco_fuzz.c. The arithmetic of polygons is that of
// pycocotools, so that the same pixels are an object's: tests/experiment/test_coco_masks.py. Called by coco.c.
#include "experiment/evaluation/coco_masks.h"

#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FINER 5            // steps of a pixel that a polygon's edges are rounded to
#define STEPS_MOST 4000000 // of a polygon
#define POINT_MOST 100000.0
#define NUMBERS_MOST 10000000

static const char no_segmentation[] = "a segmentation is neither polygons nor counts and size";

// ---- values of the file ----------------------------------------------------------------------------------------------
static const char *read_polygon(struct json_reader *json, struct arena *arena, struct coco_mask *mask)
{
  VECTOR(double) numbers SCOPED(vector_end) = {0};
  while (json_next(json) == JSON_NUMBER && numbers.count < NUMBERS_MOST) {
    double number = strtod(json->text, NULL);
    if (!(fabs(number) <= POINT_MOST))
      return "a polygon has a point far outside of any picture";
    *vector_add(&numbers) = number;
  }
  if (json->event != JSON_ARRAY_END || numbers.count % 2 != 0)
    return "a polygon is not a list of x and y";
  struct coco_polygon *polygon = arena_alloc(arena, sizeof *polygon);
  double *points = arena_alloc_array(arena, numbers.count + 1, sizeof *points);
  if (numbers.count > 0)
    memcpy(points, numbers.items, numbers.count * sizeof *points);
  *polygon = (struct coco_polygon){points, numbers.count / 2, mask->polygons};
  mask->polygons = polygon;
  return NULL;
}

static const char *read_lengths(struct json_reader *json, struct arena *arena, struct coco_mask *mask)
{
  VECTOR(uint32_t) lengths SCOPED(vector_end) = {0};
  int64_t length = 0;
  while (json_next(json) == JSON_NUMBER && lengths.count < NUMBERS_MOST) {
    if (!json_int64(json, &length) || length < 0 || length > UINT32_MAX)
      return "a count of a segmentation is not a number of pixels";
    *vector_add(&lengths) = (uint32_t)length;
  }
  if (json->event != JSON_ARRAY_END)
    return no_segmentation;
  uint32_t *kept = arena_alloc_array(arena, lengths.count + 1, sizeof *kept);
  if (lengths.count > 0)
    memcpy(kept, lengths.items, lengths.count * sizeof *kept);
  mask->lengths = kept;
  mask->length_count = lengths.count;
  return NULL;
}

// Numbers in digits of five bits, the lowest first, from '0' on; bit 5: more follow; the last one's bit 4: negative. From the third
// number on they are differences from the one two before.
static const char *read_packed(const char *text, size_t size, struct arena *arena, struct coco_mask *mask)
{
  uint32_t *lengths = arena_alloc_array(arena, size + 1, sizeof *lengths);
  size_t count = 0;
  for (size_t at = 0; at < size;) {
    int64_t number = 0;
    unsigned shift = 0, digit = 0;
    do {
      digit = (unsigned char)text[at] - 48u;
      if (digit > 63 || shift > 35)
        return "the counts of a segmentation are not as COCO writes them";
      number |= (int64_t)(digit & 31) << shift;
      shift += 5;
    } while (++at < size && (digit & 32) != 0);
    if ((digit & 16) != 0)
      number -= INT64_C(1) << shift;
    number += count > 2 ? (int64_t)lengths[count - 2] : 0;
    if (number < 0 || number > UINT32_MAX)
      return "a count of a segmentation is not a number of pixels";
    lengths[count++] = (uint32_t)number;
  }
  mask->lengths = lengths;
  mask->length_count = count;
  return NULL;
}

static const char *read_size(struct json_reader *json, struct coco_mask *mask)
{
  int64_t sides[2] = {0};
  if (json_next(json) != JSON_ARRAY)
    return no_segmentation;
  for (int i = 0; i < 2; i++)
    if (json_next(json) != JSON_NUMBER || !json_int64(json, &sides[i]) || sides[i] < 1 || sides[i] > UINT32_MAX)
      return no_segmentation;
  mask->height = (unsigned)sides[0];
  mask->width = (unsigned)sides[1];
  return json_next(json) == JSON_ARRAY_END && image_size_is_possible(mask->width, mask->height) ? NULL
                                                                                                : no_segmentation;
}

static const char *read_runs(struct json_reader *json, struct arena *arena, struct coco_mask *mask)
{
  const char *why = NULL;
  while (why == NULL && json_next(json) == JSON_KEY) {
    bool are_counts = strcmp(json->text, "counts") == 0;
    if (are_counts && json_next(json) == JSON_STRING)
      why = read_packed(json->text, json->length, arena, mask);
    else if (are_counts)
      why = json->event == JSON_ARRAY ? read_lengths(json, arena, mask) : no_segmentation;
    else if (strcmp(json->text, "size") == 0)
      why = read_size(json, mask);
    else if (json_next(json) == JSON_ERROR || !json_skip(json))
      why = no_segmentation;
  }
  if (why != NULL)
    return why;
  return json->event == JSON_OBJECT_END && mask->lengths != NULL && mask->width > 0 ? NULL : no_segmentation;
}

const char *coco_mask_read(struct json_reader *json, struct arena *arena, struct coco_mask *ret_mask)
{
  const char *why = NULL;
  *ret_mask = (struct coco_mask){0};
  if (json_next(json) == JSON_OBJECT)
    return read_runs(json, arena, ret_mask);
  if (json->event != JSON_ARRAY)
    return no_segmentation;
  while (why == NULL && json_next(json) == JSON_ARRAY)
    why = read_polygon(json, arena, ret_mask);
  if (why != NULL)
    return why;
  return json->event == JSON_ARRAY_END && ret_mask->polygons != NULL ? NULL : no_segmentation;
}

// ---- polygons: the places where an edge crosses from a column's middle to the next -----------------------------------
struct crossing {
  uint32_t place;
};
struct outline {
  unsigned width, height;
  bool has_point;
  int x, y; // the last point, in finer steps
  VECTOR(struct crossing) crossings;
};

SORTED_BY(compare_crossings, struct crossing, RISING(place))

static double to_pixels(int place)
{
  return (place + 0.5) / FINER - 0.5;
}

static void visit(struct outline *outline, int x, int y)
{
  int before_x = outline->x, before_y = outline->y;
  bool had_point = outline->has_point;
  outline->x = x;
  outline->y = y;
  outline->has_point = true;
  if (!had_point || x == before_x)
    return;
  double column = to_pixels(x < before_x ? x : x - 1), row = to_pixels(y < before_y ? y : before_y);
  if (floor(column) != column || column < 0 || column > (double)outline->width - 1)
    return;
  row = ceil(fmin(fmax(row, 0), (double)outline->height));
  vector_add(&outline->crossings)->place = (uint32_t)column * outline->height + (uint32_t)row;
}

// The points of an edge, one for each step along its longer side. Each is computed from the same end, whichever way the edge goes, so that
// neighbours share their points.
static void walk(struct outline *outline, const int from[2], const int to[2])
{
  int across = abs(to[0] - from[0]), down = abs(to[1] - from[1]), steps = across >= down ? across : down;
  bool is_flat = across >= down, is_turned = is_flat ? from[0] > to[0] : from[1] > to[1];
  const int *first = is_turned ? to : from, *last = is_turned ? from : to;
  int main_side = is_flat ? 0 : 1, other_side = 1 - main_side;
  double slope = (double)(last[other_side] - first[other_side]) / steps;
  for (int i = 0; i <= steps; i++) {
    int step = is_turned ? steps - i : i, main_place = first[main_side] + step;
    int other_place = steps > 0 ? (int)(first[other_side] + slope * step + 0.5) : first[other_side];
    visit(outline, is_flat ? main_place : other_place, is_flat ? other_place : main_place);
  }
}

static void round_point(const double *point, int ret_place[2])
{
  for (int i = 0; i < 2; i++)
    ret_place[i] = (int)(FINER * point[i] + 0.5);
}

static const char *trace(const struct coco_polygon *polygon, struct outline *outline)
{
  int64_t steps = 0;
  for (size_t i = 0; i < polygon->count; i++) {
    int from[2], to[2];
    round_point(polygon->points + 2 * i, from);
    round_point(polygon->points + 2 * (i + 1 < polygon->count ? i + 1 : 0), to);
    steps += abs(to[0] - from[0]) + abs(to[1] - from[1]) + 1;
    if (steps > STEPS_MOST)
      return "a polygon is longer than any picture's";
    walk(outline, from, to);
  }
  vector_sort(&outline->crossings, compare_crossings);
  return NULL;
}

// ---- runs ------------------------------------------------------------------------------------------------------------
static void close_borders(struct mask_borders *borders, uint32_t end)
{
  if (borders->list.count % 2 != 0)
    mask_border_add(borders, end);
}

static const char *add_polygon(const struct coco_polygon *polygon, unsigned width, unsigned height,
                               struct mask_borders *borders)
{
  struct outline outline = {.width = width, .height = height};
  struct mask_borders own = {0}, both = {0};
  const char *why = trace(polygon, &outline);
  for (size_t i = 0; why == NULL && i < outline.crossings.count; i++)
    mask_border_add(&own, outline.crossings.items[i].place);
  close_borders(&own, width * height);
  mask_runs_unite(&(struct mask_runs){borders->list.items, borders->list.count},
                  &(struct mask_runs){own.list.items, own.list.count}, &both);
  vector_done(&outline.crossings);
  vector_done(&own.list);
  vector_done(&borders->list);
  *borders = both;
  return why;
}

static const char *add_lengths(const struct coco_mask *mask, unsigned width, unsigned height,
                               struct mask_borders *borders)
{
  uint64_t place = 0, end = (uint64_t)width * height;
  if (mask->width != width || mask->height != height)
    return "a segmentation has another size than its image";
  for (size_t i = 0; i < mask->length_count; i++) {
    place += mask->lengths[i];
    if (place > end)
      return "a segmentation has more pixels than its image";
    mask_border_add(borders, (uint32_t)place);
  }
  close_borders(borders, (uint32_t)end);
  return NULL;
}

const char *coco_mask_runs(const struct coco_mask *mask, unsigned width, unsigned height, struct arena *arena,
                           struct mask_runs *ret_runs)
{
  struct mask_borders borders = {0};
  const char *why = mask->lengths != NULL ? add_lengths(mask, width, height, &borders) : NULL;
  for (const struct coco_polygon *polygon = mask->polygons; why == NULL && polygon != NULL; polygon = polygon->next)
    why = add_polygon(polygon, width, height, &borders);
  if (why == NULL) {
    size_t bytes = borders.list.count * sizeof *borders.list.items;
    uint32_t *kept = arena_alloc_array(arena, borders.list.count + 1, sizeof *kept);
    if (bytes > 0)
      memcpy(kept, borders.list.items, bytes);
    *ret_runs = (struct mask_runs){kept, borders.list.count};
  }
  vector_done(&borders.list);
  return why;
}

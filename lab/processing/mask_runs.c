// SPDX-License-Identifier: Apache-2.0
// Objects' pixels as runs; see mask_runs.h. Called by the runner, which pastes masks, and by what reads and compares them.
#include "processing/mask_runs.h"

#include <math.h>

void mask_border_add(struct mask_borders *borders, uint32_t place)
{
  size_t count = borders->list.count;
  if (count > 0 && borders->list.items[count - 1] == place)
    borders->list.count--;
  else
    *vector_add(&borders->list) = place;
}

uint64_t mask_runs_pixels(const struct mask_runs *runs)
{
  uint64_t pixels = 0;
  for (size_t i = 0; i + 1 < runs->count; i += 2)
    pixels += runs->borders[i + 1] - runs->borders[i];
  return pixels;
}

uint64_t mask_runs_common(const struct mask_runs *a, const struct mask_runs *b)
{
  uint64_t pixels = 0;
  for (size_t i = 0, k = 0; i + 1 < a->count && k + 1 < b->count;) {
    uint32_t first = a->borders[i] > b->borders[k] ? a->borders[i] : b->borders[k];
    bool ends_first = a->borders[i + 1] < b->borders[k + 1];
    uint32_t end = ends_first ? a->borders[i + 1] : b->borders[k + 1];
    pixels += end > first ? end - first : 0;
    *(ends_first ? &i : &k) += 2;
  }
  return pixels;
}

void mask_runs_unite(const struct mask_runs *a, const struct mask_runs *b, struct mask_borders *ret_borders)
{
  size_t i = 0, k = 0; // an odd one: inside
  while (i < a->count || k < b->count) {
    bool was_inside = ((i | k) & 1) != 0, takes_a = k == b->count || (i < a->count && a->borders[i] <= b->borders[k]);
    uint32_t place = takes_a ? a->borders[i++] : b->borders[k++];
    if ((((i | k) & 1) != 0) != was_inside)
      mask_border_add(ret_borders, place);
  }
}

// ---- paste -----------------------------------------------------------------------------------------------------------
static float value_at(const struct mask_grid *grid, float column, float row)
{
  bool is_inside = column >= 0 && row >= 0 && column < (float)grid->columns && row < (float)grid->rows;
  return is_inside ? grid->values[(size_t)row * grid->columns + (size_t)column] : 0;
}

static float value_between(const struct mask_grid *grid, float column, float row)
{
  float x = floorf(column), y = floorf(row), right = column - x, below = row - y;
  float upper = value_at(grid, x, y) * (1 - right) + value_at(grid, x + 1, y) * right;
  float lower = value_at(grid, x, y + 1) * (1 - right) + value_at(grid, x + 1, y + 1) * right;
  return upper * (1 - below) + lower * below;
}

// The place in the grid of a pixel's middle; `size`: of the frame.
static float place_in_grid(unsigned pixel, float start, float size, unsigned cells)
{
  return ((float)pixel + 0.5f - start) / size * (float)cells - 0.5f;
}

static bool is_near(float place, unsigned cells)
{
  return place > -1 && place < (float)cells; // NaN is not
}

void mask_paste(const struct mask_grid *grid, const struct mask_frame *frame, float threshold, unsigned width,
                unsigned height, struct mask_borders *borders)
{
  float frame_width = frame->right - frame->left, frame_height = frame->bottom - frame->top;
  bool is_inside = false;
  for (unsigned x = 0; x < width; x++) {
    float column = place_in_grid(x, frame->left, frame_width, grid->columns);
    if (!is_near(column, grid->columns) && !is_inside)
      continue;
    for (unsigned y = 0; y < height; y++) {
      float row = place_in_grid(y, frame->top, frame_height, grid->rows);
      bool is_object =
          is_near(column, grid->columns) && is_near(row, grid->rows) && value_between(grid, column, row) > threshold;
      if (is_object != is_inside)
        mask_border_add(borders, x * height + y);
      is_inside = is_object;
    }
  }
  if (is_inside)
    mask_border_add(borders, width * height);
}

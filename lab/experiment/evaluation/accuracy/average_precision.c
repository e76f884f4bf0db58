// SPDX-License-Identifier: Apache-2.0
// COCO's average precision; see average_precision.h. The arithmetic is that of pycocotools, step by step, so that figures are equal.
#include "experiment/evaluation/accuracy/average_precision.h"

#include "base/memory.h"
#include "base/sorted.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define OVERLAPS 10
#define AT_75 5
#define RECALLS 101
#define FOUND_MOST 100 // of a class in a picture

struct entry {
  const struct rated_box *box;
  size_t order;
  uint16_t matched, ignored; // a bit for each overlap; of found ones
};
struct group { // boxes of a category in an item
  struct entry *wanted, *found;
  size_t wanted_count, found_count;
};

static double overlap_at(unsigned number)
{
  return number + 1 == OVERLAPS ? 0.95 : number * ((0.95 - 0.5) / (OVERLAPS - 1)) + 0.5;
}

static double recall_at(unsigned number)
{
  return number + 1 == RECALLS ? 1 : number * (1.0 / (RECALLS - 1));
}

// ---- order -----------------------------------------------------------------------------------------------------------
SORTED_BY(compare_scores, struct entry, FALLING(box->score) ?: RISING(order))

// By category and item; then true ones before crowds, found ones by score.
SORTED_BY(compare_entries, struct entry,
          RISING(box->category) ?: RISING(box->item) ?: RISING(box->is_crowd) ?: compare_scores(a, b))

static struct entry *sort(const struct rated_box *boxes, size_t count)
{
  struct entry *entries = memory_new(count + 1, sizeof *entries);
  for (size_t i = 0; i < count; i++)
    entries[i] = (struct entry){.box = &boxes[i], .order = i};
  qsort(entries, count, sizeof *entries, compare_entries);
  return entries;
}

// ---- which box is right ----------------------------------------------------------------------------------------------
static double overlap_of_pixels(const struct rated_box *found, const struct rated_box *wanted)
{
  uint64_t common = mask_runs_common(found->runs, wanted->runs), pixels = mask_runs_pixels(found->runs);
  if (common == 0)
    return 0;
  return (double)common / (double)(wanted->is_crowd ? pixels : pixels + mask_runs_pixels(wanted->runs) - common);
}

static double overlap(const struct rated_box *found, const struct rated_box *wanted)
{
  if (found->runs != NULL)
    return overlap_of_pixels(found, wanted);
  double width = fmin(found->width + found->left, wanted->width + wanted->left) - fmax(found->left, wanted->left);
  double height = fmin(found->height + found->top, wanted->height + wanted->top) - fmax(found->top, wanted->top);
  if (width <= 0 || height <= 0)
    return 0;
  double common = width * height, area = found->width * found->height;
  return common / (wanted->is_crowd ? area : area + wanted->width * wanted->height - common);
}

// The place of the best match that is free; wanted_count: none. A crowd is the last resort.
static size_t find_match(const struct group *group, const double *overlaps, const bool *taken, double least)
{
  size_t match = group->wanted_count;
  for (size_t i = 0; i < group->wanted_count; i++) {
    bool is_crowd = group->wanted[i].box->is_crowd;
    if (taken[i] && !is_crowd)
      continue;
    if (match < group->wanted_count && !group->wanted[match].box->is_crowd && is_crowd)
      break;
    if (overlaps[i] < least)
      continue;
    least = overlaps[i];
    match = i;
  }
  return match;
}

static void match_group(const struct group *group)
{
  size_t count = group->wanted_count;
  double *overlaps SCOPED(scoped_free) = memory_new(group->found_count * count + 1, sizeof *overlaps);
  bool *taken SCOPED(scoped_free) = memory_new(count + 1, sizeof *taken);
  for (size_t i = 0; i < group->found_count; i++)
    for (size_t k = 0; k < count; k++)
      overlaps[i * count + k] = overlap(group->found[i].box, group->wanted[k].box);
  for (unsigned number = 0; number < OVERLAPS; number++) {
    for (size_t k = 0; k < count; k++)
      taken[k] = false;
    for (size_t i = 0; i < group->found_count; i++) {
      size_t match = find_match(group, overlaps + i * count, taken, fmin(overlap_at(number), 1 - 1e-10));
      if (match == count)
        continue;
      taken[match] = true;
      group->found[i].matched |= (uint16_t)(1u << number);
      if (group->wanted[match].box->is_crowd)
        group->found[i].ignored |= (uint16_t)(1u << number);
    }
  }
}

// ---- a category ------------------------------------------------------------------------------------------------------
// How many at the beginning are of this category, and of this item.
static size_t run_length(const struct entry *entries, size_t count, size_t category, size_t item)
{
  size_t length = 0;
  while (length < count && entries[length].box->category == category &&
         (item == SIZE_MAX || entries[length].box->item == item))
    length++;
  return length;
}

// Leaves the best ones of each category in each item; their order is their place then. Returns how many.
static size_t keep_best(struct entry *found, size_t count)
{
  size_t kept = 0;
  for (size_t i = 0; i < count;) {
    size_t length = run_length(found + i, count - i, found[i].box->category, found[i].box->item);
    for (size_t k = 0; k < length && k < FOUND_MOST; k++) {
      found[kept] = found[i + k];
      found[kept].order = kept;
      kept++;
    }
    i += length;
  }
  return kept;
}

// Of one category, item by item.
static void match_items(struct group all)
{
  while (all.wanted_count > 0 && all.found_count > 0) {
    size_t category = all.found->box->category, item = all.found->box->item;
    size_t before = 0;
    while (before < all.wanted_count && all.wanted[before].box->item < item)
      before++;
    struct group group = {.wanted = all.wanted + before, .found = all.found};
    group.wanted_count = run_length(group.wanted, all.wanted_count - before, category, item);
    group.found_count = run_length(group.found, all.found_count, category, item);
    match_group(&group);
    all.wanted += before;
    all.wanted_count -= before;
    all.found += group.found_count;
    all.found_count -= group.found_count;
  }
}

// The mean precision at one overlap, of `count` boxes by falling score.
static double precision_at(const struct entry *found, size_t count, unsigned number, size_t wanted, double *precisions,
                           double *recalls)
{
  double right = 0, wrong = 0, sum = 0;
  for (size_t i = 0; i < count; i++) {
    bool is_matched = found[i].matched >> number & 1, is_ignored = found[i].ignored >> number & 1;
    right += is_matched && !is_ignored;
    wrong += !is_matched && !is_ignored;
    recalls[i] = right / (double)wanted;
    precisions[i] = right / (wrong + right + DBL_EPSILON);
  }
  for (size_t i = count; i > 1; i--)
    if (precisions[i - 1] > precisions[i - 2])
      precisions[i - 2] = precisions[i - 1];
  size_t at = 0;
  for (unsigned i = 0; i < RECALLS; i++) {
    while (at < count && recalls[at] < recall_at(i))
      at++;
    sum += at < count ? precisions[at] : 0;
  }
  return sum / RECALLS;
}

struct sums {
  double all, at_50, at_75;
  size_t categories;
};

static void measure_category(struct group *boxes, struct sums *sums, double *ret_precision, double *ret_precision_at_50)
{
  size_t wanted = 0;
  *ret_precision = *ret_precision_at_50 = NAN;
  for (size_t i = 0; i < boxes->wanted_count; i++)
    wanted += !boxes->wanted[i].box->is_crowd;
  if (wanted == 0)
    return;
  match_items(*boxes);
  qsort(boxes->found, boxes->found_count, sizeof *boxes->found, compare_scores);
  double *precisions = memory_new(boxes->found_count + 1, sizeof *precisions), sum = 0, of[OVERLAPS];
  double *recalls = memory_new(boxes->found_count + 1, sizeof *recalls);
  for (unsigned number = 0; number < OVERLAPS; number++) {
    of[number] = precision_at(boxes->found, boxes->found_count, number, wanted, precisions, recalls);
    sum += of[number];
  }
  free(recalls);
  free(precisions);
  *ret_precision = sum / OVERLAPS;
  *ret_precision_at_50 = of[0];
  sums->all += sum / OVERLAPS;
  sums->at_50 += of[0];
  sums->at_75 += of[AT_75];
  sums->categories++;
}

void average_precision_measure(const struct rated_box *wanted, size_t wanted_count, const struct rated_box *found,
                               size_t found_count, size_t category_count, struct arena *arena,
                               struct average_precision *ret_precision)
{
  struct entry *all_wanted = sort(wanted, wanted_count), *all_found = sort(found, found_count);
  struct group rest = {all_wanted, all_found, wanted_count, keep_best(all_found, found_count)};
  struct sums sums = {0};
  double *of = arena_alloc_array(arena, category_count + 1, sizeof *of);
  double *of_at_50 = arena_alloc_array(arena, category_count + 1, sizeof *of_at_50);
  for (size_t category = 0; category < category_count; category++) {
    struct group boxes = {.wanted = rest.wanted, .found = rest.found};
    boxes.wanted_count = run_length(rest.wanted, rest.wanted_count, category, SIZE_MAX);
    boxes.found_count = run_length(rest.found, rest.found_count, category, SIZE_MAX);
    measure_category(&boxes, &sums, &of[category], &of_at_50[category]);
    rest = (struct group){rest.wanted + boxes.wanted_count, rest.found + boxes.found_count,
                          rest.wanted_count - boxes.wanted_count, rest.found_count - boxes.found_count};
  }
  free(all_wanted);
  free(all_found);
  double count = sums.categories > 0 ? (double)sums.categories : NAN;
  *ret_precision = (struct average_precision){sums.all / count, sums.at_50 / count, sums.at_75 / count, of, of_at_50};
}

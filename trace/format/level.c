// SPDX-License-Identifier: Apache-2.0
// Names of levels, kinds and bases, and level sets. Pure tables and parsers.
#include "format/level.h"

#include <string.h>
#include <xsp/call_path.h>

static const char *const level_names[XSP_LEVEL_COUNT] = {XSP_LEVEL_NAMES};
static const char *const level_letters[XSP_LEVEL_COUNT] = {"A", "M", "L", "Lib", "K"};
static const char *const kind_names[] = {"sync", "launch", "execution"};
static const char *const basis_names[BASIS_COUNT] = {"none", "explicit", "correlation", "containment", "ambiguous"};
static const char *const sample_kind_names[] = {"cpu", "sleep", "lock", "io", "child"}; // from SAMPLE_CPU on
static const char *const frame_kind_names[XSP_FRAME_KINDS] = {"python", "framework", "native", "device"};
static const char serial_suffix[] = "@serial";
static const char metrics_suffix[] = "+metrics";
static const char no_levels[] = "none";

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool find(const char *const *names, size_t count, const char *text, size_t length, unsigned *ret_index)
{
  for (size_t i = 0; i < count; i++)
    if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0) {
      *ret_index = (unsigned)i;
      return true;
    }
  return false;
}

const char *level_name(unsigned level)
{
  return level < XSP_LEVEL_COUNT ? level_names[level] : NULL;
}

bool level_from_name(const char *text, size_t length, unsigned *ret_level)
{
  return find(level_names, XSP_LEVEL_COUNT, text, length, ret_level);
}

const char *kind_name(unsigned kind)
{
  return kind < COUNT(kind_names) ? kind_names[kind] : NULL;
}

bool kind_from_name(const char *text, size_t length, unsigned *ret_kind)
{
  return find(kind_names, COUNT(kind_names), text, length, ret_kind);
}

const char *basis_name(unsigned basis)
{
  return basis < BASIS_COUNT ? basis_names[basis] : NULL;
}

bool basis_from_name(const char *text, size_t length, unsigned *ret_basis)
{
  return find(basis_names, BASIS_COUNT, text, length, ret_basis);
}

const char *sample_kind_name(unsigned kind)
{
  return kind >= SAMPLE_CPU && kind <= SAMPLE_CHILD ? sample_kind_names[kind - SAMPLE_CPU] : NULL;
}

bool sample_kind_from_name(const char *text, size_t length, unsigned *ret_kind)
{
  bool is_found = find(sample_kind_names, COUNT(sample_kind_names), text, length, ret_kind);
  *ret_kind += is_found ? SAMPLE_CPU : 0;
  return is_found;
}

const char *frame_kind_name(unsigned kind)
{
  return kind < XSP_FRAME_KINDS ? frame_kind_names[kind] : NULL;
}

bool frame_kind_from_name(const char *text, size_t length, unsigned *ret_kind)
{
  return find(frame_kind_names, XSP_FRAME_KINDS, text, length, ret_kind);
}

// Whether the text ends with `suffix`; takes that off its length.
static bool cut_suffix(const char *text, size_t *length, const char *suffix)
{
  size_t suffix_length = strlen(suffix);
  if (*length <= suffix_length || memcmp(text + *length - suffix_length, suffix, suffix_length) != 0)
    return false;
  *length -= suffix_length;
  return true;
}

// MLModelScope's names of granularities: each has those above it.
static bool find_granularity(const char *text, size_t length, uint32_t *ret_mask)
{
  static const char *const names[] = {"model", "framework", "library", "hardware", "full"};
  static const uint32_t masks[] = {0x2, 0x6, 0xe, 0x1e, XSP_LEVEL_MASK_ALL};
  unsigned index;
  if (!find(names, COUNT(names), text, length, &index))
    return false;
  *ret_mask = masks[index];
  return true;
}

bool level_set_parse(const char *text, size_t length, struct level_set *ret_set)
{
  struct level_set set = {0};
  set.metrics = cut_suffix(text, &length, metrics_suffix);
  set.serial = cut_suffix(text, &length, serial_suffix);
  if (find_granularity(text, length, &set.mask)) {
    *ret_set = set;
    return true;
  }
  for (size_t at = 0; at <= length;) {
    const char *slash = memchr(text + at, '/', length - at);
    size_t end = slash != NULL ? (size_t)(slash - text) : length;
    unsigned level;
    if (!find(level_letters, XSP_LEVEL_COUNT, text + at, end - at, &level))
      return false;
    if (set.mask >= XSP_LEVEL_MASK(level)) // out of order, or twice
      return false;
    set.mask |= XSP_LEVEL_MASK(level);
    at = end + 1;
  }
  *ret_set = set;
  return true;
}

void level_set_format(struct level_set set, char text[LEVEL_SET_TEXT_SIZE])
{
  text[0] = 0;
  for (unsigned level = 0; level < XSP_LEVEL_COUNT; level++)
    if (set.mask & XSP_LEVEL_MASK(level)) {
      if (text[0] != 0)
        strcat(text, "/");
      strcat(text, level_letters[level]);
    }
  if (set.serial)
    strcat(text, serial_suffix);
  if (set.metrics)
    strcat(text, metrics_suffix);
}

bool level_mask_parse(const char *text, size_t length, uint32_t *ret_mask)
{
  struct level_set set = {0};
  bool is_none = length == strlen(no_levels) && memcmp(text, no_levels, length) == 0;
  if (!is_none && (!level_set_parse(text, length, &set) || set.metrics || set.serial))
    return false;
  *ret_mask = set.mask;
  return true;
}

void level_mask_format(uint32_t mask, char text[LEVEL_SET_TEXT_SIZE])
{
  if (mask == 0)
    memcpy(text, no_levels, sizeof no_levels);
  else
    level_set_format((struct level_set){.mask = mask}, text);
}

bool level_set_equal(struct level_set a, struct level_set b)
{
  return a.mask == b.mask && a.metrics == b.metrics && a.serial == b.serial;
}

bool level_set_contains(struct level_set outer, struct level_set inner)
{
  return (inner.mask & ~outer.mask) == 0 && (outer.metrics || !inner.metrics) && (outer.serial || !inner.serial);
}

unsigned level_set_deepest(struct level_set set)
{
  unsigned deepest = 0;
  for (unsigned level = 0; level < XSP_LEVEL_COUNT; level++)
    if (set.mask & XSP_LEVEL_MASK(level))
      deepest = level;
  return deepest;
}

unsigned level_set_count(struct level_set set)
{
  return (unsigned)__builtin_popcount(set.mask);
}

// {0}: all are twins.
static struct level_set deepest_set(const struct level_set *sets, size_t count)
{
  struct level_set found = {0};
  for (size_t i = 0; i < count; i++) {
    unsigned deepest = level_set_deepest(sets[i]), best = level_set_deepest(found);
    if (!level_set_is_twin(sets[i]) &&
        (deepest > best || (deepest == best && level_set_count(sets[i]) > level_set_count(found))))
      found = sets[i];
  }
  return found;
}

static size_t add_twin(struct level_set *sets, size_t count, size_t most, struct level_set twin)
{
  if (count == most)
    return count;
  for (size_t i = 0; i < count; i++)
    if (level_set_equal(sets[i], twin))
      return count;
  sets[count] = twin;
  return count + 1;
}

bool level_set_is_twin(struct level_set set)
{
  return set.serial || set.metrics;
}

size_t level_sets_add_serial(struct level_set *sets, size_t count, size_t most)
{
  struct level_set twin = deepest_set(sets, count);
  twin.serial = true;
  return level_set_deepest(twin) < XSP_LEVEL_LAYER ? count : add_twin(sets, count, most, twin);
}

size_t level_sets_add_metrics(struct level_set *sets, size_t count, size_t most)
{
  struct level_set twin = deepest_set(sets, count);
  twin.metrics = true;
  return level_set_deepest(twin) < XSP_LEVEL_KERNEL ? count : add_twin(sets, count, most, twin);
}

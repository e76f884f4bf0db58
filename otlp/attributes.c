// SPDX-License-Identifier: Apache-2.0
// Which attribute means what, and back. Pure tables; asked once per distinct key of a file.
#include "otlp/attributes.h"

#include <string.h>

#define PREFIX "xsp."
#define TAG_PREFIX "xsp.tag."
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const role_attributes[OTLP_ROLE_COUNT] = {
#define X(role, attribute) [OTLP_IS_##role] = attribute,
    OTLP_SPAN_ATTRIBUTE_LIST(X)
#undef X
};

// Tags that every reader of a trace knows: with "xsp." before them in OTLP.
static const char *const well_known_tags[] = {
    "batch_size",                                                                   // model
    "warmup",                                                                       // model
    "layer_index", "layer_type",      "layer_shape",      "alloc_bytes",            // layer
    "provider",    "sequence",                                                      // layer
    "flops",       "dram_read_bytes", "dram_write_bytes", "achieved_occupancy_pct", // kernel
    "flops_half",  "flops_single",    "flops_double",     "flops_tensor",           // kernel
    "grid",        "block",           "registers",        "shared_bytes",           // kernel
    "bytes",       "copy_kind",                                                     // kernel
};

static bool is(const char *text, size_t length, const char *word)
{
  return strlen(word) == length && memcmp(text, word, length) == 0;
}

static bool begins(const char *text, size_t length, const char *prefix)
{
  size_t size = strlen(prefix);
  return length >= size && memcmp(text, prefix, size) == 0;
}

static bool is_well_known(const char *tag, size_t length)
{
  for (size_t i = 0; i < COUNT(well_known_tags); i++)
    if (is(tag, length, well_known_tags[i]))
      return true;
  return false;
}

const char *otlp_role_attribute(enum otlp_role role)
{
  return role_attributes[role];
}

enum otlp_role otlp_span_role(const char *key, size_t length, const char **ret_tag, size_t *ret_tag_length)
{
  const size_t prefix = strlen(PREFIX);
  *ret_tag = key;
  *ret_tag_length = length;
  if (!begins(key, length, PREFIX))
    return OTLP_IS_TAG;
  for (unsigned role = OTLP_IS_TAG + 1; role < OTLP_ROLE_COUNT; role++)
    if (is(key, length, role_attributes[role]))
      return (enum otlp_role)role;
  size_t skipped = 0;
  if (begins(key, length, TAG_PREFIX))
    skipped = strlen(TAG_PREFIX);
  else if (is_well_known(key + prefix, length - prefix))
    skipped = prefix;
  *ret_tag += skipped;
  *ret_tag_length -= skipped;
  return OTLP_IS_TAG;
}

const char *otlp_tag_prefix(const char *key, size_t length)
{
  const char *tag;
  size_t tag_length;
  if (is_well_known(key, length))
    return PREFIX;
  bool survives = otlp_span_role(key, length, &tag, &tag_length) == OTLP_IS_TAG && tag_length == length;
  return survives ? "" : TAG_PREFIX;
}

bool otlp_is_metric(const char *tag, size_t length)
{
  return is(tag, length, "flops") || begins(tag, length, "flops_") || is(tag, length, "dram_read_bytes") ||
         is(tag, length, "dram_write_bytes") || is(tag, length, "achieved_occupancy_pct");
}

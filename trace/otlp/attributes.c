// SPDX-License-Identifier: Apache-2.0
// Which attribute means what, and back. Pure tables; asked once per distinct key of a file.
#include "otlp/attributes.h"

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

static bool is_well_known(struct slice tag)
{
  for (size_t i = 0; i < COUNT(well_known_tags); i++)
    if (slice_is(tag, well_known_tags[i]))
      return true;
  return false;
}

const char *otlp_role_attribute(enum otlp_role role)
{
  return role_attributes[role];
}

enum otlp_role otlp_span_role(struct slice key, struct slice *ret_tag)
{
  *ret_tag = key;
  if (!slice_starts_with(key, PREFIX))
    return OTLP_IS_TAG;
  for (unsigned role = OTLP_IS_TAG + 1; role < OTLP_ROLE_COUNT; role++)
    if (slice_is(key, role_attributes[role]))
      return (enum otlp_role)role;
  struct slice well_known = slice_after(key, strlen(PREFIX));
  if (slice_starts_with(key, TAG_PREFIX))
    *ret_tag = slice_after(key, strlen(TAG_PREFIX));
  else if (is_well_known(well_known))
    *ret_tag = well_known;
  return OTLP_IS_TAG;
}

const char *otlp_tag_prefix(struct slice key)
{
  struct slice tag;
  if (is_well_known(key))
    return PREFIX;
  return otlp_span_role(key, &tag) == OTLP_IS_TAG && tag.length == key.length ? "" : TAG_PREFIX;
}

bool otlp_is_metric(struct slice tag)
{
  return slice_is(tag, "flops") || slice_starts_with(tag, "flops_") || slice_is(tag, "dram_read_bytes") ||
         slice_is(tag, "dram_write_bytes") || slice_is(tag, "achieved_occupancy_pct");
}

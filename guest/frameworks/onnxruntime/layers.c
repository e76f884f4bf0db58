// SPDX-License-Identifier: Apache-2.0
// From (node, output shape) to site; see layers.h. Runs in the traced process inside the framework's own calls: it must
// not lock, call malloc, or print.
#include "frameworks/onnxruntime/layers.h"

#include "base/hash.h"
#include "base/slice.h"
#include "frameworks/common/sites.h"
#include "frameworks/onnxruntime/abi.h"

#include <string.h>

#define SLOTS (1u << 17)
#define SHAPE_SIZE 512
#define NAME_SIZE 4096 // longer names of nodes are cut

static struct site_slot slots[SLOTS];
static struct site_table table = {.slots = slots, .slot_count = SLOTS};

static struct slice node_name(const char *name)
{
  struct slice text = slice_of(name);
  const size_t suffix = sizeof ORT_NODE_NAME_SUFFIX - 1;
  if (text.length > suffix && memcmp(text.data + text.length - suffix, ORT_NODE_NAME_SUFFIX, suffix) == 0)
    text.length -= suffix;
  return text;
}

static uint64_t hash_of(const struct layer_key *key)
{
  const struct slice texts[] = {node_name(key->name), slice_of(key->node_index), slice_of(key->outputs)};
  uint64_t hash = 1;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    hash = hash_text(texts[i].data, texts[i].length, hash);
  return hash | 1;
}

struct xsp_site *ort_layers_find(const struct layer_key *key)
{
  return framework_sites_find(&table, hash_of(key));
}

bool ort_layer_shape(const char *type_shape, bool first_only, char *text, size_t size)
{
  size_t used = 0;
  bool any = false;
  for (const char *at = type_shape; at != NULL && (at = strstr(at, ":[")) != NULL;) {
    const char *end = strchr(++at, ']');
    if (end == NULL)
      break;
    size_t length = (size_t)(end + 1 - at) + (any ? 1 : 0);
    if (used + length >= size)
      break;
    if (any)
      text[used++] = ' ';
    for (; at <= end; at++)
      if (*at != ' ')
        text[used++] = *at;
    any = true;
    if (first_only)
      break;
  }
  if (size > 0)
    text[used] = 0;
  return any;
}

static void tag_number(struct xsp_site *site, const char *key, const char *decimal)
{
  if (decimal == NULL)
    return;
  bool negative = *decimal == '-';
  uint64_t value = 0;
  const char *at = decimal + negative;
  for (; *at >= '0' && *at <= '9' && value <= (uint64_t)INT64_MAX / 10 - 1; at++)
    value = value * 10 + (uint64_t)(*at - '0');
  if (*at == 0 && at > decimal + negative)
    xsp_site_tag_int(site, key, negative ? -(int64_t)value : (int64_t)value);
}

static void tag_text(struct xsp_site *site, const char *key, const char *text)
{
  if (text != NULL && text[0] != 0)
    xsp_site_tag_string(site, key, text);
}

static void tag_all(struct xsp_site *site, const struct layer_key *key, const struct layer_facts *facts)
{
  char shape[SHAPE_SIZE];
  tag_number(site, "layer_index", key->node_index);
  tag_text(site, "layer_type", facts->operator_type);
  if (ort_layer_shape(key->outputs, true, shape, sizeof shape))
    xsp_site_tag_string(site, "layer_shape", shape);
  tag_text(site, "provider", facts->provider);
  tag_number(site, "alloc_bytes", facts->alloc_bytes);
  if (ort_layer_shape(facts->inputs, false, shape, sizeof shape))
    xsp_site_tag_string(site, "input_shape", shape);
  tag_number(site, "parameter_bytes", facts->parameter_bytes);
  tag_number(site, "activation_bytes", facts->activation_bytes);
  tag_number(site, "output_bytes", facts->output_bytes);
}

static struct xsp_site *common_site(void)
{
  XSP_SITE_FULL(site, XSP_LEVEL_LAYER, "(further layers)", NULL, "onnxruntime");
  return &site;
}

struct xsp_site *ort_layers_add(const struct layer_key *key, const struct layer_facts *facts)
{
  uint64_t hash = hash_of(key);
  struct xsp_site *site = framework_sites_find(&table, hash);
  if (site != NULL)
    return site;
  if (!framework_sites_have_room(&table))
    return common_site();
  struct slice text = node_name(key->name);
  char name[NAME_SIZE];
  if (text.length >= sizeof name)
    text.length = sizeof name - 1;
  if (text.length > 0)
    memcpy(name, text.data, text.length);
  name[text.length] = 0;
  // One name has a site for every shape it is computed in.
  site = xsp_site_create_variant("onnxruntime", XSP_LEVEL_LAYER, name, NULL, (uint32_t)(hash >> 32) | 1);
  if (site == NULL) // no session: not remembered, one may come
    return NULL;
  tag_all(site, key, facts);
  return framework_sites_add(&table, hash, site);
}

// SPDX-License-Identifier: Apache-2.0
// A lock-free table from (node, output shape) to site; see layers.h. Runs in the traced process inside the framework's
// own calls: it must not lock, call malloc, print, or read text it has not measured first.
#include "frameworks/onnxruntime/layers.h"

#include "frameworks/onnxruntime/abi.h"

#include <string.h>
#include <sys/mman.h>

#define TABLE_SLOTS (1u << 17) // twice the layers, so that probing stays short
#define LAYERS_MAXIMUM (1u << 16)
#define TEXT_BYTES ((size_t)32 << 20)
#define SHAPE_SIZE 512
#define NAME_SIZE 4096 // longer names of nodes are cut

struct layer {
  uint64_t hash;
  struct xsp_site *site;                   // the library's
  const char *name, *node_index, *outputs; // the key
};

struct layers {
  struct layer *slots[TABLE_SLOTS]; // written once, from NULL, with release; read with acquire
  uint32_t layer_count;
  size_t text_used;
  struct layer layers[LAYERS_MAXIMUM];
  char text[TEXT_BYTES];
};

// Reserved on first use (the pages come as they are touched) and kept for ever: sites must outlive every span.
static struct layers *the_layers;

static struct layers *layers_get(void)
{
  struct layers *layers = __atomic_load_n(&the_layers, __ATOMIC_ACQUIRE);
  if (layers != NULL)
    return layers;
  void *memory = mmap(NULL, sizeof *layers, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return NULL;
  struct layers *none = NULL;
  if (__atomic_compare_exchange_n(&the_layers, &none, memory, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return memory;
  munmap(memory, sizeof *layers);
  return none;
}

// Multiplies and folds eight bytes at a time; names of nodes are long and mostly alike at their start.
static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t length)
{
  const uint64_t prime = UINT64_C(0x9e3779b97f4a7c15);
  for (; length >= 8; bytes += 8, length -= 8) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    hash = (hash ^ word) * prime;
    hash ^= hash >> 32;
  }
  uint64_t word = length;
  memcpy((char *)&word + 1, bytes, length);
  hash = (hash ^ word) * prime;
  return hash ^ hash >> 29;
}

struct text {
  const char *bytes;
  size_t length;
};

static struct text text_of(const char *bytes)
{
  return (struct text){bytes != NULL ? bytes : "", bytes != NULL ? strlen(bytes) : 0};
}

static struct text node_name(const char *name)
{
  struct text text = text_of(name);
  const size_t suffix = sizeof ORT_NODE_NAME_SUFFIX - 1;
  if (text.length > suffix && memcmp(text.bytes + text.length - suffix, ORT_NODE_NAME_SUFFIX, suffix) == 0)
    text.length -= suffix;
  return text;
}

static bool same(const char *kept, struct text text)
{
  return strncmp(kept, text.bytes, text.length) == 0 && kept[text.length] == 0;
}

struct lookup {
  struct text name, node_index, outputs;
  uint64_t hash;
};

static struct lookup lookup_of(const struct layer_key *key)
{
  struct lookup lookup = {node_name(key->name), text_of(key->node_index), text_of(key->outputs), 0};
  lookup.hash = hash_bytes(lookup.hash, lookup.name.bytes, lookup.name.length);
  lookup.hash = hash_bytes(lookup.hash, lookup.node_index.bytes, lookup.node_index.length);
  lookup.hash = hash_bytes(lookup.hash, lookup.outputs.bytes, lookup.outputs.length);
  return lookup;
}

static bool is_layer(const struct layer *layer, const struct lookup *lookup)
{
  return layer->hash == lookup->hash && same(layer->name, lookup->name) &&
         same(layer->node_index, lookup->node_index) && same(layer->outputs, lookup->outputs);
}

// The slot that holds the layer, or the empty one where it belongs. NULL: neither (table full).
static struct layer **find_slot(struct layers *layers, const struct lookup *lookup, struct layer **ret_layer)
{
  for (uint32_t i = 0; i < TABLE_SLOTS; i++) {
    struct layer **slot = &layers->slots[(lookup->hash + i) & (TABLE_SLOTS - 1)];
    struct layer *layer = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (layer == NULL || is_layer(layer, lookup)) {
      *ret_layer = layer;
      return slot;
    }
  }
  return NULL;
}

struct xsp_site *layers_find(const struct layer_key *key)
{
  struct layers *layers = layers_get();
  if (layers == NULL)
    return NULL;
  struct lookup lookup = lookup_of(key);
  struct layer *layer = NULL;
  return find_slot(layers, &lookup, &layer) != NULL && layer != NULL ? layer->site : NULL;
}

static const char *keep_text(struct layers *layers, struct text text)
{
  size_t at = __atomic_fetch_add(&layers->text_used, text.length + 1, __ATOMIC_RELAXED);
  if (at > TEXT_BYTES || text.length + 1 > TEXT_BYTES - at)
    return NULL;
  memcpy(&layers->text[at], text.bytes, text.length); // the mapping is zero: a NUL follows
  return &layers->text[at];
}

bool layer_shape(const char *type_shape, bool first_only, char *text, size_t size)
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
  if (layer_shape(key->outputs, true, shape, sizeof shape))
    xsp_site_tag_string(site, "layer_shape", shape);
  tag_text(site, "provider", facts->provider);
  tag_number(site, "alloc_bytes", facts->alloc_bytes);
  if (layer_shape(facts->inputs, false, shape, sizeof shape))
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

struct xsp_site *layers_add(const struct layer_key *key, const struct layer_facts *facts)
{
  struct layers *layers = layers_get();
  if (layers == NULL)
    return common_site();
  struct lookup lookup = lookup_of(key);
  struct layer *layer = NULL;
  struct layer **slot = find_slot(layers, &lookup, &layer);
  if (slot == NULL)
    return common_site();
  if (layer != NULL)
    return layer->site;
  struct text text = lookup.name;
  char name[NAME_SIZE];
  if (text.length >= sizeof name)
    text.length = sizeof name - 1;
  memcpy(name, text.bytes, text.length);
  name[text.length] = 0;
  // One name has a site for every shape it is computed in.
  struct xsp_site *site =
      xsp_site_create_variant("onnxruntime", XSP_LEVEL_LAYER, name, NULL, (uint32_t)(lookup.hash >> 32) | 1);
  if (site == NULL) // no session: not remembered, one may come
    return NULL;
  uint32_t number = __atomic_fetch_add(&layers->layer_count, 1, __ATOMIC_RELAXED);
  if (number >= LAYERS_MAXIMUM) {
    __atomic_store_n(&layers->layer_count, LAYERS_MAXIMUM, __ATOMIC_RELAXED);
    return common_site();
  }
  layer = &layers->layers[number];
  layer->name = keep_text(layers, lookup.name);
  layer->node_index = keep_text(layers, lookup.node_index);
  layer->outputs = keep_text(layers, lookup.outputs);
  if (layer->name == NULL || layer->node_index == NULL || layer->outputs == NULL)
    return common_site();
  layer->hash = lookup.hash;
  layer->site = site;
  tag_all(site, key, facts);
  // Two threads may meet here with the same new layer: the first to publish wins, the other's stays unused.
  for (;;) {
    struct layer *none = NULL;
    if (__atomic_compare_exchange_n(slot, &none, layer, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
      return layer->site;
    struct layer *winner = NULL;
    slot = find_slot(layers, &lookup, &winner);
    if (slot == NULL)
      return common_site();
    if (winner != NULL)
      return winner->site;
  }
}

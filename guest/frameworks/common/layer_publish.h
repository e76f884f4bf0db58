// SPDX-License-Identifier: Apache-2.0
// Publishes the layers of an inference that has ended, as its framework reports them: a name, a type, how long, perhaps
// when. Shared by the predictors whose framework has no callback. Called outside every span (flush, resume); one thread.
//
// Nothing is made up: tag `untold` lists what the framework does not report. Layers are on the track of the thread that ran
// them. Those without a known thread are on tracks of their own: as many as it takes for the spans of each to nest.
#ifndef XSP_FRAMEWORKS_COMMON_LAYER_PUBLISH_H
#define XSP_FRAMEWORKS_COMMON_LAYER_PUBLISH_H

#include "base/error.h"
#include <xsp/span.h>

#include <stddef.h>
#include <stdint.h>

enum layer_times {
  LAYER_TIMES_REALTIME,  // start_ns is CLOCK_REALTIME
  LAYER_TIMES_MONOTONIC, // start_ns is CLOCK_MONOTONIC
  LAYER_TIMES_SIMULATED, // start_ns is of a clock of its own: spans are on tracks of the clock PREDICTOR_CLOCK_SIMULATED
  LAYER_TIMES_LAID_OUT,  // only durations are reported: one after the other from the start of the inference
};

struct layer_tag {
  const char *key;
  const char *text; // NULL: `number` counts
  int64_t number;
};
#define LAYER_TAGS_MOST 17u
struct layer_tags { // further ones are dropped
  struct layer_tag items[LAYER_TAGS_MOST];
  size_t count;
};

static inline void layer_tags_add(struct layer_tags *tags, struct layer_tag tag)
{
  if (tags->count < LAYER_TAGS_MOST)
    tags->items[tags->count++] = tag;
}

// Not where `text` is NULL or empty.
static inline void layer_tags_add_text(struct layer_tags *tags, const char *key, const char *text)
{
  if (text != NULL && text[0] != 0)
    layer_tags_add(tags, (struct layer_tag){.key = key, .text = text});
}

#define LAYER_PARENT_MODEL SIZE_MAX
struct layer_report { // strings are read during the call only; NULL where not reported
  const char *name;   // NULL: the type is the name
  const char *type;   // tag layer_type
  const char *category;
  const char *unit;    // not a layer, but work of this unit of a device: a span of kernel level on the unit's track
  const char *shape;   // tag layer_shape, "[1,64,112,112]"
  int64_t index;       // tag layer_index, the same in every inference; negative: none, its place in time counts
  int64_t alloc_bytes; // negative: not reported
  uint64_t start_ns;   // not read where times are laid out
  uint64_t duration_ns;
  uint32_t thread_id;            // of this process, as gettid; 0: not known
  size_t parent;                 // place in the same array of the layer that ran this one, or LAYER_PARENT_MODEL
  const struct layer_tags *tags; // further tags; NULL: none
};

struct layer_publisher;
struct layer_publisher_options {
  const char *tracer; // the predictor's name; kept as long as the publisher
  const char *untold; // as predictor.untold, for this model; NULL: everything is reported
  enum layer_times times;
};
// NULL where memory is out. The strings of `options` must live as long as the publisher.
struct layer_publisher *framework_layer_publisher_create(const struct layer_publisher_options *options);
void framework_layer_publisher_free(struct layer_publisher *publisher); // NULL is legal

// One inference. `model` is its span (struct predictor_model's model_span at the time), `model_start_ns` when it began on
// CLOCK_MONOTONIC, which only laid out layers need. STATUS_MEMORY: nothing was published. Without a session nothing is.
enum status framework_layer_publish(struct layer_publisher *publisher, const struct layer_report *layers, size_t count,
                                    struct xsp_context model, uint64_t model_start_ns, struct error *err) MUST_CHECK;

// For sites of layers that are not published here: a hash of all that the site carries, and these as its tags.
uint64_t framework_layer_hash(const struct layer_report *layer, uint64_t seed);
void framework_layer_tag_site(const struct layer_report *layer, struct xsp_site *site);

// "[1,64,112,112]" of a shape, cut to `size`; returns `text`.
const char *framework_layer_shape_text(const int64_t *shape, size_t rank, char *text, size_t size);

#endif

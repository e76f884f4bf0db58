// SPDX-License-Identifier: Apache-2.0
// The storing side of an import: takes batches in order, turns the import's ids into the store's, hands the rows over.
// Runs on a thread of its own, or inline. Called by sink.c only.
//
// Locking: `lock` guards `filled`, `stored`, `status` and `is_ending`. Batches from `stored` to `filled`, and while there are
// any the maps and the store, belong to the storing side; the batch at `filled` belongs to the parser.
#include "importers/sink_private.h"

#include "base/condition.h"
#include "base/scoped.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BATCHES_MOST 4

struct batches {
  struct store *store;
  VECTOR(uint32_t) texts, traces;   // import's id - 1 → store's id
  struct batch *ring[BATCHES_MOST]; // allocated when first needed
  bool has_thread;
  bool are_all_new; // no text of the present file is in the store: it is the first one
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned filled, stored; // how many batches the parser has handed over, and how many of them are stored
  bool is_ending;
  enum status status; // of the storing side
  struct error error;
};

// ---- storing --------------------------------------------------------------------------------------------------------
static uint32_t mapped(const uint32_t *ids, size_t count, uint32_t id)
{
  return id == 0 || id > count ? 0 : ids[id - 1];
}

static enum status store_new_ids(struct batches *batches, const struct batch *batch, struct error *err)
{
  for (uint32_t i = 0; i < batch->text_count; i++) {
    struct slice text = batch->texts[i];
    uint32_t id = batches->are_all_new ? store_new_string(batches->store, text.data, text.length)
                                       : store_string(batches->store, text.data, text.length);
    *vector_add(&batches->texts) = id;
  }
  for (uint32_t i = 0; i < batch->trace_count; i++) {
    uint32_t id = 0;
    XSP_TRY(store_add_trace(batches->store, batch->traces[i].run_id, batch->traces[i].text, &id, err));
    *vector_add(&batches->traces) = id;
  }
  return STATUS_OK;
}

static void use_store_ids(const struct batches *batches, struct batch *batch)
{
  const uint32_t *texts = batches->texts.items;
  size_t text_count = batches->texts.count;
  if (batches->are_all_new && batches->traces.count == 0) // texts are numbered alike on both sides
    return;
  for (uint32_t i = 0; i < batch->span_count; i++) {
    struct store_span *span = &batch->spans[i];
    span->name = mapped(texts, text_count, span->name);
    span->category = mapped(texts, text_count, span->category);
    span->tracer = mapped(texts, text_count, span->tracer);
    span->trace_id = mapped(batches->traces.items, batches->traces.count, span->trace_id);
  }
  for (uint32_t i = 0; i < batch->tag_count; i++) {
    struct store_tag *tag = &batch->tags[i];
    tag->key = mapped(texts, text_count, tag->key);
    if (tag->type == STORE_TEXT)
      tag->value.string = mapped(texts, text_count, tag->value.string);
  }
}

static enum status store_batch(struct batches *batches, struct batch *batch, struct error *err)
{
  XSP_TRY(store_new_ids(batches, batch, err));
  use_store_ids(batches, batch);
  for (uint32_t i = 0; i < batch->segment_count; i++) {
    const struct batch_segment *segment = &batch->segments[i];
    bool is_last = i + 1 == batch->segment_count;
    uint32_t span_to = is_last ? batch->span_count : segment[1].span_from;
    uint32_t tag_to = is_last ? batch->tag_count : segment[1].tag_from;
    if (span_to > segment->span_from)
      XSP_TRY(store_add_spans(batches->store, segment->run_id, batch->spans + segment->span_from,
                              span_to - segment->span_from, err));
    if (tag_to > segment->tag_from)
      XSP_TRY(store_add_tags(batches->store, segment->run_id, batch->tags + segment->tag_from,
                             tag_to - segment->tag_from, err));
  }
  for (uint32_t i = 0; i < batch->log_count; i++) {
    const struct batch_log *log = &batch->logs[i];
    XSP_TRY(store_add_log(batches->store, log->run_id, log->span_id, log->time_ns, log->message, log->length, err));
  }
  return STATUS_OK;
}

static void batch_clear(struct batch *batch)
{
  for (uint32_t i = 0; i < batch->log_count; i++)
    free(batch->logs[i].message);
  batch->span_count = batch->tag_count = batch->segment_count = 0;
  batch->text_count = batch->trace_count = batch->log_count = 0;
  batch->log_bytes = 0;
}

// Stores the oldest batch that the parser has handed over.
static void store_oldest(struct batches *batches)
{
  struct batch *batch = batches->ring[batches->stored % BATCHES_MOST];
  struct error error = {0};
  enum status status = batches->status == STATUS_OK ? store_batch(batches, batch, &error) : STATUS_OK;
  batch_clear(batch);
  SCOPED_LOCK(&batches->lock);
  if (status != STATUS_OK) {
    batches->status = status;
    batches->error = error;
  }
  batches->stored++;
  pthread_cond_signal(&batches->changed);
}

// False: there will be none.
static bool wait_for_work(struct batches *batches)
{
  SCOPED_LOCK(&batches->lock);
  while (batches->filled == batches->stored && !batches->is_ending)
    pthread_cond_wait(&batches->changed, &batches->lock);
  return !batches->is_ending;
}

static void *storing_thread(void *context)
{
  struct batches *batches = context;
  while (wait_for_work(batches))
    store_oldest(batches);
  return NULL;
}

// ---- the parser's side ----------------------------------------------------------------------------------------------
struct batches *import_batches_create(struct store *store, unsigned threads)
{
  struct batches *batches = memory_new(1, sizeof *batches);
  batches->store = store;
  batches->are_all_new = !store_has_strings(store);
  pthread_mutex_init(&batches->lock, NULL);
  pthread_cond_init(&batches->changed, NULL);
  // Without a thread to be had all is done on this one.
  batches->has_thread = threads != 1 && pthread_create(&batches->thread, NULL, storing_thread, batches) == 0;
  return batches;
}

// Waits until at most `most` batches are handed over and not yet stored.
static enum status wait_for(struct batches *batches, unsigned most, struct error *err)
{
  SCOPED_LOCK(&batches->lock);
  while (batches->filled - batches->stored > most)
    pthread_cond_wait(&batches->changed, &batches->lock);
  enum status status = batches->status;
  if (status != STATUS_OK && err != NULL)
    *err = batches->error;
  return status;
}

struct batch *import_batches_current(struct batches *batches)
{
  (void)wait_for(batches, BATCHES_MOST - 1, NULL);
  struct batch **current = &batches->ring[batches->filled % BATCHES_MOST];
  if (*current == NULL)
    *current = memory_new(1, sizeof **current);
  return *current;
}

static void hand_over(struct batches *batches)
{
  pthread_mutex_lock(&batches->lock);
  batches->filled++;
  pthread_cond_signal(&batches->changed);
  pthread_mutex_unlock(&batches->lock);
  if (!batches->has_thread)
    store_oldest(batches);
}

enum status import_batches_push(struct batches *batches, struct error *err)
{
  hand_over(batches);
  return wait_for(batches, BATCHES_MOST, err);
}

enum status import_batches_wait(struct batches *batches, struct error *err)
{
  (void)import_batches_current(batches);
  hand_over(batches);
  enum status status = wait_for(batches, 0, err);
  batches->texts.count = 0;
  batches->traces.count = 0;
  batches->are_all_new = !store_has_strings(batches->store);
  return status;
}

void import_batches_free(struct batches *batches)
{
  if (batches == NULL)
    return;
  if (batches->has_thread) {
    condition_raise(&batches->changed, &batches->lock, &batches->is_ending);
    pthread_join(batches->thread, NULL);
  }
  for (size_t i = 0; i < BATCHES_MOST && batches->ring[i] != NULL; i++) {
    batch_clear(batches->ring[i]);
    free(batches->ring[i]);
  }
  pthread_cond_destroy(&batches->changed);
  pthread_mutex_destroy(&batches->lock);
  vector_done(&batches->texts);
  vector_done(&batches->traces);
  free(batches);
}

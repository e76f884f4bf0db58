// SPDX-License-Identifier: Apache-2.0
// A ring of blocks between the thread that pulls and the one that reads. Called by input.c for compressed files.
//
//      puller ─ fills block[filled % BLOCKS] ─▶ filled ≥ taken ─▶ reader copies from block[taken % BLOCKS]
//
// A block belongs to the puller until `filled` passes it, then to the reader until `taken` does. Both counts, and the
// stop, are guarded by the lock.
#include "base/condition.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "importers/byte_source.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 4u
#define BLOCK_BYTES ((size_t)256 << 10)

struct block {
  size_t length, at; // what it holds; what the reader has taken of it
  bool is_last;
  enum status status; // of the pull after these bytes
  struct error error;
  char bytes[BLOCK_BYTES];
};

struct read_ahead {
  struct byte_source *source;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned filled, taken;
  bool is_stopping;
  struct block blocks[BLOCKS];
};

// The block to fill; NULL: nobody wants it.
static struct block *wait_for_room(struct read_ahead *ahead)
{
  SCOPED_LOCK(&ahead->lock);
  while (ahead->filled - ahead->taken == BLOCKS && !ahead->is_stopping)
    pthread_cond_wait(&ahead->changed, &ahead->lock);
  return ahead->is_stopping ? NULL : &ahead->blocks[ahead->filled % BLOCKS];
}

static void *pull_blocks(void *argument)
{
  struct read_ahead *ahead = argument;
  struct block *block;
  for (bool is_last = false; !is_last && (block = wait_for_room(ahead)) != NULL;) {
    block->at = block->length = 0;
    block->status = byte_source_read(ahead->source, block->bytes, BLOCK_BYTES, &block->length, &block->error);
    if (block->status != STATUS_OK)
      block->length = 0;
    is_last = block->is_last = block->status != STATUS_OK || block->length < BLOCK_BYTES;
    SCOPED_LOCK(&ahead->lock);
    ahead->filled++;
    pthread_cond_signal(&ahead->changed);
  }
  return NULL;
}

struct read_ahead *read_ahead_start(struct byte_source *source)
{
  struct read_ahead *ahead = memory_new(1, sizeof *ahead);
  ahead->source = source;
  pthread_mutex_init(&ahead->lock, NULL);
  pthread_cond_init(&ahead->changed, NULL);
  if (pthread_create(&ahead->thread, NULL, pull_blocks, ahead) == 0)
    return ahead;
  pthread_cond_destroy(&ahead->changed);
  pthread_mutex_destroy(&ahead->lock);
  free(ahead);
  return NULL;
}

// The block to read from: waits until there is one. The last one stays.
static struct block *wait_for_block(struct read_ahead *ahead)
{
  SCOPED_LOCK(&ahead->lock);
  struct block *block = &ahead->blocks[ahead->taken % BLOCKS];
  while (ahead->filled == ahead->taken)
    pthread_cond_wait(&ahead->changed, &ahead->lock);
  return block;
}

static void give_back_block(struct read_ahead *ahead)
{
  SCOPED_LOCK(&ahead->lock);
  ahead->taken++;
  pthread_cond_signal(&ahead->changed);
}

enum status read_ahead_read(struct read_ahead *ahead, char *to, size_t room, size_t *ret_got, struct error *err)
{
  *ret_got = 0;
  while (*ret_got < room) {
    struct block *block = wait_for_block(ahead);
    size_t left = block->length - block->at;
    size_t part = left < room - *ret_got ? left : room - *ret_got;
    memcpy(to + *ret_got, block->bytes + block->at, part);
    block->at += part;
    *ret_got += part;
    if (block->at < block->length)
      break;
    if (block->status != STATUS_OK && *ret_got < room) {
      if (err != NULL)
        *err = block->error;
      return block->status;
    }
    if (block->is_last)
      break;
    give_back_block(ahead);
  }
  return STATUS_OK;
}

void read_ahead_stop(struct read_ahead *ahead)
{
  if (ahead == NULL)
    return;
  condition_raise(&ahead->changed, &ahead->lock, &ahead->is_stopping);
  pthread_join(ahead->thread, NULL);
  pthread_cond_destroy(&ahead->changed);
  pthread_mutex_destroy(&ahead->lock);
  free(ahead);
}

// SPDX-License-Identifier: Apache-2.0
// All events of a file, handed to an importer in order; see trace_read in trace_events.h. A thread reads them into pieces, and
// the caller's thread hands these on, so that reading and what an importer does run side by side.
//
//      reading thread ─ fills ring[filled] ─▶ filled ≥ taken ─▶ caller's thread: event(…), key(…)
//
// A piece lies in one window: what it points to stays until the window after the next, for which the reading thread waits.
// Locking: `lock` guards `filled`, `taken` and `is_stopping`. Pieces from `taken` to `filled` are the caller's thread's, the one
// at `filled` is the reading thread's.
#include "base/memory.h"
#include "base/scoped.h"
#include "base/vector.h"
#include "importers/trace_events/trace_events_private.h"

#include <pthread.h>
#include <stdlib.h>

#define PIECES 4u
#define PIECE_EVENTS 512u // small enough for the second-level cache
#define PIECE_ARGUMENTS 4096u
#define PIECE_TEXT_BYTES ((size_t)1 << 20) // of decoded texts, after which a piece is full

struct piece { // events, then a key or the end where there is one
  struct trace_event events[PIECE_EVENTS];
  VECTOR(struct trace_argument) arguments; // of all events, in order
  uint32_t event_count;
  bool has_key, is_last;
  struct slice key;
  struct trace_value value;
  uint64_t offset;    // of what follows the value
  enum status status; // of the file's end
  struct error error;
  struct arena more_scratch;
  char scratch[SCRATCH_BYTES];
};

struct trace_pieces {
  struct trace_reader *reader;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned filled, taken;
  bool is_stopping;
  bool is_stopped;         // the reading thread has seen it
  unsigned filled_windows; // pieces that had been filled when the window moved last
  struct piece ring[PIECES];
};

struct delivery { // what trace_read was called with, and what it finds out
  trace_event_function *event;
  trace_key_function *key;
  void *context;
  uint64_t times;
  int64_t divisor_ns, least_ns; // of the starts
};

// ---- the reading thread ----------------------------------------------------------------------------------------------
static struct piece *filling(struct trace_pieces *pieces)
{
  return &pieces->ring[pieces->filled % PIECES];
}

// Waits until at most `most` pieces are not taken yet, or never will be.
static void wait_for(struct trace_pieces *pieces, unsigned most)
{
  SCOPED_LOCK(&pieces->lock);
  while (pieces->filled - pieces->taken > most && !pieces->is_stopping)
    pthread_cond_wait(&pieces->changed, &pieces->lock);
  pieces->is_stopped = pieces->is_stopping;
}

static void begin_piece(struct trace_pieces *pieces)
{
  struct trace_reader_private *own = pieces->reader->private_;
  struct piece *piece = filling(pieces);
  piece->event_count = 0;
  piece->arguments.count = 0;
  piece->has_key = false;
  arena_done(&piece->more_scratch);
  own->scratch = piece->scratch;
  own->scratch_used = 0;
}

static void hand_over(struct trace_pieces *pieces)
{
  struct trace_reader_private *own = pieces->reader->private_;
  filling(pieces)->more_scratch = own->more_scratch;
  own->more_scratch = (struct arena){0};
  SCOPED_LOCK(&pieces->lock);
  pieces->filled++;
  pthread_cond_signal(&pieces->changed);
}

static void next_piece(struct trace_pieces *pieces)
{
  hand_over(pieces);
  wait_for(pieces, PIECES - 1);
  begin_piece(pieces);
}

void trace_pieces_window(struct trace_pieces *pieces)
{
  if (filling(pieces)->event_count > 0)
    next_piece(pieces);
  wait_for(pieces, pieces->filled - pieces->filled_windows);
  pieces->filled_windows = pieces->filled;
}

static void put_event(struct trace_pieces *pieces)
{
  const struct trace_event *event = &pieces->reader->event;
  struct piece *piece = filling(pieces);
  piece->events[piece->event_count++] = *event;
  if (event->argument_count > 0) {
    vector_reserve(&piece->arguments, event->argument_count);
    memcpy(piece->arguments.items + piece->arguments.count, event->arguments,
           event->argument_count * sizeof *event->arguments);
    piece->arguments.count += event->argument_count;
  }
  if (piece->event_count == PIECE_EVENTS || piece->arguments.count >= PIECE_ARGUMENTS ||
      pieces->reader->private_->more_scratch.used_bytes > PIECE_TEXT_BYTES)
    next_piece(pieces);
}

static void put_key(struct trace_pieces *pieces)
{
  const struct trace_reader *reader = pieces->reader;
  const struct input *input = reader->private_->input;
  struct piece *piece = filling(pieces);
  piece->has_key = true;
  piece->key = reader->key;
  piece->value = reader->value;
  piece->offset = input_offset(input, input->at);
  next_piece(pieces);
}

static void *fill_pieces(void *argument)
{
  struct trace_pieces *pieces = argument;
  struct error error = {0};
  enum trace_item item = TRACE_EVENT;
  enum status status = STATUS_OK;
  begin_piece(pieces);
  while (!pieces->is_stopped && (status = trace_next(pieces->reader, &item, &error)) == STATUS_OK &&
         item != TRACE_END) {
    if (item == TRACE_EVENT)
      put_event(pieces);
    else
      put_key(pieces);
  }
  struct piece *piece = filling(pieces);
  piece->is_last = true;
  piece->status = status;
  piece->error = error;
  hand_over(pieces);
  return NULL;
}

// ---- the caller's thread -----------------------------------------------------------------------------------------
static int64_t common_divisor(int64_t a, int64_t b)
{
  return b == 0 ? a : common_divisor(b, a % b);
}

static enum status deliver(struct delivery *to, const struct trace_event *event, struct error *err)
{
  if (event->has_start) {
    to->times++;
    if (to->divisor_ns > 1)
      to->divisor_ns = common_divisor(to->divisor_ns, llabs(event->start_ns % to->divisor_ns));
    if (event->start_ns < to->least_ns)
      to->least_ns = event->start_ns;
  }
  return to->event(to->context, event, err);
}

static enum status deliver_key(const struct delivery *to, struct slice key, const struct trace_value *value,
                               uint64_t offset, struct error *err)
{
  return to->key == NULL ? STATUS_OK : to->key(to->context, key, value, offset, err);
}

static enum status deliver_piece(struct delivery *to, struct piece *piece, struct error *err)
{
  const struct trace_argument *arguments = piece->arguments.items; // which has moved while the piece was filled
  for (uint32_t i = 0; i < piece->event_count; i++) {
    size_t count = piece->events[i].argument_count;
    piece->events[i].arguments = count > 0 ? arguments : NULL;
    arguments = count > 0 ? arguments + count : arguments; // of a piece without any they are NULL
    XSP_TRY(deliver(to, &piece->events[i], err));
  }
  return piece->has_key ? deliver_key(to, piece->key, &piece->value, piece->offset, err) : STATUS_OK;
}

static struct piece *wait_for_piece(struct trace_pieces *pieces)
{
  SCOPED_LOCK(&pieces->lock);
  while (pieces->filled == pieces->taken)
    pthread_cond_wait(&pieces->changed, &pieces->lock);
  return &pieces->ring[pieces->taken % PIECES]; // no other thread writes `taken`
}

static void give_back(struct trace_pieces *pieces, bool is_stopping)
{
  SCOPED_LOCK(&pieces->lock);
  pieces->taken++;
  pieces->is_stopping = is_stopping;
  pthread_cond_signal(&pieces->changed);
}

static enum status take_pieces(struct trace_pieces *pieces, struct delivery *to, struct error *err)
{
  for (;;) {
    struct piece *piece = wait_for_piece(pieces);
    enum status status = deliver_piece(to, piece, err);
    bool is_last = piece->is_last;
    if (status == STATUS_OK && is_last && (status = piece->status) != STATUS_OK && err != NULL)
      *err = piece->error;
    give_back(pieces, status != STATUS_OK);
    if (is_last || status != STATUS_OK)
      return status;
  }
}

static bool start_thread(struct trace_pieces *pieces)
{
  pthread_mutex_init(&pieces->lock, NULL);
  pthread_cond_init(&pieces->changed, NULL);
  pieces->reader->private_->pieces = pieces;
  return pthread_create(&pieces->thread, NULL, fill_pieces, pieces) == 0;
}

static void pieces_free(struct trace_pieces *pieces)
{
  pthread_cond_destroy(&pieces->changed);
  pthread_mutex_destroy(&pieces->lock);
  for (unsigned i = 0; i < PIECES; i++) {
    vector_done(&pieces->ring[i].arguments);
    arena_done(&pieces->ring[i].more_scratch);
  }
  free(pieces);
}

static enum status read_here(struct trace_reader *reader, struct delivery *to, struct error *err)
{
  const struct input *input = reader->private_->input;
  enum trace_item item = TRACE_EVENT;
  for (;;) {
    XSP_TRY(trace_next(reader, &item, err));
    if (item == TRACE_END)
      return STATUS_OK;
    XSP_TRY(item == TRACE_EVENT ? deliver(to, &reader->event, err)
                                : deliver_key(to, reader->key, &reader->value, input_offset(input, input->at), err));
  }
}

static enum status read_apart(struct trace_reader *reader, struct delivery *to, struct error *err)
{
  struct trace_reader_private *own = reader->private_;
  struct trace_pieces *pieces = memory_new(1, sizeof *pieces); // untouched pages cost nothing
  char *scratch = own->scratch;
  pieces->reader = reader;
  bool has_thread = start_thread(pieces);
  enum status status = STATUS_OK;
  if (has_thread) {
    status = take_pieces(pieces, to, err);
    pthread_join(pieces->thread, NULL);
  }
  own->scratch = scratch;
  own->pieces = NULL;
  pieces_free(pieces);
  return has_thread ? status : read_here(reader, to, err);
}

#define RESOLUTION_TIMES_LEAST 64u // fewer may have a large divisor by chance: then it is taken for 1
// A double of as many microseconds, such as a Unix time of today, has steps of 250 ns, which it needs one decimal for.
#define COARSE_LEAST_NS ((INT64_C(1) << 50) * 1000)
#define COARSE_PRINTED_NS 100
#define COARSE_NS 350 // a step, and twice half a decimal

static int64_t resolution_ns(const struct delivery *delivery)
{
  if (delivery->times < RESOLUTION_TIMES_LEAST)
    return 1;
  bool is_coarse = delivery->divisor_ns == COARSE_PRINTED_NS && delivery->least_ns >= COARSE_LEAST_NS;
  return is_coarse ? COARSE_NS : delivery->divisor_ns;
}

enum status trace_read(struct input *input, trace_event_function *event, trace_key_function *key, void *context,
                       struct trace_ending *ret_ending, struct error *err)
{
  struct trace_reader reader;
  struct delivery to = {event, key, context, 0, STORE_RESOLUTION_MOST_NS, INT64_MAX};
  enum status status = trace_open(input, &reader, err);
  if (status == STATUS_OK)
    status = input_read_apart(input) ? read_apart(&reader, &to, err) : read_here(&reader, &to, err);
  *ret_ending = (struct trace_ending){reader.is_unclosed, reader.nonfinite_count, resolution_ns(&to)};
  trace_close(&reader);
  return status;
}

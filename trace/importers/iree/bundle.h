// SPDX-License-Identifier: Apache-2.0
// A profile bundle of IREE, taken apart: records of the file, items of their payloads, what items refer to. Private to this folder.
#ifndef XSP_IMPORTERS_IREE_BUNDLE_H
#define XSP_IMPORTERS_IREE_BUNDLE_H

#include "base/map.h"
#include "base/vector.h"
#include "importers/importer.h"

#define IREE_NONE UINT32_MAX // of an ordinal
// Queue operations (iree_hal_profile_queue_event_type_t).
enum { IREE_DISPATCH = 2, IREE_EXECUTE = 3, IREE_OPERATION_COUNT = 12 };

struct iree_record {
  struct slice type, payload; // "host-execution-events"
  uint32_t device, queue;
};
struct iree_clock { // two samples of a device's clock beside the host's
  bool has_two;
  uint64_t tick[2];
  int64_t host_ns[2];
};
struct iree_bundle {
  struct import *import;
  struct slice whole;       // up to the length that its head states
  bool is_unfinished;       // the head has no length: its last record may be cut
  uint64_t offset, dropped; // of the file's first byte; records that the writer had no room for
  struct map names;         // (executable, function) → id of import_string
  struct map spans;         // (submission, device or not) → the span of its execution
  struct map clock_of;      // device → place in clocks
  VECTOR(struct iree_clock) clocks;
  int64_t last_span_id;
};

bool iree_is_bundle(struct slice head);
// Sets up *bundle for import->input. STATUS_INPUT: it is no bundle, is cut, or of another major version.
enum status iree_open(struct iree_bundle *bundle, struct import *import, struct error *err) MUST_CHECK;
void iree_close(struct iree_bundle *bundle);

// Hands each record to `take`, each item of a payload likewise: at least `least` bytes.
typedef enum status iree_take_record(void *context, const struct iree_record *record, struct error *err);
typedef enum status iree_take_item(void *context, const struct iree_record *record, struct slice item,
                                   struct error *err);
enum status iree_each_record(struct iree_bundle *bundle, iree_take_record *take, void *context,
                             struct error *err) MUST_CHECK;
enum status iree_each_item(struct iree_bundle *bundle, const struct iree_record *record, size_t least,
                           iree_take_item *take, void *context, struct error *err) MUST_CHECK;

// Little-endian numbers of an item that has these bytes.
static inline uint32_t iree_u32(struct slice item, size_t at)
{
  uint32_t number;
  memcpy(&number, item.data + at, sizeof number);
  return number;
}
static inline uint64_t iree_u64(struct slice item, size_t at)
{
  uint64_t number;
  memcpy(&number, item.data + at, sizeof number);
  return number;
}

// ---- the first pass
void iree_note_function(struct iree_bundle *bundle, struct slice item);
void iree_note_clock(struct iree_bundle *bundle, struct slice item);
// A tick of a device as host time. False: the device's clock was not sampled twice, or the time is beyond 63 bits.
bool iree_host_time(const struct iree_bundle *bundle, uint32_t device, uint64_t tick, int64_t *ret_ns);

#endif

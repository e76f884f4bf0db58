// SPDX-License-Identifier: Apache-2.0
// Records and items of IREE's profile bundles (runtime/src/iree/hal/utils/profile_file.h and hal/profile_sink.h of IREE). Each has its
// own length first, so later versions may append fields.
#include "importers/iree/bundle.h"

#include "importers/text_file.h"

#define MAGIC "IRPF"
enum { HEAD_BYTES = 24, RECORD_HEAD_BYTES = 104, RECORD_CHUNK = 2 };
static const char type_prefix[] = "application/vnd.iree.hal.profile.";

bool iree_is_bundle(struct slice head)
{
  return head.length >= HEAD_BYTES && slice_starts_with(head, MAGIC);
}

static enum status cut(const struct iree_bundle *bundle, uint64_t at, struct error *err)
{
  return import_broken(bundle->import, err, bundle->offset + at, "it is cut, or the length of a record is wrong");
}

enum status iree_open(struct iree_bundle *bundle, struct import *import, struct error *err)
{
  struct slice whole;
  *bundle = (struct iree_bundle){.import = import};
  XSP_TRY(input_whole(import->input, &whole, err));
  bundle->offset = input_offset(import->input, whole.data);
  if (!iree_is_bundle(whole))
    return import_broken(import, err, 0, "it does not begin with \"" MAGIC "\": it is no profile bundle of IREE");
  uint32_t version = iree_u32(whole, 4);
  uint64_t length = iree_u64(whole, 16);
  if ((version & 0xffff) != 1)
    return import_broken(import, err, 4, "it is of version %u.%u, only 1 is known", version & 0xffff, version >> 16);
  if (length > whole.length || iree_u32(whole, 8) < HEAD_BYTES)
    return cut(bundle, whole.length, err);
  bundle->is_unfinished = length == 0;
  if (bundle->is_unfinished)
    import_note(import, "the recording was not ended: its last records may be missing");
  else
    whole.length = (size_t)length;
  bundle->whole = whole;
  return STATUS_OK;
}

void iree_close(struct iree_bundle *bundle)
{
  map_done(&bundle->names);
  map_done(&bundle->spans);
  map_done(&bundle->clock_of);
  vector_done(&bundle->clocks);
}

enum status iree_each_record(struct iree_bundle *bundle, iree_take_record *take, void *context, struct error *err)
{
  struct slice whole = bundle->whole, rest;
  size_t head = iree_u32(whole, 8);
  if (head > whole.length)
    return cut(bundle, whole.length, err);
  for (rest = slice_after(whole, head); rest.length > 0;) {
    uint64_t at = (uint64_t)(rest.data - whole.data);
    if (bundle->is_unfinished && (rest.length < RECORD_HEAD_BYTES || iree_u64(rest, 0) > rest.length))
      return STATUS_OK; // its process ended while it wrote this record
    if (rest.length < RECORD_HEAD_BYTES)
      return cut(bundle, at, err);
    uint64_t length = iree_u64(rest, 0), payload = iree_u64(rest, 8);
    uint64_t before = (uint64_t)iree_u32(rest, 56) + iree_u32(rest, 60) + iree_u32(rest, 64);
    if (iree_u32(rest, 56) < RECORD_HEAD_BYTES || length > rest.length || before > length || payload != length - before)
      return cut(bundle, at, err);
    struct iree_record record = {.type = {rest.data + iree_u32(rest, 56), iree_u32(rest, 60)},
                                 .payload = {rest.data + before, payload},
                                 .device = iree_u32(rest, 68),
                                 .queue = iree_u32(rest, 72)};
    bool is_known = slice_starts_with(record.type, type_prefix);
    if ((iree_u32(rest, 100) & 0xffff) == RECORD_CHUNK && is_known) {
      record.type = slice_after(record.type, strlen(type_prefix));
      bundle->dropped += iree_u64(rest, 88);
      XSP_TRY(take(context, &record, err));
    }
    rest = slice_after(rest, (size_t)length);
  }
  return STATUS_OK;
}

enum status iree_each_item(struct iree_bundle *bundle, const struct iree_record *record, size_t least,
                           iree_take_item *take, void *context, struct error *err)
{
  for (struct slice rest = record->payload; rest.length > 0;) {
    size_t length = rest.length >= least ? iree_u32(rest, 0) : 0;
    if (length < least || length > rest.length)
      return cut(bundle, (uint64_t)(rest.data - bundle->whole.data), err);
    XSP_TRY(take(context, record, (struct slice){rest.data, length}, err));
    rest = slice_after(rest, length);
  }
  return STATUS_OK;
}

// ---- what items refer to ---------------------------------------------------------------------------------------------
void iree_note_function(struct iree_bundle *bundle, struct slice item)
{
  struct slice name = slice_after(item, 64);
  uint32_t length = iree_u32(item, 44);
  name.length = name.length < length ? name.length : length;
  *map_at(&bundle->names, (struct map_key){iree_u64(item, 8), iree_u32(item, 16)}, NULL) =
      import_repaired(bundle->import, name);
}

// The first and the last sample of each device.
void iree_note_clock(struct iree_bundle *bundle, struct slice item)
{
  enum { DEVICE_TICK = 1, HOST_BRACKET = 8 };
  uint32_t device = iree_u32(item, 8);
  int64_t begin_ns = (int64_t)iree_u64(item, 56), end_ns = (int64_t)iree_u64(item, 64);
  if ((iree_u32(item, 4) & (DEVICE_TICK | HOST_BRACKET)) != (DEVICE_TICK | HOST_BRACKET) || begin_ns < 0 ||
      end_ns < begin_ns)
    return;
  bool is_first;
  uint64_t *place = map_at(&bundle->clock_of, map_number(device), &is_first);
  if (is_first) {
    *place = bundle->clocks.count;
    *vector_add(&bundle->clocks) = (struct iree_clock){0};
  }
  struct iree_clock *clock = &bundle->clocks.items[*place];
  clock->tick[!is_first] = iree_u64(item, 24);
  clock->host_ns[!is_first] = begin_ns + (end_ns - begin_ns) / 2;
  clock->has_two = !is_first && clock->tick[1] > clock->tick[0] && clock->host_ns[1] > clock->host_ns[0];
}

bool iree_host_time(const struct iree_bundle *bundle, uint32_t device, uint64_t tick, int64_t *ret_ns)
{
  const uint64_t *place = map_find(&bundle->clock_of, map_number(device));
  const struct iree_clock *clock = place != NULL ? &bundle->clocks.items[*place] : NULL;
  if (clock == NULL || !clock->has_two)
    return false;
  long double per_tick =
      (long double)(clock->host_ns[1] - clock->host_ns[0]) / (long double)(clock->tick[1] - clock->tick[0]);
  long double ns = (long double)clock->host_ns[0] + ((long double)tick - (long double)clock->tick[0]) * per_tick;
  *ret_ns = ns >= 0 && ns < 0x1p62L ? (int64_t)(ns + 0.5L) : -1;
  return *ret_ns >= 0;
}

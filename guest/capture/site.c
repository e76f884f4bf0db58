// SPDX-License-Identifier: Apache-2.0
// Sites, tracers and tracks: what spans refer to. Registered once, then only read. Lock-free and signal-safe.
//
// A site is on where the word at its `levels` has a bit of its mask. The pointer is also the site's state:
//
//   xsp_unregistered_v1, all bits --> first use: is there a session?
//                                       no: before_session, 0 until somebody attaches; then the site is registered
//                                       yes: register, as below
//   levels[slot] of session_control <-- the tracer has a slot: switched by whoever maps the session's file
//   never, 0 for ever               <-- the session has no slot left for the tracer; counted as lost
//
// - Register: claim the tracer's slot by name (0 free, 1 being written, 2 valid), intern the texts and the site in the
//   catalog, store the id, then the pointer. Threads that come together store the same values.
// - xsp_site_create looks for the site's catalog id in a hash table, in at most 64 places. It claims a free place by
//   storing the id, fills it, and stores the mask last: other threads pass over a place without a mask.
// - A track takes the next number of its process by compare-and-swap, then stores its catalog id there.
#include "capture/capture.h"

#include "base/clock.h"
#include "format/switches.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <xsp/tracer.h>

#define SITES_MOST (UINT32_C(1) << 18) // made by xsp_site_create, in one process
#define CLAIM_SPINS 10000

const volatile uint32_t xsp_unregistered_v1 = UINT32_MAX;
static const volatile uint32_t never; // for sites whose tracer has no place: 0 for ever

_Static_assert(sizeof(struct xsp_site) == 48 && offsetof(struct xsp_site, tracer) == 40, "frozen, version 1");
_Static_assert(offsetof(struct xsp_site, levels) == 8 && offsetof(struct xsp_site, id) == 16, "frozen, version 1");
_Static_assert(sizeof(struct xsp_span) == 16 && offsetof(struct xsp_span, id) == 12, "frozen, version 1");
_Static_assert(sizeof(struct xsp_context) == 8, "frozen, version 1");
_Static_assert(sizeof(struct xsp_track_options) == 40 && offsetof(struct xsp_track_options, stream_id) == 32, "v1");
_Static_assert(offsetof(struct xsp_interval, parent) == 32 &&
                   offsetof(struct xsp_interval, call_path) == XSP_INTERVAL_SIZE_V1,
               "frozen, version 1");

// ---- tracers
static bool same_name(const struct session_tracer *tracer, const char *name)
{
  return strncmp(tracer->name, name, sizeof tracer->name - 1) == 0;
}

// Claims one where the name is new; -1: no room.
static int tracer_slot(const char *name)
{
  if (name == NULL || *name == '\0')
    name = "app";
  for (uint32_t slot = 0; slot < SESSION_TRACERS; slot++) {
    struct session_tracer *tracer = &capture.control->tracer[slot];
    uint32_t claimed = __atomic_load_n(&tracer->claimed, __ATOMIC_ACQUIRE);
    if (claimed == 0 &&
        __atomic_compare_exchange_n(&tracer->claimed, &claimed, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
      memcpy(tracer->name, name, strnlen(name, sizeof tracer->name - 1)); // the rest is zero
      __atomic_store_n(&tracer->claimed, 2, __ATOMIC_RELEASE);            // partner: the acquires here and in collect
      return (int)slot;
    }
    // Somebody, perhaps another process, writes the name at this moment. One that died there must not hold us up.
    for (int spin = 0; claimed == 1 && spin < CLAIM_SPINS; spin++)
      claimed = __atomic_load_n(&tracer->claimed, __ATOMIC_ACQUIRE);
    if (claimed == 2 && same_name(tracer, name))
      return (int)slot;
  }
  return -1;
}

uint32_t xsp_tracer_levels(const char *tracer)
{
  if (!session_is_in())
    return 0;
  uint32_t levels = 0;
  if (tracer != NULL && strcmp(tracer, "*") == 0) {
    for (uint32_t slot = 0; slot < SESSION_TRACERS; slot++)
      if (__atomic_load_n(&capture.control->tracer[slot].claimed, __ATOMIC_ACQUIRE) == 2)
        levels |= __atomic_load_n(&capture.control->levels[slot], __ATOMIC_RELAXED);
    return levels;
  }
  int slot = tracer_slot(tracer); // a tracer that asks before its first span has what it will have then
  return slot < 0 ? 0 : __atomic_load_n(&capture.control->levels[slot], __ATOMIC_RELAXED);
}

uint32_t xsp_session_levels(void)
{
  return session_is_in() ? capture.session->levels : 0;
}

uint32_t xsp_tracer_set_levels(const char *tracer, uint32_t level_mask)
{
  if (!session_is_in())
    return 0;
  level_mask &= capture.session->levels;
  if (tracer != NULL && strcmp(tracer, "*") == 0) {
    switches_note(capture.switches, SESSION_TRACERS, level_mask, (int64_t)clock_now_ns(CLOCK_REALTIME));
    for (uint32_t slot = 0; slot < SESSION_TRACERS; slot++)
      __atomic_store_n(&capture.control->levels[slot], level_mask, __ATOMIC_RELAXED);
    return level_mask;
  }
  int slot = tracer_slot(tracer);
  if (slot < 0)
    return 0;
  switches_note(capture.switches, (uint32_t)slot, level_mask, (int64_t)clock_now_ns(CLOCK_REALTIME));
  __atomic_store_n(&capture.control->levels[slot], level_mask, __ATOMIC_RELAXED);
  return level_mask;
}

int xsp_site_was_on(struct xsp_site *site, uint64_t realtime_ns)
{
  if (!site_known(site))
    return 0;
  const volatile uint32_t *levels = __atomic_load_n(&site->levels, __ATOMIC_ACQUIRE);
  if (levels == &never)
    return 0;
  return (switches_levels_at(capture.switches, (uint32_t)(levels - capture.control->levels), (int64_t)realtime_ns,
                             capture.session->levels) &
          site->mask) != 0;
}

// ---- sites
// Gives a site its id and its switch. Threads that come together write the same values.
static void register_site(struct xsp_site *site, uint32_t variant)
{
  if (!capture_attached()) {
    session_attach_if_asked();
    if (!capture_attached()) { // until somebody attaches
      __atomic_store_n(&site->levels, &capture_attach_block.before_session, __ATOMIC_RELEASE);
      if (!capture_attached()) // nobody did meanwhile: the store above was in time to be found
        return;
    }
  }
  int slot = tracer_slot(site->tracer);
  uint32_t id = 0;
  if (slot >= 0 && site->level < XSP_LEVEL_COUNT && site->size >= sizeof(struct xsp_site)) {
    uint32_t name = catalog_text(site->name), category = catalog_text(site->category);
    bool complete = (name != 0 || site->name == NULL || *site->name == '\0') &&
                    (category != 0 || site->category == NULL || *site->category == '\0');
    id = complete ? catalog_site(site->level, (uint32_t)slot, name, category, variant) : 0;
  }
  // Id before switch. Without an id the switch still comes to the slow path, where each span is counted as lost.
  __atomic_store_n(&site->id, id, __ATOMIC_RELEASE);
  __atomic_store_n(&site->levels, slot < 0 ? &never : &capture.control->levels[slot], __ATOMIC_RELEASE);
  if (slot < 0)
    session_count_lost(1);
}

bool site_known(struct xsp_site *site)
{
  if (site == NULL)
    return false;
  const volatile uint32_t *levels = __atomic_load_n(&site->levels, __ATOMIC_ACQUIRE);
  if (levels == &xsp_unregistered_v1 || levels == &capture_attach_block.before_session) {
    if (levels == &capture_attach_block.before_session && *levels == 0)
      return false;
    register_site(site, 0);
  }
  return capture_attached();
}

bool site_has_id(struct xsp_site *site)
{
  if (__atomic_load_n(&site->id, __ATOMIC_ACQUIRE) != 0)
    return true;
  session_count_lost(1); // the catalog is full
  return false;
}

bool site_usable(struct xsp_site *site)
{
  return site_known(site) && (*__atomic_load_n(&site->levels, __ATOMIC_ACQUIRE) & site->mask) != 0 && site_has_id(site);
}

// Sites of xsp_site_create: a table of them, found by their catalog id, in memory that is touched as it fills.
static struct xsp_site *made; // atomic; SITES_MOST of them

static struct xsp_site *made_sites(void)
{
  struct xsp_site *sites = __atomic_load_n(&made, __ATOMIC_ACQUIRE);
  if (sites != NULL)
    return sites;
  const size_t bytes = SITES_MOST * sizeof(struct xsp_site);
  struct xsp_site *fresh =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (fresh == MAP_FAILED)
    return NULL;
  if (__atomic_compare_exchange_n(&made, &sites, fresh, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
    return fresh;
  munmap(fresh, bytes);
  return sites;
}

struct xsp_site *xsp_site_create(const char *tracer, enum xsp_level level, const char *name, const char *category)
{
  return xsp_site_create_variant(tracer, level, name, category, 0);
}

struct xsp_site *xsp_site_create_variant(const char *tracer, enum xsp_level level, const char *name,
                                         const char *category, uint32_t variant)
{
  int saved_errno = errno;
  struct xsp_site wanted = {sizeof wanted, XSP_LEVEL_MASK(level), &xsp_unregistered_v1, 0, level, name, category,
                            tracer};
  struct xsp_site *sites = NULL, *found = NULL;
  if ((unsigned)level < XSP_LEVEL_COUNT) {
    session_attach_if_asked();
    if (capture_attached() && (sites = made_sites()) != NULL)
      register_site(&wanted, variant);
  }
  const struct catalog_site *entry = wanted.id == 0 ? NULL : catalog_entry(wanted.id, CATALOG_SITE);
  // A free place is claimed by its id and filled by who claimed it, since others read its fields plainly. One that is
  // being filled is passed over: a second place for the same id does no harm.
  for (uint32_t i = 0, place = wanted.id * 2654435761u; entry != NULL && i < 64; i++) {
    struct xsp_site *site = &sites[(place + i) % SITES_MOST];
    uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    bool is_claimed =
        id == 0 && __atomic_compare_exchange_n(&site->id, &id, wanted.id, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (!is_claimed && (id != wanted.id || __atomic_load_n(&site->mask, __ATOMIC_ACQUIRE) == 0))
      continue;
    if (is_claimed) {
      const struct catalog_string *text = catalog_entry(entry->name, CATALOG_STRING);
      const struct catalog_string *kind = catalog_entry(entry->category, CATALOG_STRING);
      __atomic_store_n(&site->size, sizeof *site, __ATOMIC_RELAXED);
      __atomic_store_n(&site->level, (uint32_t)level, __ATOMIC_RELAXED);
      __atomic_store_n(&site->name, text == NULL ? "" : text->text, __ATOMIC_RELAXED);
      __atomic_store_n(&site->category, kind == NULL ? NULL : kind->text, __ATOMIC_RELAXED);
      __atomic_store_n(&site->tracer, capture.control->tracer[entry->tracer].name, __ATOMIC_RELAXED);
      __atomic_store_n(&site->levels, wanted.levels, __ATOMIC_RELAXED);
      __atomic_store_n(&site->mask, wanted.mask, __ATOMIC_RELEASE);
    }
    found = site;
    break;
  }
  errno = saved_errno;
  return found;
}

// ---- tags of sites
uint32_t site_id(struct xsp_site *site)
{
  if (site == NULL)
    return 0;
  if (__atomic_load_n(&site->id, __ATOMIC_ACQUIRE) == 0)
    register_site(site, 0);
  return capture_attached() ? __atomic_load_n(&site->id, __ATOMIC_ACQUIRE) : 0;
}

static void tag_site(struct xsp_site *site, const char *key, enum value_type type, uint64_t value)
{
  int saved_errno = errno;
  uint32_t id = site_id(site);
  if (id != 0 && !catalog_site_tag(id, catalog_text(key), type, value))
    session_count_lost(1);
  errno = saved_errno;
}

void xsp_site_tag_int(struct xsp_site *site, const char *key, int64_t value)
{
  tag_site(site, key, VALUE_INT, (uint64_t)value);
}

void xsp_site_tag_double(struct xsp_site *site, const char *key, double value)
{
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  tag_site(site, key, VALUE_DOUBLE, bits);
}

void xsp_site_tag_string(struct xsp_site *site, const char *key, const char *value)
{
  int saved_errno = errno;
  if (site_id(site) != 0) // else there is no catalog for the value
    tag_site(site, key, VALUE_STRING, catalog_string(value == NULL ? "" : value, value == NULL ? 0 : strlen(value)));
  errno = saved_errno;
}

// ---- tracks
uint16_t xsp_track_create(const struct xsp_track_options *options)
{
  int saved_errno = errno;
  session_attach_if_asked();
  struct process_head *process = session_process();
  uint16_t track = 0;
  if (process != NULL && options != NULL && options->size >= sizeof *options) {
    uint32_t id = options->thread_id != 0 ? catalog_track(0, 0, -1, -1, options->thread_id)
                                          : catalog_track(catalog_text(options->name), catalog_text(options->clock),
                                                          options->device_id, options->stream_id, 0);
    uint32_t place = __atomic_load_n(&process->track_count, __ATOMIC_RELAXED);
    while (id != 0 && place < PROCESS_TRACKS) {
      if (!__atomic_compare_exchange_n(&process->track_count, &place, place + 1, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED))
        continue;
      __atomic_store_n(&process->track[place], id, __ATOMIC_RELEASE);
      track = (uint16_t)(place + 1);
      break;
    }
  }
  errno = saved_errno;
  return track;
}

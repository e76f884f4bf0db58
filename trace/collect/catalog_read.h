// SPDX-License-Identifier: Apache-2.0
// Reads a session's catalog: strings, sites, their tags, tracks, frames, call paths. Pure: works on bytes in memory, trusts none of them.
//
// Other processes append while we read. An entry is complete once its size is there; it never changes afterwards, except
// for a site's first_tag and path. Everything is copied out before it is looked at.
#ifndef XSP_COLLECT_CATALOG_READ_H
#define XSP_COLLECT_CATALOG_READ_H

#include "format/session.h"

#include <xsp/call_path.h>

#include <stdbool.h>
#include <stdint.h>

#define CATALOG_STRING_MAXIMUM (UINT32_C(1) << 20) // longer texts are refused
#define CATALOG_SITE_TAGS_MAXIMUM 256u             // more tags of one site are ignored: ends loops too

struct catalog_view {
  const uint8_t *bytes; // borrowed
  uint64_t size;        // bytes that may be read
};

// NULL: fine. Else what is wrong, a static text.
const char *catalog_read_check(const struct catalog_view *view);
// All: false where `id` names no complete entry of that type inside the view.
bool catalog_read_string(const struct catalog_view *view, uint32_t id, const char **ret_text, uint32_t *ret_length);
bool catalog_read_site(const struct catalog_view *view, uint32_t id, struct catalog_site *ret_site);
bool catalog_read_site_tag(const struct catalog_view *view, uint32_t id, struct catalog_site_tag *ret_tag);
bool catalog_read_track(const struct catalog_view *view, uint32_t id, struct catalog_track *ret_track);
bool catalog_read_frame(const struct catalog_view *view, uint32_t id,
                        struct catalog_frame *ret_frame); // of a known kind
// Also false where the caller does not come before: a path's chain of callers has an end.
bool catalog_read_path(const struct catalog_view *view, uint32_t id, struct catalog_path *ret_path);

#endif

// SPDX-License-Identifier: Apache-2.0
// What an asset's URL names. Inside this room only. Pure; URLs may be hostile.
#ifndef XSP_ASSETS_ADDRESS_H
#define XSP_ASSETS_ADDRESS_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>

enum asset_scheme { ASSET_PATH, ASSET_REPOSITORY, ASSET_PACKAGE, ASSET_HTTP };
struct asset_address {
  enum asset_scheme scheme;
  const char *path;             // of a path; below the repository or the package's folder of modules
  const char *package;          // its name
  const char *version;          // of the package; NULL: any
  const char *after_repository; // as `path`, still in percent encoding
};

// Texts live in `arena`. STATUS_USE: malformed, or of a scheme that is not supported.
enum status asset_address_read(const char *url, struct arena *arena, struct asset_address *ret_address,
                               struct error *err) MUST_CHECK;
// The last part of an HTTP URL's path, with letters, digits and "._+-" only; never empty, hidden or long.
const char *asset_name_of(const char *url, struct arena *arena);

#endif

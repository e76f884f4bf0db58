// SPDX-License-Identifier: Apache-2.0
// Front door: the files that a manifest or a user names, wherever they are. Call it with what was written, open what it returns:
//
//   const struct asset_request request = {.url = "https://example.org/resnet50.onnx", .sha256 = "5ec1…", .base_folder = "models"};
//   const char *path = NULL;
//   XSP_TRY(asset_get(&request, arena, &path, err));
//
//   resnet50.onnx, /data/resnet50.onnx   a file or folder; relative ones below base_folder
//   file:///data/resnet50.onnx           the same, in percent encoding
//   repo://vision/resnet50.onnx          below the repository: a folder, or a place of an HTTP server
//   package://NAME[==VERSION]/FILE       a file of a Python package that is installed in the active environment
//   http://…, https://…                  fetched once, then kept in the cache
//
// The cache is $XSP_ASSET_CACHE, else $XDG_CACHE_HOME/xsp/assets, else ~/.cache/xsp/assets. A file appears there once it is complete and
// its checksum is right. A part that was fetched before is continued, where the server has the same file still. A second process
// that wants the same asset waits for the first. Nothing is fetched but what is named.
#ifndef XSP_ASSETS_ASSETS_H
#define XSP_ASSETS_ASSETS_H

#include "assets/checksum.h"
#include "base/arena.h"
#include "base/message.h"

#include <stdbool.h>
#include <stdint.h>

#define ASSET_BYTES_MOST ((uint64_t)16 << 30)
#define ASSET_STALL_S 60

struct asset_request {
  const char *url;         // as above
  const char *sha256;      // 64 hex digits of either case; NULL: unknown. Files that are not fetched are compared, too
  const char *base_folder; // of relative paths; NULL: the current folder
  const char *repository;  // of repo://: a folder, http://… or https://…; NULL: $XSP_REPOSITORY
  uint64_t bytes_most;     // a larger file is not fetched; 0: ASSET_BYTES_MOST
  unsigned stall_s;        // give up when nothing comes for so long; 0: ASSET_STALL_S
  bool is_offline;         // never fetch: only what the cache has
  bool
      may_change; // without sha256: take what the server has now, instead of an error where it is another file than before
  // Called while bytes come, on the caller's thread; may be NULL. `total_bytes` is 0 where the server did not send it.
  void (*progress)(void *context, const char *url, uint64_t done_bytes, uint64_t total_bytes);
  void *context;
  message_fn message; // for waits, and where the cache is used since the server does not answer; may be NULL
};

// *ret_path, in `arena`, can be opened; of what was fetched it ends as the URL does. Without sha256 the first fetch records the file's
// checksum; later ones ask the server whether it has the same file. Errors: STATUS_USE (the URL is malformed), STATUS_INPUT
// (there is no such file, or it is another one than wanted), STATUS_SYSTEM (no answer, no room, no libcurl, no such package).
enum status asset_get(const struct asset_request *request, struct arena *arena, const char **ret_path,
                      struct error *err) MUST_CHECK;
// Whether the text has a scheme, as in http://…; else it is a path.
bool asset_is_url(const char *text);

#endif

// SPDX-License-Identifier: Apache-2.0
// From what was named to a file on this machine; see assets.h.
#include "assets/assets.h"

#include "assets/address.h"
#include "assets/fetch.h"
#include "base/debug.h"
#include "base/python_package.h"
#include "base/scoped.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char not_wanted[] = "not the file that is wanted";

// ---- files that are here ---------------------------------------------------------------------------------------------
static enum status other_file(const struct asset_request *request, const char *what, const char *wanted,
                              const char *found, const char *advice, struct error *err)
{
  return error_set(err, STATUS_INPUT, what, request->url, advice, "sha256 is %s, wanted is %s", found, wanted);
}

static enum status use_file(const struct asset_request *request, const char *path, const char **ret_path,
                            struct error *err)
{
  char found[CHECKSUM_TEXT_SIZE];
  *ret_path = path;
  if (access(path, R_OK) != 0)
    return error_set_errno(err, STATUS_INPUT, "cannot read the file", path, "another path");
  if (request->sha256 == NULL)
    return STATUS_OK;
  XSP_TRY(checksum_of_file(path, found, err));
  return strcasecmp(found, request->sha256) == 0
             ? STATUS_OK
             : other_file(request, not_wanted, request->sha256, found, "the right file, or the right checksum", err);
}

static enum status find_in_package(const struct asset_request *request, const struct asset_address *address,
                                   struct arena *arena, const char **ret_path, struct error *err)
{
  struct python_package package;
  const char *name = address->package, *version = address->version;
  const char *advice =
      arena_format(arena, "pip install %s%s%s", name, version != NULL ? "==" : "", version != NULL ? version : "");
  if (!python_package_find(slice_of(name), arena, &package))
    return error_set(err, STATUS_SYSTEM, "cannot find the file", request->url, advice,
                     "the package %s is not in the active Python environment", name);
  if (version != NULL && strcmp(version, package.version) != 0)
    return error_set(err, STATUS_SYSTEM, "cannot find the file", request->url, advice, "%s %s is in %s, wanted is %s",
                     name, package.version, package.folder, version);
  return use_file(request, arena_format(arena, "%s/%s", package.folder, address->path), ret_path, err);
}

// ---- files that are fetched ------------------------------------------------------------------------------------------
// The server's file took the place of the cache's, or is refused.
static enum status settle(const struct asset_request *request, const struct asset_entry *entry,
                          const struct asset_source *known, const struct asset_source *fetched, struct error *err)
{
  const char *wanted = request->sha256;
  if (wanted == NULL && known != NULL && !request->may_change)
    wanted = known->sha256;
  if (wanted == NULL || strcasecmp(wanted, fetched->sha256) == 0)
    return entry_complete(entry, fetched, err);
  entry_drop_part(entry);
  if (request->sha256 != NULL)
    return other_file(request, not_wanted, wanted, fetched->sha256, "the right URL, or the right checksum", err);
  return other_file(request, "the server has another file than before", wanted, fetched->sha256,
                    "a checksum, which says which of them is wanted", err);
}

// What the cache has is used where the server does not answer.
static enum status ask_for_change(const struct asset_request *request, const struct asset_entry *entry,
                                  const struct asset_source *known, struct error *err)
{
  struct fetched fetched;
  struct error problem = {0};
  enum status status = fetch_part(request, entry, known, &fetched, &problem);
  if (status == STATUS_OK)
    return fetched.is_same ? STATUS_OK : settle(request, entry, known, &fetched.source, err);
  if (request->may_change) {
    if (err != NULL)
      *err = problem;
    return status;
  }
  if (request->message != NULL)
    request->message("xsp: %s: the copy in the cache is used: %s", request->url, problem.why);
  return STATUS_OK;
}

static enum status fetch_locked(const struct asset_request *request, const struct asset_entry *entry, struct error *err)
{
  bool is_there;
  struct asset_source known;
  struct fetched fetched;
  XSP_TRY(entry_look(entry, &is_there, &known, err));
  if (is_there && request->sha256 != NULL) // another xsp fetched it meanwhile
    return STATUS_OK;
  if (is_there)
    return request->may_change || known.etag[0] != 0 || known.modified[0] != 0
               ? ask_for_change(request, entry, &known, err)
               : STATUS_OK;
  XSP_TRY(fetch_part(request, entry, NULL, &fetched, err));
  if (fetched.was_continued && request->sha256 != NULL && strcasecmp(request->sha256, fetched.source.sha256) != 0) {
    entry_drop_part(entry); // its beginning may be another file's
    XSP_TRY(fetch_part(request, entry, NULL, &fetched, err));
  }
  return settle(request, entry, NULL, &fetched.source, err);
}

static enum status fetch_once(const struct asset_request *request, struct arena *arena, const char **ret_path,
                              struct error *err)
{
  struct asset_entry entry;
  struct asset_source known;
  bool is_there;
  XSP_TRY(entry_find(request->url, request->sha256, arena, &entry, err));
  XSP_TRY(entry_look(&entry, &is_there, &known, err));
  *ret_path = entry.file;
  DEBUG(assets, "%s: %s in %s", request->url, is_there ? "found" : "not found", entry.folder);
  if (is_there && (request->sha256 != NULL || request->is_offline))
    return STATUS_OK;
  if (request->is_offline)
    return error_set(err, STATUS_SYSTEM, "cannot fetch the file", request->url, "again without --offline",
                     "it is not in the cache, and nothing may be fetched");
  int lock SCOPED(scoped_close) = -1;
  XSP_TRY(cache_make_folders(&asset_cache, entry.folder, 0700, err));
  XSP_TRY(cache_check_owner(&asset_cache, entry.folder, err));
  XSP_TRY(cache_lock(&asset_cache, entry.lock, request->message,
                     arena_format(arena, "xsp: waiting for another xsp that fetches %s", request->url), &lock, err));
  return fetch_locked(request, &entry, err);
}

// ---- all of them -----------------------------------------------------------------------------------------------------
static enum status find_in_repository(const struct asset_request *request, const struct asset_address *address,
                                      struct arena *arena, const char **ret_path, struct error *err)
{
  const char *repository = request->repository != NULL ? request->repository : getenv("XSP_REPOSITORY");
  if (repository == NULL || repository[0] == 0)
    return error_set(err, STATUS_SYSTEM, "cannot find the file", request->url, "XSP_REPOSITORY=FOLDER, or a URL",
                     "there is no repository");
  if (text_begins_with(repository, "repo:") || text_begins_with(repository, "package:"))
    return error_set(err, STATUS_USE, "cannot find the file", repository, "a folder, or an http(s) URL",
                     "the repository must be a place of its own");
  struct asset_request inner = *request;
  bool is_folder = !asset_is_url(repository);
  inner.url = arena_format(arena, "%s%s%s", repository, text_ends_with(repository, "/") ? "" : "/",
                           is_folder ? address->path : address->after_repository);
  inner.base_folder = NULL;
  return asset_get(&inner, arena, ret_path, err);
}

enum status asset_get(const struct asset_request *request, struct arena *arena, const char **ret_path,
                      struct error *err)
{
  struct asset_address address;
  *ret_path = NULL;
  if (request->sha256 != NULL && (strlen(request->sha256) != CHECKSUM_TEXT_SIZE - 1 ||
                                  strspn(request->sha256, "0123456789abcdefABCDEF") != CHECKSUM_TEXT_SIZE - 1))
    return error_set(err, STATUS_USE, "wrong checksum", request->sha256, "what sha256sum prints",
                     "it is not 64 hex digits");
  XSP_TRY(asset_address_read(request->url, arena, &address, err));
  bool is_below = address.path != NULL && address.path[0] != '/' && request->base_folder != NULL;
  switch (address.scheme) {
  case ASSET_PATH:
    return use_file(request, is_below ? arena_format(arena, "%s/%s", request->base_folder, address.path) : address.path,
                    ret_path, err);
  case ASSET_PACKAGE:
    return find_in_package(request, &address, arena, ret_path, err);
  case ASSET_REPOSITORY:
    return find_in_repository(request, &address, arena, ret_path, err);
  case ASSET_HTTP:
    break;
  }
  return fetch_once(request, arena, ret_path, err);
}

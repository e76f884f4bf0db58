// SPDX-License-Identifier: Apache-2.0
// URLs of assets, taken apart. Called by get.c; fuzz/asset_fuzz.c.
#include "assets/address.h"

#include "assets/assets.h"
#include "base/path_text.h"

#include <ctype.h>
#include <string.h>

#define NAME_BYTES_MOST 100

static const char what[] = "cannot read the URL";

bool asset_is_url(const char *text)
{
  size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
  return length > 0 && text_begins_with(text + length, "://");
}

static enum status read_file(const char *url, const char *rest, struct arena *arena, struct asset_address *address,
                             struct error *err)
{
  rest += text_begins_with(rest, "localhost/") ? strlen("localhost") : 0;
  address->path = percent_decode(slice_of(rest), arena);
  return address->path != NULL && address->path[0] == '/' ? STATUS_OK
                                                          : error_set(err, STATUS_USE, what, url, "file:///FOLDER/FILE",
                                                                      "it is not an absolute path of this machine");
}

static enum status read_inner_path(const char *url, const char *rest, struct arena *arena,
                                   struct asset_address *address, struct error *err)
{
  address->path = percent_decode(slice_of(rest), arena);
  return address->path != NULL && path_is_inner(address->path)
             ? STATUS_OK
             : error_set(err, STATUS_USE, what, url, "FOLDER/FILE without '..'", "its path must lie below its folder");
}

static enum status read_package(const char *url, const char *rest, struct arena *arena, struct asset_address *address,
                                struct error *err)
{
  static const char advice[] = "package://NAME/FILE, or package://NAME==VERSION/FILE";
  const char *file = strchr(rest, '/');
  size_t length = file != NULL ? (size_t)(file - rest) : 0;
  char *name = arena_copy(arena, rest, length), *version = strstr(name, "==");
  if (version != NULL) {
    *version = 0;
    version += 2;
  }
  if (name[0] == 0 || strchr(name, '%') != NULL || (version != NULL && version[0] == 0))
    return error_set(err, STATUS_USE, what, url, advice, "it does not name a package and a file of it");
  address->package = name;
  address->version = version;
  return read_inner_path(url, file + 1, arena, address, err);
}

static enum status check_http(const char *url, const char *rest, struct error *err)
{
  size_t host = strcspn(rest, "/?#");
  for (const char *at = url; *at != 0; at++)
    if (*at <= ' ' || *at >= 0x7f)
      return error_set(err, STATUS_USE, what, url, "percent encoding", "it has a space, or a byte that is not ASCII");
  if (host == 0)
    return error_set(err, STATUS_USE, what, url, "http://HOST/PATH", "it has no host");
  if (memchr(rest, '@', host) != NULL) // it would be in messages and in the cache
    return error_set(err, STATUS_USE, "cannot read the URL", NULL, "a URL without a user",
                     "it has a user or a password");
  return STATUS_OK;
}

enum status asset_address_read(const char *url, struct arena *arena, struct asset_address *ret_address,
                               struct error *err)
{
  *ret_address = (struct asset_address){.scheme = ASSET_PATH, .path = url};
  if (!asset_is_url(url))
    return url[0] != 0 ? STATUS_OK : error_set(err, STATUS_USE, what, NULL, "a file", "it is empty");
  const char *rest = strstr(url, "://") + 3;
  struct slice scheme = {url, (size_t)(rest - url) - 3};
  if (slice_is(scheme, "file"))
    return read_file(url, rest, arena, ret_address, err);
  if (slice_is(scheme, "http") || slice_is(scheme, "https")) {
    ret_address->scheme = ASSET_HTTP;
    return check_http(url, rest, err);
  }
  if (slice_is(scheme, "repo")) {
    ret_address->scheme = ASSET_REPOSITORY;
    ret_address->after_repository = rest;
    return read_inner_path(url, rest, arena, ret_address, err);
  }
  if (slice_is(scheme, "package")) {
    ret_address->scheme = ASSET_PACKAGE;
    return read_package(url, rest, arena, ret_address, err);
  }
  return error_set(err, STATUS_USE, what, url, "a path, file://, http://, https://, repo:// or package://",
                   "xsp does not know the scheme %.*s", (int)scheme.length, scheme.data);
}

const char *asset_name_of(const char *url, struct arena *arena)
{
  const char *path = strstr(url, "://") + 3, *host_end = path + strcspn(path, "/?#");
  size_t length = strcspn(host_end, "?#");
  const char *end = host_end + length, *slash = memrchr(host_end, '/', length);
  const char *begin = slash != NULL ? slash + 1 : end;
  if (end - begin > NAME_BYTES_MOST)
    begin = end - NAME_BYTES_MOST; // with its ending, by which frameworks know a file
  char *name = begin < end ? arena_copy(arena, begin, (size_t)(end - begin)) : arena_copy(arena, "asset", 5);
  for (char *at = name; *at != 0; at++)
    if (!isalnum((unsigned char)*at) && (strchr("._+-", *at) == NULL || (at == name && *at == '.')))
      *at = '_';
  return name;
}

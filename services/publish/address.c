// SPDX-License-Identifier: Apache-2.0
// The address of a receiver: as given, or from the variables of OpenTelemetry's SDKs; its headers and credentials. Called by
// publish.c. Headers of the environment are for the environment's address only: they hold keys.
#include "publish/address.h"

#include "base/hex.h"
#include "base/input_file.h"
#include "base/scoped.h"
#include "base/slice.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define TOKEN_BYTES_MOST 16384
#define TRACES_PATH "v1/traces"

static const char *variable(const char *name)
{
  const char *value = getenv(name);
  return value != NULL && value[0] != 0 ? value : NULL;
}

static bool is_visible(struct slice text) // ASCII, without spaces
{
  for (size_t i = 0; i < text.length; i++)
    if (text.data[i] <= ' ' || text.data[i] > '~')
      return false;
  return true;
}

// ---- URL -------------------------------------------------------------------------------------------------------------
// The host and all that follows; NULL: not http and not https.
static const char *after_scheme(const char *url)
{
  return strncasecmp(url, "http://", 7) == 0 ? url + 7 : strncasecmp(url, "https://", 8) == 0 ? url + 8 : NULL;
}

static enum status check_url(const char *url, const char *source, struct error *err)
{
  static const char advice[] = "http://HOST:PORT or https://HOST:PORT";
  const char *host = after_scheme(url);
  if (host == NULL)
    return error_set(err, STATUS_USE, "cannot publish", source, advice, "'%s' is not an http or https address", url);
  size_t host_length = strcspn(host, "/?#");
  if (host_length == 0 || !is_visible(slice_of(url)))
    return error_set(err, STATUS_USE, "cannot publish", source, advice, "'%s' is not a valid address", url);
  if (memchr(host, '@', host_length) != NULL) // others see the command line
    return error_set(err, STATUS_USE, "cannot publish", source, "--publish-token-file FILE",
                     "credentials do not belong in an address");
  return strchr(host, '#') == NULL
             ? STATUS_OK
             : error_set(err, STATUS_USE, "cannot publish", source, advice, "an address without '#' is needed");
}

// `is_base`: the path of traces is added to any path, as the SDKs do; else only where there is no path.
static const char *traces_url(const char *url, bool is_base, struct arena *arena)
{
  const char *host = after_scheme(url);
  const char *path = host + strcspn(host, "/?");
  bool has_path = path[0] != 0 && strcmp(path, "/") != 0;
  if (has_path && !is_base)
    return arena_copy(arena, url, strlen(url));
  return arena_format(arena, "%s%s" TRACES_PATH, url, text_ends_with(url, "/") ? "" : "/");
}

static enum status find_url(const char *given, struct arena *arena, struct address *address, struct error *err)
{
  const char *traces = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  const char *base = variable("OTEL_EXPORTER_OTLP_ENDPOINT");
  if (strcmp(given, "env") != 0) {
    XSP_TRY(check_url(given, "--publish", err));
    address->url = traces_url(given, false, arena);
  } else if (traces != NULL) {
    XSP_TRY(check_url(traces, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", err));
    address->url = traces;
  } else if (base != NULL) {
    XSP_TRY(check_url(base, "OTEL_EXPORTER_OTLP_ENDPOINT", err));
    address->url = traces_url(base, true, arena);
  } else {
    return error_set(err, STATUS_USE, "cannot publish", "--publish env", "--publish http://HOST:4318",
                     "OTEL_EXPORTER_OTLP_ENDPOINT is not set");
  }
  return STATUS_OK;
}

// ---- headers ---------------------------------------------------------------------------------------------------------
// %XX to bytes. False: malformed, or a byte that no header may have.
static bool decode_value(struct slice value, char *text)
{
  for (size_t i = 0; i < value.length; i++) {
    unsigned char byte = (unsigned char)value.data[i];
    if (byte == '%') {
      if (value.length - i < 3 || !hex_decode(value.data + i + 1, &byte, 1))
        return false;
      i += 2;
    }
    if (byte < ' ' || byte == 0x7f)
      return false;
    *text++ = (char)byte;
  }
  *text = 0;
  return true;
}

static bool is_header_name(struct slice name)
{
  for (size_t i = 0; i < name.length; i++)
    if (memchr("\"(),/:;<=>?@[\\]{}", name.data[i], 17) != NULL)
      return false;
  return name.length > 0 && is_visible(name);
}

// "name=value,name=value", values in percent encoding.
static enum status add_environment_headers(struct arena *arena, struct address *address, struct error *err)
{
  const char *name = "OTEL_EXPORTER_OTLP_TRACES_HEADERS";
  if (variable(name) == NULL)
    name = "OTEL_EXPORTER_OTLP_HEADERS";
  struct slice rest = slice_of(variable(name)), pair;
  while (slice_cut(&rest, ',', &pair)) {
    struct slice value = slice_trim(pair), key;
    if (value.length == 0)
      continue;
    char *text = arena_alloc(arena, value.length + 1);
    slice_cut(&value, '=', &key);
    key = slice_trim(key);
    if (!is_header_name(key) || value.data == NULL || !decode_value(slice_trim(value), text))
      return error_set(err, STATUS_USE, "cannot publish", name, "NAME=VALUE,NAME=VALUE, in percent encoding",
                       "an entry is malformed"); // not quoted: it may be a key
    *vector_add(&address->headers) = arena_format(arena, "%.*s: %s", (int)key.length, key.data, text);
  }
  return STATUS_OK;
}

static enum status add_token(const char *path, struct arena *arena, struct address *address, struct error *err)
{
  FILE *file SCOPED(scoped_fclose) = NULL;
  XSP_TRY(input_file_stream(path, INPUT_FILE_OR_PIPE, "cannot read the token", &file, err));
  char *text = arena_alloc(arena, TOKEN_BYTES_MOST);
  struct slice token = {text, fread(text, 1, TOKEN_BYTES_MOST, file)};
  bool is_read = ferror(file) == 0 && token.length < TOKEN_BYTES_MOST;
  token = slice_trim(token);
  if (!is_read || token.length == 0 || !is_visible(token))
    return error_set(err, STATUS_INPUT, "cannot read the token", path, "a file that holds the token alone",
                     "it holds no token: one word of printable ASCII");
  *vector_add(&address->headers) = arena_format(arena, "Authorization: Bearer %.*s", (int)token.length, token.data);
  return STATUS_OK;
}

// ---- all of it -------------------------------------------------------------------------------------------------------
enum status address_find(const char *given, const char *token_file, struct arena *arena, struct address *ret_address,
                         struct error *err)
{
  *ret_address = (struct address){0};
  XSP_TRY(find_url(given, arena, ret_address, err));
  ret_address->certificate = variable("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE");
  if (ret_address->certificate == NULL)
    ret_address->certificate = variable("OTEL_EXPORTER_OTLP_CERTIFICATE");
  if (strcmp(given, "env") == 0)
    XSP_TRY(add_environment_headers(arena, ret_address, err));
  return token_file == NULL ? STATUS_OK : add_token(token_file, arena, ret_address, err);
}

void address_done(struct address *address)
{
  vector_done(&address->headers);
}

enum status address_http(const struct address *address, struct http **ret_http, struct error *err)
{
  const struct http_options options = {.what = "cannot publish",
                                       .certificate = address->certificate,
                                       .headers = address->headers.items,
                                       .header_count = address->headers.count};
  return http_open(&options, ret_http, err);
}

// SPDX-License-Identifier: Apache-2.0
// Reads an address. Passwords come from the environment: others see the command line. Called by fetch.c.
#include "clickhouse/address.h"

#include "base/path_text.h"
#include "base/slice.h"
#include "clickhouse/clickhouse.h"

#include <stdlib.h>

#define SCHEME "clickhouse://"
#define SECURE_SCHEME "clickhouses://"

static const char advice[] = SCHEME "HOST/DATABASE?table=otel_traces&experiment=NAME&from=TIME&to=TIME";

bool clickhouse_is_address(const char *text)
{
  return text_begins_with(text, SCHEME) || text_begins_with(text, SECURE_SCHEME);
}

static enum status wrong(const char *given, const char *why, struct error *err)
{
  return error_set(err, STATUS_USE, "cannot read the address", given, advice, "%s", why);
}

static enum status read_option(struct slice option, struct arena *arena, struct clickhouse_address *address,
                               struct error *err)
{
  const struct {
    const char *name;
    const char **value;
  } options[] = {
      {"table", &address->table}, {"experiment", &address->experiment}, {"from", &address->from}, {"to", &address->to}};
  struct slice name;
  slice_cut(&option, '=', &name);
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
    if (slice_is(name, options[i].name)) {
      *options[i].value = option.length == 0 ? NULL : percent_decode(option, arena);
      return *options[i].value != NULL ? STATUS_OK : wrong(address->given, "an option's value is malformed", err);
    }
  return wrong(address->given, "its options are table, experiment, from and to", err);
}

static const char *variable(const char *name)
{
  const char *value = getenv(name);
  return value != NULL && value[0] != 0 ? value : NULL;
}

static bool is_host(struct slice host)
{
  for (size_t i = 0; i < host.length; i++)
    if (host.data[i] <= ' ' || host.data[i] > '~' || strchr("@\\\"'<>{}|^`%#", host.data[i]) != NULL)
      return false;
  return host.length > 0 && host.data[0] != ':';
}

// In "[::1]:8123" the port's colon is after the bracket.
static bool has_port(struct slice host)
{
  const char *bracket = memrchr(host.data, ']', host.length);
  const char *from = bracket != NULL ? bracket : host.data;
  return memchr(from, ':', host.length - (size_t)(from - host.data)) != NULL;
}

static enum status read_host(struct slice host, bool is_secure, struct arena *arena, struct clickhouse_address *address,
                             struct error *err)
{
  const char *at = memrchr(host.data, '@', host.length);
  if (at != NULL) {
    struct slice user = {host.data, (size_t)(at - host.data)};
    if (memchr(user.data, ':', user.length) != NULL)
      return error_set(err, STATUS_USE, "cannot read the address", SCHEME "…",
                       "CLICKHOUSE_PASSWORD=…, which is not visible to others",
                       "a password does not belong in an address");
    address->user = percent_decode(user, arena);
    host = slice_after(host, user.length + 1);
  }
  if (!is_host(host) || (at != NULL && address->user == NULL))
    return wrong(address->given, "there is no valid host in it", err);
  address->url = arena_format(arena, "%s://%.*s%s/", is_secure ? "https" : "http", (int)host.length, host.data,
                              has_port(host) ? ""
                              : is_secure    ? ":8443"
                                             : ":8123");
  return STATUS_OK;
}

enum status clickhouse_address_read(const char *given, struct arena *arena, struct clickhouse_address *address,
                                    struct error *err)
{
  bool is_secure = text_begins_with(given, SECURE_SCHEME);
  struct slice rest = slice_of(given + strlen(is_secure ? SECURE_SCHEME : SCHEME)), place, host, option;
  *address = (struct clickhouse_address){.given = given,
                                         .user = variable("CLICKHOUSE_USER"),
                                         .password = variable("CLICKHOUSE_PASSWORD"),
                                         .database = "default",
                                         .table = "otel_traces"};
  slice_cut(&rest, '?', &place);
  slice_cut(&place, '/', &host);
  XSP_TRY(read_host(host, is_secure, arena, address, err));
  if (place.length > 0)
    address->database = percent_decode(place, arena);
  if (address->database == NULL)
    return wrong(given, "its database is malformed", err);
  while (rest.length > 0 && slice_cut(&rest, '&', &option))
    XSP_TRY(read_option(option, arena, address, err));
  return STATUS_OK;
}

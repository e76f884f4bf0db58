// SPDX-License-Identifier: Apache-2.0
// Writes a site's table of routes as a document of OpenAPI 3.1. Called through routes.
#include "http/openapi.h"

#include "base/json_write.h"
#include "base/slice.h"
#include "http/exchange.h"
#include "http/server_private.h"

#include <ctype.h>

static void put_schema_of(struct json_writer *json, unsigned type)
{
  static const char *const types[] = {"string", "integer", "integer", "number", "boolean"};
  json_member_object(json, "schema");
  json_member_string(json, "type", types[type & ~ROUTE_REQUIRED]);
  if ((type & ~ROUTE_REQUIRED) == ROUTE_COUNT)
    json_member_int(json, "minimum", 0);
  json_object_end(json);
}

static void put_parameter(struct json_writer *json, struct slice name, const char *place, const char *description,
                          unsigned type)
{
  json_object(json);
  json_key(json, "name");
  json_string_n(json, name.data, name.length);
  json_member_string(json, "in", place);
  if ((type & ROUTE_REQUIRED) != 0)
    json_member_bool(json, "required", true);
  if (description != NULL)
    json_member_string(json, "description", description);
  put_schema_of(json, type);
  json_object_end(json);
}

static void put_parameters(struct json_writer *json, const struct route *route)
{
  struct slice rest = slice_of(route->path), segment;
  json_member_array(json, "parameters");
  while (slice_cut(&rest, '/', &segment))
    if (segment.length > 2 && segment.data[0] == '{')
      put_parameter(json, (struct slice){segment.data + 1, segment.length - 2}, "path", NULL,
                    ROUTE_TEXT | ROUTE_REQUIRED);
  for (const struct route_parameter *one = route->parameters; one != NULL && one->name != NULL; one++)
    put_parameter(json, slice_of(one->name), "query", one->description, one->type);
  json_array_end(json);
}

// One type of a message. Only JSON has a schema here: that of the same message in another type is elsewhere.
static void put_type(struct json_writer *json, const char *type, const char *schema)
{
  json_member_object(json, type);
  if (schema != NULL && strcmp(type, "application/json") == 0) {
    struct buf reference SCOPED(buf_done) = {0};
    buf_format(&reference, "#/components/schemas/%s", schema);
    json_member_object(json, "schema");
    json_member_string(json, "$ref", reference.data);
    json_object_end(json);
  }
  json_object_end(json);
}

static void put_types(struct json_writer *json, const struct route_body *body, const char *schema)
{
  for (size_t i = 0; i < sizeof body->types / sizeof body->types[0] && body->types[i] != NULL; i++)
    put_type(json, body->types[i], schema);
}

static void put_request(struct json_writer *json, const struct route_body *body)
{
  json_member_object(json, "requestBody");
  json_member_bool(json, "required", true);
  json_member_object(json, "content");
  put_types(json, body, body->schema);
  json_object_end(json);
  json_object_end(json);
}

// Replies of a protocol have the request's type; its errors, where that type is not known, plain text.
static void put_response(struct json_writer *json, const struct http_site *site, const struct route *route,
                         bool is_error)
{
  size_t length = site->protocol != NULL ? strlen(site->protocol) : 0;
  bool is_protocol = length > 0 && strncmp(route->path + 1, site->protocol, length) == 0 &&
                     route->path[1 + length] == '/' && route->body != ROUTE_NO_BODY;
  json_member_object(json, is_error ? "default" : "2XX");
  json_member_string(json, "description", is_error ? "What is wrong" : "The answer");
  json_member_object(json, "content");
  if (is_protocol)
    put_types(json, route->body, is_error ? site->protocol_error : route->schema);
  if (is_protocol && is_error)
    put_type(json, "text/plain", NULL);
  if (!is_protocol)
    put_type(json, is_error ? "application/json" : route->type, is_error ? "Error" : route->schema);
  json_object_end(json);
  json_object_end(json);
}

static void put_operation(struct json_writer *json, const struct http_site *site, const struct route *route)
{
  struct buf method SCOPED(buf_done) = {0};
  for (const char *letter = route->method; *letter != 0; letter++)
    buf_format(&method, "%c", tolower((unsigned char)*letter));
  json_member_object(json, method.data);
  json_member_string(json, "summary", route->summary);
  put_parameters(json, route);
  if (route->body != ROUTE_NO_BODY)
    put_request(json, route->body);
  json_member_object(json, "responses");
  put_response(json, site, route, false);
  put_response(json, site, route, true);
  json_object_end(json);
  json_object_end(json);
}

// Each path once, with all its methods.
static void put_paths(struct json_writer *json, const struct http_site *site)
{
  const struct route *routes = site->routes;
  json_member_object(json, "paths");
  for (const struct route *route = routes; route->method != NULL; route++) {
    const struct route *first = routes;
    while (strcmp(first->path, route->path) != 0)
      first++;
    if (first != route || route->summary == NULL)
      continue;
    json_member_object(json, route->path);
    for (const struct route *one = route; one->method != NULL; one++)
      if (strcmp(one->path, route->path) == 0)
        put_operation(json, site, one);
    json_object_end(json);
  }
  json_object_end(json);
}

void openapi_answer(struct exchange *exchange)
{
  const struct http_site *site = exchange->server->options.site;
  struct json_writer json;
  struct buf *text = exchange_reply(exchange, 200, "application/json");
  json_start(&json, text);
  json_object(&json);
  json_member_string(&json, "openapi", "3.1.0");
  json_member_object(&json, "info");
  json_member_string(&json, "title", site->title);
  json_member_string(&json, "version", XSP_VERSION);
  json_object_end(&json);
  put_paths(&json, site);
  json_key(&json, "components");
  json_written(&json, site->schemas);
  json_key(&json, "security"); // without --token-file none is asked for
  json_written(&json, "[{},{\"token\":[]},{\"password\":[]}]");
  json_object_end(&json);
  buf_text(text, "\n");
}

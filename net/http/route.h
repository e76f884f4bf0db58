// SPDX-License-Identifier: Apache-2.0
// The table of what the server answers: method, path and handler. Requests are matched with it before a handler sees them.
#ifndef XSP_HTTP_ROUTE_H
#define XSP_HTTP_ROUTE_H

#include "base/buf.h"
#include "http/target.h"

#include <stdbool.h>

#define ROUTE_PARTS_MOST 4u
#define ROUTE_PART_BYTES_MOST 200u

struct exchange; // net/http/exchange.h

// COUNT: an integer of at least 0; both in 64 bits. FLAG: "true" or "false"
enum route_type { ROUTE_TEXT, ROUTE_INTEGER, ROUTE_COUNT, ROUTE_NUMBER, ROUTE_FLAG };
#define ROUTE_REQUIRED 8u // with a type; without it a parameter may be absent
struct route_parameter {  // of the query
  const char *name;
  unsigned type; // enum route_type, ROUTE_REQUIRED
  const char *description;
};

enum route_place {
  ROUTE_BODY_IN_MEMORY, // exchange->body; at most limit_body_bytes
  ROUTE_BODY_IN_FILE,   // exchange->body_file; at most limit_upload_bytes
};
#define ROUTE_NO_BODY NULL // what a client sends nevertheless is passed over
struct route_body {
  enum route_place place;
  const char *types[2]; // described, not checked; the second may be NULL
  const char *schema;   // of a body as JSON, in struct http_site.schemas; NULL: none
  bool is_stored;       // in memory: waits while http_server_set_room says that there is no room
};

struct route {
  const char *method; // "GET" is HEAD, too
  // {NAME} is one segment of letters, digits, ".", "_" and "-", which begins with a letter, a digit or "_". {file} ends in ".xsp".
  const char *path;
  const char *summary;                      // NULL: our own pages' scripts ask it; it may change, and is not described
  const struct route_parameter *parameters; // end with {0}; NULL: none. Others, and values of another type, are refused
  const char *type;                         // of a reply of status 200; in a protocol: as the request
  const char *schema;                       // of such a reply as JSON, in struct http_site.schemas; NULL: not JSON
  const struct route_body *body;            // of a request
  // Before the body is received. May refuse. NULL: nothing is to be done.
  void (*begin)(struct exchange *exchange);
  // Replies or refuses (net/http/exchange.h). Both run on the connection's thread, and may wait.
  void (*answer)(struct exchange *exchange);
};

bool route_is_file_name(const char *text); // what {file} takes
// Whether `path` fits the pattern. `ret_parts`: those in braces, in order, at most ROUTE_PARTS_MOST; they live as long as `path`.
bool route_matches(const char *pattern, const struct target *path, const char **ret_parts);
// NULL: no route, or none of this method; then `methods` has those of the path, "GET, HEAD", and is empty where there are none.
const struct route *route_find(const struct route *routes, const char *method, const struct target *path,
                               const char **ret_parts, struct buf *methods);
// What is wrong with the query; NULL: nothing. *ret_name: the parameter.
const char *route_check_parameters(const struct route *route, const struct target *target, const char **ret_name);

#endif

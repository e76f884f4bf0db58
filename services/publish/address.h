// SPDX-License-Identifier: Apache-2.0
// Where to publish and with which headers. Inside this room only.
#ifndef XSP_PUBLISH_ADDRESS_H
#define XSP_PUBLISH_ADDRESS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vector.h"
#include "http/client.h"

struct address {
  const char *url;              // of traces
  const char *certificate;      // file of trusted authorities; NULL: the system's
  VECTOR(const char *) headers; // "name: value"
};

// Texts live in `arena`; the caller ends with address_done, also after an error. STATUS_USE or STATUS_INPUT: what was given
// is wrong.
enum status address_find(const char *given, const char *token_file, struct arena *arena, struct address *ret_address,
                         struct error *err) MUST_CHECK;
void address_done(struct address *address);
// A connection for requests with its headers. STATUS_SYSTEM: there is no libcurl.
enum status address_http(const struct address *address, struct http **ret_http, struct error *err) MUST_CHECK;
struct publisher;
const struct address *address_of_publisher(const struct publisher *publisher); // publish.c

#endif

// SPDX-License-Identifier: Apache-2.0
// Where the server listens.
#ifndef XSP_HTTP_ADDRESS_H
#define XSP_HTTP_ADDRESS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct http_address {
  int socket; // listening; owned by the caller
  bool is_loopback;
  uint16_t port;  // that was taken
  char text[300]; // "127.0.0.1:4318", "[::1]:4318"
};

// "HOST:PORT"; an IPv6 address in brackets; port 0: any free one. With `must_be_loopback`, other addresses are refused before anybody can
// connect. STATUS_USE: not an address; STATUS_SYSTEM: it cannot be listened on.
enum status http_address_listen(const char *text, bool must_be_loopback, struct http_address *ret_address,
                                struct error *err) MUST_CHECK;

#endif

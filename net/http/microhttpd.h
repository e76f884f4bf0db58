// SPDX-License-Identifier: Apache-2.0
// libmicrohttpd, opened at run time: so xsp starts without it and its TLS library, which only one verb needs.
#ifndef XSP_HTTP_MICROHTTPD_H
#define XSP_HTTP_MICROHTTPD_H

#include "base/error.h"

#include <microhttpd.h>

#define MICROHTTPD_FUNCTIONS(X)                                                                                        \
  X(MHD_start_daemon)                                                                                                  \
  X(MHD_stop_daemon)                                                                                                   \
  X(MHD_quiesce_daemon)                                                                                                \
  X(MHD_is_feature_supported)                                                                                          \
  X(MHD_create_response_from_buffer)                                                                                   \
  X(MHD_create_response_from_fd_at_offset64)                                                                           \
  X(MHD_add_response_header)                                                                                           \
  X(MHD_queue_response)                                                                                                \
  X(MHD_destroy_response)                                                                                              \
  X(MHD_get_connection_values)                                                                                         \
  X(MHD_lookup_connection_value)                                                                                       \
  X(MHD_get_connection_info)

struct microhttpd {
#define X(name) __typeof__(&name) name;
  MICROHTTPD_FUNCTIONS(X)
#undef X
};

// `given`: a path, or NULL. STATUS_SYSTEM: it is not there, or lacks a function.
enum status microhttpd_open(const char *given, struct microhttpd *ret_functions, struct error *err) MUST_CHECK;

#endif

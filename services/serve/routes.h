// SPDX-License-Identifier: Apache-2.0
// The table of what the server answers.
#ifndef XSP_SERVE_ROUTES_H
#define XSP_SERVE_ROUTES_H

#include "http/route.h"

extern const struct route serve_routes[]; // ends with {0}

#endif

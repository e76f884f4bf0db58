// SPDX-License-Identifier: Apache-2.0
// Who may talk to the server: by its token, or from this machine and not through a browser that another site controls. Pure.
#ifndef XSP_HTTP_GUARD_H
#define XSP_HTTP_GUARD_H

#include "base/arena.h"
#include "base/slice.h"

#include <stdbool.h>

// Whether the header `Authorization` (NULL: absent) is "Bearer TOKEN", or of type Basic with the token as the password, which is
// what browsers can send. Takes as long for a wrong token as for the right one.
bool guard_is_token(const char *authorization, const char *token);
// People with tokens of their own.
struct guard_user {
  const char *name; // guard_is_name; NULL: the end of a list
  const char *token;
};
bool guard_is_name(struct slice name); // letters, digits, ".", "_" and "-", at most 64
// Lines "NAME TOKEN"; empty lines are passed over. A token is of ASCII without white space. All tokens differ, also from `owners`.
// NULL, and the list is in `arena`; or what is wrong in line *ret_line.
const char *guard_read_users(struct slice text, const char *owners, struct arena *arena, struct guard_user **ret_users,
                             unsigned *ret_line);
// Whether the header `Host` (NULL: absent) names this machine itself: localhost, 127.0.0.0/8 or ::1, with or without a port. A
// site whose name an attacker made to resolve to 127.0.0.1 (DNS rebinding) has another name.
bool guard_is_local_host(const char *host);
// Whether the header `Origin` (NULL: absent, as of all programs but browsers) is the server's own, as `host` names it.
bool guard_is_own_origin(const char *origin, const char *host);
// Whether the header `Sec-Fetch-Site` (NULL: absent, as of all programs but browsers) is of the server's own pages or of the user:
// an address that was typed, a bookmark. Browsers send it with requests that have no `Origin`, too.
bool guard_is_own_fetch(const char *site);

#endif

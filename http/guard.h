// SPDX-License-Identifier: Apache-2.0
// Who may talk to the server: by its token, or from this machine and not through a browser that another site controls. Pure.
#ifndef XSP_HTTP_GUARD_H
#define XSP_HTTP_GUARD_H

#include <stdbool.h>

// Whether the header `Authorization` (NULL: absent) is "Bearer TOKEN", or of type Basic with the token as the password, which is
// what browsers can send. Takes as long for a wrong token as for the right one.
bool guard_is_token(const char *authorization, const char *token);
// Whether the header `Host` (NULL: absent) names this machine itself: localhost, 127.0.0.0/8 or ::1, with or without a port. A
// site whose name an attacker made to resolve to 127.0.0.1 (DNS rebinding) has another name.
bool guard_is_local_host(const char *host);
// Whether the header `Origin` (NULL: absent, as of all programs but browsers) is the server's own, as `host` names it.
bool guard_is_own_origin(const char *origin, const char *host);
// Whether the header `Sec-Fetch-Site` (NULL: absent, as of all programs but browsers) is of the server's own pages or of the user:
// an address that was typed, a bookmark. Browsers send it with requests that have no `Origin`, too.
bool guard_is_own_fetch(const char *site);

#endif

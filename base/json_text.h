// SPDX-License-Identifier: Apache-2.0
// Escapes in JSON strings, for both readers. Allocates nothing; may be used in a traced process.
#ifndef XSP_BASE_JSON_TEXT_H
#define XSP_BASE_JSON_TEXT_H

// Decodes the escape whose backslash is at `at`: writes at most 4 bytes of UTF-8 at *to and moves it on. Returns the byte
// after the escape, NULL where it is malformed. A surrogate without its partner becomes U+FFFD.
const char *json_unescape(const char *at, const char *end, char **to);
// U+FFFD at *to, 3 bytes.
void json_put_replacement(char **to);

#endif

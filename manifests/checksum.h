// SPDX-License-Identifier: Apache-2.0
// SHA-256 of files, in the form that sha256sum prints.
#ifndef XSP_MANIFESTS_CHECKSUM_H
#define XSP_MANIFESTS_CHECKSUM_H

#include "base/error.h"

#include <stddef.h>

#define CHECKSUM_TEXT_SIZE 65

struct checksum; // of bytes that come one after the other
struct checksum *checksum_start(void);
void checksum_add(struct checksum *checksum, const void *bytes, size_t length);
void checksum_finish(struct checksum *checksum, char hex[CHECKSUM_TEXT_SIZE]); // frees
// Errors: STATUS_INPUT where the file cannot be read. Adds its bytes.
enum status checksum_add_file(struct checksum *checksum, const char *path, struct error *err) MUST_CHECK;

#endif

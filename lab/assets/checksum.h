// SPDX-License-Identifier: Apache-2.0
// SHA-256, in the form that sha256sum prints. One thread for each checksum.
#ifndef XSP_ASSETS_CHECKSUM_H
#define XSP_ASSETS_CHECKSUM_H

#include "base/error.h"

#define CHECKSUM_TEXT_SIZE 65
struct checksum; // of bytes that come one after the other
struct checksum *checksum_start(void);
void checksum_add(struct checksum *checksum, const void *bytes, size_t length);
void checksum_finish(struct checksum *checksum, char hex[CHECKSUM_TEXT_SIZE]); // frees
// Errors: STATUS_INPUT where the file cannot be read. Adds its bytes.
enum status checksum_add_file(struct checksum *checksum, const char *path, struct error *err) MUST_CHECK;
// Of one file. Errors as checksum_add_file.
enum status checksum_of_file(const char *path, char hex[CHECKSUM_TEXT_SIZE], struct error *err) MUST_CHECK;

#endif

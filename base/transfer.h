// SPDX-License-Identifier: Apache-2.0
// Reads and writes of whole blocks: they go on after a signal and where the kernel moved a part. System calls only, for any
// process. A single read or write that a signal may end is TEMP_FAILURE_RETRY (unistd.h).
#ifndef XSP_BASE_TRANSFER_H
#define XSP_BASE_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes that were read: `length`, or fewer at the end of the file, with errno 0, or at an error, with its errno.
size_t transfer_read(int file, void *bytes, size_t length);
size_t transfer_read_at(int file, void *bytes, size_t length, uint64_t offset);

// All of it, or false, with errno.
bool transfer_write(int file, const void *bytes, size_t length);
bool transfer_write_at(int file, const void *bytes, size_t length, uint64_t offset);

// All of it, or false, with errno. Without SIGPIPE.
bool transfer_send(int socket, const void *bytes, size_t length);

#endif

// SPDX-License-Identifier: Apache-2.0
// Mapped files that other processes may cut short while they are read: a page that is gone reads as zeros, which means
// "nothing there" everywhere, and is counted. Without it the kernel would end xsp by SIGBUS.
//
// Reading by pread instead would need no guard, but copies a record in an order that nobody promises: its commit word
// must be seen before the rest. One thread: ranges change only where no guarded byte is read at the same time.
#ifndef XSP_COLLECT_GUARD_H
#define XSP_COLLECT_GUARD_H

#include <stddef.h>
#include <stdint.h>

void *collect_guard_map(size_t size, int protection, int flags, int file); // mmap of the file's start, guarded
void collect_guard_unmap(const void *bytes, size_t size);
uint64_t collect_guard_faults(void); // pages replaced so far

#endif

// SPDX-License-Identifier: Apache-2.0
// Texts of other encodings as UTF-8. Pure.
#ifndef XSP_TRACERS_NVTX_TEXT_H
#define XSP_TRACERS_NVTX_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

// Up to a NUL or `units` code units of `unit_bytes` (2: UTF-16, 4: UTF-32; any alignment). What is no character becomes
// U+FFFD; what does not fit is left out. Writes a NUL; returns the length before it. `size` at least 1.
size_t nvtx_text_to_utf8(const void *wide, size_t units, unsigned unit_bytes, char *utf8, size_t size);

#define TEXT_WIDE_MOST 4096
// `utf8` with the wide text, up to its NUL; NULL for NULL.
const char *nvtx_text_of_wide(const wchar_t *wide, char utf8[TEXT_WIDE_MOST]);

#endif

// SPDX-License-Identifier: Apache-2.0
// Whether a TFLite model is whole. LiteRT follows offsets after the end of a truncated file, and crashes.
#ifndef XSP_FRAMEWORKS_LITERT_FILE_H
#define XSP_FRAMEWORKS_LITERT_FILE_H

#include <stdbool.h>
#include <stddef.h>

// True where an offset of the flatbuffer leads out of it; `place` names the part. A file that is not a TFLite model is not damaged
// of this function's business: false.
bool litert_file_is_cut(const unsigned char *bytes, size_t size, char *place, size_t place_size);
bool litert_file_damage(const char *path, char *place, size_t place_size); // the same of a file

#endif

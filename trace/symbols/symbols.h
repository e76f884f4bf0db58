// SPDX-License-Identifier: Apache-2.0
// Names of native functions: an address in a library or program becomes function, file and line, by its symbols and its
// debug information (elfutils). Runs in xsp, after the program. One thread per handle.
#ifndef XSP_SYMBOLS_SYMBOLS_H
#define XSP_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct symbols; // the files that were opened
struct symbols *symbols_open(void);
void symbols_close(struct symbols *symbols); // NULL is fine

struct symbol {
  // Demangled; of code that was inlined "inner (inlined in middle, outer)". Never NULL.
  const char *name;
  const char *file; // NULL: unknown
  uint32_t line;    // 0: unknown
};
// `address` as in the file's own headers. Texts are valid until the next call. Debug information may be in a file of its own: by
// build id in /usr/lib/debug, or next to the library; nothing is fetched from a network. False: no such file, no regular or
// readable one, or no function there.
bool symbols_find(struct symbols *symbols, const char *path, uint64_t address, struct symbol *ret_symbol);

// The C++ function that a linker's name means, "void scale<float>(float*)" of "_Z5scaleIfEvPT_". NULL: it means none. Freed by the
// caller.
char *symbols_plain_name(const char *name);

#endif

// SPDX-License-Identifier: Apache-2.0
// The kind of program in a file, by the file's first bytes. Pure; handles any bytes.
#include "launch/executable.h"

#include <elf.h>
#include <string.h>

#define PROGRAM_HEADERS_MOST 64

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE // not compared
#endif

static void read_script(const char *text, size_t size, char interpreter[PATH_MAX])
{
  size_t at = 2;
  while (at < size && (text[at] == ' ' || text[at] == '\t'))
    at++;
  size_t length = 0;
  while (at + length < size && length + 1 < PATH_MAX && !strchr(" \t\n", text[at + length])) // also stops at a NUL
    length++;
  memcpy(interpreter, text + at, length);
  interpreter[length] = '\0';
}

// The loader's path is in the file, at PT_INTERP; a head that does not reach so far is taken for dynamic.
static enum executable_kind read_loader(const uint8_t *bytes, size_t size, const Elf64_Ehdr *head)
{
  for (unsigned i = 0; i < head->e_phnum && i < PROGRAM_HEADERS_MOST; i++) {
    Elf64_Phdr part;
    if (head->e_phoff > size || i * sizeof part > size - head->e_phoff ||
        size - head->e_phoff - i * sizeof part < sizeof part)
      return EXECUTABLE_UNKNOWN;
    memcpy(&part, bytes + head->e_phoff + i * sizeof part, sizeof part);
    if (part.p_type != PT_INTERP)
      continue;
    if (part.p_offset > size || part.p_filesz > size - part.p_offset || part.p_filesz >= PATH_MAX)
      return EXECUTABLE_DYNAMIC;
    char loader[PATH_MAX];
    memcpy(loader, bytes + part.p_offset, part.p_filesz);
    loader[part.p_filesz] = '\0';
    return strstr(loader, "/ld-musl") ? EXECUTABLE_OTHER_LIBC : EXECUTABLE_DYNAMIC;
  }
  return EXECUTABLE_STATIC;
}

enum executable_kind executable_of_bytes(const uint8_t *bytes, size_t size, char interpreter[PATH_MAX])
{
  interpreter[0] = '\0';
  if (size >= 2 && memcmp(bytes, "#!", 2) == 0) {
    read_script((const char *)bytes, size, interpreter);
    return EXECUTABLE_UNKNOWN;
  }
  Elf64_Ehdr head;
  if (size < EI_NIDENT || memcmp(bytes, ELFMAG, SELFMAG) != 0)
    return EXECUTABLE_UNKNOWN;
  if (bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != ELFDATA2LSB)
    return EXECUTABLE_OTHER_MACHINE;
  if (size < sizeof head)
    return EXECUTABLE_UNKNOWN;
  memcpy(&head, bytes, sizeof head);
  if (OWN_MACHINE != EM_NONE && head.e_machine != OWN_MACHINE)
    return EXECUTABLE_OTHER_MACHINE;
  if (head.e_phentsize != sizeof(Elf64_Phdr))
    return EXECUTABLE_UNKNOWN;
  return read_loader(bytes, size, &head);
}

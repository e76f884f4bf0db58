// SPDX-License-Identifier: Apache-2.0
// Reads the head of the file that a command starts. Called before the program runs, so that a loader that would refuse
// libxsp.so is not asked to load it, and afterwards to report why nothing was recorded. Handles any bytes.
#include "launch/executable.h"

#include "base/child.h"
#include "base/scoped.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define HEAD_BYTES 4096
#define SCRIPTS_MOST 5 // as in the kernel: interpreters that are scripts themselves
#define PROGRAM_HEADERS_MOST 64

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE // not compared
#endif

// ---- the kind of a file, by its first bytes ---------------------------------------------------------------------------
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

// ---- the file of a command ---------------------------------------------------------------------------------------------
static bool is_privileged(const char *path, const struct stat *status)
{
  return ((status->st_mode & S_ISUID) && status->st_uid != geteuid()) ||
         ((status->st_mode & S_ISGID) && (status->st_mode & S_IXGRP) && status->st_gid != getegid()) ||
         (getxattr(path, "security.capability", NULL, 0) > 0 && geteuid() != 0);
}

static size_t read_head(const char *path, uint8_t head[HEAD_BYTES])
{
  int file SCOPED(scoped_close) = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); // no FIFO is waited for
  ssize_t got = file >= 0 ? pread(file, head, HEAD_BYTES, 0) : -1;
  return got > 0 ? (size_t)got : 0;
}

void executable_look(const char *command, struct executable *ret_executable)
{
  uint8_t head[HEAD_BYTES];
  char interpreter[PATH_MAX];
  ret_executable->kind = EXECUTABLE_UNKNOWN;
  if (!child_find(command, ret_executable->path))
    ret_executable->path[0] = '\0';
  for (int scripts = 0; scripts <= SCRIPTS_MOST && ret_executable->path[0] != '\0'; scripts++) {
    struct stat status;
    if (stat(ret_executable->path, &status) != 0 || !S_ISREG(status.st_mode))
      return;
    ret_executable->kind = executable_of_bytes(head, read_head(ret_executable->path, head), interpreter);
    if (interpreter[0] == '\0') {
      if (ret_executable->kind <= EXECUTABLE_UNKNOWN && is_privileged(ret_executable->path, &status))
        ret_executable->kind = EXECUTABLE_PRIVILEGED;
      return;
    }
    memcpy(ret_executable->path, interpreter, sizeof interpreter);
  }
}

const char *executable_why(enum executable_kind kind)
{
  static const char *const reasons[] = {
      [EXECUTABLE_STATIC] = "it is statically linked, so that no library can be brought into it",
      [EXECUTABLE_PRIVILEGED] =
          "it runs with other rights than its caller's (setuid), and ignores the caller's libraries",
      [EXECUTABLE_OTHER_MACHINE] = "it is made for another processor than xsp",
      [EXECUTABLE_OTHER_LIBC] = "it is linked with musl, where libxsp.so needs glibc",
  };
  return reasons[kind];
}

// SPDX-License-Identifier: Apache-2.0
// Reads the head of the file that a command starts. Called before the program runs, so that a loader that would refuse
// libxsp.so is not asked to load it, and afterwards to report why nothing was recorded. Handles any file.
#include "launch/executable.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define HEAD_BYTES 4096
#define SCRIPTS_MOST 5 // as in the kernel: interpreters that are scripts themselves

// As execvp: the first file of PATH that may be executed.
static void find(const char *command, char path[PATH_MAX])
{
  path[0] = '\0';
  if (strchr(command, '/')) {
    if (strlen(command) < PATH_MAX)
      strcpy(path, command);
    return;
  }
  const char *folders = getenv("PATH");
  if (!folders)
    folders = "/bin:/usr/bin";
  for (const char *at = folders;; at++) {
    size_t length = strcspn(at, ":");
    int needed = snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, at, length ? "/" : "", command);
    struct stat status;
    if (needed > 0 && needed < PATH_MAX && access(path, X_OK) == 0 && stat(path, &status) == 0 &&
        S_ISREG(status.st_mode))
      return;
    at += length;
    if (*at == '\0')
      break;
  }
  path[0] = '\0';
}

static bool is_privileged(const char *path, const struct stat *status)
{
  return ((status->st_mode & S_ISUID) && status->st_uid != geteuid()) ||
         ((status->st_mode & S_ISGID) && (status->st_mode & S_IXGRP) && status->st_gid != getegid()) ||
         (getxattr(path, "security.capability", NULL, 0) > 0 && geteuid() != 0);
}

static size_t read_head(const char *path, uint8_t head[HEAD_BYTES])
{
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); // no FIFO is waited for
  ssize_t got = file >= 0 ? pread(file, head, HEAD_BYTES, 0) : -1;
  if (file >= 0)
    close(file);
  return got > 0 ? (size_t)got : 0;
}

void executable_look(const char *command, struct executable *ret_executable)
{
  uint8_t head[HEAD_BYTES];
  char interpreter[PATH_MAX];
  ret_executable->kind = EXECUTABLE_UNKNOWN;
  find(command, ret_executable->path);
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
  switch (kind) {
  case EXECUTABLE_STATIC:
    return "it is statically linked, so that no library can be brought into it";
  case EXECUTABLE_PRIVILEGED:
    return "it runs with other rights than its caller's (setuid), and ignores the caller's libraries";
  case EXECUTABLE_OTHER_MACHINE:
    return "it is made for another processor than xsp";
  case EXECUTABLE_OTHER_LIBC:
    return "it is linked with musl, where libxsp.so needs glibc";
  case EXECUTABLE_DYNAMIC:
  case EXECUTABLE_UNKNOWN:
    break;
  }
  return NULL;
}

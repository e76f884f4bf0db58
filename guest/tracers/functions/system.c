// SPDX-License-Identifier: Apache-2.0
// System calls, the environment, and memory for the loader's side. See system.h.
#include "tracers/functions/system.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>

extern void *__libc_stack_end; // the loader's: what the kernel put on the first stack

static bool failed(long result)
{
  return result < 0 && result >= -4095;
}

size_t functions_system_length(const char *text)
{
  size_t length = 0;
  while (text[length] != '\0')
    length++;
  return length;
}

void functions_system_copy(void *to, const void *from, size_t bytes)
{
#if defined(__x86_64__)
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
#else
  for (volatile char *at = to; bytes > 0; bytes--)
    *at++ = *(const char *)from++;
#endif
}

void *functions_system_map(size_t bytes)
{
  long result = system_call(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return failed(result) ? NULL : (void *)result;
}

void functions_system_unmap(void *memory, size_t bytes)
{
  system_call(SYS_munmap, (long)memory, (long)bytes, 0, 0, 0, 0);
}

long functions_system_read_file(const char *path, char *text, size_t size)
{
  long file = system_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
  if (failed(file))
    return file;
  size_t length = 0;
  long got = 0;
  while (length < size) {
    got = system_call(SYS_read, file, (long)(text + length), (long)(size - length), 0, 0, 0);
    if (got == -EINTR)
      continue;
    if (got <= 0)
      break;
    length += (size_t)got;
  }
  system_call(SYS_close, file, 0, 0, 0, 0, 0);
  return got < 0 ? got : (long)length;
}

// The kernel copies the signal mask out, or returns EFAULT. The cheapest such call, and rarely forbidden.
bool functions_system_is_writable(void *address)
{
  return system_call(SYS_rt_sigprocmask, 0, 0, (long)address, 8, 0, 0) != -EFAULT;
}

// argc, argv and its NULL, the environment and its NULL, the auxiliary vector.
static char **first_environment(void)
{
  uintptr_t *stack = __libc_stack_end;
  return stack == NULL ? NULL : (char **)(stack + 1 + stack[0] + 1);
}

const char *functions_system_environment(const char *name)
{
  size_t length = functions_system_length(name);
  for (char **at = first_environment(); at != NULL && *at != NULL; at++) {
    size_t i = 0;
    while (i < length && (*at)[i] == name[i])
      i++;
    if (i == length && (*at)[i] == '=')
      return *at + length + 1;
  }
  return NULL;
}

unsigned long functions_system_auxiliary(unsigned long type)
{
  char **at = first_environment();
  if (at == NULL)
    return 0;
  while (*at != NULL)
    at++;
  for (ElfW(auxv_t) *entry = (ElfW(auxv_t) *)(at + 1); entry->a_type != AT_NULL; entry++)
    if (entry->a_type == type)
      return entry->a_un.a_val;
  return 0;
}

const char *functions_system_program_path(void)
{
  const char *path = (const char *)functions_system_auxiliary(AT_EXECFN);
  return path == NULL ? "" : path;
}

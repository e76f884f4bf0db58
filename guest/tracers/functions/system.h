// SPDX-License-Identifier: Apache-2.0
// The little that the loader's side needs of a system, without libc: the loader gives its namespace none, and a second libc
// would cost every start of every program. Nothing here touches errno.
#ifndef XSP_TRACERS_FUNCTIONS_SYSTEM_H
#define XSP_TRACERS_FUNCTIONS_SYSTEM_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

// The kernel's answer: a negated errno value from -4095 to -1 is an error.
#if defined(__x86_64__)
static inline long system_call(long number, long a, long b, long c, long d, long e, long f)
{
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
static inline long system_call(long number, long a, long b, long c, long d, long e, long f)
{
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}
#else
static inline long system_call(long number, long a, long b, long c, long d, long e, long f)
{
  return -ENOSYS;
}
#endif

size_t functions_system_length(const char *text);
void functions_system_copy(void *to, const void *from, size_t bytes);
void *functions_system_map(size_t bytes); // zeroed; NULL: none
void functions_system_unmap(void *memory, size_t bytes);
// The file's first `size` bytes; their number, or a negated errno value.
long functions_system_read_file(const char *path, char *text, size_t size);
// Whether the 8 bytes at `address` may be written. WRITES into them where so.
bool functions_system_is_writable(void *address);
// Whether the 8 bytes at `address` may be read: the kernel copies a signal mask in before it looks at `how`, which is none.
static inline bool system_is_readable(const void *address)
{
  return system_call(SYS_rt_sigprocmask, -1, (long)address, 0, 8, 0, 0) != -EFAULT;
}
const char *functions_system_environment(const char *name);   // as the process was started; NULL: not set
unsigned long functions_system_auxiliary(unsigned long type); // of the kernel's vector (AT_…); 0: not there
const char *functions_system_program_path(void);              // as it was started

#endif

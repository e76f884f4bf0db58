// SPDX-License-Identifier: Apache-2.0
// dlsym, as programs see it: the loader's own, whose answer is then offered to the table of frameworks. RTLD_NEXT and
// RTLD_DEFAULT depend on who calls: these go on by a jump, so that the loader sees the program's return address and not
// ours. dlvsym, dlopen and the rest are not touched (dlopen searches by its caller's RUNPATH, so that a wrapper would
// break libraries that find their parts by it). On other machines than those below dlsym is not interposed at all.
#include "frameworks/common/door.h"

#include <dlfcn.h>

typedef void *(*dlsym_fn)(void *handle, const char *name);

#if defined(__x86_64__) || defined(__aarch64__)
#define DLSYM_VERSION "GLIBC_2.34" // where dlsym moved into libc; older names of it are the same function
#endif

#ifdef DLSYM_VERSION

__attribute__((visibility("hidden"))) void *frameworks_dlsym(void *handle, const char *name);
__attribute__((visibility("hidden"))) dlsym_fn frameworks_special(void *handle, const char *name);

static dlsym_fn the_dlsym; // atomic; every thread finds the same value

static void *find_nothing(void *handle, const char *name)
{
  return NULL;
}

static dlsym_fn real_dlsym(void)
{
  dlsym_fn found = __atomic_load_n(&the_dlsym, __ATOMIC_ACQUIRE);
  if (found != NULL)
    return found;
  void *symbol = dlvsym(RTLD_NEXT, "dlsym", DLSYM_VERSION);
  __builtin_memcpy(&found, &symbol, sizeof found);
  if (found == NULL) // not this libc: nothing is found, rather than anything wrong
    found = find_nothing;
  __atomic_store_n(&the_dlsym, found, __ATOMIC_RELEASE);
  return found;
}

// A handle of dlopen: the caller does not matter to the loader.
void *frameworks_dlsym(void *handle, const char *name)
{
  const void *caller = FRAMEWORK_CALLER;
  void *found = real_dlsym()(handle, name);
  if (found == NULL || name == NULL)
    return found;
  return framework_hides_found(name, found) ? NULL : framework_offer(handle, name, found, caller);
}

// What to jump to for RTLD_NEXT and RTLD_DEFAULT. In the default scope our own exports come first: a program that
// probes for a framework must not find an export that hides no function.
dlsym_fn frameworks_special(void *handle, const char *name)
{
  dlsym_fn real = real_dlsym();
  return handle == RTLD_DEFAULT && name != NULL && framework_hides(name) ? find_nothing : real;
}

void *frameworks_lookup(void *handle, const char *name)
{
  return real_dlsym()(handle, name);
}

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        ".cfi_startproc\n"
        "  endbr64\n"
        "  leaq 1(%rdi), %rax\n" // RTLD_NEXT is -1, RTLD_DEFAULT 0
        "  cmpq $1, %rax\n"
        "  ja frameworks_dlsym\n"
        "  pushq %rdi\n"
        ".cfi_adjust_cfa_offset 8\n"
        "  pushq %rsi\n"
        ".cfi_adjust_cfa_offset 8\n"
        "  subq $8, %rsp\n"
        ".cfi_adjust_cfa_offset 8\n"
        "  call frameworks_special\n"
        "  addq $8, %rsp\n"
        ".cfi_adjust_cfa_offset -8\n"
        "  popq %rsi\n"
        ".cfi_adjust_cfa_offset -8\n"
        "  popq %rdi\n"
        ".cfi_adjust_cfa_offset -8\n"
        "  jmp *%rax\n"
        ".cfi_endproc\n"
        ".size dlsym, .-dlsym\n");
#else
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, %function\n"
        "dlsym:\n"
        ".cfi_startproc\n"
        "  hint #34\n" // bti c
        "  add x9, x0, #1\n"
        "  cmp x9, #1\n"
        "  b.hi frameworks_dlsym\n"
        "  stp x29, x30, [sp, #-32]!\n"
        ".cfi_def_cfa_offset 32\n"
        ".cfi_offset 29, -32\n"
        ".cfi_offset 30, -24\n"
        "  stp x0, x1, [sp, #16]\n"
        "  bl frameworks_special\n"
        "  mov x16, x0\n"
        "  ldp x0, x1, [sp, #16]\n"
        "  ldp x29, x30, [sp], #32\n"
        ".cfi_def_cfa_offset 0\n"
        ".cfi_restore 29\n"
        ".cfi_restore 30\n"
        "  br x16\n"
        ".cfi_endproc\n"
        ".size dlsym, .-dlsym\n");
#endif

// Before anything may need it in a hurry (inside malloc, in a signal handler).
__attribute__((constructor)) static void prepare(void)
{
  real_dlsym();
}

#else // programs that look entrances up, Python among them, are not traced

void *frameworks_lookup(void *handle, const char *name)
{
  return dlsym(handle, name);
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Kinds of files: real programs of this machine, made heads, cut heads.
#include "launch/executable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#define OTHER_MACHINE EM_X86_64
#else
#define MACHINE EM_X86_64
#define OTHER_MACHINE EM_AARCH64
#endif

struct head {
  Elf64_Ehdr file;
  Elf64_Phdr part[2];
  char loader[64];
};

static struct head make(uint16_t machine, const char *loader)
{
  struct head head = {.file = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
                               .e_machine = machine,
                               .e_phoff = offsetof(struct head, part),
                               .e_phentsize = sizeof(Elf64_Phdr),
                               .e_phnum = 2},
                      .part = {{.p_type = PT_LOAD}, {.p_type = PT_DYNAMIC}}};
  if (loader != NULL) {
    head.part[1].p_type = PT_INTERP;
    head.part[1].p_offset = offsetof(struct head, loader);
    head.part[1].p_filesz = strlen(loader) + 1;
    strcpy(head.loader, loader);
  }
  return head;
}

static enum executable_kind kind(const void *bytes, size_t size)
{
  char interpreter[PATH_MAX];
  uint8_t *copy = malloc(size + 1); // its end is where a sanitizer looks
  memcpy(copy, bytes, size);
  enum executable_kind found = executable_of_bytes(copy, size, interpreter);
  free(copy);
  return found;
}

static void test_heads(void **state)
{
  struct head head = make(MACHINE, "/lib64/ld-linux-x86-64.so.2");
  assert_int_equal(kind(&head, sizeof head), EXECUTABLE_DYNAMIC);
  head = make(MACHINE, NULL);
  assert_int_equal(kind(&head, sizeof head), EXECUTABLE_STATIC);
  head = make(MACHINE, "/lib/ld-musl-x86_64.so.1");
  assert_int_equal(kind(&head, sizeof head), EXECUTABLE_OTHER_LIBC);
  head = make(OTHER_MACHINE, "/lib/ld-linux-aarch64.so.1");
  assert_int_equal(kind(&head, sizeof head), EXECUTABLE_OTHER_MACHINE);
  head = make(MACHINE, "/lib/ld-linux.so.2");
  head.file.e_ident[EI_CLASS] = ELFCLASS32;
  assert_int_equal(kind(&head, sizeof head), EXECUTABLE_OTHER_MACHINE);
  assert_int_equal(kind("hello", 5), EXECUTABLE_UNKNOWN);
  assert_int_equal(kind("", 0), EXECUTABLE_UNKNOWN);
}

// A head that is cut, or points beyond itself, says less, and nothing is read behind it.
static void test_cut_heads(void **state)
{
  struct head head = make(MACHINE, "/lib64/ld-linux-x86-64.so.2");
  for (size_t size = 0; size < sizeof head; size++)
    assert_true(kind(&head, size) <= EXECUTABLE_UNKNOWN);
  head.file.e_phoff = UINT64_MAX - 8;
  assert_int_equal(kind(&head, sizeof head), EXECUTABLE_UNKNOWN);
  head = make(MACHINE, "/lib64/ld-linux-x86-64.so.2");
  head.part[1].p_offset = UINT64_MAX;
  assert_int_equal(kind(&head, sizeof head), EXECUTABLE_DYNAMIC);
  head.part[1].p_offset = 0;
  head.part[1].p_filesz = UINT64_MAX;
  assert_int_equal(kind(&head, sizeof head), EXECUTABLE_DYNAMIC);
}

static void test_scripts(void **state)
{
  static const struct {
    const char *text, *interpreter;
  } cases[] = {{"#!/bin/sh\nexit 1\n", "/bin/sh"},
               {"#! \t/usr/bin/env python3 -u\n", "/usr/bin/env"},
               {"#!/bin/sh", "/bin/sh"},
               {"#!", ""},
               {"#!\n/bin/sh", ""},
               {"# !/bin/sh", ""}};
  char interpreter[PATH_MAX];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    enum executable_kind found =
        executable_of_bytes((const uint8_t *)cases[i].text, strlen(cases[i].text), interpreter);
    assert_int_equal(found, EXECUTABLE_UNKNOWN);
    assert_string_equal(interpreter, cases[i].interpreter);
  }
}

static void test_files(void **state)
{
  struct executable program;
  executable_look("sh", &program);
  assert_int_equal(program.kind, EXECUTABLE_DYNAMIC);
  assert_true(program.path[0] == '/');
  executable_look("/proc/self/exe", &program);
  assert_int_equal(program.kind, EXECUTABLE_DYNAMIC);
  executable_look("no-such-program-here", &program);
  assert_int_equal(program.kind, EXECUTABLE_UNKNOWN);
  assert_string_equal(program.path, "");
  executable_look("/dev/zero", &program);
  assert_int_equal(program.kind, EXECUTABLE_UNKNOWN);
  // A script whose interpreter is itself ends somewhere.
  char path[] = "/tmp/xsp-run-program-test-XXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0);
  assert_true(dprintf(file, "#!%s\n", path) > 0);
  close(file);
  assert_int_equal(chmod(path, 0700), 0);
  executable_look(path, &program);
  assert_int_equal(program.kind, EXECUTABLE_UNKNOWN);
  unlink(path);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_heads), cmocka_unit_test(test_cut_heads),
                                     cmocka_unit_test(test_scripts), cmocka_unit_test(test_files)};
  return cmocka_run_group_tests_name("executable", tests, NULL, NULL);
}

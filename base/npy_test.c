// SPDX-License-Identifier: Apache-2.0
// .npy files: what numpy.save writes is read, everything else is refused with its reason.
#include "base/npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// A file of `version` with this header text and `data_bytes` bytes 1, 2, 3 … behind it.
static size_t make(unsigned version, const char *header, size_t data_bytes, uint8_t *file)
{
  size_t length = strlen(header), at = 0;
  memcpy(file, "\x93NUMPY", 6);
  file[6] = (uint8_t)version;
  file[7] = 0;
  at = 8;
  for (unsigned i = 0; i < (version == 1 ? 2u : 4u); i++)
    file[at++] = (uint8_t)(length >> (8 * i));
  memcpy(file + at, header, length);
  at += length;
  for (size_t i = 0; i < data_bytes; i++)
    file[at++] = (uint8_t)(i + 1);
  return at;
}

static void reads_what_numpy_writes(void **state)
{
  uint8_t file[256];
  struct npy npy;
  size_t size = make(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }     \n", 24, file);
  assert_int_equal(npy_parse(file, size, "a.npy", &npy, NULL), STATUS_OK);
  assert_int_equal(npy.kind, 'f');
  assert_int_equal(npy.item_bytes, 4);
  assert_int_equal(npy.rank, 2);
  assert_int_equal(npy.shape[0], 2);
  assert_int_equal(npy.shape[1], 3);
  assert_int_equal(npy.count, 6);
  assert_int_equal(npy.data_bytes, 24);
  assert_int_equal(npy.data[0], 1);
  size = make(2, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }\n", 1, file);
  assert_int_equal(npy_parse(file, size, "a.npy", &npy, NULL), STATUS_OK);
  assert_int_equal(npy.rank, 0);
  assert_int_equal(npy.count, 1);
  size = make(3, "{'descr': '<i8', 'fortran_order': False, 'shape': (5,), }\n", 40, file);
  assert_int_equal(npy_parse(file, size, "a.npy", &npy, NULL), STATUS_OK);
  assert_int_equal(npy.rank, 1);
  size = make(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (0, 7), }\n", 0, file);
  assert_int_equal(npy_parse(file, size, "a.npy", &npy, NULL), STATUS_OK);
  assert_int_equal(npy.count, 0);
}

static void refuses_with_the_reason(void **state)
{
  static const struct {
    unsigned version;
    const char *header;
    size_t data_bytes;
    const char *why;
  } cases[] = {
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 23, "needs 24 bytes, the file has 23"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 25, "needs 24 bytes, the file has 25"},
      {1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", 24, "big-endian"},
      {1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 24, "Fortran"},
      {1, "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", 16, "plain element type"},
      {1, "{'descr': '<f1', 'fortran_order': False, 'shape': (2,), }", 2, "plain element type"},
      {1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", 8, "plain element type"},
      {1, "{'descr': '<f4', 'shape': (2, 3), }", 24, "no header"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3), }", 24, "no shape"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 8, "absurd"},
      {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999, 9999999999,), }", 8, "absurd"},
      {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }", 4, "too many"},
      {4, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 4, "version"},
      {1, "{", 0, "no header"},
      {1, "", 0, "no header"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint8_t file[256];
    struct npy npy;
    struct error err = {0};
    size_t size = make(cases[i].version, cases[i].header, cases[i].data_bytes, file);
    assert_int_equal(npy_parse(file, size, "a.npy", &npy, &err), STATUS_INPUT);
    if (strstr(err.why, cases[i].why) == NULL)
      fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].header, err.why, cases[i].why);
    assert_string_equal(err.where, "a.npy");
  }
}

static void refuses_every_cut(void **state)
{
  uint8_t file[256];
  size_t size = make(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24, file);
  for (size_t cut = 0; cut < size; cut++) {
    uint8_t *exact = malloc(cut + 1); // so that a sanitizer sees a read beyond
    memcpy(exact, file, cut);
    struct npy npy;
    assert_int_equal(npy_parse(exact, cut, "a.npy", &npy, NULL), STATUS_INPUT);
    free(exact);
  }
}

static void loads_files(void **state)
{
  struct npy npy;
  struct error err = {0};
  assert_int_equal(npy_load("/nowhere/a.npy", &npy, &err), STATUS_INPUT);
  assert_string_equal(err.where, "/nowhere/a.npy");
  assert_int_equal(npy_load("/", &npy, &err), STATUS_INPUT);
  npy_done(&npy);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_what_numpy_writes),
      cmocka_unit_test(refuses_with_the_reason),
      cmocka_unit_test(refuses_every_cut),
      cmocka_unit_test(loads_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

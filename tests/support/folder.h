// SPDX-License-Identifier: Apache-2.0
// A folder of a test's own, and the path of the one file in it. For cmocka's group setup (make_folder) and teardown
// (remove_folder); clear_folder between tests.
#ifndef XSP_TESTS_SUPPORT_FOLDER_H
#define XSP_TESTS_SUPPORT_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/xsp-test-XXXXXX";
static char path[64];

static inline int make_folder(void **state)
{
  (void)state;
  if (mkdtemp(folder) == NULL)
    return -1;
  snprintf(path, sizeof path, "%s/out.xsp", folder);
  return 0;
}

static inline int clear_folder(void **state)
{
  (void)state;
  unlink(path);
  return 0;
}

static inline int remove_folder(void **state)
{
  (void)clear_folder(state);
  return rmdir(folder);
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Preloaded into an interpreter: it claims to be the version in XSP_TEST_VERSION, so that its layout is not the claimed one.
#include <stdlib.h>

__attribute__((visibility("default"))) const char *Py_GetVersion(void);
const char *Py_GetVersion(void)
{
  return getenv("XSP_TEST_VERSION");
}

// SPDX-License-Identifier: Apache-2.0
// Whose code a source file is, by its name. Called by analyses that show places of the user's own code. Pure.
#include "analyze/installed.h"

#include <stddef.h>
#include <string.h>

bool analyze_is_installed(const char *file)
{
  static const char *const parts[] = {"/site-packages/", "/dist-packages/", "/lib/python3", "/torchinductor_",
                                      "/__autograph_generated_file"};
  static const char *const typed[] = {"<stdin", "<ipython-input"}; // code without a file that a person typed
  if (file == NULL)
    return true;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (strstr(file, parts[i]) != NULL)
      return true;
  for (size_t i = 0; i < sizeof typed / sizeof typed[0]; i++)
    if (strncmp(file, typed[i], strlen(typed[i])) == 0)
      return false;
  return file[0] == '<';
}

// SPDX-License-Identifier: Apache-2.0
// Tests only: loads and unloads a plugin that spans; itself not linked with libxsp.
#include <dlfcn.h>
#include <string.h>

int main(int count, char **arguments)
{
  for (int i = 0; count > 1 && i < 3; i++) {
    void *plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    void *symbol = plugin == NULL ? NULL : dlsym(plugin, "plugin_work");
    if (symbol == NULL)
      return 2;
    void (*work)(void);
    memcpy(&work, &symbol, sizeof work);
    work();
    dlclose(plugin);
  }
  return 0;
}

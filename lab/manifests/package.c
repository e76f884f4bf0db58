// SPDX-License-Identifier: Apache-2.0
// The Python packages that a manifest requires; see source.h.
#include "manifests/source.h"
#include "manifests/version.h"

#include <string.h>

enum status package_find(const struct manifest *manifest, unsigned line, const char *requirement, struct arena *arena,
                         struct python_package *ret_package, struct error *err)
{
  const char *constraint = "";
  size_t length = version_split_requirement(requirement, &constraint);
  const char *quote = strpbrk(requirement, "<>!~, ") != NULL ? "'" : "";
  const char *advice = arena_format(arena, "pip install %s%s%s", quote, requirement, quote);
  if (!python_package_find((struct slice){requirement, length}, arena, ret_package))
    return manifest_wrong(manifest, line, STATUS_SYSTEM, advice, err,
                          "the package %.*s is not in the active Python environment", (int)length, requirement);
  if (constraint[0] != 0 && !version_satisfies(ret_package->version, constraint))
    return manifest_wrong(manifest, line, STATUS_SYSTEM, advice, err, "%.*s %s is in %s, wanted is %s", (int)length,
                          requirement, ret_package->version, ret_package->folder, constraint);
  return STATUS_OK;
}

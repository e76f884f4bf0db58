// SPDX-License-Identifier: Apache-2.0
// Names of variants, for errors and for readers of tables.
#include "experiment/variant.h"

#include <stdio.h>
#include <string.h>

// For errors, before its version is known: "onnxruntime", with the (end of the) library's path where several variants are
// of that framework.
static void variant_as_given(const struct profile_variant *variants, size_t count, size_t variant, char *text,
                             size_t size)
{
  const struct profile_variant *own = &variants[variant];
  size_t of_framework = 0;
  for (size_t i = 0; i < count; i++)
    of_framework += strcmp(variants[i].predictor, own->predictor) == 0;
  if (of_framework == 1 || own->library == NULL) {
    snprintf(text, size, "%s", own->predictor);
    return;
  }
  size_t length = strlen(own->library), room = size - strlen(own->predictor) - sizeof "=...";
  bool is_whole = length <= room;
  snprintf(text, size, "%s=%s%s", own->predictor, is_whole ? "" : "...", own->library + (is_whole ? 0 : length - room));
}

enum status variant_blame(const struct profile_variant *variants, size_t count, size_t variant, enum status status,
                          struct error *err)
{
  char name[64];
  if (status == STATUS_OK || count == 1)
    return status;
  variant_as_given(variants, count, variant, name, sizeof name);
  error_prefix(err, ": ");
  error_prefix(err, name);
  return status;
}

void variant_label(const struct profile_found *found, size_t count, size_t variant, char *label, size_t size)
{
  const struct profile_found *own = &found[variant];
  bool has_twin = false, has_same_library = false;
  for (size_t i = 0; i < count; i++) {
    if (i == variant || strcmp(found[i].framework, own->framework) != 0 ||
        strcmp(found[i].framework_version, own->framework_version) != 0)
      continue;
    has_twin = true;
    has_same_library = has_same_library || strcmp(found[i].library, own->library) == 0;
  }
  if (has_same_library)
    snprintf(label, size, "%s %s, experiment %zu", own->framework, own->framework_version, variant + 1);
  else if (has_twin)
    snprintf(label, size, "%s %s (%s)", own->framework, own->framework_version, own->library);
  else
    snprintf(label, size, "%s %s", own->framework, own->framework_version);
}

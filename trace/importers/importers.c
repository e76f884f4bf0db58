// SPDX-License-Identifier: Apache-2.0
// The table of importers.
#include "importers/importer.h"

#define ADDRESS(name) &importer_##name,
const struct importer *const importers[] = {IMPORTERS(ADDRESS) NULL};

const char *import_format_at(size_t index, const char **ret_summary)
{
  *ret_summary = importers[index] != NULL ? importers[index]->summary : NULL;
  return importers[index] != NULL ? importers[index]->name : NULL;
}

// SPDX-License-Identifier: Apache-2.0
// Numbers of an Nsight Systems database to numbers of the import: strings, tracks, processes, domains. Inside this folder only.
#ifndef XSP_IMPORTERS_NSYS_NAMES_H
#define XSP_IMPORTERS_NSYS_NAMES_H

#include "base/interner.h"
#include "importers/importer.h"
#include "importers/nsys/database.h"

// ---- from up to three numbers to one, in the order in which keys arrive
struct nsys_key {
  int64_t a, b, c;
};
struct nsys_map { // starts as {0}
  struct interner keys;
  VECTOR(uint32_t) values; // by the key's id
};
// *ret_value stays as it is where there is none.
bool nsys_map_find(struct nsys_map *map, struct nsys_key key, uint32_t *ret_value);
void nsys_map_put(struct nsys_map *map, struct nsys_key key, uint32_t value); // replaces
struct nsys_key nsys_map_key(const struct nsys_map *map, uint32_t id);
void nsys_map_done(struct nsys_map *map);

// ---- texts
static inline struct slice nsys_file_name(struct slice path) // without its folders
{
  const char *slash = path.length > 0 ? memrchr(path.data, '/', path.length) : NULL;
  return slash != NULL ? slice_after(path, (size_t)(slash + 1 - path.data)) : path;
}
// import_string of bytes of unknown origin: what is no UTF-8 becomes U+FFFD.
uint32_t nsys_intern(struct import *import, struct slice text);
// The same into import->arena: of texts that may turn out to be of no use, since every interned one is stored.
const char *nsys_copy(struct import *import, struct slice text);

// Table StringIds(id, value). Looked up id by id where it can be, so that only strings in use are kept; else read whole.
struct nsys_strings {
  struct import *import;
  struct nsys_lookup lookup;
  struct nsys_map known;      // id → string of the import
  struct nsys_map found;      // without a key: id → place in `texts`
  VECTOR(struct slice) texts; // in import->arena, as in the file
  uint64_t missing;           // ids that were asked for and are not there
};
enum status nsys_strings_open(struct nsys_strings *ret_strings, struct import *import, struct nsys_database *database,
                              struct error *err) MUST_CHECK;
// "[string 12 missing]" where there is none.
enum status nsys_string(struct nsys_strings *strings, int64_t id, uint32_t *ret_string, struct error *err) MUST_CHECK;
void nsys_strings_close(struct nsys_strings *strings);

#endif

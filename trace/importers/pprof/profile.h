// SPDX-License-Identifier: Apache-2.0
// pprof's profile.proto in memory: what its samples refer to, and the samples one by one. Inside this folder only.
#ifndef XSP_IMPORTERS_PPROF_PROFILE_H
#define XSP_IMPORTERS_PPROF_PROFILE_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vector.h"
#include "base/wire.h"
#include "importers/importer.h"

struct pprof_type { // of values that have the same place in each sample: numbers of texts
  uint64_t type, unit;
};
struct pprof_function { // the same
  uint64_t name, file;
};
struct pprof_frame {               // ids of import_string
  uint32_t function, name, module; // name: with file and line
  enum xsp_frame_kind kind;
};
struct pprof_location { // its frames, the innermost of inlined functions first
  size_t first, count;
};
struct pprof_profile {
  struct import *import;
  struct slice whole;
  uint64_t offset; // of `whole` in the file
  VECTOR(struct slice) texts;
  VECTOR(struct pprof_type) types;
  VECTOR(struct pprof_function) functions;
  VECTOR(struct pprof_location) locations;
  VECTOR(struct pprof_frame) frames;
  struct map function_of, location_of, module_of; // by id: place + 1; of modules the number of its text + 1
  uint64_t main_module;                           // the first module's text
  struct pprof_type period;                       // what `period_count` counts
  int64_t period_count, time_ns, duration_ns;     // 0: not in the file
  int64_t default_type;                           // number of a text, 0: none
  bool is_own;                                    // xsp wrote it
  struct buf scratch;
};

#define PPROF_LABELS_MOST 256 // of a sample; further ones are not read
struct pprof_label {
  struct slice key, text;
  int64_t number;
  bool is_number; // else a text
};
struct pprof_sample { // arrays are used again for the next one
  const char *start;
  VECTOR(uint64_t) locations; // ids, the innermost first
  VECTOR(uint64_t) values;    // int64_t
  VECTOR(struct pprof_label) labels;
};

// Reads all but the samples. pprof_profile_done frees, after an error too.
enum status pprof_profile_read(struct pprof_profile *profile, struct error *err) MUST_CHECK;
void pprof_profile_done(struct pprof_profile *profile);

// Hands each sample to `take`, in the file's order.
typedef enum status pprof_take(void *context, const struct pprof_sample *sample, struct error *err);
enum status pprof_each_sample(struct pprof_profile *profile, pprof_take *take, void *context,
                              struct error *err) MUST_CHECK;

struct slice pprof_text(const struct pprof_profile *profile, uint64_t number);  // empty: there is none
struct slice pprof_text_of(const struct pprof_sample *sample, const char *key); // of a label; the same
enum status pprof_broken(const struct pprof_profile *profile, const char *at, const char *problem, struct error *err);

#endif

// SPDX-License-Identifier: Apache-2.0
// Variants are compared in one `xsp profile`: frameworks, and versions of them. Each is an experiment of its own.
#ifndef XSP_EXPERIMENT_VARIANT_H
#define XSP_EXPERIMENT_VARIANT_H

#include "launch/launch.h"

#define PROFILE_VARIANTS_MAXIMUM 16
#define PROFILE_LABEL_SIZE 1280

struct profile_variant {
  const char *predictor; // name
  const char *library;   // file or folder, as given; NULL: the runner searches
};

// The experiment's id is the variant's number, from 1.
static inline int64_t experiment_id_of(size_t variant)
{
  return (int64_t)variant + 1;
}

// An error of one variant of several gets that name in front. Returns `status`.
enum status variant_blame(const struct profile_variant *variants, size_t count, size_t variant, enum status status,
                          struct error *err);

// What --pin-algorithms sets in the variant's framework; "no switch" where there is none.
static inline const char *variant_pinned_by(const struct profile_variant *variant)
{
  const struct predictor *predictor = predictor_find(variant->predictor);
  return predictor->pinned_by != NULL ? predictor->pinned_by : "no switch";
}

// Distinct names for people: "openvino 2026.4"; with the library where framework and version are
// the same, with a number where that is, too. `label` has `size` bytes.
void variant_label(const struct profile_found *found, size_t count, size_t variant, char *label, size_t size);

#endif

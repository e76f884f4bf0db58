// SPDX-License-Identifier: Apache-2.0
// The options of --isolate, and what they do. Called by verb_evaluate.c.
#ifndef XSP_PROGRAMS_XSP_ISOLATION_OPTIONS_H
#define XSP_PROGRAMS_XSP_ISOLATION_OPTIONS_H

#include "experiment/experiment.h"
#include "manifests/manifests.h"
#include "programs/xsp/verb.h"

#define OPTIONS_ISOLATION                                                                                              \
  {"isolate",                                                                                                          \
   0,                                                                                                                  \
   NULL,                                                                                                               \
   NULL,                                                                                                               \
   false,                                                                                                              \
   "Run each model's process in namespaces of its own, by runc: without network, with the file system read-only "      \
   "and homes and temporary folders empty. Implied by the next four."},                                                \
      {"container",                                                                                                    \
       0,                                                                                                              \
       "PATH",                                                                                                         \
       NULL,                                                                                                           \
       false,                                                                                                          \
       "The file system: an OCI image layout, a root file system, or a Dockerfile, which buildah, podman or docker "   \
       "builds. Default: with XSP_IMAGES what that folder has under the name that the manifest gives, else the "       \
       "host's."},                                                                                                     \
      {"cpus", 0, "N", NULL, 0, "At most N seconds of CPU time each second."},                                         \
      {"memory", 0, "BYTES", NULL, 0, "Kill it when it needs more."},                                                  \
  {                                                                                                                    \
    "time-limit", 0, "SECONDS", NULL, 0, "Kill it when it runs longer."                                                \
  }

// Sets runner.isolation of each model, where one of the options is given. Everything lives in `arena`.
enum status isolation_options(const struct invocation *invocation, const struct manifest *const *manifests,
                              const struct data_set *set, struct evaluation_model *models, size_t count,
                              struct arena *arena, struct error *err) MUST_CHECK;

#endif

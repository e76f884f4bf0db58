// SPDX-License-Identifier: Apache-2.0
// The description of a container for runc: config.json of the OCI runtime specification. Inside this room only.
#ifndef XSP_ISOLATION_BUNDLE_H
#define XSP_ISOLATION_BUNDLE_H

#include "base/buf.h"
#include "isolation/isolation.h"

#define BUNDLE_SCRATCH "/run" // in the container: an empty folder in memory, its TMPDIR

// With the environment and the current folder of the caller. `cgroup`: its name below the caller's cgroups.
void bundle_describe(const struct isolation *isolation, const struct isolation_process *process, const char *cgroup,
                     struct buf *out);

#endif

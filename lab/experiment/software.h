// SPDX-License-Identifier: Apache-2.0
// The software that a model's process sees: its operating system, packages, and isolation. So that `xsp compare` shows what differs between
// two containers, or between one and the host.
#ifndef XSP_EXPERIMENT_SOFTWARE_H
#define XSP_EXPERIMENT_SOFTWARE_H

#include "isolation/isolation.h"
#include "store/store.h"

#define SOFTWARE_VALUES 10

// Facts for store_add_system, at most SOFTWARE_VALUES; strings in `arena`. `library` is the framework's, as the process sees it. What is
// unknown is left out. Returns their number.
size_t software_describe(const struct isolation *isolation, const char *library, struct arena *arena,
                         struct store_system_value values[SOFTWARE_VALUES]);

#endif

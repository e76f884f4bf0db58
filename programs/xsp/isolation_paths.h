// SPDX-License-Identifier: Apache-2.0
// Lists what a model's process has to see of the host's files, and what it must not. Called by isolation_options.c.
#ifndef XSP_PROGRAMS_XSP_ISOLATION_PATHS_H
#define XSP_PROGRAMS_XSP_ISOLATION_PATHS_H

#include "experiment/experiment.h"

// Fills `hidden` and `paths`, in `arena`; `root` is known. STATUS_INPUT: there are too many.
enum status isolation_paths(const struct evaluation_model *model, const struct data_set *set, struct arena *arena,
                            struct isolation *isolation, struct error *err) MUST_CHECK;

#endif

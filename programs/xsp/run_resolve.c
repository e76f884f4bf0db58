// SPDX-License-Identifier: Apache-2.0
// Reruns a program with its launches one after the other and joins what was ambiguous by name and ordinal. Called by
// run_experiment.c.
#include "programs/xsp/run_resolve.h"

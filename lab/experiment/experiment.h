// SPDX-License-Identifier: Apache-2.0
// The front door of experiment/: measurements of a workload over level sets, batch sizes and repetitions.
#ifndef XSP_EXPERIMENT_EXPERIMENT_H
#define XSP_EXPERIMENT_EXPERIMENT_H

#include "experiment/compare.h"                      // variants against each other, as a table
#include "experiment/evaluation/evaluation.h"        // models over labelled data
#include "experiment/evaluation/layer_differences.h" // where two models part
#include "experiment/model_experiment.h"             // models in their frameworks, by runners
#include "experiment/peaks.h"                        // what the CPUs can do at best
#include "experiment/program_experiment.h"           // unmodified programs
#include "experiment/program_facts.h"                // a finished file of the latter
#include "experiment/system.h"                       // the machine, and what disturbs it

#endif

// SPDX-License-Identifier: Apache-2.0
// Handlers of what the files hold together: experiments, runs, names. docs/serve.md, "API".
#ifndef XSP_SERVE_API_RUNS_H
#define XSP_SERVE_API_RUNS_H

#include "http/route.h"

extern const struct route_parameter serve_runs_experiment_parameters[], serve_runs_parameters[];

void serve_runs_experiments(struct exchange *exchange); // GET /api/v1/experiments
void serve_runs_runs(struct exchange *exchange);        // GET /api/v1/runs

#endif

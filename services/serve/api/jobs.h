// SPDX-License-Identifier: Apache-2.0
// Handlers of jobs: programs whose levels may be switched from here. docs/serve.md, "Switch levels of a running job".
#ifndef XSP_SERVE_API_JOBS_H
#define XSP_SERVE_API_JOBS_H

struct exchange;

void jobs_answer_list(struct exchange *exchange);   // GET /api/v1/jobs
void jobs_answer_one(struct exchange *exchange);    // GET /api/v1/jobs/{job}
void jobs_answer_report(struct exchange *exchange); // POST /api/v1/jobs/{job}, by the job
void jobs_answer_levels(struct exchange *exchange); // PUT /api/v1/jobs/{job}/levels

#endif

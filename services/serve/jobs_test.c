// SPDX-License-Identifier: Apache-2.0
#include "serve/jobs.h"

#include <xsp/span.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ID "0123456789abcdef0123456789abcdef"
#define M XSP_LEVEL_MASK(XSP_LEVEL_MODEL)
#define L XSP_LEVEL_MASK(XSP_LEVEL_LAYER)
#define SECOND_NS UINT64_C(1000000000)

static struct job report(const char *id, const char *text)
{
  struct job job;
  assert_null(job_read_report(slice_of(text), &job));
  memcpy(job.id, id, sizeof job.id);
  return job;
}

static void reports_are_read(void **state)
{
  (void)state;
  struct job job = report(ID, "{\"more\":[{}],\"name\":\"train\",\"host\":\"h\",\"process_id\":7,\"possible\":\"M/L\","
                              "\"levels\":\"none\"}");
  assert_string_equal(job.name, "train");
  assert_string_equal(job.host, "h");
  assert_int_equal(job.process_id, 7);
  assert_int_equal(job.possible_mask, M | L);
  assert_int_equal(job.level_mask, 0);
}

static void bad_reports_are_refused(void **state)
{
  (void)state;
  static const char *const texts[] = {"",
                                      "[]",
                                      "{}",
                                      "{\"levels\":\"M\"}",
                                      "{\"possible\":\"M\"}",
                                      "{\"possible\":\"M\",\"levels\":\"M/L\"}",
                                      "{\"possible\":\"M\",\"levels\":\"M+metrics\"}",
                                      "{\"possible\":\"L/M\",\"levels\":\"M\"}",
                                      "{\"possible\":1,\"levels\":\"M\"}",
                                      "{\"possible\":\"M\",\"levels\":\"M\",\"process_id\":\"x\"}",
                                      "{\"possible\":\"M\",\"levels\":\"M\"}x",
                                      "{\"possible\":\"M\",\"levels\":\"M\""};
  struct job job;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    assert_non_null(job_read_report(slice_of(texts[i]), &job));
  uint32_t mask;
  assert_non_null(job_read_levels(slice_of("{}"), &mask));
  assert_null(job_read_levels(slice_of("{\"levels\":\"M/L\"}"), &mask));
  assert_int_equal(mask, M | L);
  assert_true(job_is_id(ID));
  assert_false(job_is_id(ID "0"));
  assert_false(job_is_id("0123456789ABCDEF0123456789abcdef"));
}

static void wanted_levels_reach_the_job(void **state)
{
  (void)state;
  struct jobs *jobs = jobs_new();
  struct job job, reported = report(ID, "{\"possible\":\"M/L\",\"levels\":\"M\"}");
  assert_false(jobs_want(jobs, ID, M, 0, &job));
  assert_true(jobs_report(jobs, &reported, 0, &job));
  assert_int_equal(job.wanted_mask, M); // as it is
  assert_true(jobs_want(jobs, ID, M | L, SECOND_NS, &job));
  assert_int_equal(job.wanted_mask, M | L);
  assert_int_equal(job.level_mask, M); // until the job says otherwise
  assert_true(jobs_report(jobs, &reported, SECOND_NS, &job));
  assert_int_equal(job.wanted_mask, M | L);
  assert_true(jobs_want(jobs, ID, M | XSP_LEVEL_MASK(XSP_LEVEL_KERNEL), SECOND_NS, &job));
  assert_int_equal(job.wanted_mask, M | L); // was not offered
  assert_true(jobs_find(jobs, ID, SECOND_NS + JOB_GONE_NS - 1, &job));
  assert_false(jobs_find(jobs, ID, SECOND_NS + JOB_GONE_NS, &job));
  jobs_free(jobs);
}

static void jobs_are_bounded(void **state)
{
  (void)state;
  struct jobs *jobs = jobs_new();
  struct job job, listed[2], reported = report(ID, "{\"possible\":\"M\",\"levels\":\"M\"}");
  for (unsigned i = 0; i < JOBS_MOST; i++) {
    memcpy(reported.id,
           (char[]){(char)('a' + i % 6), (char)('a' + i / 6 % 6), (char)('a' + i / 36 % 6), (char)('a' + i / 216)}, 4);
    assert_true(jobs_report(jobs, &reported, i, &job));
  }
  memcpy(reported.id, "0000", 4);
  assert_false(jobs_report(jobs, &reported, JOBS_MOST, &job));
  assert_int_equal(jobs_list(jobs, JOBS_MOST, listed, 2), 2);
  assert_true(jobs_report(jobs, &reported, JOB_GONE_NS, &job)); // the first has ended
  jobs_free(jobs);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(reports_are_read), cmocka_unit_test(bad_reports_are_refused),
                                     cmocka_unit_test(wanted_levels_reach_the_job), cmocka_unit_test(jobs_are_bounded)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

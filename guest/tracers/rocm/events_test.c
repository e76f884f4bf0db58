// SPDX-License-Identifier: Apache-2.0
#include "tracers/rocm/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <xsp/monitor.h>

#define HIP 3u // the only kind with operations

static const char *call; // of HIP; NULL: none
static bool has_hip;

static int kind_name(uint32_t kind, const char **ret_name, uint64_t *ret_length)
{
  (void)ret_length;
  *ret_name = kind != HIP ? "MEMORY_COPY" : ROCM_HIP;
  return kind <= (has_hip ? HIP : HIP - 1) ? ROCM_OK : ROCM_OK + 1;
}

static int operation_name(uint32_t kind, uint32_t operation, const char **ret_name, uint64_t *ret_length)
{
  (void)operation, (void)ret_length;
  *ret_name = call;
  return kind == HIP ? ROCM_OK : ROCM_OK + 1;
}

static int each_operation(uint32_t kind, rocm_operation_callback *visit, void *data)
{
  return kind == HIP && call != NULL ? visit(kind, 1, data) : ROCM_OK;
}

static const struct rocm rocm = {
    .kind_name = kind_name, .operation_name = operation_name, .each_operation = each_operation};

static bool are_wanted(enum rocm_calls choice, size_t *ret_count)
{
  uint32_t *operations = NULL;
  *ret_count = 0;
  bool are = rocm_events_wanted(&rocm, choice, &operations, ret_count);
  assert_true(are || operations == NULL); // callers free nothing then
  free(operations);
  return are;
}

static void a_call_that_is_chosen_is_wanted(void **state)
{
  size_t count;
  (void)state;
  has_hip = true;
  call = "hipMemcpy";
  assert_true(are_wanted(ROCM_CALLS_SOME, &count));
  assert_int_equal(count, 1);
  assert_false(are_wanted(ROCM_CALLS_NONE, &count));
}

static void nothing_is_kept_where_no_call_is_chosen(void **state)
{
  size_t count;
  (void)state;
  has_hip = true;
  for (int i = 0; i < 2; i++) {
    call = i == 0 ? NULL : "hipGetDevice";
    assert_false(are_wanted(ROCM_CALLS_SOME, &count));
    assert_true(are_wanted(ROCM_CALLS_ALL, &count));
  }
}

static void nothing_is_wanted_without_hip(void **state)
{
  size_t count;
  (void)state;
  has_hip = false;
  call = "hipMemcpy";
  assert_false(are_wanted(ROCM_CALLS_SOME, &count));
  assert_false(are_wanted(ROCM_CALLS_ALL, &count));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_call_that_is_chosen_is_wanted),
      cmocka_unit_test(nothing_is_kept_where_no_call_is_chosen),
      cmocka_unit_test(nothing_is_wanted_without_hip),
  };
  xsp_monitor_domains_v1 = 1u << XSP_DOMAIN_GPU;
  return cmocka_run_group_tests(tests, NULL, NULL);
}

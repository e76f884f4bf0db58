// SPDX-License-Identifier: Apache-2.0
// Which layer is which: plans of networks, passes in any order and on any thread, layers without a name.
#include "tracers/itt/itt.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char folder[] = "/tmp/xsp-test-opencv-XXXXXX";

static void set_up_net(struct itt_opencv **state, const char *const *types)
{
  itt_opencv_begin(state, ITT_ROLE_PLAN);
  for (; *types != NULL; types++)
    itt_opencv_instance(state, *types);
  itt_opencv_begin(state, ITT_ROLE_ALLOCATE);
  itt_opencv_instance(state, "said again");
  itt_opencv_end(state, ITT_ROLE_ALLOCATE);
  itt_opencv_end(state, ITT_ROLE_PLAN);
}

// A layer that begins and ends; its site's name must be `expected`.
static void expect_layer(struct itt_opencv **state, const char *name, const char *expected)
{
  static struct itt_layer layer;
  memset(&layer, 0, sizeof layer);
  strcpy(layer.name, name);
  itt_opencv_begin(state, ITT_ROLE_LAYER);
  struct xsp_site *site = itt_opencv_layer(state, &layer);
  itt_opencv_end(state, ITT_ROLE_LAYER);
  if (expected == NULL) {
    assert_null(site);
    return;
  }
  assert_non_null(site);
  assert_string_equal(site->name, expected);
}

// Sites of one name and different types are different.
static uint32_t site_of(struct itt_opencv **state, const char *name)
{
  static struct itt_layer layer;
  memset(&layer, 0, sizeof layer);
  strcpy(layer.name, name);
  itt_opencv_begin(state, ITT_ROLE_LAYER);
  struct xsp_site *site = itt_opencv_layer(state, &layer);
  itt_opencv_end(state, ITT_ROLE_LAYER);
  assert_non_null(site);
  return site->id;
}

static const char *const first_net[] = {"__NetInputLayer__", "Convolution", "ReLU", "Softmax", NULL};
static const char *const second_net[] = {"__NetInputLayer__", "Pooling", "Sigmoid", NULL};

static void test_names_and_types_of_a_pass(void **unused)
{
  struct itt_opencv *state = NULL;
  expect_layer(&state, "", NULL); // outside of a pass, nothing known
  expect_layer(&state, "only a name", "only a name");
  set_up_net(&state, first_net);
  for (int pass = 0; pass < 3; pass++) {
    itt_opencv_begin(&state, ITT_ROLE_PASS);
    expect_layer(&state, "", "_input");
    expect_layer(&state, "a", "a");
    expect_layer(&state, "", "ReLU (unnamed)");
    expect_layer(&state, "b", "b");
    expect_layer(&state, "", NULL); // more than the plan has
    itt_opencv_end(&state, ITT_ROLE_PASS);
  }
  itt_opencv_free(&state);
}

static void *run_elsewhere(void *expected)
{
  struct itt_opencv *state = NULL; // this thread set nothing up
  itt_opencv_begin(&state, ITT_ROLE_PASS);
  expect_layer(&state, "", NULL);
  *(uint32_t *)expected = site_of(&state, "x");
  expect_layer(&state, "", "Sigmoid (unnamed)"); // its net is known by its first name
  itt_opencv_end(&state, ITT_ROLE_PASS);
  itt_opencv_free(&state);
  return NULL;
}

static void test_networks_in_turns_and_on_other_threads(void **unused)
{
  struct itt_opencv *state = NULL;
  uint32_t there = 0, pooled = 0, convolved = 0;
  for (int round = 0; round < 2; round++) {
    set_up_net(&state, first_net);
    itt_opencv_begin(&state, ITT_ROLE_PASS);
    expect_layer(&state, "", "_input");
    convolved = site_of(&state, "a");
    itt_opencv_end(&state, ITT_ROLE_PASS);
    set_up_net(&state, second_net);
    itt_opencv_begin(&state, ITT_ROLE_PASS);
    expect_layer(&state, "", "_input");
    pooled = site_of(&state, "x");
    itt_opencv_end(&state, ITT_ROLE_PASS);
  }
  assert_int_not_equal(convolved, pooled);
  for (int round = 0; round < 3; round++) { // in turns: what comes before the first name may be the other's
    itt_opencv_begin(&state, ITT_ROLE_PASS);
    expect_layer(&state, "", "_input");
    assert_int_equal(site_of(&state, "a"), convolved);
    expect_layer(&state, "", "ReLU (unnamed)");
    itt_opencv_end(&state, ITT_ROLE_PASS);
    itt_opencv_begin(&state, ITT_ROLE_PASS);
    expect_layer(&state, "", "_input");
    assert_int_equal(site_of(&state, "x"), pooled);
    expect_layer(&state, "", "Sigmoid (unnamed)");
    itt_opencv_end(&state, ITT_ROLE_PASS);
  }
  pthread_t thread;
  pthread_create(&thread, NULL, run_elsewhere, &there);
  pthread_join(thread, NULL);
  assert_int_equal(there, pooled);
  itt_opencv_free(&state);
}

static void test_passes_inside_of_layers(void **unused)
{
  struct itt_opencv *state = NULL;
  set_up_net(&state, first_net);
  itt_opencv_begin(&state, ITT_ROLE_PASS);
  expect_layer(&state, "", "_input");
  itt_opencv_begin(&state, ITT_ROLE_LAYER); // one that runs a net of its own
  for (int depth = 0; depth < 20; depth++)
    itt_opencv_begin(&state, ITT_ROLE_PASS);
  expect_layer(&state, "", NULL); // deeper than is kept
  for (int depth = 0; depth < 20; depth++)
    itt_opencv_end(&state, ITT_ROLE_PASS);
  itt_opencv_end(&state, ITT_ROLE_LAYER);
  itt_opencv_begin(&state, ITT_ROLE_LAYER);
  itt_opencv_end(&state, ITT_ROLE_LAYER);
  expect_layer(&state, "", "Softmax (unnamed)");
  itt_opencv_end(&state, ITT_ROLE_PASS);
  itt_opencv_end(&state, ITT_ROLE_PASS); // ends without begins
  itt_opencv_end(&state, ITT_ROLE_LAYER);
  itt_opencv_end(&state, ITT_ROLE_PLAN);
  itt_opencv_instance(&state, "nowhere");
  itt_opencv_free(&state);
  itt_opencv_end(&state, ITT_ROLE_PASS);
  itt_opencv_instance(&state, "nobody");
}

static void test_a_network_has_one_plan(void **unused)
{
  static const char *const last_net[] = {"__NetInputLayer__", "Last", NULL};
  struct itt_opencv *state = NULL;
  for (int i = 0; i < 200; i++)
    set_up_net(&state, first_net); // for another shape each time
  set_up_net(&state, last_net);
  itt_opencv_begin(&state, ITT_ROLE_PASS);
  expect_layer(&state, "", "_input");
  expect_layer(&state, "", "Last (unnamed)");
  itt_opencv_end(&state, ITT_ROLE_PASS);
  itt_opencv_free(&state);
}

static void test_more_plans_than_are_kept(void **unused)
{
  struct itt_opencv *state = NULL;
  for (int net = 0; net < 100; net++) {
    char type[32];
    snprintf(type, sizeof type, "Type%d", net);
    const char *types[] = {"__NetInputLayer__", type, NULL};
    set_up_net(&state, types);
    itt_opencv_begin(&state, ITT_ROLE_PASS);
    if (net < 50) // those beyond the limit have names, if OpenCV says them, but no types
      expect_layer(&state, "", "_input");
    else if (net == 99)
      expect_layer(&state, "", NULL);
    itt_opencv_end(&state, ITT_ROLE_PASS);
  }
  const char **types = calloc(100001, sizeof *types);
  for (int i = 0; i < 100000; i++) // more layers than a plan takes: none
    types[i] = "Huge";
  set_up_net(&state, types);
  free(types);
  itt_opencv_begin(&state, ITT_ROLE_PLAN); // never ended
  itt_opencv_instance(&state, "left");
  itt_opencv_free(&state);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names_and_types_of_a_pass), cmocka_unit_test(test_networks_in_turns_and_on_other_threads),
      cmocka_unit_test(test_passes_inside_of_layers),   cmocka_unit_test(test_a_network_has_one_plan),
      cmocka_unit_test(test_more_plans_than_are_kept),
  };
  char session[64], command[96];
  if (mkdtemp(folder) == NULL)
    return 1;
  snprintf(session, sizeof session, "%s/session", folder);
  if (xsp_attach(session) != 0)
    return 1;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command) != 0 ? 1 : failed;
}

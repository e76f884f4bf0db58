// SPDX-License-Identifier: Apache-2.0
// Layers: shapes as text, one site for each (node, shape), also when threads meet. Runs in a session of its own.
#include "frameworks/onnxruntime/layers.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void shapes_have_one_form(void **state)
{
  char text[64];
  const char *two = "[{\"float\":[1,64,112,112]},{\"int64\":[1]}]";
  assert_true(ort_layer_shape(two, true, text, sizeof text));
  assert_string_equal(text, "[1,64,112,112]");
  assert_true(ort_layer_shape(two, false, text, sizeof text));
  assert_string_equal(text, "[1,64,112,112] [1]");
  assert_true(ort_layer_shape("[{\"float\" :[ 1, 2 ]}]", true, text, sizeof text));
  assert_string_equal(text, "[1,2]");
  assert_true(ort_layer_shape("[{\"float\":[]}]", true, text, sizeof text)); // a scalar
  assert_string_equal(text, "[]");
  assert_false(ort_layer_shape("[]", true, text, sizeof text));
  assert_false(ort_layer_shape(NULL, true, text, sizeof text));
  assert_false(ort_layer_shape("[{\"float\":[1,2", true, text, sizeof text));
  assert_true(ort_layer_shape(two, false, text, 16)); // cut at a whole shape
  assert_string_equal(text, "[1,64,112,112]");
  assert_false(ort_layer_shape(two, false, text, 8));
}

static const char *const one = "[{\"float\":[1,8]}]", *const four = "[{\"float\":[4,8]}]";

static void a_layer_is_a_node_and_its_shape(void **state)
{
  struct layer_facts facts = {.operator_type = "Conv"};
  struct layer_key key = {"conv_kernel_time", "3", one};
  assert_null(ort_layers_find(&key));
  struct xsp_site *site = ort_layers_add(&key, &facts);
  assert_non_null(site);
  assert_string_equal(site->name, "conv");
  assert_int_equal(site->level, XSP_LEVEL_LAYER);
  assert_ptr_equal(ort_layers_find(&key), site);
  assert_ptr_equal(ort_layers_add(&key, &facts), site);
  key.name = "conv";
  assert_ptr_equal(ort_layers_find(&key), site);
  key.outputs = four;
  assert_null(ort_layers_find(&key));
  struct xsp_site *wider = ort_layers_add(&key, &facts);
  assert_ptr_not_equal(wider, site);
  assert_int_not_equal(wider->id, site->id);
  key.node_index = "4";
  assert_null(ort_layers_find(&key));
  struct layer_key nameless = {NULL, NULL, NULL};
  assert_non_null(ort_layers_add(&nameless, &facts));
  assert_non_null(ort_layers_find(&nameless));
}

#define THREADS 4
#define NODES 2000

static void *add_all(void *results)
{
  struct xsp_site **sites = results;
  struct layer_facts facts = {.operator_type = "Conv"};
  for (int i = 0; i < NODES; i++) {
    char name[32];
    snprintf(name, sizeof name, "shared_node_%d", i);
    struct layer_key key = {name, "1", one};
    sites[i] = ort_layers_add(&key, &facts);
  }
  return NULL;
}

static void threads_agree_on_every_layer(void **state)
{
  static struct xsp_site *sites[THREADS][NODES];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, add_all, sites[i]), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < NODES; i++) {
    assert_non_null(sites[0][i]);
    for (int thread = 1; thread < THREADS; thread++)
      assert_int_equal(sites[thread][i]->id, sites[0][i]->id);
  }
}

// Last: fills the table.
static void too_many_layers_share_one_site(void **state)
{
  struct layer_facts facts = {0};
  struct xsp_site *site = NULL;
  for (int i = 0; i < 70000; i++) {
    char name[32];
    snprintf(name, sizeof name, "many_%d", i);
    struct layer_key key = {name, "1", one};
    site = ort_layers_add(&key, &facts);
    assert_non_null(site);
  }
  assert_string_equal(site->name, "(further layers)");
  struct layer_key first = {"many_0", "1", one};
  assert_string_equal(ort_layers_find(&first)->name, "many_0");
}

int main(void)
{
  char folder[] = "/dev/shm/xsp-layers-test-XXXXXX";
  if (mkdtemp(folder) == NULL || xsp_attach(folder) != 0)
    return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_have_one_form),
      cmocka_unit_test(a_layer_is_a_node_and_its_shape),
      cmocka_unit_test(threads_agree_on_every_layer),
      cmocka_unit_test(too_many_layers_share_one_site),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command) != 0 || failed != 0;
}

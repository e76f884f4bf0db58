// SPDX-License-Identifier: Apache-2.0
// A module with ITT inside, made by hand, speaks to openvino.so as OpenVINO does: its nodes become layers, all else does
// not. In a child process with a session of its own.
#include "frameworks/openvino/hooks.h"

#include "tests/support/ring_reader.h"
#include "tracers/itt/abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct itt_domain *(*domain_create)(const char *);
static struct itt_string *(*string_create)(const char *);
static void (*task_begin)(const struct itt_domain *, struct itt_id, struct itt_id, struct itt_string *);
static void (*task_end)(const struct itt_domain *);
static void (*untouched)(void);
static void (*init)(struct itt_global *, int);
static const struct openvino_listener *listener;

// What the static part of a module hands over.
static void join(void)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/tracers/openvino.so", getenv("XSP_BUILD"));
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL)
    _exit(90);
  static struct itt_slot slots[] = {{"__itt_domain_create", (void **)&domain_create, NULL, NULL, 0},
                                    {"__itt_string_handle_create", (void **)&string_create, NULL, NULL, 0},
                                    {"__itt_task_begin", (void **)&task_begin, NULL, NULL, 0},
                                    {"__itt_task_end", (void **)&task_end, NULL, NULL, 0},
                                    {"__itt_sync_create", (void **)&untouched, NULL, NULL, 0},
                                    {NULL, NULL, NULL, NULL, 0}};
  static struct itt_global global = {.magic = {0}, .major = 3, .build = ITT_BUILD_OLDEST, .slots = slots};
  memcpy(global.magic, ITT_MAGIC, sizeof global.magic);
  *(void **)&init = dlsym(handle, "__itt_api_init");
  openvino_listener_fn find = NULL;
  *(void **)&find = dlsym(handle, OPENVINO_LISTENER_SYMBOL);
  init(&global, 0);
  listener = find();
  if (domain_create == NULL || task_end == NULL || untouched != NULL)
    _exit(91);
}

static void run(const struct itt_domain *domain, const char *name)
{
  const struct itt_id none = {0, 0, 0};
  task_begin(domain, none, none, string_create(name));
  task_end(domain);
}

// Of a version that is not known: it is left alone.
static void another_module_joins(void)
{
  static struct itt_global global = {.magic = {0}, .major = 4, .build = ITT_BUILD_OLDEST};
  memcpy(global.magic, ITT_MAGIC, sizeof global.magic);
  init(&global, 0);
}

static struct itt_domain *nodes;

static void *on_another_thread(void *name)
{
  run(nodes, name);
  return NULL;
}

static void program(void)
{
  XSP_SITE_FULL(model_site, XSP_LEVEL_MODEL, "net", NULL, "runner");
  join();
  nodes = domain_create(OPENVINO_NODE_DOMAIN);
  struct itt_domain *others = domain_create("tbb");
  struct itt_domain *primitives = domain_create("dnnl::primitive::execute");
  const struct itt_id no_id = {0, 0, 0};
  if (nodes->flags != 1 || primitives->flags != 1 || others->flags != 0 || string_create("a") != string_create("a"))
    _exit(92);
  struct layer_tags tags = {0};
  layer_tags_add_text(&tags, "primitive", "brgconv_avx512_bf16");
  layer_tags_add_text(&tags, "fused", "relu,bias");
  const struct layer_report layers[] = {{.name = "conv", .type = "Convolution", .index = 0, .tags = &tags},
                                        {.name = "loop", .type = "Loop", .index = 1}};
  listener->describe(layers, 2);
  run(nodes, "constant"); // before any inference
  struct xsp_span model = xsp_span_start(&model_site);
  listener->begin(xsp_span_context(&model));
  task_begin(nodes, no_id, no_id, string_create("conv"));
  task_begin(primitives, no_id, no_id, string_create("softmax")); // whatever it is called
  another_module_joins();
  task_end(primitives);
  task_end(nodes);
  if (primitives->flags != 1)
    _exit(94);
  task_begin(nodes, no_id, no_id, string_create("loop"));
  run(primitives, "of a node without a primitive");
  task_end(nodes);
  run(primitives, "of another thread's node");
  run(others, "not a node");
  task_end(nodes); // one too many
  // A module's own handles, made before it knew the collector.
  static struct itt_domain own_domain = {.flags = 1, .name = OPENVINO_NODE_DOMAIN};
  static struct itt_string own_string = {.text = "early"};
  task_begin(&own_domain, no_id, no_id, &own_string);
  task_end(&own_domain);
  task_begin(nodes, no_id, no_id, string_create("loop"));
  run(nodes, "body");
  task_end(nodes);
  for (int i = 0; i < 100; i++) // deeper than there is room for
    task_begin(nodes, no_id, no_id, string_create("deep"));
  for (int i = 0; i < 100; i++)
    task_end(nodes);
  pthread_t thread;
  pthread_create(&thread, NULL, on_another_thread, "elsewhere");
  pthread_join(thread, NULL);
  listener->end();
  xsp_span_finish(&model);
  run(nodes, "after");
  // Another model has a node of the same name, without a primitive.
  const struct layer_report again = {.name = "conv", .type = "Reference", .index = 0};
  listener->describe(&again, 1);
  listener->begin((struct xsp_context){0, 0});
  task_begin(nodes, no_id, no_id, string_create("conv"));
  run(primitives, "of a node that had one");
  task_end(nodes);
  listener->end();
  if (listener->node_count() != 1 + 4 + 1 + 100 + 1 + 1 + 1 || listener->own_ticks() == 0)
    _exit(93);
}

static struct session_read result;

static const char *site_tag(const struct read_record *span, const char *key)
{
  const struct catalog_site *site = read_site(&result, span->record.site);
  for (uint32_t id = site->first_tag; id != 0;) {
    const struct catalog_site_tag *tag = (const struct catalog_site_tag *)(result.catalog + (size_t)id * 8);
    if (strcmp(read_text(&result, tag->key), key) == 0)
      return tag->value_type == VALUE_STRING ? read_text(&result, (uint32_t)tag->value) : "a number";
    id = tag->next;
  }
  return NULL;
}

static void nodes_become_layers(void **state)
{
  char folder[] = "/tmp/xsp-openvino-listener-XXXXXX";
  assert_non_null(mkdtemp(folder));
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(600);
    setenv("XSP_SESSION", folder, 1);
    if (xsp_attach(NULL) != 0)
      _exit(99);
    program();
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  bool is_read = session_read(folder, &result);
  remove_folder(folder);
  assert_true(is_read);

  const struct read_record *conv = find_span(&result, "conv"), *model = find_span(&result, "net");
  assert_non_null(conv);
  assert_string_equal(site_tag(conv, "layer_type"), "Convolution");
  assert_string_equal(site_tag(conv, "primitive"), "brgconv_avx512_bf16");
  assert_string_equal(site_tag(conv, "fused"), "relu,bias");
  assert_string_equal(site_tag(conv, "layer_index"), "a number");
  assert_int_equal(read_site(&result, conv->record.site)->level, XSP_LEVEL_LAYER);
  assert_null(find_about(&result, conv, RECORD_PARENT)); // on the model's thread: by containment
  const struct read_record *primitive = find_span(&result, "brgconv_avx512_bf16");
  assert_non_null(primitive);
  assert_int_equal(read_site(&result, primitive->record.site)->level, XSP_LEVEL_LIBRARY);
  assert_int_equal(count_spans(&result, "loop"), 2);
  const char *const there[] = {"brgconv_avx512_bf16", "early", "body", "elsewhere"};
  for (size_t i = 0; i < sizeof there / sizeof there[0]; i++)
    assert_int_equal(count_spans(&result, there[i]), 1);
  const char *const absent[] = {
      "constant", "not a node", "after", "softmax", "of a node without a primitive", "of another thread's node"};
  for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
    assert_int_equal(count_spans(&result, absent[i]), 0);
  // Nodes that run while no inference does take no room in the session.
  assert_null(memmem(result.catalog, result.catalog_size, "constant", sizeof "constant"));
  assert_non_null(memmem(result.catalog, result.catalog_size, "elsewhere", sizeof "elsewhere"));
  assert_null(site_tag(find_span(&result, "body"), "layer_type")); // nothing was said of it
  assert_int_equal(count_spans(&result, "deep"), 16);
  const struct read_record *elsewhere = find_about(&result, find_span(&result, "elsewhere"), RECORD_PARENT);
  assert_non_null(elsewhere);
  assert_int_equal(elsewhere->record.start, (uint64_t)model->ring << 32 | model->record.id);
  assert_int_equal(result.misused, 0);
  session_read_done(&result);
}

static void without_a_session_nothing_is_taken_over(void **state)
{
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    unsetenv("XSP_SESSION");
    join(); // 91: no function was put in
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 91);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nodes_become_layers),
      cmocka_unit_test(without_a_session_nothing_is_taken_over),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Call paths in this process's own session, read back as trace/format/session.h describes the folder.
#include "tests/support/ring_reader.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xsp/monitor.h>

#include <cmocka.h>

static char directory[] = "/dev/shm/xsp-call-path-test-XXXXXX";
static struct session_read result;

static const void *entry(uint32_t id, uint32_t type)
{
  const struct catalog_entry *found = (const void *)(result.catalog + (size_t)id * 8);
  assert_true(id != 0 && (size_t)id * 8 < result.catalog_size);
  assert_int_equal(found->type, type);
  return found;
}

// The path as text: "name@file:line" of each frame, outermost first.
static void check_path(uint32_t id, const char *expected)
{
  char text[256] = "", rest[256];
  for (uint32_t next = id; next != 0;) {
    const struct catalog_path *path = entry(next, CATALOG_PATH);
    const struct catalog_frame *frame = entry(path->frame, CATALOG_FRAME);
    const char *file = read_text(&result, frame->file);
    memcpy(rest, text, sizeof rest);
    snprintf(text, sizeof text, "%s@%s:%u %.150s", read_text(&result, frame->name), file == NULL ? "" : file,
             frame->line, rest);
    assert_true(path->caller < next);
    next = path->caller;
  }
  assert_string_equal(text, expected);
}

static struct xsp_frame python(const char *name, uint32_t line)
{
  return (struct xsp_frame){
      .size = sizeof(struct xsp_frame), .kind = XSP_FRAME_PYTHON, .name = name, .file = "a.py", .line = line};
}

static int make_session(void **state)
{
  (void)state;
  setenv("XSP_RING_RECORDS", "1024", 1);
  return mkdtemp(directory) == NULL || rmdir(directory) != 0 || xsp_attach(directory) != 0;
}

static int remove_session(void **state)
{
  (void)state;
  session_read_done(&result);
  remove_folder(directory);
  return 0;
}

static void read_again(void)
{
  session_read_done(&result);
  assert_true(session_read(directory, &result));
}

static void test_same_arguments_same_path(void **state)
{
  (void)state;
  struct xsp_frame main_frame = python("main", 7), other_line = python("main", 8);
  struct xsp_frame conv = {
      .size = sizeof conv, .kind = XSP_FRAME_FRAMEWORK, .name = "aten::add", .module = "libtorch.so", .address = 16};
  uint32_t outer = xsp_call_path(0, &main_frame), inner = xsp_call_path(outer, &conv);
  assert_true(outer != 0 && inner != 0 && inner != outer);
  assert_int_equal(xsp_call_path(0, &main_frame), outer);
  assert_int_equal(xsp_call_path(outer, &conv), inner);
  assert_int_not_equal(xsp_call_path(0, &other_line), outer);
  assert_int_not_equal(xsp_call_path(0, &conv), inner);
  char elsewhere[] = "main"; // the same text at another place, then another text at the same place
  main_frame.name = elsewhere;
  assert_int_equal(xsp_call_path(0, &main_frame), outer);
  elsewhere[0] = 'r';
  uint32_t rain = xsp_call_path(0, &main_frame);
  assert_int_not_equal(rain, outer);
  assert_int_equal(xsp_call_path(0, &main_frame), rain);
  conv.module = NULL;
  assert_int_not_equal(xsp_call_path(outer, &conv), inner);
  conv.module = "libtorch.so", conv.address = 17;
  assert_int_not_equal(xsp_call_path(outer, &conv), inner);
  read_again();
  check_path(inner, "main@a.py:7 aten::add@:0 ");
  check_path(rain, "rain@a.py:7 ");
  const struct catalog_path *path = entry(inner, CATALOG_PATH);
  const struct catalog_frame *frame = entry(path->frame, CATALOG_FRAME);
  assert_int_equal(path->depth, 2);
  assert_int_equal(frame->kind, XSP_FRAME_FRAMEWORK);
  assert_string_equal(read_text(&result, frame->module), "libtorch.so");
  assert_int_equal(frame->address, 16);
  assert_int_equal(result.misused + result.lost, 0);
}

// As many as fill two parts of the catalog's table of what there is, and what remembers the paths asked for last.
static void test_many_paths(void **state)
{
  enum { MANY = 50000 }; // each with a frame of its own
  uint32_t *path = calloc(MANY, sizeof *path);
  assert_non_null(path);
  for (uint32_t turn = 0; turn < 2; turn++)
    for (uint32_t line = 0; line < MANY; line++) {
      const struct xsp_frame frame = python("many", line + 1);
      uint32_t id = xsp_call_path(0, &frame);
      assert_true(turn == 0 ? line == 0 || id > path[line - 1] : id == path[line]);
      path[line] = id;
    }
  read_again();
  check_path(path[0], "many@a.py:1 ");
  check_path(path[MANY - 1], "many@a.py:50000 ");
  free(path);
}

static void test_sites_and_spans(void **state)
{
  (void)state;
  struct xsp_frame one = python("one", 1), two = python("two", 2);
  uint32_t first = xsp_call_path(0, &one), second = xsp_call_path(0, &two);
  struct xsp_site *site = xsp_site_create_variant("t", XSP_LEVEL_LAYER, "with path", NULL, 1);
  struct xsp_site *without = xsp_site_create("t", XSP_LEVEL_LAYER, "without", NULL);
  xsp_site_call_path(site, first);
  struct xsp_span span = xsp_span_start(site), own = xsp_span_start(without);
  xsp_span_call_path(&own, second);
  xsp_span_finish(&own);
  xsp_span_finish(&span);
  struct xsp_interval interval = {.size = sizeof interval, .clock = XSP_CLOCK_REALTIME, .end = 1, .call_path = second};
  xsp_span_emit(xsp_site_create("t", XSP_LEVEL_LAYER, "emitted", NULL), &interval);
  interval.size = XSP_INTERVAL_SIZE_V1; // a program compiled with the first version: what follows is not its
  struct xsp_span old = xsp_span_emit(xsp_site_create("t", XSP_LEVEL_LAYER, "old", NULL), &interval);
  read_again();
  uint64_t misused = result.misused;
  xsp_span_call_path(&old, second); // its row is made
  read_again();
  assert_int_equal(result.misused, misused + 1);
  assert_int_equal(read_site(&result, find_span(&result, "with path")->record.site)->path, first);
  assert_int_equal(read_site(&result, find_span(&result, "without")->record.site)->path, 0);
  assert_null(find_about(&result, find_span(&result, "with path"), RECORD_PATH));
  assert_int_equal(find_about(&result, find_span(&result, "without"), RECORD_PATH)->record.start, second);
  assert_int_equal(find_about(&result, find_span(&result, "emitted"), RECORD_PATH)->record.start, second);
  assert_null(find_about(&result, find_span(&result, "old"), RECORD_PATH));
}

static void test_wrong_arguments(void **state)
{
  (void)state;
  read_again();
  uint64_t misused = result.misused, lost = result.lost;
  struct xsp_frame frame = python("f", 1), small = frame, of_no_kind = frame;
  small.size = 8;
  of_no_kind.kind = XSP_FRAME_KINDS;
  assert_int_equal(xsp_call_path(0, NULL), 0);
  assert_int_equal(xsp_call_path(0, &small), 0);
  assert_int_equal(xsp_call_path(0, &of_no_kind), 0);
  assert_int_equal(xsp_call_path(xsp_string("no path", 7), &frame), 0);
  assert_int_equal(xsp_call_path(UINT32_MAX, &frame), 0);
  xsp_site_call_path(NULL, 1);
  xsp_span_call_path(NULL, 1);
  read_again();
  assert_int_equal(result.misused, misused + 4);
  uint32_t path = 0;
  for (uint32_t depth = 1; depth <= XSP_CALL_PATH_FRAMES; depth++) {
    uint32_t next = xsp_call_path(path, &frame);
    if (next == 0)
      fail_msg("no path at depth %u", depth);
    path = next;
  }
  assert_int_equal(xsp_call_path(path, &frame), 0);
  read_again();
  assert_int_equal(result.lost, lost + 1);
}

#define THREADS 4
#define PATHS 2000
static void *make_paths(void *ret_paths)
{
  uint32_t *paths = ret_paths;
  for (uint32_t i = 0; i < PATHS; i++) {
    struct xsp_frame frame = python("thread", 1 + i);
    paths[i] = xsp_call_path(i == 0 ? 0 : paths[i / 2], &frame);
  }
  return NULL;
}

static void test_threads_and_forks(void **state)
{
  (void)state;
  static uint32_t paths[THREADS][PATHS], again[PATHS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, make_paths, paths[i]), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  for (int i = 1; i < THREADS; i++)
    assert_memory_equal(paths[0], paths[i], sizeof paths[0]);
  pid_t child = fork();
  if (child == 0) {
    make_paths(again); // the parent's
    _exit(memcmp(again, paths[0], sizeof again) == 0 ? 0 : 1);
  }
  int status = 1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static uint32_t provided;

static uint32_t give_path(uint32_t sources)
{
  (void)sources;
  return provided;
}

// Of functions that their modules export, in a library and in no module; others keep no name. No sanitizer has one for lcong48.
static void test_names_of_native_frames(void **state)
{
  (void)state;
  Dl_info found;
  struct link_map *map;
  struct xsp_frame frames[4], frame = {.size = sizeof frame, .kind = XSP_FRAME_NATIVE, .address = 4096};
  assert_int_not_equal(dladdr1((const void *)lcong48, &found, (void **)&map, RTLD_DL_LINKMAP), 0);
  uint32_t path = xsp_call_path(0, &frame);
  frame.module = "/nowhere/lib.so";
  path = xsp_call_path(path, &frame);
  frame.module = map->l_name;
  path = xsp_call_path(path, &frame);
  frame.address = (uintptr_t)lcong48 + 1 - map->l_addr;
  provided = xsp_call_path(path, &frame);
  xsp_monitor_provide(give_path);
  for (int i = 0; i < 2; i++) { // found, then known
    assert_int_equal(xsp_monitor_call_path(XSP_SOURCE_NATIVE, frames, 4), 4);
    assert_null(frames[0].name);
    assert_null(frames[1].name);
    assert_null(frames[2].name); // the head of the file
    assert_string_equal(frames[3].name, "lcong48");
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_arguments_same_path), cmocka_unit_test(test_many_paths),
      cmocka_unit_test(test_sites_and_spans),          cmocka_unit_test(test_wrong_arguments),
      cmocka_unit_test(test_threads_and_forks),        cmocka_unit_test(test_names_of_native_frames),
  };
  return cmocka_run_group_tests(tests, make_session, remove_session);
}

// SPDX-License-Identifier: Apache-2.0
// Call paths in a file: each once, for SQL and as arrays, with and without spans, copied, and absent where there are none.
#include "store/copy.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xsp/call_path.h>

#include <cmocka.h>

#include "tests/support/expect.h"
#include "tests/support/folder.h"

static const struct store_frame main_frame = {.kind = XSP_FRAME_PYTHON, .name = "main", .file = "a.py", .line = 7};
static const struct store_frame convolution = {
    .kind = XSP_FRAME_NATIVE, .name = "conv", .module = "libtorch.so", .address = 4096};

static void add_span(struct store *store, int64_t id, uint32_t context_id)
{
  struct store_span span = {.span_id = id, .start_ns = id, .context_id = context_id};
  OK(store_add_spans(store, 1, &span, 1, err));
}

static enum status take_text(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  (void)err;
  for (size_t i = 0; i < count; i++) {
    char *end = (char *)context + strlen(context);
    if (cells[i].type == STORE_TEXT)
      sprintf(end, "%s ", cells[i].text);
    else
      sprintf(end, cells[i].type == STORE_NULL ? "null " : "%lld ", (long long)cells[i].integer);
  }
  return STATUS_OK;
}

static void check_sql(struct store *store, const char *sql, const char *expected)
{
  char text[1024] = "";
  struct store_query_sink sink = {.context = text, .row = take_text};
  OK(store_query(store, sql, &sink, err));
  assert_string_equal(text, expected);
}

// main > conv, and conv alone; spans 1 (none), 2 (main > conv), 3 (conv).
static void check_all(struct store *store)
{
  check_sql(store, "select * from frame", "1 python main a.py 7 null null 2 native conv null null libtorch.so 4096 ");
  check_sql(store, "select * from context", "1 null 1 2 1 2 3 null 2 ");
  check_sql(store, "select span_id, context_id from span", "1 null 2 2 3 3 ");
  check_sql(store, "select span_id from span where context_id = 2", "2 ");
  check_sql(store, "select span_id from span where context_id > 2", "3 ");
  check_sql(store, "select span_id from span where context_id is null", "1 ");
  struct arena arena = {0};
  struct store_call_paths paths;
  struct store_spans spans;
  OK(store_call_paths(store, &arena, &paths, err));
  assert_int_equal(paths.frame_count, 2);
  assert_int_equal(paths.context_count, 3);
  assert_int_equal(paths.frames[0].kind, XSP_FRAME_PYTHON);
  assert_string_equal(paths.frames[0].file, "a.py");
  assert_null(paths.frames[0].module);
  assert_int_equal(paths.frames[1].address, 4096);
  assert_int_equal(paths.contexts[1].parent_id, 1);
  assert_int_equal(paths.contexts[2].parent_id, 0);
  OK(store_load_spans(store, 1, STORE_BIT(STORE_CONTEXT_ID), &arena, &spans, err));
  static const uint32_t expected[] = {0, 2, 3};
  assert_memory_equal(spans.context_id, expected, sizeof expected);
  arena_done(&arena);
}

static void write_trace(const char *to, struct store **ret_store)
{
  struct store *store;
  const struct store_run run = {.run_id = 1, .experiment_id = 1, .levels.mask = 1};
  OK(store_create(to, true, &store, err));
  OK(store_add_run(store, &run, err));
  add_span(store, 1, 0);
  OK(store_commit(store, err)); // without the column
  uint32_t outer = store_frame_id(store, &main_frame), inner = store_frame_id(store, &convolution);
  assert_int_equal(store_frame_id(store, &main_frame), outer);
  uint32_t main_path = store_context_id(store, 0, outer);
  uint32_t both = store_context_id(store, main_path, inner);
  assert_int_equal(store_context_id(store, main_path, inner), both);
  add_span(store, 2, both);
  add_span(store, 3, store_context_id(store, 0, inner));
  *ret_store = store;
}

static void test_one_of_each(void **state)
{
  (void)state;
  struct store *store;
  write_trace(path, &store);
  check_all(store);
  OK(store_finish(store, err));
  check_all(store);
  store_close(store);
  OK(store_open(path, &store, err));
  check_all(store);
  store_close(store);
}

static bool find_name(void *context, struct store_frame *frame)
{
  ++*(int *)context;
  frame->name = frame->address == 16 ? "found" : NULL;
  frame->file = "found.c";
  frame->line = 3;
  return frame->name != NULL;
}

// Names come later than the paths; an equal frame is found by what it was stored with. Each is looked up once.
static void test_native_frames_are_named_later(void **state)
{
  struct store *store;
  OK(store_create(path, true, &store, err));
  const struct store_frame unnamed = {.kind = XSP_FRAME_NATIVE, .module = "lib.so", .address = 16};
  const struct store_frame unknown = {.kind = XSP_FRAME_NATIVE, .module = "lib.so", .address = 32};
  int asked = 0;
  uint32_t first = store_context_id(store, 0, store_frame_id(store, &unnamed));
  (void)store_frame_id(store, &unknown);
  (void)store_frame_id(store, &main_frame);
  (void)store_frame_id(store, &convolution);
  OK(store_commit(store, err));
  for (int i = 0; i < 2; i++)
    OK(store_name_frames(store, find_name, &asked, err));
  assert_int_equal(asked, 2);
  assert_int_equal(store_context_id(store, 0, store_frame_id(store, &unnamed)), first);
  check_sql(store, "select frame_id, name, file, line, module, address from frame where kind = 'native'",
            "1 found found.c 3 lib.so 16 2 null null null lib.so 32 4 conv null null libtorch.so 4096 ");
  store_discard(store);
}

static void test_frames_differ_in_anything(void **state)
{
  (void)state;
  struct store *store;
  OK(store_create(path, true, &store, err));
  struct store_frame frame = {.kind = XSP_FRAME_PYTHON, .name = "ab", .file = "c"};
  uint32_t id = store_frame_id(store, &frame);
  struct store_frame others[] = {frame, frame, frame, frame, frame, frame};
  others[0].kind = XSP_FRAME_NATIVE, others[1].name = "a", others[1].file = "bc", others[2].line = 1;
  others[3].address = 1, others[4].module = "m", others[5].file = NULL, others[5].module = "c";
  for (uint32_t i = 0; i < 6; i++)
    assert_int_equal(store_frame_id(store, &others[i]), id + 1 + i);
  frame.file = "", others[0].file = NULL, others[0].kind = frame.kind; // unknown is unknown
  assert_int_equal(store_frame_id(store, &frame), store_frame_id(store, &others[0]));
  frame.kind = XSP_FRAME_KINDS;
  assert_int_equal(store_frame_id(store, &frame), 0);
  assert_int_equal(store_context_id(store, 0, 0), 0);
  assert_int_equal(store_context_id(store, 0, 9), 0);
  assert_int_equal(store_context_id(store, 1, 1), 0); // no such caller
  uint32_t deepest = 0;
  for (uint32_t depth = 1; depth <= XSP_CALL_PATH_FRAMES; depth++)
    deepest = store_context_id(store, deepest, id);
  assert_int_equal(deepest, XSP_CALL_PATH_FRAMES);
  assert_int_equal(store_context_id(store, deepest, id), 0); // a reader would refuse it
  struct store_span span = {.span_id = 1, .context_id = XSP_CALL_PATH_FRAMES + 1};
  assert_int_equal(store_add_spans(store, 1, &span, 1, NULL), STATUS_INPUT);
  store_discard(store);
}

static void test_no_path_no_column(void **state)
{
  (void)state;
  struct store *store;
  OK(store_create(path, true, &store, err));
  for (int64_t id = 1; id <= STORE_CHUNK_ROWS + 1; id++) // the second part has one
    add_span(store, id, id <= STORE_CHUNK_ROWS ? 0 : store_context_id(store, 0, store_frame_id(store, &main_frame)));
  OK(store_finish(store, err));
  check_sql(store, "select part from chunk where \"column\" = 'context_id'", "1 ");
  check_sql(store, "select count(*), min(span_id) from span where context_id = 1", "1 65537 ");
  check_sql(store, "select count(*) from span where context_id is null", "65536 ");
  struct arena arena = {0};
  struct store_spans spans;
  OK(store_load_spans(store, 1, STORE_BIT(STORE_CONTEXT_ID) | STORE_LEAN, &arena, &spans, err));
  assert_int_equal(spans.context_id[STORE_CHUNK_ROWS - 1], 0);
  assert_int_equal(spans.context_id[STORE_CHUNK_ROWS], 1);
  arena_done(&arena);
  store_close(store);
}

static void test_paths_known_later(void **state)
{
  (void)state;
  struct store *store;
  const size_t count = STORE_CHUNK_ROWS + 10;
  uint32_t *ids = calloc(count, sizeof *ids);
  OK(store_create(path, true, &store, err));
  for (size_t i = 0; i < count; i++)
    add_span(store, (int64_t)i + 1, 0);
  uint32_t one = store_context_id(store, 0, store_frame_id(store, &main_frame));
  ids[2] = ids[STORE_CHUNK_ROWS + 9] = one;
  assert_int_equal(store_put_contexts(store, 1, ids, count - 1, NULL), STATUS_USE);
  OK(store_put_contexts(store, 1, ids, count, err));
  ids[0] = one + 1;
  assert_int_equal(store_put_contexts(store, 1, ids, count, NULL), STATUS_USE);
  add_span(store, (int64_t)count + 1, one); // the open part is written again
  OK(store_finish(store, err));
  check_sql(store, "select span_id from span where context_id = 1", "3 65546 65547 ");
  store_close(store);
  free(ids);
}

static void take_headway(void *context, uint64_t done, uint64_t total)
{
  uint64_t *last = context;
  last[0] = done;
  last[1] = total;
}

static void test_copies(void **state)
{
  (void)state;
  uint64_t last[2] = {0};
  struct store *from, *to;
  char copy_path[80];
  snprintf(copy_path, sizeof copy_path, "%s-copy", path);
  write_trace(path, &from);
  OK(store_finish(from, err));
  OK(store_create(copy_path, true, &to, err));
  OK(store_copy(from, to, (struct headway_watcher){take_headway, last}, err));
  check_all(to);
  assert_true(last[0] > 0 && last[0] == last[1]);
  store_discard(to);
  store_close(from);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_of_each),
      cmocka_unit_test(test_native_frames_are_named_later),
      cmocka_unit_test(test_frames_differ_in_anything),
      cmocka_unit_test(test_no_path_no_column),
      cmocka_unit_test(test_paths_known_later),
      cmocka_unit_test(test_copies),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

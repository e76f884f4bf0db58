// SPDX-License-Identifier: Apache-2.0
// SQL over the virtual tables gives what the same SQL gives over ordinary tables with the same rows: every kind of
// constraint, odd types, NULLs, joins, groups. And: what is not one reading statement is refused.
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tests/support/expect.h"

static char folder[] = "/tmp/xsp-sql-test-XXXXXX";
static char path[64];
static struct store *store;
static sqlite3 *plain; // ordinary tables with the same rows

static uint32_t intern(struct store *to, const char *text)
{
  return store_string(to, text, strlen(text));
}

// Ids: counting (run 1), shuffled (run 2), sparse and huge (run 3).
static int64_t id_of(int64_t run_id, size_t i, size_t count)
{
  if (run_id == 1)
    return (int64_t)i + 1;
  if (run_id == 2)
    return (int64_t)(i * 7919 % count) + 1;
  return INT64_MAX - (int64_t)(i * i) * 1000003;
}

static void add_run(struct store *to, int64_t run_id, size_t count, bool has_derived)
{
  static const char *const names[] = {"conv", "relu", "5", "layer", "", "it's", "conv2"};
  static const char *const categories[] = {"", "kernel", "api", "memcpy"};
  struct arena arena = {0};
  struct store_derived derived = {.count = count};
  derived.parent_id = arena_alloc_array(&arena, count, 8);
  derived.model_id = arena_alloc_array(&arena, count, 8);
  derived.layer_id = arena_alloc_array(&arena, count, 8);
  derived.self_ns = arena_alloc_array(&arena, count, 8);
  derived.forward_id = arena_alloc_array(&arena, count, 8);
  derived.observation = arena_alloc_array(&arena, count, 4);
  derived.depth = arena_alloc_array(&arena, count, 4);
  derived.basis = arena_alloc_array(&arena, count, 1);
  for (size_t i = 0; i < count; i++) {
    struct store_span span = {
        .span_id = id_of(run_id, i, count),
        .recorded_parent_id = i % 4 == 0 ? 0 : id_of(run_id, i / 4, count),
        .start_ns = (int64_t)i * 10 - 50,
        .duration_ns = (int64_t)(i * 31 % 97),
        .correlation_id = i % 3 == 0 ? 0 : (int64_t)i / 3,
        .trace_id = i % 2,
        .track_id = (uint32_t)(i % 5),
        .name = intern(to, names[i % 7]),
        .category = intern(to, categories[i % 4]),
        .tracer = intern(to, i % 2 ? "app" : ""),
        .level = (uint8_t)(i % 5),
        .kind = (uint8_t)(i % 3),
    };
    const struct store_frame frame = {.kind = 0, .name = names[i % 4]};
    if (run_id != 2 && i % 5 != 0) // no span of run 2 has a call path
      span.context_id = store_context_id(to, 0, store_frame_id(to, &frame));
    if (i % 13 == 0) {
      span.flags = STORE_SPAN_OPEN;
      span.duration_ns = 0;
    }
    if (i == 5) {
      span.start_ns = INT64_MAX - 3;
      span.duration_ns = 10;
    }
    OK(store_add_spans(to, run_id, &span, 1, err));
    derived.parent_id[i] = i == 0 ? 0 : id_of(run_id, i / 3, count);
    derived.model_id[i] = i % 6 == 0 ? 0 : id_of(run_id, 0, count);
    derived.layer_id[i] = i < 9 ? 0 : id_of(run_id, i / 9, count);
    derived.self_ns[i] = (int64_t)i - 20;
    derived.forward_id[i] = i % 3 == 0 ? (int64_t)(i / 2) : 0;
    derived.observation[i] = (int32_t)(i % 4) - 1;
    derived.depth[i] = (uint32_t)(i % 4);
    derived.basis[i] = (uint8_t)(i % BASIS_COUNT);
    struct store_tag tag = {.span_id = span.span_id, .key = intern(to, i % 2 ? "flops" : "shape"), .type = STORE_INT};
    tag.value.integer = (int64_t)i;
    if (i % 3 == 1) {
      tag.type = STORE_DOUBLE;
      tag.value.real = (double)i / 7;
    } else if (i % 3 == 2) {
      tag.type = STORE_TEXT;
      tag.value.string = intern(to, names[i % 7]);
    }
    OK(store_add_tags(to, run_id, &tag, 1, err));
    OK(store_add_tags(to, run_id, &tag, i % 5 == 0, err));
  }
  if (has_derived)
    OK(store_put_derived(to, run_id, &derived, NULL, 0, err));
  arena_done(&arena);
}

// ---- ordinary tables -------------------------------------------------------------------------------------------------
static const char plain_schema[] =
    "CREATE TABLE span(run_id INTEGER, span_id INTEGER, trace_id INTEGER, parent_id INTEGER, model_id INTEGER,"
    " layer_id INTEGER, level TEXT, kind TEXT, category TEXT, tracer TEXT, track_id INTEGER, name TEXT,"
    " start_ns INTEGER, end_ns INTEGER, duration_ns INTEGER, self_ns INTEGER, correlation_id INTEGER, basis TEXT,"
    " depth INTEGER, is_open INTEGER, observation INTEGER, recorded_parent_id INTEGER, forward_id INTEGER,"
    " context_id INTEGER);"
    "CREATE TABLE tag(run_id INTEGER, span_id INTEGER, key TEXT, value);";

static enum status insert(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  (void)err;
  sqlite3_stmt *statement = context;
  for (size_t i = 0; i < count; i++) {
    int at = (int)i + 1;
    if (cells[i].type == STORE_INT)
      sqlite3_bind_int64(statement, at, cells[i].integer);
    else if (cells[i].type == STORE_DOUBLE)
      sqlite3_bind_double(statement, at, cells[i].real);
    else if (cells[i].type == STORE_TEXT)
      sqlite3_bind_text(statement, at, cells[i].text, (int)cells[i].length, SQLITE_TRANSIENT);
    else
      sqlite3_bind_null(statement, at);
  }
  assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
  sqlite3_reset(statement);
  return STATUS_OK;
}

static void copy_rows(const char *select, const char *insert_sql)
{
  sqlite3_stmt *statement;
  assert_int_equal(sqlite3_prepare_v2(plain, insert_sql, -1, &statement, NULL), SQLITE_OK);
  struct store_query_sink sink = {.context = statement, .row = insert};
  OK(store_query(store, select, &sink, err));
  sqlite3_finalize(statement);
}

static int make_tables(void **state)
{
  (void)state;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/out.xsp", folder);
  struct store *writer;
  OK(store_create(path, false, &writer, err));
  add_run(writer, 1, 300, true);
  add_run(writer, 2, 200, false);
  add_run(writer, 3, 150, true);
  OK(store_finish(writer, err));
  store_close(writer);
  OK(store_open(path, &store, err));
  assert_int_equal(sqlite3_open(":memory:", &plain), SQLITE_OK);
  assert_int_equal(sqlite3_exec(plain, plain_schema, NULL, NULL, NULL), SQLITE_OK);
  copy_rows("select * from span", "INSERT INTO span VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  copy_rows("select * from tag", "INSERT INTO tag VALUES(?,?,?,?)");
  return 0;
}

static int drop_tables(void **state)
{
  (void)state;
  sqlite3_close(plain);
  store_close(store);
  unlink(path);
  return rmdir(folder);
}

// ---- the same questions to both --------------------------------------------------------------------------------------
struct answer {
  char *text;
  size_t length, capacity;
};

static void put(struct answer *answer, const char *text, size_t length)
{
  if (answer->length + length + 1 > answer->capacity) {
    answer->capacity = 2 * (answer->length + length) + 64;
    answer->text = realloc(answer->text, answer->capacity);
  }
  memcpy(answer->text + answer->length, text, length);
  answer->length += length;
  answer->text[answer->length] = 0;
}

static enum status put_row(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  (void)err;
  for (size_t i = 0; i < count; i++) {
    char text[64];
    int length = 0;
    if (cells[i].type == STORE_INT)
      length = snprintf(text, sizeof text, "i%lld|", (long long)cells[i].integer);
    else if (cells[i].type == STORE_DOUBLE)
      length = snprintf(text, sizeof text, "r%.17g|", cells[i].real);
    else
      length = snprintf(text, sizeof text, "%c", cells[i].type == STORE_NULL ? 'n' : 't');
    put(context, text, (size_t)length);
    if (cells[i].type == STORE_TEXT)
      put(context, cells[i].text, cells[i].length);
    put(context, "|", 1);
  }
  put(context, "\n", 1);
  return STATUS_OK;
}

static void ask_plain(const char *sql, struct answer *answer)
{
  sqlite3_stmt *statement;
  assert_int_equal(sqlite3_prepare_v2(plain, sql, -1, &statement, NULL), SQLITE_OK);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    struct store_cell cells[32] = {{0}};
    size_t count = (size_t)sqlite3_column_count(statement);
    for (size_t i = 0; i < count; i++) {
      int type = sqlite3_column_type(statement, (int)i);
      cells[i].type = type == SQLITE_INTEGER ? STORE_INT
                      : type == SQLITE_FLOAT ? STORE_DOUBLE
                      : type == SQLITE_TEXT  ? STORE_TEXT
                                             : STORE_NULL;
      cells[i].integer = sqlite3_column_int64(statement, (int)i);
      cells[i].real = sqlite3_column_double(statement, (int)i);
      cells[i].text = (const char *)sqlite3_column_text(statement, (int)i);
      cells[i].length = (size_t)sqlite3_column_bytes(statement, (int)i);
    }
    put_row(answer, cells, count, NULL);
  }
  sqlite3_finalize(statement);
}

static void check_same(const char *sql)
{
  struct answer ours = {0}, theirs = {0};
  put(&ours, "", 0);
  put(&theirs, "", 0);
  struct store_query_sink sink = {.context = &ours, .row = put_row};
  OK(store_query(store, sql, &sink, err));
  ask_plain(sql, &theirs);
  if (strcmp(ours.text, theirs.text) != 0)
    fail_msg("%s\nvirtual tables:\n%.600s\nordinary tables:\n%.600s", sql, ours.text, theirs.text);
  free(ours.text);
  free(theirs.text);
}

static void test_constraints_mean_what_sqlite_means(void **state)
{
  (void)state;
  static const char *const columns[] = {"run_id",         "span_id",
                                        "trace_id",       "parent_id",
                                        "model_id",       "layer_id",
                                        "level",          "kind",
                                        "category",       "tracer",
                                        "track_id",       "name",
                                        "start_ns",       "end_ns",
                                        "duration_ns",    "self_ns",
                                        "correlation_id", "basis",
                                        "depth",          "is_open",
                                        "observation",    "recorded_parent_id",
                                        "forward_id",     "context_id"};
  static const char *const operators[] = {"=", "<", "<=", ">", ">=", "<>", "is", "is not", "like"};
  static const char *const values[] = {"0",
                                       "1",
                                       "2",
                                       "-1",
                                       "5",
                                       "'5'",
                                       "'1'",
                                       "1.0",
                                       "1.5",
                                       "1e300",
                                       "'kernel'",
                                       "'KERNEL'",
                                       "'layer'",
                                       "'launch'",
                                       "'none'",
                                       "'conv'",
                                       "''",
                                       "'it''s'",
                                       "null",
                                       "x'6b65726e656c'",
                                       "x'31'",
                                       "9223372036854775807",
                                       "-9223372036854775808",
                                       "9223372036854775807.0",
                                       "'abc'",
                                       "' 1'",
                                       "'1e0'"};
  char sql[512];
  for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
    for (size_t o = 0; o < sizeof operators / sizeof operators[0]; o++)
      for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
        snprintf(sql, sizeof sql,
                 "select count(*), min(run_id), sum(duration_ns), max(start_ns), group_concat(span_id)"
                 " from (select * from span where %s %s %s order by run_id, span_id)",
                 columns[c], operators[o], values[v]);
        check_same(sql);
      }
}

static void test_more_questions(void **state)
{
  (void)state;
  static const char *const questions[] = {
      "select * from span",
      "select * from tag",
      "select kind, category, name, span_id from span order by kind desc, category, name desc",
      "select basis, level, count(*) from span group by basis, level order by basis desc, level",
      "select distinct name from span order by name desc",
      "select run_id, tracer, count(*) from span group by run_id, tracer order by run_id desc, tracer desc",
      "select run_id, span_id, key, value, typeof(value) from tag where key = 'flops' order by 1, 2, 4",
      "select * from tag where span_id = 7 order by run_id, value",
      "select * from tag where span_id = 9223372036854775807",
      "select value from tag where run_id = 1 and span_id = 6 and key = 'flops'",
      "select count(*) from tag where value = 'conv'",
      "select name, count(*), sum(duration_ns), min(start_ns) from span group by name order by name",
      "select kind, category, count(*) from span group by kind, category order by 1, 2",
      "select run_id, level, name, count(*) from span group by 1, 2, 3 order by 1, 2, 3",
      "select basis, count(*) from span group by basis order by 1",
      "select name collate nocase, count(*) from span group by 1 order by 1",
      "select count(*) from span where name = 'CONV' collate nocase",
      "select distinct category from span order by 1",
      "select distinct run_id, kind from span where level = 'layer' order by 1, 2",
      "select count(distinct name) from span",
      "select name, count(*) from span where run_id = 2 and duration_ns > 50 group by name order by 1",
      "select level, count(*), count(parent_id), count(end_ns) from span where run_id in (1, 3) group by 1 order by 1",
      "select count(*) from span where kind in ('launch', 'execution', 'nothing', null)",
      "select count(*) from span where span_id in (1, 2, 3, 3, 9223372036854775807) and run_id in (3, 1)",
      "select count(*), sum(self_ns) from span where start_ns between 100 and 900 and duration_ns >= 20",
      "select count(*) from span where start_ns > 100.5 and start_ns < 200.5",
      "select l.name, sum(e.duration_ns) from span e join span l on l.run_id = e.run_id and l.span_id = e.layer_id"
      " where e.kind = 'execution' and e.category = 'kernel' group by 1 order by 2 desc, 1",
      "select l.run_id, l.span_id, count(c.span_id) from span l left join span c on c.run_id = l.run_id and"
      " c.parent_id = l.span_id group by 1, 2 order by 1, 2",
      "select s.run_id, s.span_id, t.value from span s join tag t on t.run_id = s.run_id and t.span_id = s.span_id and"
      " t.key = 'shape' where s.level = 'model' order by 1, 2, 3",
      "select a.run_id, a.span_id, b.span_id from span a join span b on b.run_id = a.run_id and"
      " b.correlation_id = a.correlation_id and b.span_id <> a.span_id where a.kind = 'launch' order by 1, 2, 3",
      "select count(*) from span where parent_id is null",
      "select count(*) from span where duration_ns is null and is_open = 1",
      "select end_ns - start_ns = duration_ns, count(*) from span group by 1 order by 1",
      "with recursive up(id, n) as (select 299, 0 union all select parent_id, n + 1 from span, up where run_id = 1 and"
      " span_id = up.id and n < 50) select * from up order by n",
      "select (select count(*) from span i where i.run_id = o.run_id and i.parent_id = o.span_id) from span o"
      " where o.run_id = 3 order by o.span_id limit 20",
      "select * from span where run_id = 99",
      "values (1, 'a', null, 2.5)",
  };
  for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
    check_same(questions[i]);
}

// The tables by themselves, so that a mistake in both answers above cannot hide.
static void check_answer(const char *sql, const char *expected)
{
  struct answer answer = {0};
  put(&answer, "", 0);
  struct store_query_sink sink = {.context = &answer, .row = put_row};
  OK(store_query(store, sql, &sink, err));
  assert_string_equal(answer.text, expected);
  free(answer.text);
}

static void test_cells_are_as_the_contract_says(void **state)
{
  (void)state;
  check_answer("select span_id, parent_id, trace_id, level, kind, category, tracer, name, depth, basis from span"
               " where run_id = 1 and span_id in (1, 2)",
               "i1||n|n|tapplication|tsync|n|n|tconv|i0||tnone|\n"
               "i2||i1||i1||tmodel|tlaunch|tkernel|tapp|trelu|i1||texplicit|\n");
  check_answer("select is_open, duration_ns, end_ns, self_ns, start_ns from span where run_id = 1 and span_id = 14",
               "i1||n|n|n|i80||\n");
  check_answer("select end_ns from span where run_id = 1 and span_id = 6", "i9223372036854775807||\n");
  check_answer("select parent_id, basis, depth, observation from span where run_id = 2 and span_id = 1", "n|n|n|n|\n");
}

// ---- refusals --------------------------------------------------------------------------------------------------------
static enum status ignore_row(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  (void)context;
  (void)cells;
  (void)count;
  (void)err;
  return STATUS_OK;
}

static void test_only_one_reading_statement(void **state)
{
  (void)state;
  static const char *const bad[] = {
      "",
      "  ; -- nothing",
      "select",
      "select * from nowhere",
      "select nothing from span",
      "select 1; select 2",
      "insert into note values(1, 'a', 'b')",
      "delete from chunk",
      "drop table chunk",
      "update run set levels = 'A'",
      "create table t(a)",
      "create temp table t(a)",
      "create temp view v as select 1",
      "create virtual table t using span",
      "attach ':memory:' as other",
      "attach '/tmp/xsp-sql-attached.db' as other",
      "detach main",
      "begin",
      "commit",
      "pragma journal_mode = wal",
      "pragma user_version = 7",
      "pragma query_only = 0",
      "pragma writable_schema = 1",
      "select load_extension('x')",
      "vacuum",
      "vacuum into '/tmp/xsp-sql-vacuum.db'",
      "reindex",
      "analyze",
      "select abs(-9223372036854775808)",
      "explain delete from chunk",
  };
  struct store_query_sink sink = {.row = ignore_row};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct error err = {0};
    enum status status = store_query(store, bad[i], &sink, &err);
    if (status != STATUS_USE)
      fail_msg("%s: status %d (%s)", bad[i], (int)status, err.why);
  }
  static const char *const good[] = {"select 1;",
                                     "select 1; -- end",
                                     "pragma table_info(run)",
                                     "explain select 1",
                                     "explain query plan select * from span",
                                     "select name from sqlite_schema",
                                     "select json_object('a', 1), printf('%d', 3), datetime(0, 'unixepoch')"};
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
    OK(store_query(store, good[i], &sink, err));
  assert_int_equal(access("/tmp/xsp-sql-attached.db", F_OK), -1);
  assert_int_equal(access("/tmp/xsp-sql-vacuum.db", F_OK), -1);
}

// As a file that is being recorded does: its counters have tables once the first one came.
static void test_a_file_gets_a_table_while_it_is_open(void **state)
{
  struct store_query_sink sink = {.row = ignore_row};
  sqlite3 *other = NULL;
  assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
  assert_int_equal(sqlite3_exec(other, "CREATE TABLE added(x)", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(other);
  OK(store_query(store, "select count(*) from span", &sink, err));
}

struct watched {
  uint64_t done, total;
  unsigned rises;
};

static void take_headway(void *context, uint64_t done, uint64_t total)
{
  struct watched *watched = context;
  watched->rises += watched->total > 0 && done > watched->done;
  watched->done = done;
  watched->total = total;
}

static enum status end_when_seen(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  return ((const struct watched *)context)->rises >= 2 ? STATUS_NO : STATUS_OK;
}

// Of the outermost loop's rows, also where an inner loop begins anew for each, and in another order than the file's.
static void test_a_statement_is_watched(void **state)
{
  static const char *const statements[] = {
      "select a.span_id from span a, span b, span c",
      "select a.name from span a, span b, span c order by a.name",
      "select a.name from span a, span b on b.run_id = a.run_id and b.span_id = a.span_id, span c, span d",
      "select a.span_id from span a, span b, span c, span d where a.run_id = 1 and a.name = 'none' or a.span_id = 5",
  };
  for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
    struct watched watched = {0};
    const struct store_query_sink sink = {
        .context = &watched, .row = end_when_seen, .timeout_s = 1000, .watcher = {take_headway, &watched}};
    assert_int_equal(store_query(store, statements[i], &sink, NULL), STATUS_NO);
    assert_true(watched.done <= watched.total);
    assert_int_equal(watched.total, 300 + 200 + 150);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cells_are_as_the_contract_says),
      cmocka_unit_test(test_constraints_mean_what_sqlite_means),
      cmocka_unit_test(test_more_questions),
      cmocka_unit_test(test_only_one_reading_statement),
      cmocka_unit_test(test_a_file_gets_a_table_while_it_is_open),
      cmocka_unit_test(test_a_statement_is_watched),
  };
  return cmocka_run_group_tests(tests, make_tables, drop_tables);
}

// SPDX-License-Identifier: Apache-2.0
// Test support for the tests of rules; see test_findings.h.
#include "analyze/findings/test_findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture fixture;
static bool is_ready;
static char source_path[4096];

int findings_test_start(void **unused)
{
  is_ready = false;
  fixture_start(&fixture);
  return 0;
}

int findings_test_done(void **unused)
{
  fixture_done(&fixture);
  if (source_path[0] != 0)
    unlink(source_path);
  source_path[0] = 0;
  return 0;
}

const char *source_of(const char *text)
{
  const char *folder = getenv("TMPDIR");
  snprintf(source_path, sizeof source_path, "%s/xsp-source-XXXXXX.py", folder != NULL ? folder : "/tmp");
  FILE *file = fdopen(mkstemps(source_path, 3), "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
  fixture.created_ns = INT64_MAX;
  fixture.request.reads_source = true;
  return source_path;
}

static struct correlate_fold *fold;

void fold_start(void)
{
  static const struct fixture_layer program = {"train", NULL, NULL, "program", -1, UNKNOWN_BYTES};
  fold = correlate_fold_begin(fixture.store);
  fixture_run(&fixture, "M/L", 1);
  fixture_layer(&fixture, &program, 0, MS);
}

void fold_end(void)
{
  assert_int_equal(store_commit(fixture.store, NULL), STATUS_OK);
  assert_int_equal(store_put_drained(fixture.store, NULL, 0, NULL), STATUS_OK); // as collect marks such files
  correlate_fold_end(fold);
}

size_t ask_rule(const char *rule)
{
  static const char *asked;
  asked = rule;
  if (!is_ready)
    fixture_ready(&fixture);
  is_ready = true;
  fixture.request.only = &asked;
  fixture.request.only_count = 1;
  assert_int_equal(fixture_ask(&fixture, "findings"), STATUS_OK);
  return fixture.tables[0].row_count;
}

const char *found_text(size_t row, const char *key)
{
  const char *text = fixture_text(&fixture, row, key);
  return text != NULL ? text : "(null)";
}

const char *found_spans(size_t row)
{
  const struct table *table = &fixture.tables[0];
  size_t column = 0;
  while (strcmp(table->columns[column].key, "spans") != 0)
    column++;
  return table->rows[row * table->column_count + column].value.text;
}

double found_number(size_t row, const char *key)
{
  return fixture_number(&fixture, row, key);
}

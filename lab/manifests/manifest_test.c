// SPDX-License-Identifier: Apache-2.0
// Manifests: values of good ones, line and reason of bad ones, version constraints. tests/manifests/test_manifest.py
// compares the whole format with its JSON schema.
#include "manifests/manifest.h"

#include "manifests/version.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/expect.h"

#define HEAD "name: Net\nversion: \"1.0\"\ntask: text\nframework: {name: script}\nmodel: {path: net.xspscript}\n"

static enum status parse(const char *text, struct arena *arena, struct manifest *manifest, struct error *err)
{
  return manifest_parse(text, strlen(text), "m.yml", arena, manifest, err);
}

static void a_manifest_is_read_whole(void **state)
{
  struct arena arena = {0};
  struct manifest manifest;
  OK(parse(HEAD "inputs:\n"
                "  - name: data\n"
                "    type: int64\n"
                "    shape: [N, 3, width]\n"
                "    fill: {integers: [-1, 9]}\n"
                "  - {name: other, fill: {file: x.npy}}\n"
                "outputs: [{name: y, shape: []}]\n"
                "dims: {width: 224}\n"
                "batches: [1, 8]\n",
           &arena, &manifest, err));
  assert_string_equal(manifest.task, "text");
  assert_int_equal(manifest.source, MANIFEST_PATH);
  assert_int_equal(manifest.input_count, 2);
  const struct expectation *data = &manifest.inputs[0].expectation;
  assert_string_equal(data->where, "m.yml:7");
  assert_int_equal(data->info.type, TENSOR_INT64);
  assert_int_equal(data->info.rank, 3);
  assert_int_equal(data->info.shape[0], -1);
  assert_string_equal(data->info.dimension_name[2], "width");
  assert_int_equal(data->info.shape[1], 3);
  assert_int_equal(data->fill.kind, RULE_INTEGERS);
  assert_true(data->fill.low == -1 && data->fill.high == 9);
  assert_string_equal(manifest.inputs[0].fill_text, "integers from -1 to 9");
  assert_string_equal(manifest.inputs[1].fill_file, "x.npy");
  const struct expectation *y = &manifest.outputs[0].expectation;
  assert_true(y->is_output && y->has_shape && y->info.rank == 0);
  assert_int_equal(manifest.dims[0].size, 224);
  assert_int_equal(manifest.batches[1], 8);
  arena_done(&arena);
}

static void a_wrong_one_names_the_line_and_what_to_write(void **state)
{
  static const struct {
    const char *text, *where, *why, *advice;
  } cases[] = {
      {HEAD "inputz: []\n", "m.yml:6", "a manifest has no key inputz", "inputs"},
      {HEAD "name: again\n", "m.yml:6", "the key name is given twice, first in line 1", "one of them"},
      {"name: Net\n", "m.yml:1", "a manifest lacks the key version", "version: \"1.0\""},
      {"name: Net\nversion: [1]\n", "m.yml:2", "version must be text", "\"1.0\""},
      {"name: Net\nversion: -1\n", "m.yml:2", "version cannot be '-1'", "version: \"1.0\""},
      {"name: no\n", "m.yml:1", "name must be text", "name: \"no\""},
      {"name: a\nversion: \"1\"\ntask: detection\n", "m.yml:3", "task cannot be 'detection'",
       "one of image classification"},
      {HEAD "batches: [1, 0x10]\n", "m.yml:6", "a batch size must be a whole number", ""},
      {HEAD "batches:\n  - 1\n  - 1\n", "m.yml:8", "batch size 1 is given twice", "each once"},
      {HEAD "inputs:\n  - name: a\n    fill: {uniform: [0, 1e-3]}\n", "m.yml:8", "which YAML takes for text", "1.0e-3"},
      {HEAD "inputs:\n  - name: a\n    fill: {uniform: [1, 0]}\n", "m.yml:8", "above the second", "smaller"},
      {HEAD "inputs:\n  - type: image\n    parameters:\n      dimensions: [3, 8, 8]\n      mean: 1.0e+39\n", "m.yml:10",
       "mean must be at most", ""},
      {HEAD "outputs:\n  - type: mask\n    parameters:\n      threshold: -1.0e+39\n", "m.yml:9",
       "threshold must be at most", ""},
      {HEAD "inputs: [{name: a}, {name: a}]\n", "m.yml:6", "listed twice", "one of them"},
      {HEAD "inputs: [{name: a, shape: [N]}]\ndims: {width: 3}\n", "m.yml:7", "no input has a free dimension width",
       ""},
      {"name: &a Net\n", "m.yml:1", "anchors are not taken", "without '&'"},
      {"name: *a\n", "m.yml:1", "aliases are not taken", "the value itself"},
      {"name: !x Net\n", "m.yml:1", "tags are not taken", "without '!'"},
      {"name: Net\n---\nname: b\n", "m.yml:2", "a second document begins", "a file for each"},
      {"", "m.yml:1", "it is empty", ""},
      {"[1]\n", "m.yml:1", "mapping", ""},
      {"name: Net\n\tversion: 1\n", "m.yml:2", "tab", "spaces instead of tabs"},
      {"[[[[[[[[[[]]]]]]]]]]", "m.yml:1", "nested too deeply", ""},
      {"name: \"a\\0b\"\n", "m.yml:1", "NUL", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct arena arena = {0};
    struct manifest manifest;
    struct error err = {0};
    if (parse(cases[i].text, &arena, &manifest, &err) != STATUS_INPUT || strcmp(err.where, cases[i].where) != 0 ||
        strstr(err.why, cases[i].why) == NULL || strstr(err.advice, cases[i].advice) == NULL)
      fail_msg("case %zu: %s: %s; try: %s", i, err.where, err.why, err.advice);
    arena_done(&arena);
  }
}

static void bytes_that_are_no_text_are_refused_at_their_line(void **state)
{
  static const char with_nul[] = "name: a\nversion: \0\n", with_bytes[] = "name: a\n\nversion: \xff\n";
  struct arena arena = {0};
  struct manifest manifest;
  struct error err = {0};
  assert_int_equal(manifest_parse(with_nul, sizeof with_nul - 1, "m.yml", &arena, &manifest, &err), STATUS_INPUT);
  assert_string_equal(err.where, "m.yml:2");
  assert_int_equal(manifest_parse(with_bytes, sizeof with_bytes - 1, "m.yml", &arena, &manifest, &err), STATUS_INPUT);
  assert_string_equal(err.where, "m.yml:3");
  arena_done(&arena);
}

static void no_document_is_refused_at_its_line(void **state)
{
  static const struct {
    const char *bytes;
    size_t size;
    const char *where;
  } cases[] = {{NULL, 0, "m.yml:1"}, {"", 0, "m.yml:1"}, {"\n", 1, "m.yml:2"}, {"# nothing\n", 10, "m.yml:2"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct arena arena = {0};
    struct manifest manifest;
    struct error err = {0};
    assert_int_equal(manifest_parse(cases[i].bytes, cases[i].size, "m.yml", &arena, &manifest, &err), STATUS_INPUT);
    assert_string_equal(err.where, cases[i].where);
    assert_non_null(strstr(err.why, "empty"));
    arena_done(&arena);
  }
}

static void versions_compare_as_those_of_packages(void **state)
{
  static const struct {
    const char *version, *constraint;
    bool satisfies;
  } cases[] = {
      {"2.14.0", ">=2.14", true},
      {"2.9", ">=2.14", false},
      {"2.14", "==2.14.0", true},
      {"2.14.1", "==2.14", false},
      {"1.10.0", ">=1.9,<2", true},
      {"2.0", ">=1.9, <2", false},
      {"2.0rc1", "<2.0", true},
      {"2.16.0-rc1", ">=2.16", false},
      {"2.0.post1", ">2.0", true},
      {"1.4.4+cpu", "==1.4.4", true},
      {"2025.4.0-20398-8fdad55727d-releases/2025/4", ">=2025.4,<2026", true},
      {"2.14.9", "~=2.14.1", true},
      {"2.15", "~=2.14.1", false},
      {"2.15", "~=2.14", true},
      {"3.0", "~=2.14", false},
      {"1.0", "!=1.0", false},
      {"1.0.1", "!=1.0", true},
      {"v1", ">=0", false}, // no number: nothing is known of it
      {"99999999999999999999999999999", ">1", true},
      {"1.9.1", "^1.x", true},
      {"1.9.1",
       "\xcb\x86"
       "1.x",
       true}, // as a typeset page has the caret
      {"2.0", "^1.x", false},
      {"0.9", "^1.x", false},
      {"1.2.2", "^1.2.3", false},
      {"1.3", "^1.2.3", true},
      {"0.2.9", "^0.2.3", true},
      {"0.3", "^0.2.3", false},
      {"0.0.4", "^0.0.3", false},
      {"0.7", "^0.x", true},
      {"1.2.9", "~1.2.3", true},
      {"1.3", "~1.2.3", false},
      {"1.9", "~1", true},
      {"1.20.5", "1.20", true},
      {"1.2.5", "1.20", false},
      {"1.20.5", "1.20.x", true},
      {"1.20.5", "1.*", true},
      {"7", "*", true},
      {"1.30", ">=1.20,1.x", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    if (version_satisfies(cases[i].version, cases[i].constraint) != cases[i].satisfies)
      fail_msg("%s %s", cases[i].version, cases[i].constraint);
}

static void constraints_are_checked_before_they_are_used(void **state)
{
  static const char *const good[] = {">=1", "==1.2.3,<4", "~=1.2", " >= 1.0 , != 1.1 ", "==2.0rc1", "1.0", "^1.0",
                                     "~1",  "x",          "1.x.x"};
  static const char *const bad[] = {"",      ">=", "=>1", ">=1,",  ",",    "~=1", ">=1 <2",
                                    "==1.*", "^",  "^x",  "1.x.2", "1.xx", ">=a", "1rc1.x"};
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
    if (!version_constraint_is_valid(good[i]))
      fail_msg("%s", good[i]);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    if (version_constraint_is_valid(bad[i]))
      fail_msg("%s", bad[i]);
  const char *constraint = NULL;
  assert_int_equal(version_split_requirement("rapidocr-onnxruntime==1.4.4", &constraint), 20);
  assert_string_equal(constraint, "==1.4.4");
  assert_int_equal(version_split_requirement("numpy", &constraint), 5);
  assert_string_equal(constraint, "");
  assert_int_equal(version_split_requirement("numpy 1", &constraint), 0);
  assert_int_equal(version_split_requirement("-x==1", &constraint), 0);
  assert_int_equal(version_split_requirement("a;rm", &constraint), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_manifest_is_read_whole),
      cmocka_unit_test(a_wrong_one_names_the_line_and_what_to_write),
      cmocka_unit_test(bytes_that_are_no_text_are_refused_at_their_line),
      cmocka_unit_test(no_document_is_refused_at_its_line),
      cmocka_unit_test(versions_compare_as_those_of_packages),
      cmocka_unit_test(constraints_are_checked_before_they_are_used),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

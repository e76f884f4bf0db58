// SPDX-License-Identifier: Apache-2.0
// Test support: asks one rule about an experiment of test_fixture.h and reads what it found. Not part of the library.
#ifndef XSP_ANALYZE_FINDINGS_TEST_FINDINGS_H
#define XSP_ANALYZE_FINDINGS_TEST_FINDINGS_H

#include "analyze/test_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS 1000000
#define US 1000

extern struct fixture fixture; // of the test that runs

int findings_test_start(void **unused);
int findings_test_done(void **unused);
#define TEST(function) cmocka_unit_test_setup_teardown(function, findings_test_start, findings_test_done)

// Writes a source that rules may read: a file of this machine, until the test ends. Returns its path.
const char *source_of(const char *text);
// A file of `xsp run --aggregate`, of a program of 1 ms, to which spans are added between the two.
void fold_start(void);
void fold_end(void);
// How many findings the rule has. The first question finishes the experiment: write all of it before.
size_t ask_rule(const char *rule);
const char *found_text(size_t row, const char *key); // "(null)" for null
const char *found_spans(size_t row);                 // "[1,2]"
double found_number(size_t row, const char *key);    // NaN for null

#endif

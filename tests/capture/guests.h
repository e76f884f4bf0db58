// SPDX-License-Identifier: Apache-2.0
// Tests only: runs a guest program in a session folder of its own and keeps what it printed and recorded.
#ifndef XSP_TESTS_CAPTURE_GUESTS_H
#define XSP_TESTS_CAPTURE_GUESTS_H

#include "tests/support/ring_reader.h"

#if defined(__SANITIZE_THREAD__)
#define XSP_TEST_THREAD_SANITIZER 1
#define XSP_TEST_SANITIZER 1
#elif defined(__SANITIZE_ADDRESS__)
#define XSP_TEST_SANITIZER 1
#elif defined(__has_feature)
#define XSP_TEST_THREAD_SANITIZER __has_feature(thread_sanitizer)
#define XSP_TEST_SANITIZER (__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
#endif

struct guest_run {
  const char *program;        // NULL: the guest
  const char *environment[4]; // NAME=VALUE
  const char *arguments[5];
  uint64_t file_bytes_most;    // RLIMIT_FSIZE; 0: none
  uint64_t address_bytes_most; // RLIMIT_AS; 0: none
  const char *folder;          // NULL: `session`
};

extern const char *guest, *plugin_host, *plugin;
extern char session[256], output[4096];
extern struct session_read result;

// Program arguments of every test: GUEST PLUGIN-HOST PLUGIN [NAME=VALUE]. False: too few.
bool run_arguments(int count, char **arguments);
void run_child(const struct guest_run *run, int out); // in a forked child; does not return
// Runs to the end of all that holds the output open (daemons too). Returns the exit status, 128 + signal where killed.
int run_guest(const struct guest_run *run);
#define RUN(...) run_guest(&(struct guest_run){.arguments = {__VA_ARGS__}})
void read_result(void); // whole rings, unique ids
int run_set_up(void **state);
int run_tear_down(void **state);
#define RUN_TEST(name) cmocka_unit_test_setup_teardown(test_##name, run_set_up, run_tear_down)

#endif

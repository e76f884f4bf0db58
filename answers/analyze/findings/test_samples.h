// SPDX-License-Identifier: Apache-2.0
// Test support: a program of 20 steps, of which samples of threads show the lines. Not part of the library.
#ifndef XSP_ANALYZE_FINDINGS_TEST_SAMPLES_H
#define XSP_ANALYZE_FINDINGS_TEST_SAMPLES_H

#include "analyze/findings/test_findings.h"

#include <xsp/call_path.h>

#define FILE_OF "/home/me/train.py"
#define STEP (10 * MS + US) // from one step to the next
#define SITE "/venv/lib/python3.11/site-packages/"

static inline uint32_t python(uint32_t caller, const char *name, const char *file, int64_t line)
{
  return fixture_frame(&fixture, caller, XSP_FRAME_PYTHON, name, file, line);
}

static inline uint32_t thread(int64_t id)
{
  return fixture_track(&fixture, &(const struct store_track){.name = "python3",
                                                             .host = "h",
                                                             .process_id = 7,
                                                             .thread_id = id,
                                                             .device_id = STORE_NONE,
                                                             .stream_id = STORE_NONE});
}

static int processors = 2; // of the machine

// 20 steps of 10 ms, in each of which main (train.py:30) computes some. Returns the steps' thread.
static inline uint32_t start_on(const char *host, int64_t main_ms)
{
  const struct store_system_value system[] = {{.key = "cpus_allowed", .number = processors, .is_number = true},
                                              {.key = "host", .text = host}};
  fixture_experiment_on(&fixture, "train", system, 2);
  fixture_run(&fixture, "A/M/L", 1);
  uint32_t main_thread = thread(7), steps = fixture.thread;
  for (int i = 0; i < 20; i++)
    fixture_model(&fixture, 10 * MS, false);
  fixture.thread = main_thread;
  fixture.context_id = python(0, "main", FILE_OF, 30);
  for (int i = 0; i < 20 && main_ms > 0; i++)
    fixture_sample(&fixture, SAMPLE_CPU, (i * 10 + 5) * MS, main_ms * MS);
  return steps;
}

static inline uint32_t start_with(int64_t main_ms)
{
  return start_on("elsewhere", main_ms);
}

static inline void start(void)
{
  start_with(8);
}

static inline void samples_of_steps(int64_t ms)
{
  for (int i = 0; i < 20; i++)
    fixture_sample(&fixture, SAMPLE_CPU, (i * 10 + 9) * MS, ms * MS);
}

#endif

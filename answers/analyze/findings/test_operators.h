// SPDX-License-Identifier: Apache-2.0
// Test support: operators of a program's lines. Not part of the library.
#ifndef XSP_ANALYZE_FINDINGS_TEST_OPERATORS_H
#define XSP_ANALYZE_FINDINGS_TEST_OPERATORS_H

#include "analyze/findings/test_findings.h"

#include <xsp/call_path.h>

#define FILE_OF "/home/me/train.py"
#define TORCH "/venv/lib/python3.11/site-packages/torch/"

static inline uint32_t python(uint32_t caller, const char *name, const char *file, int64_t line)
{
  return fixture_frame(&fixture, caller, XSP_FRAME_PYTHON, name, file, line);
}

// An operator that a line calls.
static inline int64_t operator_at(uint32_t caller, const char *name, int64_t start_ns, int64_t duration_ns)
{
  fixture.context_id = fixture_frame(&fixture, caller, XSP_FRAME_FRAMEWORK, name, NULL, 0);
  return fixture_span(&fixture, XSP_LEVEL_LAYER, name, start_ns, duration_ns);
}

static inline int64_t backward_at(uint32_t caller, const char *name, int64_t start_ns, int64_t duration_ns)
{
  fixture.context_id = fixture_frame(&fixture, caller, XSP_FRAME_FRAMEWORK, name, NULL, 0);
  return fixture_span_in(&fixture, XSP_LEVEL_LAYER, "backward", name, start_ns, duration_ns);
}

static inline int64_t step(int64_t duration_ns)
{
  fixture.context_id = 0;
  int64_t start_ns = fixture.now_ns;
  fixture_model(&fixture, duration_ns, false);
  return start_ns;
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Calls of torch.set_num_threads, with their call path: where a program asks for more threads than it has processors. The function
// in the module torch gets one in C, which calls it. Runs with the interpreter held.
#include "frameworks/pytorch/tracer.h"

#include <xsp/call_path.h>

#define NAME "torch.set_num_threads"

static const struct python *py;
static struct xsp_site *site;

static void *set_threads(void *original, void *arguments, void *keywords)
{
  struct xsp_span span = xsp_span_start(site);
  xsp_span_call_path(&span, pytorch_operators_path(pytorch_thread_own, NAME));
  void *result = py->call(original, arguments, keywords);
  xsp_span_finish(&span);
  return result;
}

void pytorch_threads_python(const struct python *python, void *torch_module)
{
  static struct python_definition definition = {"set_num_threads", (void *)set_threads, 3,
                                                NULL}; // arguments and keywords
  py = python;
  site = xsp_site_create(TRACER, XSP_LEVEL_APPLICATION, NAME, "threads");
  (void)pytorch_compile_replace(py, torch_module, &definition, false);
}

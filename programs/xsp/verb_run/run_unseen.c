// SPDX-License-Identifier: Apache-2.0
// One entry of hints[] for each part of a program that a trace may lack: when it does, what that is, what the user can do today.
#include "programs/xsp/verb_run/run_unseen.h"

#include <string.h>

#define LABEL "%-9s"
#define WAYS_MOST 2
#define FUNCTIONS                                                                                                      \
  "xsp run --functions FILE   with a function of a library on each line, such as cblas_sgemm (docs/functions.md)"

struct unseen {
  const struct run_experiment_options *options;
  const struct run_facts *facts;
  uint32_t frameworks;
  bool is_unrecorded;
};

// Options that limit what is recorded: nobody needs a hint that it is not.
static bool is_limited(const struct launch_options *options)
{
  return options->process_id != 0 || options->capture_range != NULL || options->delay_s > 0 ||
         options->duration_s > 0 || (options->tracers[0] != NULL && strcmp(options->tracers[0], "auto") != 0);
}

static bool wants_layers(const struct run_experiment_options *options)
{
  for (size_t i = 0; i < options->set_count; i++)
    if (options->sets[i].mask & XSP_LEVEL_MASK(XSP_LEVEL_LAYER))
      return true;
  return false;
}

static bool lacks(const struct unseen *of, enum loaded_framework framework)
{
  return (of->frameworks >> framework & 1) && wants_layers(of->options) && !is_limited(&of->options->run) &&
         of->facts->account.spans_by_level[XSP_LEVEL_LAYER] == 0;
}

static bool lacks_pytorch(const struct unseen *of)
{
  return lacks(of, LOADED_PYTORCH);
}

static bool lacks_jax(const struct unseen *of)
{
  return lacks(of, LOADED_JAX);
}

static bool lacks_tensorflow(const struct unseen *of)
{
  return lacks(of, LOADED_TENSORFLOW);
}

static bool lacks_code(const struct unseen *of)
{
  return of->is_unrecorded && wants_layers(of->options) && !is_limited(&of->options->run);
}

static bool lacks_code_in_steps(const struct unseen *of)
{
  return lacks_code(of) && of->options->run.model_range != NULL;
}

static bool lacks_steps(const struct unseen *of)
{
  return lacks_code(of) && !lacks_code_in_steps(of);
}

static const struct hint {
  bool (*applies)(const struct unseen *of);
  const char *what;
  const char *ways[WAYS_MOST];
} hints[] = {
    {lacks_pytorch,
     "PyTorch's operators: none ran while it was recorded, -t left the tracer pytorch out, or this version is not "
     "known",
     {"docs/tracers.md has the versions, and what is recorded",
      "with torch.profiler.profile() as p: ...   p.export_chrome_trace(\"trace.json\"), then xsp report trace.json "
      "(GPU kernels, too)"}},
    {lacks_jax,
     "JAX's operations: none ran, the program profiled itself, or it was killed (docs/jax.md)",
     {"with jax.profiler.trace(\"FOLDER\"): ...   then xsp report FOLDER/plugins/profile/*/*.xplane.pb"}},
    {lacks_tensorflow,
     "TensorFlow's operations: none ran while it was recorded, or this version is not known",
     {"docs/tracers.md has the versions, and what is recorded: sessions, tf.function, model.predict, eager "
      "operations"}},
    {lacks_code_in_steps,
     "what the steps do, where no library announces it (NVTX, ITT, OpenCL, ONNX Runtime ...); one of these shows it",
     {"with nvtx.annotate(\"load\"): ... inside them (pip install nvtx; in C xsp/span.h)", FUNCTIONS}},
    {lacks_steps,
     "the program's own code, where no library announces it (NVTX, ITT, OpenCL, ONNX Runtime ...); one of these shows "
     "it",
     {"with nvtx.annotate(\"step\"): ... (pip install nvtx; in C xsp/span.h)   and xsp run --model-range step",
      FUNCTIONS}},
};

void run_unseen(const struct run_experiment_options *options, const struct run_experiment_result *result,
                const struct run_facts *facts, bool is_unrecorded, struct buf *out)
{
  const struct unseen of = {options, facts, result->first.frameworks, is_unrecorded};
  for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
    if (!hints[i].applies(&of))
      continue;
    buf_format(out, LABEL "%s\n", "not seen", hints[i].what);
    for (size_t way = 0; way < WAYS_MOST && hints[i].ways[way] != NULL; way++)
      buf_format(out, LABEL "  %s\n", "", hints[i].ways[way]);
  }
}

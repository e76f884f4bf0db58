// SPDX-License-Identifier: Apache-2.0
// The parts of `xsp profile`, each in the file of its name. Called by verb_profile.c.
#ifndef XSP_PROGRAMS_XSP_PROFILE_H
#define XSP_PROGRAMS_XSP_PROFILE_H

#include "base/vector.h"
#include "experiment/experiment.h"
#include "launch/launch.h"
#include "manifests/manifests.h"
#include "programs/xsp/verb.h"
#include "report/report.h"

// Fills what follows from the model argument, a model's file or folder, or a manifest: runner.model_path, inputs, dims and
// expectations, name, variants, workload, and batches where the command line has none. Finds or makes a manifest's
// model. *ret_manifest: NULL where `model` is not a manifest. Everything lives in `arena`.
enum status profile_model(const struct invocation *invocation, const char *model, struct arena *arena,
                          struct profile_options *profile, const struct manifest **ret_manifest,
                          struct error *err) MUST_CHECK;
// Fills what every runner of this command has: where xsp-runner and xsp's tracers are, --threads and --timeout.
enum status profile_runner(const struct invocation *invocation, struct runner_options *runner, struct arena *arena,
                           struct error *err) MUST_CHECK;
// Options of `xsp profile` and `xsp evaluate`: what a model runs on, and what records it below the layers.
// clang-format off
#define PROFILE_RUNNER_OPTIONS                                                                                         \
  {"device", 0, "DEVICE", NULL, 0,                                                                                     \
   "What the model runs on: cpu, gpu, gpu:N (the N-th, from 0), or the framework's own name: an execution provider "   \
   "of ONNX Runtime (TensorRT, ROCm, OpenVINO:NPU), a device of OpenVINO (NPU, AUTO:GPU,CPU), an accelerator of "      \
   "LiteRT (npu). Default: the manifest's device, else the CPU; of TensorFlow its first GPU, if there is one."},       \
  {"tracer", 't', "FILE[:OPTION=VALUE]", NULL, OPTION_REPEATABLE,                                                      \
   "A tracer to load into the runners whose level set reaches below the layer level. A name without '/' is one of "    \
   "xsp's own (xsp check lists them)."},                                                                               \
  OPTION_CALL_PATHS,                                                                                                   \
  {"cuda", 0, "KEY=VALUE,...", NULL, 0, OPTION_CUDA_TEXT}
// clang-format on
// Reads them, once the model's variants and the runner are filled. `device` of a manifest holds without --device; NULL: none.
enum status profile_recording(const struct invocation *invocation, const char *device, struct profile_options *profile,
                              struct arena *arena, struct error *err) MUST_CHECK;
// Whether the level sets have the model's level, and a tracer where they have kernels; adds sets of metrics where tracers have them.
enum status profile_check_levels(const struct invocation *invocation, struct profile_options *profile,
                                 struct error *err) MUST_CHECK;
struct profile_port {              // an input or output, as the opened model has it
  const char *name, *type, *shape; // "data", "float32", "[N,3,224,224]"; type or shape NULL: unknown
  bool is_output;
};
struct profile_ports {
  struct arena *arena; // borrowed; all texts are in it
  VECTOR(struct profile_port) list;
};
// Opens the model in a runner of its own, adds its inputs and outputs to `ports`, and with `batch` > 0 makes inputs of that size.
enum status profile_ports_read(const struct runner_options *options, int64_t batch, struct profile_ports *ports,
                               struct error *err) MUST_CHECK;
// The command line as it was typed.
const char *profile_command(struct arena *arena);
// STATUS_USE, with the nearest name, where one of the names, separated by commas, is of no framework. NULL: none.
enum status profile_check_frameworks(const char *frameworks, struct arena *arena, struct error *err) MUST_CHECK;
// The variants of --framework and --library. `frameworks`: names separated by commas, each of a framework, NULL: by the model's name. A framework
// has as many variants as it has --library options, at least one.
enum status profile_variants(const struct invocation *invocation, const char *frameworks, const char *model_path,
                             struct arena *arena, struct profile_options *profile, struct error *err) MUST_CHECK;
// Each --library must be of a framework that is used; profile_variants does this for the only model of a command line.
enum status profile_check_libraries(const struct invocation *invocation, const struct profile_variant *variants,
                                    size_t count, struct error *err) MUST_CHECK;
// The tables to stdout in `format`: throughput, overhead per level, slowest layers, share by type, noise. has_next: also what to
// do next, on stderr.
enum status profile_print(const struct profile_options *options, const struct profile_result *result,
                          enum report_format format, bool has_next, struct error *err) MUST_CHECK;

#endif

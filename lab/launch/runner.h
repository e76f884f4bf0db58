// SPDX-License-Identifier: Apache-2.0
// One runner process as `xsp profile` sees it: start, ask, wait with a bound, explain its death. One thread.
#ifndef XSP_LAUNCH_RUNNER_H
#define XSP_LAUNCH_RUNNER_H

#include "base/child.h"
#include "base/error.h"
#include "format/level.h"
#include "frameworks/frameworks.h"
#include "isolation/isolation.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct runner_options {
  const char *program;          // path of xsp-runner
  const char *tracer_directory; // xsp's own tracers
  const char *model_path;
  const char *weights_path;        // NULL: as the model's file says
  const char *predictor;           // name
  const char *library;             // NULL: the runner searches
  const char *device;              // as of --device; NULL: the framework's default
  const char *affinity;            // CPU list, NULL: all
  const char *const *inputs;       // "name=file.npy", NULL-terminated; may be NULL
  const char *const *dims;         // "name=N"
  const char *const *expectations; // lab/manifests/expect.h; may be NULL
  const char *preprocess;          // Python code of a manifest, before the prediction; NULL: none
  const char *postprocess;         // after it
  unsigned threads;                // 0: the framework's default
  uint64_t seed;
  bool profile_file;
  bool unfused;
  bool pin_algorithms;               // also the variables for it
  bool layer_outputs;                // tensors between layers can be read, where the framework hands them out
  const char *call_paths, *counters; // as in struct launch_options
  const char *cuda;                  // the same
  unsigned timeout_s;                // per answer; 0: none
  const struct isolation *isolation; // NULL: it runs as xsp does
  // Signals that asked for an end, may be NULL: at the second a runner that is awaited is killed.
  const volatile sig_atomic_t *interrupted;
};

// What a runner reported of its framework when the model was open.
struct profile_found {
  char framework[64], framework_version[64], library[1024], layer_source[64];
  char note[256];  // of the framework on itself; "": none
  char device[64]; // its own name of what the model runs on; "": unknown
  enum predictor_on device_class;
  long cudnn_version; // of the cuDNN that the framework loaded: 90100 is 9.1; 0: none
};

struct runner {
  struct level_set levels;
  struct child child;  // its process is 0: none
  int control;         // socket; -1: closed
  char received[4096]; // from it; `taken` of `received_bytes` are read
  size_t received_bytes, taken;
  int output; // memfd with what the runner wrote to stderr
  int values; // memfd with the tensor that was read last
  void *data; // the tensor that runner_read returned last
  unsigned timeout_s;
  const volatile sig_atomic_t *interrupted; // borrowed; may be NULL
  const char *model_path;                   // borrowed, for errors
  char work_directory[256];                 // removed by runner_close
  int work_lock;                            // on that folder: it is in use; -1: none
  struct profile_found found;               // filled by runner_wait_ready
  const struct isolation *isolation;        // borrowed; then `process` is its keeper
  struct isolation_end *end;                // of the isolated process; NULL: it is not isolated
};

enum runner_inference { INFERENCE_COUNTED, INFERENCE_WARMUP, INFERENCE_COLD };

// Starts the process in the capture session `session_directory` ("": nothing is recorded), with `tracers` (XSP_TRACERS, may be NULL).
enum status runner_start(struct runner *runner, const struct runner_options *options, struct level_set levels,
                         const char *session_directory, const char *tracers, struct error *err) MUST_CHECK;
enum status runner_wait_ready(struct runner *runner, struct error *err) MUST_CHECK;
enum status runner_prepare(struct runner *runner, int64_t batch, struct error *err) MUST_CHECK;
enum status runner_predict(struct runner *runner, int64_t batch, enum runner_inference kind,
                           struct error *err) MUST_CHECK;
struct runner_picture {
  const char *path;
  const char *label; // a picture with the class of each pixel; NULL: none
  const char *name;  // of a part of the file at `path`; NULL: all of it
  uint64_t offset, size;
  uint32_t crc32; // of the part
};
// One inference of pictures. `output`: with the scores; "": the only one; NULL: none is read, and `visit` is not called.
// `visit` gets the fields of each line of what was found, as
// trace/format/protocol.h has them; false: it knows none such. `*ret_unreadable` (may be NULL): the picture that cannot be read or
// decoded, where the status is STATUS_INPUT for it, else SIZE_MAX; the runner can be asked again then.
typedef bool (*runner_found_fn)(void *context, char *const *fields, size_t count);
enum status runner_infer(struct runner *runner, const struct runner_picture *pictures, size_t count,
                         enum runner_inference kind, const char *output, runner_found_fn visit, void *context,
                         size_t *ret_unreadable, struct error *err) MUST_CHECK;
struct runner_tensor {
  enum tensor_type type;
  unsigned rank;
  int64_t shape[TENSOR_MAXIMUM_RANK];
  const void *data; // C order; valid until the next runner_read or runner_close
  size_t size_bytes;
  char problem[256]; // why the framework has no values for it; "": it has
};
// A tensor of the last runner_infer: `kind` "input" or "output" (also of those between layers), by its name; "": the first
// output. Errors: STATUS_MEMORY, STATUS_SYSTEM (the answer makes no sense).
enum status runner_read(struct runner *runner, const char *kind, const char *name, struct runner_tensor *ret_tensor,
                        struct error *err) MUST_CHECK;
// Prepares pictures and keeps them, after those that were loaded before.
enum status runner_load(struct runner *runner, const struct runner_picture *pictures, size_t count,
                        struct error *err) MUST_CHECK;
// One inference of `count` loaded pictures from `first` on, at `arrival_ns` of CLOCK_MONOTONIC, 0: at once.
enum status runner_query(struct runner *runner, size_t first, size_t count, uint64_t arrival_ns,
                         enum runner_inference kind, struct error *err) MUST_CHECK;
// Inputs and outputs of the opened model: `visit` gets "input" or "output", the name, type (0: unknown) and shape ("N,3,224",
// "-": unknown); "layer" for a tensor between layers, whose operator's type takes the place of the shape.
typedef void (*runner_visit_fn)(void *context, const char *kind, const char *name, enum tensor_type type,
                                const char *shape);
enum status runner_describe(struct runner *runner, runner_visit_fn visit, void *context, struct error *err) MUST_CHECK;
enum status runner_flush(struct runner *runner, struct error *err) MUST_CHECK;
// Asks it to end and reaps it; kills it where it does not answer within 5 s. Safe on a runner that never started ({0}
// with process 0) or that is dead.
void runner_close(struct runner *runner);

#endif

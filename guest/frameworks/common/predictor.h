// SPDX-License-Identifier: Apache-2.0
// A predictor: how a framework opens a model and makes inferences. Runs in the runner's process only (programs/runner),
// never in xsp itself; the runner makes inputs, repeats, and sets levels. predictor.c has what all of them share: the
// library and its functions, the state, and its end where opening fails.
#ifndef XSP_FRAMEWORKS_COMMON_PREDICTOR_H
#define XSP_FRAMEWORKS_COMMON_PREDICTOR_H

#include "base/arena.h"
#include "base/error.h"
#include "base/library.h"
#include "base/mapped.h"
#include "frameworks/common/device.h"
#include <xsp/span.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tensor_type { // ONNX's numbers, so that no second enumeration is needed
  TENSOR_FLOAT = 1,
  TENSOR_UINT8 = 2,
  TENSOR_INT8 = 3,
  TENSOR_UINT16 = 4,
  TENSOR_INT16 = 5,
  TENSOR_INT32 = 6,
  TENSOR_INT64 = 7,
  TENSOR_STRING = 8,
  TENSOR_BOOL = 9,
  TENSOR_FLOAT16 = 10,
  TENSOR_DOUBLE = 11,
  TENSOR_UINT32 = 12,
  TENSOR_UINT64 = 13,
  TENSOR_BFLOAT16 = 16,
  TENSOR_TYPES // all are below
};
struct tensor_type_facts {
  const char *name; // "float32"
  unsigned bytes;   // of one element; 0: not supported
  char kind;        // NumPy's letter; 0: NumPy has none
};
const struct tensor_type_facts *tensor_type_facts(enum tensor_type type); // never NULL
enum tensor_type tensor_type_named(const char *name);                     // 0: none
#define TENSOR_MAXIMUM_RANK 16
struct tensor_info { // an input as the model declares it
  const char *name;
  enum tensor_type type;
  unsigned rank;
  int64_t shape[TENSOR_MAXIMUM_RANK];              // -1: free
  const char *dimension_name[TENSOR_MAXIMUM_RANK]; // of a free dimension; NULL: unnamed
  bool has_no_shape;                               // of an output: not reported
};
struct tensor { // what predict is given
  const struct tensor_info *info;
  int64_t shape[TENSOR_MAXIMUM_RANK]; // all >= 0
  void *data;                         // owned by the runner, C order
  size_t size_bytes;
  bool is_given; // its values are the user's (--input), not made up
};
// Attributes of an operator that a model's file has and its framework's profile lacks; they count the operator's work.
#define OPERATOR_WINDOW_RANK 8
struct operator_window {
  const char *layer_names[2]; // the operator's layer has either; "": none
  int64_t kernel[OPERATOR_WINDOW_RANK];
  size_t kernel_rank;  // 0: unknown
  int64_t group, size; // -1: unknown
  const char *sources; // the model's nodes that became the layer, where its name is another; NULL: unknown
  const char *mode;    // of a Resize; "causal" of an attention whose mask is; NULL: unknown
};
// `name` is relative to the model's folder and leads nowhere out of it; not NUL-terminated. Names may repeat, and files
// may be missing.
typedef void (*model_file_fn)(void *context, const char *name, size_t length);
struct named_file {
  const char *name, *path;
};
struct predictor_options {
  const char *model_path;
  const char *weights_path;     // NULL: as the model's file says. Only given to one that takes_weights
  const char *library_path;     // NULL: search (base/library.h rules)
  unsigned threads;             // 0: the framework's default
  const char *device;           // common/device.h; NULL: the framework's default. Only asked of one that has_devices
  uint32_t level_mask;          // the session's levels: layer or deeper switches the framework's profiling on
  const char *tracer_directory; // where xsp's own tracers lie
  const char *work_directory;   // for files a framework insists on writing; private to this process
  bool force_profile_file;      // ONNX Runtime: take the profile JSON route even where the listener works
  bool pin_algorithms;          // the same algorithms in every process; its variables are set already
  bool unfused;                 // run the model's operators apart; only asked of a predictor that has_unfused
  bool layer_outputs;           // hand out tensors between layers, too (predictor_model.layer_output_count)
  struct named_file *inputs;    // files with values of inputs (--input), for models that do not describe theirs
  size_t input_count;
};
#define PREDICTOR_CLOCK_SIMULATED "simulated" // name of the foreign clock
struct predictor_interval {                   // on the clock of reported_times; end_ns 0: there is none
  uint64_t start_ns, end_ns;
};
// When an inference took place that another process makes (predictor.tells_times).
struct reported_times {
  enum xsp_clock clock; // XSP_CLOCK_FOREIGN: simulated time, PREDICTOR_CLOCK_SIMULATED
  struct predictor_interval model, preprocess, postprocess;
  uint64_t transport_ns; // what asking and answering took beyond these; in none of them. 0 of simulated time
  uint64_t wall_ns;      // of simulated time: from request to answer, on the wall clock
};
enum predictor_on { PREDICTOR_ON_UNKNOWN, PREDICTOR_ON_CPU, PREDICTOR_ON_CUDA, PREDICTOR_ON_OTHER };
struct predictor_model { // filled by open; strings and arrays live in `arena` of the caller
  const char *framework, *framework_version, *library_path;
  struct tensor_info *inputs;
  size_t input_count;
  // NULL: not reported (by then; a program's are known after an inference). Type 0: not reported. After the model's own
  // outputs come the tensors between its layers, in the order of execution, where options.layer_outputs asked for them and
  // the predictor can hand them out.
  struct tensor_info *outputs;
  size_t output_count;
  size_t layer_output_count;
  const char **layer_types; // by tensor between layers: the type of the operator that makes it
  const char *layer_source; // how the layer level is obtained: "listener", "profile file", "none"
  const char *note;         // what else the trace records, one line ("inference precision bf16"); NULL: nothing
  const char *device;       // the framework's own name of what the model runs on; NULL: unknown
  enum predictor_on device_class;
  void *state; // the predictor's own
  // Set by the runner before each predict, after it where the predictor tells_times: the model span, for layers that are
  // published later (all zero: none).
  struct xsp_context model_span;
  int64_t batch;                  // set by the runner before each prepare
  bool is_warmup, is_cold;        // set by the runner before each predict
  bool keep_outputs;              // set by the runner before a refresh and predict after which it asks for outputs
  struct reported_times reported; // set by predict where the predictor tells_times
  // Ticks that xsp's own code has spent inside this process's inferences so far; NULL: none is called there.
  uint64_t (*own_ticks)(void);
};
// What each predictor's state begins with; filled before `open` is called.
struct predictor_state {
  struct predictor_options options; // strings borrowed from the caller, who keeps them while the model is open
  struct framework_device device;   // options.device, read
  bool has_layers;                  // layers, or what lies below them, are recorded
  struct library library;
  char version[64]; // of the library, by `load`
};
struct predictor_library {
  struct library_names names;
  const char *expected;                     // for the error where a function is missing: "MXNet 1.9"
  const struct library_function *functions; // into the predictor's state
  size_t function_count;
  void (*set_environment)(const struct predictor_state *state); // what the library reads when it is loaded; may be NULL
  // Once its functions are filled: the version, and whether it can be used.
  enum status (*load)(struct predictor_state *state, struct error *err);
};
struct predictor {
  const char *name; // "onnxruntime"
  const char *summary;
  const char *extensions; // ".onnx .ort"
  // Models that are not one file with such a name (a folder, a file next to another): true where `path` is one. May be
  // NULL. Asked before the extensions of any predictor are looked at.
  bool (*recognises)(const char *path);
  // True where `path` is not a file but names a function of a program, which makes the model. May be NULL.
  bool (*names_function)(const char *path);
  // Visits the files that belong to the model at `path` besides that file itself: weights, signatures. A damaged model has
  // fewer. May be NULL: there are none.
  void (*visit_files)(const char *path, model_file_fn visit, void *context);
  // The windows that a model's file has, in `arena`. False: damaged; what was found before the damage is valid. May be
  // NULL: the framework reports them itself.
  bool (*windows)(const char *path, struct arena *arena, struct operator_window **ret_windows, size_t *ret_count);
  // What the framework does not report of a layer, comma-separated of "start", "thread", "name", "type"; NULL: nothing is
  // missing. Shown by `xsp check`, and tag "untold" of each layer.
  const char *untold;
  // Another process makes the inference: predict fills model->reported, from which the runner makes the spans.
  bool tells_times;
  bool tells_units; // its layers may have parts on units of a device: the kernel level without a tracer
  // Another process makes the inference and publishes its model span itself, with the tags of trace/format/protocol.h.
  bool publishes_model;
  bool executes_model; // the model is a program: who runs it must trust it
  bool tells_outputs;  // predictor_model.outputs
  // What makes it take the same algorithms in every process; NULL: it has no such switch.
  const char *pinned_by;
  bool takes_weights; // of a model in two files, wherever they are (predictor_options.weights_path)
  bool has_devices;   // can run models on a device by choice (predictor_options.device)
  bool has_unfused;   // can leave out the rewrites that make one layer of several operators (predictor_options.unfused)
  size_t state_bytes; // of predictor_model.state, which begins with a struct predictor_state
  const struct predictor_library *library; // NULL: none, and `probe` answers for it
  // Without a library: is this usable? Fills version and library on success.
  enum status (*probe)(const char *library_path, char *library, size_t library_size, char *version, size_t version_size,
                       struct error *err);
  // Before the library is loaded: the model's files. May be NULL.
  enum status (*check)(struct predictor_state *state, struct arena *arena, struct error *err);
  enum status (*open)(struct predictor_model *model, struct arena *arena, struct error *err);
  // The inputs of the coming inferences, whenever they were made anew: their shapes may be others than before, their
  // memory stays until the next call. Outside any span: what a framework must rebuild for a shape belongs here. May be NULL.
  enum status (*prepare)(struct predictor_model *model, const struct tensor *inputs, struct error *err);
  // The inputs' memory has other values than before, their shapes are the same. Outside any span. May be NULL: predict reads
  // them where they are.
  enum status (*refresh)(struct predictor_model *model, const struct tensor *inputs, struct error *err);
  // One inference; the caller has the model span open on this thread. Outputs are computed and dropped, unless keep_outputs.
  enum status (*predict)(struct predictor_model *model, const struct tensor *inputs, struct error *err);
  // One output of the last inference, which keep_outputs was set for, with its type and shape: its data is valid until the next
  // read_output or predict. Called outside the model span. NULL: this predictor does not hand out outputs.
  enum status (*read_output)(struct predictor_model *model, size_t number, struct tensor *ret_output,
                             struct error *err);
  // After the last predict of a batch of work: publish what the framework holds back (profile files). May be NULL.
  enum status (*flush)(struct predictor_model *model, struct error *err);
  // Makes ready what flush took down; called outside any span, before the next predict. May be NULL.
  enum status (*resume)(struct predictor_model *model, struct error *err);
  void (*close)(
      struct predictor_model *model); // of a half-open model, too; the state itself is freed by predictor_close
};
extern const struct predictor *const predictors[]; // ends with NULL
const struct predictor *predictor_find(const char *name);
const struct predictor *predictor_for_file(const char *path);
bool predictor_names_function(const char *path); // of any predictor

// Is the framework usable here? Fills library and version on success.
enum status predictor_probe(const struct predictor *predictor, const char *library_path, char *library,
                            size_t library_size, char *version, size_t version_size, struct error *err) MUST_CHECK;
// On failure nothing is left open. What the model points to lies in `arena` and in its state.
enum status predictor_open(const struct predictor *predictor, const struct predictor_options *options,
                           struct arena *arena, struct predictor_model *ret_model, struct error *err) MUST_CHECK;
void predictor_close(const struct predictor *predictor, struct predictor_model *model);

// A framework's message as an error about the model: STATUS_MEMORY with advice of its own where it is about memory, else
// STATUS_INPUT.
enum status predictor_failed(const struct predictor_state *state, const char *what, const char *message,
                             const char *advice, struct error *err) MUST_CHECK;

// For `check`: the path can be read, and is a file, or a folder where that may be. Advice: what to give instead.
enum status predictor_check_file(const char *path, bool may_be_folder, const char *advice,
                                 struct error *err) MUST_CHECK;
// The same for a file, which is then mapped; at most `most` bytes. On failure nothing is mapped.
enum status predictor_map_file(const char *path, size_t most, const char *advice, struct mapped *ret_file,
                               struct error *err) MUST_CHECK;

#endif

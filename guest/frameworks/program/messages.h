// SPDX-License-Identifier: Apache-2.0
// What a program of the predictor protocol (docs/predictor_protocol.md) may answer, read strictly: every field known, of
// its type, within bounds. Pure, for hostile bytes; one error names the message and the field. Used by predictor.c.
#ifndef XSP_FRAMEWORKS_PROGRAM_MESSAGES_H
#define XSP_FRAMEWORKS_PROGRAM_MESSAGES_H

#include "base/arena.h"
#include "base/error.h"
#include "frameworks/common/layer_publish.h"
#include "frameworks/common/predictor.h"

#define PROGRAM_VERSION 3
#define PROGRAM_OUTPUTS_VERSION 2            // has outputs
#define PROGRAM_SIMULATED_VERSION 3          // has simulated time and units
#define PROGRAM_LINE_MOST ((size_t)16 << 20) // bytes of an answer
#define PROGRAM_TEXT_MOST 1024               // of any text in it
#define PROGRAM_NAME_MOST 31                 // of the framework's name: it is the spans' tracer
#define PROGRAM_INPUTS_MOST 1024
#define PROGRAM_OUTPUTS_MOST 65536 // with those between layers
#define PROGRAM_OUTPUT_BYTES_MOST (INT64_C(1) << 36)
#define PROGRAM_LAYERS_MOST 65536
#define PROGRAM_TAGS_MOST 16 // of a layer, without its thread

enum program_untold { // what the program does not report of a layer
  PROGRAM_NO_START = 1,
  PROGRAM_NO_THREAD = 2,
  PROGRAM_NO_NAME = 4,
  PROGRAM_NO_TYPE = 8,
};

struct program_facts { // the answer to `open`; what it points to lies in the arena
  int64_t version;
  const char *framework, *framework_version;
  const char *note;     // NULL: none
  const char *device;   // that it runs the model on; NULL: it does not say
  enum xsp_clock clock; // of its times; XSP_CLOCK_FOREIGN: simulated time
  unsigned untold;      // of enum program_untold
  struct tensor_info *inputs;
  size_t input_count;
};

struct program_question { // what a prediction's answer is held against
  bool wants_layers, wants_outputs;
  bool is_simulated;
  unsigned untold;
  // On the program's clock: all its times lie between. Of simulated time: the end of the last prediction, INT64_MAX.
  uint64_t sent_ns, received_ns;
};

struct program_output {
  struct tensor_info info; // all sizes are known
  const char *layer_type;  // of the operator that makes a tensor between layers; NULL: an output of the model
  int64_t offset;          // in the file of outputs
  size_t size_bytes;
};

struct program_prediction {
  struct predictor_interval model, preprocess, postprocess;
  struct layer_report *layers;
  size_t layer_count;
  struct program_output *outputs; // the model's own, then those between layers
  size_t output_count;
};

// `program` names it in errors. Errors: STATUS_INPUT, STATUS_MEMORY.
enum status program_read_open(const char *line, size_t length, const char *program, struct arena *arena,
                              struct program_facts *ret_facts, struct error *err) MUST_CHECK;
// An answer without fields, to `message`.
enum status program_read_done(const char *line, size_t length, const char *message, const char *program,
                              struct error *err) MUST_CHECK;
enum status program_read_prediction(const char *line, size_t length, const char *program,
                                    const struct program_question *question, struct arena *arena,
                                    struct program_prediction *ret_prediction, struct error *err) MUST_CHECK;

// "start,thread", in the order of enum program_untold; NULL where all is reported.
const char *program_untold_text(unsigned untold, struct arena *arena);

#endif

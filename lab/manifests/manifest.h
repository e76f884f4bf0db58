// SPDX-License-Identifier: Apache-2.0
// A model manifest (docs/manifests.md): name, origin, framework, inputs and outputs. This part reads and checks the
// file alone; source.h finds the model. The format agrees with docs/manifest.schema.json.
#ifndef XSP_MANIFESTS_MANIFEST_H
#define XSP_MANIFESTS_MANIFEST_H

#include "manifests/expect.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MANIFEST_LIST_MAXIMUM 64 // of inputs, outputs, dims, batches, arguments, packages

#define MANIFEST_CODE_BYTES 65536 // of preprocess, of postprocess

enum manifest_source { MANIFEST_PATH, MANIFEST_GRAPH, MANIFEST_PACKAGE, MANIFEST_GENERATOR };

struct manifest_texts {
  const char **items;
  size_t count;
};
struct manifest_tensor {
  struct expectation expectation;
  unsigned line;           // of its entry
  const char *fill_text;   // for people: "zeros"; NULL: by type and name
  const char *fill_file;   // as written; NULL: the values are made
  const char *labels_file; // of an output, as written: a line for each class or token; NULL: they have no names
  const char *separator;   // of a text: between its tokens
  unsigned channels;       // of a picture, and how many values are listed: 0: one for all
  size_t mean_count, scale_count;
};
struct manifest_size {
  const char *name;
  int64_t size;
  unsigned line;
};
struct manifest_image {     // of a container
  const char *architecture; // amd64, arm64, ppc64le …
  const char *device;       // cpu or gpu
  const char *name;         // mxnet:1.9.1-cpu
  unsigned line;
};
struct manifest_attribute {
  const char *key, *value; // training_dataset.name, ImageNet
};
struct manifest_metric {
  const char *key; // as xsp evaluate prints it: top1_pct
  double value;
};
#define MANIFEST_METRICS_MOST 9
struct manifest {
  const char *path; // of the manifest, as given
  const char *name, *version;
  const char *task, *description, *reference, *license; // NULL: not given
  const char *framework;
  const char *framework_version; // a constraint; NULL: any
  unsigned framework_line, framework_version_line;
  enum manifest_source source;
  unsigned source_line;
  const char *model_path;                        // path, graph_path: a path or an address
  const char *weights_path;                      // graph_path: the same; NULL: the graph has them
  const char *graph_sha256, *weights_sha256;     // graph_path; NULL: not given
  const char *package;                           // package: a name, maybe followed by a version constraint
  const char *file;                              // package: within the folder of modules
  const char *generator;                         // generator: the script
  const char *produces;                          // generator: the name of what it makes
  struct manifest_texts arguments, python, uses; // generator
  const char *sha256;                            // NULL: not given
  unsigned sha256_line;
  struct manifest_tensor *inputs, *outputs;
  size_t input_count, output_count;
  struct manifest_size *dims;
  size_t dim_count;
  int64_t *batches;
  size_t batch_count;
  enum tensor_type element_type; // of inputs without one; 0: not given
  unsigned element_type_line;
  struct manifest_image *images;
  size_t image_count;
  const char *preprocess, *postprocess; // Python code; NULL: none
  const char *hardware;                 // constraints on the machine, as of agents (docs/agents.md); NULL: none
  unsigned hardware_line;
  const char *device; // that the model runs on, as --device of `xsp profile`; NULL: not given
  // Names of `permissions`, with commas between them: who may know of the model and who may evaluate it. NULL: not given.
  const char *viewers, *users;
  struct manifest_metric reported[MANIFEST_METRICS_MOST]; // how right the model is, by its authors
  size_t reported_count;
  const char *reported_source, *reported_data_set; // who reports it, on what; NULL: not given
  struct manifest_attribute *attributes;
  size_t attribute_count;
};

// By its name: *.yml, *.yaml.
bool manifest_recognises(const char *path);
// Everything lives in `arena`. Errors: STATUS_INPUT with `path:line`, the reason and what to write instead.
enum status manifest_parse(const char *bytes, size_t size, const char *path, struct arena *arena,
                           struct manifest *ret_manifest, struct error *err) MUST_CHECK;
enum status manifest_load(const char *path, struct arena *arena, struct manifest *ret_manifest,
                          struct error *err) MUST_CHECK;
// The image for a machine (`uname -m`) and a device, cpu or gpu. NULL: none.
const char *manifest_image(const struct manifest *manifest, const char *machine, const char *device);
// An error at a line of the manifest; `why_format` is printf-like.
__attribute__((format(printf, 6, 7))) enum status manifest_wrong(const struct manifest *manifest, unsigned line,
                                                                 enum status status, const char *advice,
                                                                 struct error *err, const char *why_format, ...);

#endif

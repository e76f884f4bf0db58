// SPDX-License-Identifier: Apache-2.0
// xsp manifest init: opens a model and writes a manifest of what its framework reports, with usual values for the rest.
#include "base/json_write.h"
#include "base/path_text.h"
#include "base/scoped.h"
#include "base/slice.h"
#include "processing/image.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/verb_profile/profile.h"
#include "table/builder.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FREE_SIDE 224 // of a picture, where the model takes any
#define FREE_SIZE 128 // of other dimensions
#define NAME_MOST 100

struct draft { // of a manifest
  struct profile_ports ports;
  struct profile_options profile;
  const struct manifest *manifest; // of the model's own, if it was given as one; else NULL
  struct buf text;
  const char *picture; // name of the input that pictures become; NULL: none
  const char *result;  // name of the output that is evaluated; NULL: none
  const char *form;    // of that output: "feature"
  uint32_t free;       // bits: places of free dimensions of other inputs
};

// ---- guesses from shapes ---------------------------------------------------------------------------------------------
struct shape {
  size_t rank;
  int64_t sizes[TENSOR_MAXIMUM_RANK]; // -1: free
};

static struct shape shape_of(const struct profile_port *port)
{
  struct shape shape = {0};
  for (const char *at = port->shape; at != NULL && (*at == '[' || *at == ',') && at[1] != ']';
       at += strcspn(at, ",]")) {
    at++;
    if (shape.rank == TENSOR_MAXIMUM_RANK)
      return (struct shape){0};
    shape.sizes[shape.rank++] = isdigit((unsigned char)*at) ? strtoll(at, NULL, 10) : -1;
  }
  return shape;
}

static uint64_t side_of(int64_t size)
{
  return size < 0 ? FREE_SIDE : (uint64_t)size;
}

// The channels' place in an input that pictures can become, 1 or 3; 0: they cannot.
static size_t channels_place(const struct profile_port *port)
{
  struct shape shape = shape_of(port);
  if (shape.rank != 4 || (port->type != NULL && !text_is_one_of(port->type, "float32", "uint8")))
    return 0;
  for (int64_t channels = 3; channels >= 1; channels -= 2) // three colors are surer than one
    for (size_t place = 1; place <= 3; place += 2) {
      const int64_t *sides = &shape.sizes[place == 1 ? 2 : 1];
      if (shape.sizes[place] == channels && image_size_is_possible(side_of(sides[0]), side_of(sides[1])))
        return place;
    }
  return 0;
}

// How an output is read; NULL: not known.
static const char *output_form(const struct profile_port *port)
{
  struct shape shape = shape_of(port);
  bool is_flat = shape.rank == 4 && shape.sizes[2] == 1 && shape.sizes[3] == 1;
  if (port->type != NULL && strcmp(port->type, "float32") != 0)
    return NULL;
  return shape.rank == 2 || is_flat ? "feature" : shape.rank == 3 ? "boxes" : shape.rank == 4 ? "mask" : NULL;
}

static void guess(struct draft *draft)
{
  bool has_outputs = false;
  for (size_t i = 0; i < draft->ports.list.count; i++) {
    const struct profile_port *port = &draft->ports.list.items[i];
    has_outputs |= port->is_output;
    if (!port->is_output && draft->picture == NULL && channels_place(port) != 0)
      draft->picture = port->name;
    if (port->is_output && draft->picture != NULL && draft->result == NULL && (draft->form = output_form(port)) != NULL)
      draft->result = port->name; // inputs come first
  }
  if (draft->picture != NULL && !has_outputs)
    draft->form = "feature"; // the most usual one
}

// ---- the text --------------------------------------------------------------------------------------------------------
// JSON's strings are YAML's.
static void put_string(struct buf *out, const char *before, const char *text)
{
  struct json_writer json;
  buf_text(out, before);
  json_start(&json, out);
  json_string(&json, text);
  buf_text(out, "\n");
}

static void put_picture(struct buf *out, const struct profile_port *port)
{
  struct shape shape = shape_of(port);
  size_t channels = channels_place(port), height = channels == 1 ? 2 : 1;
  bool is_free = shape.sizes[height] < 0 || shape.sizes[height + 1] < 0;
  bool is_color = shape.sizes[channels] == 3, is_bytes = port->type != NULL && strcmp(port->type, "uint8") == 0;
  uint64_t sides[] = {side_of(shape.sizes[height]), side_of(shape.sizes[height + 1])};
  buf_format(out,
             "    type: image\n"
             "    parameters:\n"
             "      dimensions: [%" PRId64 ", %" PRIu64 ", %" PRIu64 "]%s\n"
             "      layout: %s\n",
             shape.sizes[channels], sides[0], sides[1],
             is_free ? "  # check: the model takes pictures of any size" : "", channels == 1 ? "NCHW" : "NHWC");
  if (is_color)
    buf_text(out, "      color_mode: RGB  # check: BGR for models of Caffe and OpenCV\n");
  buf_format(out, "      resize: %" PRIu64 "  # check: the shorter side, the middle is cut out; letterbox for YOLO\n",
             (sides[0] < sides[1] ? sides[0] : sides[1]) * 8 / 7); // 256 for 224
  if (is_bytes)
    buf_text(out, "      element_type: uint8\n");
  else if (is_color)
    buf_text(
        out,
        "      # check: (value - mean) / scale; these are torchvision's. Others: 127.5 and 127.5; 0 and 255; 0 and 1\n"
        "      mean: [123.675, 116.28, 103.53]\n"
        "      scale: [58.395, 57.12, 57.375]\n");
  else
    buf_text(out, "      scale: 255  # check: (value - mean) / scale\n");
}

static void put_plain(struct draft *draft, const struct profile_port *port)
{
  struct buf *out = &draft->text;
  struct shape shape = shape_of(port);
  if (port->type != NULL)
    buf_format(out, "    type: %s\n", port->type);
  if (port->shape == NULL)
    return;
  buf_text(out, "    shape: [");
  for (size_t i = 0; i < shape.rank; i++) {
    buf_text(out, i == 0 ? "" : ", ");
    if (shape.sizes[i] >= 0)
      buf_format(out, "%" PRId64, shape.sizes[i]);
    else if (i == 0)
      buf_text(out, "N");
    else
      buf_format(out, "free_%zu", i); // the model's own name may be any text
    if (shape.sizes[i] < 0 && i > 0 && !port->is_output)
      draft->free |= 1U << i;
  }
  buf_text(out, "]\n");
}

static void put_dims(struct draft *draft)
{
  if (draft->free != 0)
    buf_text(&draft->text, "dims:  # check: sizes of dimensions that the model leaves free\n");
  for (unsigned i = 0; i < TENSOR_MAXIMUM_RANK; i++)
    if (draft->free >> i & 1)
      buf_format(&draft->text, "  free_%u: %d\n", i, FREE_SIZE);
}

static void put_result(struct buf *out, const struct profile_port *port, const char *form)
{
  struct shape shape = shape_of(port);
  buf_format(out, "    type: %s\n", form);
  if (strcmp(form, "feature") == 0)
    buf_text(out, "    # check: labels are a line for each class, in the model's order\n"
                  "    # parameters:\n"
                  "    #   labels: labels.txt\n");
  else if (strcmp(form, "boxes") == 0)
    buf_format(out,
               "    parameters:  # check: docs/evaluate.md has those of known detectors\n"
               "      format: cxcywh\n"
               "      transposed: %s\n"
               "      score_threshold: 0.001\n"
               "      iou_threshold: 0.6\n",
               shape.sizes[1] > 0 && (shape.sizes[2] < 0 || shape.sizes[1] < shape.sizes[2]) ? "true" : "false");
}

static void put_ports(struct draft *draft, bool is_output)
{
  struct buf *out = &draft->text;
  bool is_first = true;
  for (size_t i = 0; i < draft->ports.list.count; i++) {
    const struct profile_port *port = &draft->ports.list.items[i];
    if (port->is_output != is_output)
      continue;
    if (is_first)
      buf_text(out, is_output ? "outputs:\n" : "inputs:\n");
    is_first = false;
    put_string(out, "  - name: ", port->name);
    if (port->name == draft->picture)
      put_picture(out, port);
    else if (port->name == draft->result)
      put_result(out, port, draft->form);
    else
      put_plain(draft, port);
  }
}

// The model's path as the manifest in the folder of `output` has it. NULL: it is not there any more.
static const char *path_from(const char *model, const char *output, struct arena *arena)
{
  const char *end = strrchr(output, '/');
  char *folder SCOPED(scoped_free) =
      realpath(end == NULL ? "." : arena_format(arena, "%.*s/", (int)(end - output), output), NULL);
  char *file SCOPED(scoped_free) = realpath(model, NULL);
  size_t length = folder != NULL ? strlen(folder) : 0;
  bool is_below = file != NULL && folder != NULL && strncmp(file, folder, length) == 0 && file[length] == '/';
  const char *path = file == NULL ? model : arena_format(arena, "%s", is_below ? file + length + 1 : file);
  return path;
}

// As manifests are named: letters, digits and ._+-, at most 100, a letter or digit first.
static const char *clean_name(const char *name, struct arena *arena)
{
  while (*name != 0 && !isalnum((unsigned char)*name))
    name++;
  name = name[0] != 0 ? name : "model";
  char *clean = arena_copy(arena, name, strnlen(name, NAME_MOST));
  for (char *at = clean; *at != 0; at++)
    if (!isalnum((unsigned char)*at) && strchr("._+-", *at) == NULL)
      *at = '_';
  return clean;
}

static void put_manifest(struct draft *draft, const char *output)
{
  static const char *const tasks[][2] = {
      {"feature", "image classification"}, {"boxes", "object detection"}, {"mask", "semantic segmentation"}};
  struct buf *out = &draft->text;
  struct arena *arena = draft->ports.arena;
  const struct runner_options *runner = &draft->profile.runner;
  const char *task = draft->manifest != NULL ? draft->manifest->task : NULL;
  for (size_t i = 0; i < sizeof tasks / sizeof tasks[0] && task == NULL; i++)
    if (draft->picture != NULL && draft->form != NULL && strcmp(draft->form, tasks[i][0]) == 0)
      task = tasks[i][1];
  buf_text(
      out,
      "# Written by xsp manifest init. Lines with `check` are usual values, not the model's own: docs/evaluate.md\n");
  put_string(out, "name: ", clean_name(draft->profile.name, arena)); // 123 without quotes is a number
  put_string(out, "version: ", draft->manifest != NULL ? draft->manifest->version : "1.0");
  buf_format(out, "task: %s\nframework:\n  name: %s\nmodel:\n", task != NULL ? task : "other",
             draft->profile.variants[0].predictor);
  put_string(
      out, runner->weights_path != NULL ? "  graph_path: " : "  path: ", path_from(runner->model_path, output, arena));
  if (runner->weights_path != NULL)
    put_string(out, "  weights_path: ", path_from(runner->weights_path, output, arena));
  put_ports(draft, false);
  put_ports(draft, true);
  if (draft->form != NULL && draft->result == NULL)
    buf_format(out,
               "outputs:  # check: %s does not report them; other types are boxes, mask and text\n"
               "  - type: feature\n",
               draft->profile.variants[0].predictor);
  put_dims(draft);
}

// ---- the verb --------------------------------------------------------------------------------------------------------
static enum status print(const struct draft *draft, enum report_format format, struct error *err)
{
  struct table table = {.id = "manifest", .title = "inputs and outputs of the model"};
  struct table_builder builder;
  table_start(&builder, draft->ports.arena);
  for (size_t i = 0; i < draft->ports.list.count; i++) {
    const struct profile_port *port = &draft->ports.list.items[i];
    table_row(&builder);
    table_put(&builder, "kind", cell_text(port->is_output ? "output" : "input"));
    table_put(&builder, "name", cell_text(port->name));
    table_put(&builder, "type", cell_text(port->type));
    table_put(&builder, "shape", cell_text(port->shape));
    table_put(&builder, "taken_as",
              cell_text(port->name == draft->picture  ? "image"
                        : port->name == draft->result ? draft->form
                                                      : NULL));
  }
  table_answer(&builder, &table);
  return output_tables(&table, 1, format, false, err);
}

static enum status init(const struct invocation *invocation, struct draft *draft, enum report_format format,
                        struct error *err)
{
  struct arena *arena = draft->ports.arena;
  struct profile_options *profile = &draft->profile;
  XSP_TRY(profile_model(invocation, invocation->arguments[1], arena, profile, &draft->manifest, err));
  XSP_TRY(profile_runner(invocation, &profile->runner, arena, err));
  profile->runner.predictor = profile->variants[0].predictor;
  profile->runner.library = profile->variants[0].library;
  XSP_TRY(profile_ports_read(&profile->runner, 0, &draft->ports, err));
  guess(draft);
  const char *output = invocation_value(invocation, "output");
  if (output == NULL)
    output = arena_format(arena, "%s.yml", clean_name(profile->name, arena));
  put_manifest(draft, output);
  XSP_TRY(output_file(output, draft->text.data, draft->text.length, invocation_has(invocation, "force"), err));
  bool is_stdout = strcmp(output, "-") == 0;
  if (!is_stdout)
    XSP_TRY(print(draft, format, err));
  if (draft->form == NULL)
    output_message("xsp: %s is for xsp profile: xsp evaluate needs an input of pictures and an output that it can read",
                   is_stdout ? "the manifest" : output);
  else if (!is_stdout)
    output_note("xsp: wrote %s; look at its lines with `check`, then: xsp evaluate %s --data FOLDER", output, output);
  return STATUS_OK;
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  enum report_format format;
  if (strcmp(invocation->arguments[0], "init") != 0)
    return error_set(err, STATUS_USE, "wrong use", invocation->arguments[0], "xsp manifest init MODEL",
                     "xsp manifest does not know this word");
  if (invocation->argument_count < 2)
    return error_set(err, STATUS_USE, "wrong use", "init", "xsp manifest init MODEL", "it takes a model");
  XSP_TRY(verb_reader_format(invocation, &format, err));
  struct arena arena SCOPED(arena_done) = {0};
  struct draft draft = {.ports.arena = &arena};
  enum status status = init(invocation, &draft, format, err);
  vector_done(&draft.ports.list);
  buf_done(&draft.text);
  return status;
}

static const struct option_description options[] = {
    {"output", 'o', "FILE.yml", NULL, 0,
     "The manifest to write. Default: the model's name, in the current folder. -: stdout, without the table."},
    OPTION_FORCE,
    {"framework", 0, "NAME", NULL, 0, "The model's framework. Default: by its file."},
    {"library", 0, "NAME=PATH", NULL, OPTION_REPEATABLE, "A framework's library, or a folder with it."},
    {0},
};
static const struct verb_example examples[] = {
    {"xsp manifest init model.onnx", "writes model.yml"},
    {"xsp evaluate model.yml --data pictures/", "then measures how often the model is right"},
    {0},
};

const struct verb verb_manifest = {
    .name = "manifest",
    .summary = "write the manifest that evaluate needs, from a model",
    .synopsis = "init MODEL [-o FILE.yml] [OPTION...]",
    .description =
        "Opens the model in its framework and writes a manifest with its inputs and outputs, and the steps around a "
        "prediction. What no model says of itself has a usual value and a comment that begins with `check`: order of "
        "colors, mean and scale, size of pictures, labels, format of boxes. MODEL is a model as `xsp profile` takes "
        "it; of a manifest, its model.",
    .least_arguments = 1,
    .most_arguments = 2,
    .options = options,
    .is_reader = true,
    .examples = examples,
    .see_also = "evaluate, profile, check",
    .run = run,
};

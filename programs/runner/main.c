// SPDX-License-Identifier: Apache-2.0
// xsp-runner: the process in which a framework runs. Started by `xsp profile`, one per level set; answers its requests on
// a socket and ends when that closes. Whatever a framework does (abort, hang, take all memory) happens here, not in xsp.
#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/folder.h"
#include "format/protocol.h"
#include "frameworks/frameworks.h"
#include "programs/runner/arguments.h"
#include "programs/runner/control.h"
#include "programs/runner/inputs.h"
#include "programs/runner/outputs.h"
#include "programs/runner/pictures.h"
#include "programs/runner/process.h"
#include "programs/runner/results.h"
#include "programs/runner/samples.h"
#include <xsp/tracer.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define BATCH_MAXIMUM (1 << 20)

XSP_SITE_FULL(load_site, XSP_LEVEL_APPLICATION, "load model", "load", "runner");
XSP_SITE_FULL(prepare_site, XSP_LEVEL_APPLICATION, "prepare inputs", "preprocess", "runner");
XSP_SITE_FULL(preprocess_site, XSP_LEVEL_APPLICATION, "preprocess", "preprocess", "runner");
XSP_SITE_FULL(postprocess_site, XSP_LEVEL_APPLICATION, "postprocess", "postprocess", "runner");

struct runner {
  struct runner_arguments arguments;
  struct arena arena;
  const struct predictor *predictor;
  struct predictor_model model;
  bool is_open, was_asked_to_end;
  struct inputs inputs;
  struct pictures pictures; // of the coming `infer`
  struct code code;         // around it
  struct samples samples;   // of queries
  uint64_t arrival_ns;      // of the query, CLOCK_MONOTONIC; 0: it does not wait
  struct xsp_site *site;    // of the model span; NULL without a session
  uint16_t interval_track;  // of inferences that are not made in this process; 0: none yet
  uint64_t first_ticks;     // with first_ns: how long a tick is
  uint64_t first_ns;
};

// ---- the process -----------------------------------------------------------------------------------------------------

// A framework that prints must not write into data; one that dies must neither leave a core file nor take xsp with it.
static void prepare_process(void)
{
  int null_fd = open("/dev/null", O_RDWR);
  if (null_fd >= 0) {
    dup2(null_fd, 0);
    if (fcntl(2, F_GETFD) < 0)
      dup2(null_fd, 2);
    if (null_fd > 2)
      close(null_fd);
  }
  dup2(2, 1);
  // One byte: too little for a file, and the one value for which the kernel leaves out a core handler, too. Not being
  // dumpable would take our own /proc away from us where xsp is not run by root.
  setrlimit(RLIMIT_CORE, &(struct rlimit){1, 1});
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd >= 0) {
    ssize_t ignored = write(fd, "800", 3);
    (void)ignored;
    close(fd);
  }
}

static int64_t ticks_to_ns(const struct runner *runner, uint64_t ticks)
{
  uint64_t ticks_passed = xsp_clock_ticks() - runner->first_ticks,
           ns_passed = clock_now_ns(CLOCK_MONOTONIC) - runner->first_ns;
  return ticks_passed == 0 ? 0 : (int64_t)((double)ticks * (double)ns_passed / (double)ticks_passed);
}

// ---- the requests ----------------------------------------------------------------------------------------------------

// The file's name without folder and ending.
static void model_name(const char *path, char *name, size_t size)
{
  const char *base = basename(path);
  const char *dot = strstr(base, ".script.txt") != NULL ? strchr(base, '.') : strrchr(base, '.');
  size_t length = dot != NULL && dot != base ? (size_t)(dot - base) : strlen(base);
  snprintf(name, size, "%.*s", (int)length, base);
}

static enum status choose_predictor(struct runner *runner, struct error *err)
{
  const char *path = runner->arguments.options.model_path, *name = runner->arguments.predictor;
  runner->predictor = name != NULL ? predictor_find(name) : predictor_for_file(path);
  if (runner->predictor != NULL)
    return STATUS_OK;
  if (name != NULL)
    return error_set(err, STATUS_USE, "wrong use of xsp-runner", "--predictor", "xsp check", "unknown predictor: %s",
                     name);
  return error_set(err, STATUS_USE, "cannot open model", path, "--predictor NAME",
                   "no predictor is known for files of this name");
}

static enum status open_model(struct runner *runner, struct error *err)
{
  XSP_TRY(choose_predictor(runner, err));
  struct xsp_span span = xsp_span_start(&load_site);
  enum status status =
      predictor_open(runner->predictor, &runner->arguments.options, &runner->arena, &runner->model, err);
  xsp_span_finish(&span);
  XSP_TRY(status);
  runner->is_open = true;
  XSP_TRY(expectations_apply(&runner->model, runner->arguments.expectations, runner->arguments.expectation_count, err));
  char name[NAME_MAX + 1];
  model_name(runner->arguments.options.model_path, name, sizeof name);
  runner->site = xsp_site_create("runner", XSP_LEVEL_MODEL, name, NULL);
  return STATUS_OK;
}

static enum status read_batch(const char *text, int64_t *ret_batch, struct error *err)
{
  char *end = NULL;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != 0 || value < 1 || value > BATCH_MAXIMUM)
    return error_set(err, STATUS_USE, "cannot make inputs", "--batch", NULL, "no batch size: %s", text);
  *ret_batch = value;
  return STATUS_OK;
}

static enum status make_inputs(struct runner *runner, int64_t batch, struct error *err)
{
  XSP_TRY(inputs_prepare(&runner->inputs, &runner->model, &runner->arguments, batch, err));
  runner->model.batch = batch;
  if (runner->predictor->prepare == NULL)
    return STATUS_OK;
  enum status status = runner->predictor->prepare(&runner->model, runner->inputs.tensors, err);
  if (status != STATUS_OK)
    inputs_done(&runner->inputs); // nothing is prepared
  return status;
}

// The inputs are made once for a batch size, not for each inference: tag `once`.
static enum status prepare(struct runner *runner, int64_t batch, struct error *err)
{
  if (runner->predictor->resume != NULL)
    XSP_TRY(runner->predictor->resume(&runner->model, err));
  if (runner->inputs.batch == batch)
    return STATUS_OK;
  struct xsp_span span = xsp_span_start(&prepare_site);
  xsp_span_tag_int(&span, "batch_size", batch);
  xsp_span_tag_int(&span, "once", 1);
  enum status status = make_inputs(runner, batch, err);
  xsp_span_finish(&span);
  return status;
}

static uint64_t listener_ticks(const struct runner *runner)
{
  return runner->model.own_ticks != NULL ? runner->model.own_ticks() : 0;
}

static struct xsp_span emit_interval(struct runner *runner, struct xsp_site *site,
                                     const struct predictor_interval *interval)
{
  if (runner->interval_track == 0) {
    const struct xsp_track_options options = {
        .size = sizeof options, .name = runner->model.framework, .device_id = -1, .stream_id = -1};
    runner->interval_track = xsp_track_create(&options);
  }
  const struct xsp_interval emitted = {
      .size = sizeof emitted,
      .track = runner->interval_track,
      .kind = XSP_KIND_SYNC,
      .clock = runner->model.reported.is_realtime ? XSP_CLOCK_REALTIME : XSP_CLOCK_MONOTONIC,
      .start = interval->start_ns,
      .end = interval->end_ns,
  };
  return xsp_span_emit(site, &emitted);
}

static void tag_model(struct xsp_span *span, const struct runner *runner, uint64_t start_ns)
{
  const struct predictor_model *model = &runner->model;
  xsp_span_tag_int(span, "batch_size", model->batch);
  if (runner->arrival_ns != 0)
    xsp_span_tag_int(span, "wait_ns", (int64_t)(start_ns - runner->arrival_ns));
  if (model->is_warmup)
    xsp_span_tag_int(span, "warmup", 1);
  if (model->is_cold)
    xsp_span_tag_int(span, "cold", 1);
}

// One inference in another process: its span has that process's times, without the transport.
static enum status predict_elsewhere(struct runner *runner, struct error *err)
{
  struct predictor_model *model = &runner->model;
  XSP_TRY(runner->predictor->predict(model, runner->inputs.tensors, err));
  if (model->reported.preprocess.end_ns != 0)
    emit_interval(runner, &preprocess_site, &model->reported.preprocess);
  struct xsp_span span = emit_interval(runner, runner->site, &model->reported.model);
  if (model->reported.is_realtime) // another clock than that of the arrival
    runner->arrival_ns = 0;
  tag_model(&span, runner, model->reported.model.start_ns);
  xsp_span_tag_int(&span, "own_ns", 0);
  xsp_span_tag_int(&span, "transport_ns", (int64_t)model->reported.transport_ns);
  model->model_span = xsp_span_context(&span);
  if (model->reported.postprocess.end_ns != 0)
    emit_interval(runner, &postprocess_site, &model->reported.postprocess);
  return STATUS_OK;
}

// One inference inside one model span. `kind` as in the protocol: "0", "1" or "cold". own_ns is what xsp's code took between its start and its end.
static enum status predict(struct runner *runner, int64_t batch, const char *kind, struct error *err)
{
  XSP_TRY(prepare(runner, batch, err));
  runner->model.is_cold = strcmp(kind, "cold") == 0;
  runner->model.is_warmup = runner->model.is_cold || strcmp(kind, "1") == 0;
  if (runner->predictor->publishes_model)
    return runner->predictor->predict(&runner->model, runner->inputs.tensors, err);
  if (runner->predictor->tells_times)
    return predict_elsewhere(runner, err);
  uint64_t listener_before = listener_ticks(runner);
  struct xsp_span span = xsp_span_start(runner->site);
  uint64_t begin = xsp_clock_ticks();
  tag_model(&span, runner, runner->arrival_ns != 0 ? clock_now_ns(CLOCK_MONOTONIC) : 0);
  runner->model.model_span = xsp_span_context(&span);
  uint64_t own = xsp_clock_ticks() - begin;
  enum status status = runner->predictor->predict(&runner->model, runner->inputs.tensors, err);
  own += listener_ticks(runner) - listener_before;
  xsp_span_tag_int(&span, "own_ns", ticks_to_ns(runner, own));
  xsp_span_finish(&span);
  return status;
}

// The inputs' values are others than before.
static enum status refresh(struct runner *runner, struct error *err)
{
  return runner->predictor->refresh != NULL ? runner->predictor->refresh(&runner->model, runner->inputs.tensors, err)
                                            : STATUS_OK;
}

// An inference whose input is made of the pictures, and what is found in `output`; NULL: nothing.
static enum status infer(struct runner *runner, const char *kind, const char *output, struct error *err)
{
  int64_t batch = (int64_t)runner->pictures.paths.count;
  if (runner->predictor->read_output == NULL)
    return error_set(err, STATUS_INPUT, "cannot read the scores", runner->predictor->name,
                     "another framework (xsp check)", "the predictor does not hand out outputs");
  if (batch == 0)
    return error_set(err, STATUS_USE, "wrong use of xsp-runner", "infer", NULL, "there are no pictures");
  XSP_TRY(prepare(runner, batch, err));
  XSP_TRY(pictures_fill(&runner->pictures, &runner->arguments, &runner->code, &runner->inputs, err));
  runner->model.keep_outputs = true;
  XSP_TRY(refresh(runner, err));
  XSP_TRY(predict(runner, batch, kind, err));
  if (output != NULL)
    XSP_TRY(results_send(runner->predictor, &runner->model, &runner->arguments, &runner->pictures, &runner->code,
                         output, err));
  pictures_clear(&runner->pictures);
  xsp_tracers_flush();
  return STATUS_OK;
}

// Prepares the pictures and keeps them for queries.
static enum status load(struct runner *runner, struct error *err)
{
  size_t count = runner->pictures.paths.count;
  struct tensor *tensor = NULL;
  if (count == 0)
    return error_set(err, STATUS_USE, "wrong use of xsp-runner", "load", NULL, "there are no pictures");
  XSP_TRY(prepare(runner, (int64_t)count, err));
  XSP_TRY(pictures_fill(&runner->pictures, &runner->arguments, &runner->code, &runner->inputs, err));
  XSP_TRY(pictures_input(&runner->arguments, &runner->inputs, count, &tensor, err));
  pictures_clear(&runner->pictures);
  return samples_add(&runner->samples, tensor, count, err);
}

// One inference of loaded pictures, from `first` on, once its time has come.
static enum status query(struct runner *runner, char **fields, struct error *err)
{
  int64_t count = 0;
  struct tensor *tensor = NULL;
  XSP_TRY(read_batch(fields[4], &count, err));
  XSP_TRY(prepare(runner, count, err));
  XSP_TRY(pictures_input(&runner->arguments, &runner->inputs, (size_t)count, &tensor, err));
  runner->arrival_ns = strtoull(fields[2], NULL, 10);
  if (runner->arrival_ns != 0)
    samples_wait(runner->arrival_ns);
  XSP_TRY(samples_take(&runner->samples, strtoull(fields[3], NULL, 10), (size_t)count, tensor, err));
  runner->model.keep_outputs = false;
  XSP_TRY(refresh(runner, err));
  XSP_TRY(predict(runner, count, fields[1], err));
  runner->arrival_ns = 0;
  xsp_tracers_flush();
  return STATUS_OK;
}

static void describe_tensors(int fd, const char *kind, const struct tensor_info *infos, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    char type[16], shape[EXPECTATION_SHAPE_SIZE] = "-";
    snprintf(type, sizeof type, "%d", (int)infos[i].type);
    if (!infos[i].has_no_shape)
      expectation_shape(&infos[i], shape, sizeof shape);
    control_send(fd, (const char *const[]){kind, infos[i].name, type, shape}, 4);
  }
}

static enum status answer(struct runner *runner, char *line, struct error *err)
{
  char *fields[PROTOCOL_FIELDS];
  size_t count = protocol_parse(line, fields);
  const char *request = count > 0 ? fields[0] : "(malformed)";
  int64_t batch = 0;
  if (count == 1 && strcmp(request, "quit") == 0) {
    runner->was_asked_to_end = true;
    return STATUS_OK;
  }
  if (count == 2 && strcmp(request, "prepare") == 0) {
    XSP_TRY(read_batch(fields[1], &batch, err));
    return prepare(runner, batch, err);
  }
  if (count == 3 && strcmp(request, "predict") == 0) {
    XSP_TRY(read_batch(fields[1], &batch, err));
    XSP_TRY(predict(runner, batch, fields[2], err));
    xsp_tracers_flush(); // what belongs to this inference is read before the next
    return STATUS_OK;
  }
  if ((count == 2 || count == 3 || count == 7) && strcmp(request, "picture") == 0)
    return pictures_add(&runner->pictures, fields + 1, count - 1, err);
  if ((count == 2 || count == 3) && strcmp(request, "infer") == 0)
    return infer(runner, fields[1], count == 3 ? fields[2] : NULL, err);
  if (count == 3 && strcmp(request, "read") == 0)
    return tensor_send(runner->predictor, &runner->model, &runner->inputs, fields[1], fields[2], &runner->arguments,
                       err);
  if (count == 1 && strcmp(request, "load") == 0)
    return load(runner, err);
  if (count == 5 && strcmp(request, "query") == 0)
    return query(runner, fields, err);
  if (count == 1 && strcmp(request, "describe") == 0) {
    describe_tensors(runner->arguments.control_fd, "input", runner->model.inputs, runner->model.input_count);
    describe_tensors(runner->arguments.control_fd, "output", runner->model.outputs, runner->model.output_count);
    layers_describe(&runner->model, runner->arguments.control_fd);
    return STATUS_OK;
  }
  if (count == 1 && strcmp(request, "flush") == 0)
    return runner->predictor->flush != NULL ? runner->predictor->flush(&runner->model, err) : STATUS_OK;
  return error_set(err, STATUS_USE, "wrong use of xsp-runner", NULL, NULL, "unknown request: %s", request);
}

// Of the cuDNN that the framework has loaded by now; it reports none itself. 0: none.
static size_t cudnn_version(void)
{
  static const char *const names[] = {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so.7"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    void *handle = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
    void *symbol = handle != NULL ? dlsym(handle, "cudnnGetVersion") : NULL;
    size_t (*version)(void) = NULL;
    memcpy(&version, &symbol, sizeof symbol);
    if (version != NULL)
      return version();
  }
  return 0;
}

static enum status serve(struct runner *runner, struct error *err)
{
  int fd = runner->arguments.control_fd;
  const struct predictor_model *model = &runner->model;
  char device_class[8], cudnn[24];
  snprintf(device_class, sizeof device_class, "%d", (int)model->device_class);
  snprintf(cudnn, sizeof cudnn, "%zu", cudnn_version());
  const char *ready[] = {"ready",
                         model->framework,
                         model->framework_version,
                         model->library_path,
                         model->layer_source,
                         model->note != NULL ? model->note : "",
                         model->device != NULL ? model->device : "",
                         device_class,
                         cudnn};
  bool is_connected = control_send(fd, ready, sizeof ready / sizeof ready[0]);
  static struct control_reader reader;
  reader.fd = fd;
  for (char *line; is_connected && (line = control_read(&reader)) != NULL;) {
    XSP_TRY(answer(runner, line, err));
    is_connected = !runner->was_asked_to_end && control_send(fd, (const char *const[]){"done"}, 1);
  }
  return STATUS_OK;
}

static enum status run(struct runner *runner, int count, char **values, struct error *err)
{
  XSP_TRY(arguments_parse(count, values, &runner->arena, &runner->arguments, err));
  fcntl(runner->arguments.control_fd, F_SETFD, FD_CLOEXEC);
  if (runner->arguments.values_fd >= 0)
    fcntl(runner->arguments.values_fd, F_SETFD, FD_CLOEXEC);
  orphan_watch(runner->arguments.control_fd, runner->arguments.options.work_directory);
  if (runner->arguments.affinity != NULL) // before the framework counts its cores
    XSP_TRY(affinity_set(runner->arguments.affinity, err));
  const char *session = getenv("XSP_SESSION");
  if (session != NULL && session[0] != 0) {
    int attached = xsp_attach(NULL);
    if (attached != 0)
      return error_set(err, STATUS_SYSTEM, "cannot join the capture session", session, "room in /dev/shm", "%s",
                       strerror(-attached));
    // The runner's stages are recorded at any level set; other tracers in this process follow the level set.
    xsp_tracer_set_levels("*", runner->arguments.options.level_mask);
    xsp_tracer_set_levels("runner", runner->arguments.options.level_mask | XSP_LEVEL_MASK(XSP_LEVEL_APPLICATION));
  }
  runner->first_ticks = xsp_clock_ticks();
  runner->first_ns = clock_now_ns(CLOCK_MONOTONIC);
  XSP_TRY(open_model(runner, err));
  XSP_TRY(code_start(&runner->code, &runner->arguments, err));
  placement_keep_clear();
  return serve(runner, err);
}

int main(int count, char **values)
{
  prepare_process();
  struct runner runner = {.arguments.control_fd = -1};
  struct error err = {0};
  enum status status = run(&runner, count, values, &err);
  if (status != STATUS_OK && runner.arguments.control_fd >= 0)
    control_send_error(runner.arguments.control_fd, &err);
  if (status != STATUS_OK && runner.arguments.control_fd < 0) {
    char line[2048];
    error_line(&err, line, sizeof line);
    fprintf(stderr, "%s\n", line);
  }
  if (runner.is_open)
    predictor_close(runner.predictor, &runner.model);
  inputs_done(&runner.inputs);
  pictures_done(&runner.pictures);
  code_stop(&runner.code);
  samples_done(&runner.samples);
  if (status == STATUS_OK && !runner.was_asked_to_end && runner.arguments.options.work_directory != NULL) // xsp is gone
    folder_remove_flat(runner.arguments.options.work_directory);
  arena_done(&runner.arena);
  return status_exit_code(status);
}

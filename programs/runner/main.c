// SPDX-License-Identifier: Apache-2.0
// xsp-runner: the process in which a framework runs. Started by `xsp profile`, one per level set; answers its requests on
// a socket and ends when that closes. Whatever a framework does (abort, hang, take all memory) happens here, not in xsp.
#include "base/clock.h"
#include "base/folder.h"
#include "base/scoped.h"
#include "format/protocol.h"
#include "programs/runner/control.h"
#include "programs/runner/outputs.h"
#include "programs/runner/process.h"
#include "programs/runner/runner.h"
#include <xsp/tracer.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

XSP_SITE_FULL(load_site, XSP_LEVEL_APPLICATION, "load model", "load", "runner");

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
  int fd SCOPED(scoped_close) = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd >= 0)
    (void)!write(fd, "800", 3);
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

static enum status choose_predictor(struct runner_state *runner, struct error *err)
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

static enum status open_model(struct runner_state *runner, struct error *err)
{
  XSP_TRY(choose_predictor(runner, err));
  struct xsp_span span = xsp_span_start(&load_site);
  enum status status =
      predictor_open(runner->predictor, &runner->arguments.options, &runner->arena, &runner->model, err);
  xsp_span_finish(&span);
  XSP_TRY(status);
  runner->is_open = true;
  XSP_TRY(expect_apply(&runner->model, runner->arguments.expectations, runner->arguments.expectation_count, err));
  char name[NAME_MAX + 1];
  model_name(runner->arguments.options.model_path, name, sizeof name);
  runner->site = xsp_site_create("runner", XSP_LEVEL_MODEL, name, NULL);
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

static enum status answer(struct runner_state *runner, char *line, struct error *err)
{
  char *fields[PROTOCOL_FIELDS];
  size_t count = protocol_parse(line, fields);
  const char *request = count > 0 ? fields[0] : "(malformed)";
  if (count == 1 && strcmp(request, "quit") == 0) {
    runner->was_asked_to_end = true;
    return STATUS_OK;
  }
  if (count == 2 && strcmp(request, "prepare") == 0)
    return inference_prepare(runner, fields[1], err);
  if (count == 3 && strcmp(request, "predict") == 0)
    return inference_predict(runner, fields[1], fields[2], err);
  if ((count == 2 || count == 3 || count == 7) && strcmp(request, "picture") == 0)
    return inference_pictures_add(&runner->pictures, fields + 1, count - 1, err);
  if ((count == 2 || count == 3) && strcmp(request, "infer") == 0)
    return inference_of_pictures(runner, fields[1], count == 3 ? fields[2] : NULL, err);
  if (count == 3 && strcmp(request, "read") == 0)
    return results_send_tensor(runner->predictor, &runner->model, &runner->inputs, fields[1], fields[2],
                               &runner->arguments, err);
  if (count == 1 && strcmp(request, "load") == 0)
    return inference_load(runner, err);
  if (count == 5 && strcmp(request, "query") == 0)
    return inference_query(runner, fields, err);
  if (count == 1 && strcmp(request, "describe") == 0) {
    describe_tensors(runner->arguments.control_fd, "input", runner->model.inputs, runner->model.input_count);
    describe_tensors(runner->arguments.control_fd, "output", runner->model.outputs, runner->model.output_count);
    inference_layers_describe(&runner->model, runner->arguments.control_fd);
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

static enum status serve(struct runner_state *runner, struct error *err)
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

static enum status run(struct runner_state *runner, int count, char **values, struct error *err)
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
  struct runner_state runner = {.arguments.control_fd = -1};
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
  inference_inputs_done(&runner.inputs);
  inference_pictures_done(&runner.pictures);
  code_stop(&runner.code);
  samples_done(&runner.samples);
  if (status == STATUS_OK && !runner.was_asked_to_end && runner.arguments.options.work_directory != NULL) // xsp is gone
    folder_remove_tree(runner.arguments.options.work_directory);
  arena_done(&runner.arena);
  return status_exit_code(status);
}

// SPDX-License-Identifier: Apache-2.0
// Cost of xsp in a real model: the model span, and the listener over ONNX Runtime's own profiling (its event source,
// the floor). One process runs SqueezeNet at batch 1 in four ways, in turn, so that drift of the machine's speed
// affects all equally. The figure is the CPU time of the one thread that runs everything; waiting for a core is not
// xsp's cost. The listener's part is the median of its differences to profiling alone in the same round, added to the
// cost of profiling (p10). Prints one JSON line per case.
#include "base/arena.h"
#include "base/error.h"
#include "frameworks/frameworks.h"
#include <xsp/span.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REPEATS 400
#define WARMUPS 20
#define BATCH 1

enum way { PLAIN, MODEL_SPAN, PROFILING, LISTENER, WAYS };
enum { OPEN_PLAIN, OPEN_PROFILING, OPEN_LISTENER, OPENS };

static const struct predictor *predictor;
static struct arena arena;
static struct predictor_model models[OPENS];
static struct tensor input;
static double times_ms[WAYS][REPEATS];
static char folder[] = "/tmp/xsp-bench-onnxruntime-XXXXXX";

static double cpu_ms(void)
{
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static _Noreturn void fail(const char *what)
{
  fprintf(stderr, "onnxruntime bench: %s\n", what);
  exit(1);
}

static void must(enum status status, const struct error *err)
{
  if (status == STATUS_OK)
    return;
  char line[2048];
  error_line(err, line, sizeof line);
  fail(line);
}

static const char *environment(const char *name)
{
  const char *value = getenv(name);
  if (value == NULL || value[0] == 0)
    fail("XSP_BUILD, XSP_SOURCE and XSP_PYTHON must be set");
  return value;
}

// The model is made by the project's Python, and ONNX Runtime is that environment's.
static void make_model(char *path, size_t size)
{
  const char *build = environment("XSP_BUILD"), *python = environment("XSP_PYTHON");
  char command[4096];
  snprintf(command, sizeof command, "'%s' '%s/tools/models.py' '%s/bench-models' --set test >&2", python,
           environment("XSP_SOURCE"), build);
  if (system(command) != 0)
    fail("the model cannot be made");
  snprintf(path, size, "%s/bench-models/squeezenet.onnx", build);
  if (getenv("VIRTUAL_ENV") == NULL) {
    snprintf(command, sizeof command, "%s", python);
    for (int i = 0; i < 2 && strrchr(command, '/') != NULL; i++) // …/bin/python3
      *strrchr(command, '/') = 0;
    setenv("VIRTUAL_ENV", command, 1);
  }
}

static void open_models(const char *path)
{
  struct error err = {0};
  char tracers[4096];
  snprintf(tracers, sizeof tracers, "%s/tracers", environment("XSP_BUILD"));
  uint32_t model_level = XSP_LEVEL_MASK(XSP_LEVEL_MODEL), layers = model_level | XSP_LEVEL_MASK(XSP_LEVEL_LAYER);
  struct predictor_options options[OPENS] = {
      [OPEN_PLAIN] = {.level_mask = model_level},
      [OPEN_PROFILING] = {.level_mask = layers, .force_profile_file = true},
      [OPEN_LISTENER] = {.level_mask = layers},
  };
  predictor = predictor_find("onnxruntime");
  for (int i = 0; i < OPENS; i++) {
    options[i].model_path = path;
    options[i].tracer_directory = tracers;
    options[i].work_directory = folder;
    options[i].threads = 1;
    must(predictor_open(predictor, &options[i], &arena, &models[i], &err), &err);
  }
  if (strcmp(models[OPEN_LISTENER].layer_source, "listener") != 0)
    fail("this ONNX Runtime is too old for the listener");
  input = (struct tensor){.info = &models[OPEN_PLAIN].inputs[0], .shape = {BATCH, 3, 224, 224}};
  size_t count = (size_t)BATCH * 3 * 224 * 224;
  float *data = malloc(count * sizeof *data);
  if (data == NULL)
    fail("out of memory");
  for (size_t i = 0; i < count; i++)
    data[i] = (float)(i * 2654435761u % 1000) / 500.0f - 1;
  input.data = data;
  input.size_bytes = count * sizeof *data;
}

static const int opened[WAYS] = {OPEN_PLAIN, OPEN_PLAIN, OPEN_PROFILING, OPEN_LISTENER};

static double run_once(enum way way)
{
  XSP_SITE_FULL(site, XSP_LEVEL_MODEL, "squeezenet", NULL, "runner");
  struct error err = {0};
  double begin = cpu_ms();
  if (way == MODEL_SPAN) { // as the runner does
    struct xsp_span span = xsp_span_start(&site);
    xsp_span_tag_int(&span, "batch_size", BATCH);
    must(predictor->predict(&models[opened[way]], &input, &err), &err);
    xsp_span_tag_int(&span, "own_ns", 0);
    xsp_span_finish(&span);
  } else {
    must(predictor->predict(&models[opened[way]], &input, &err), &err);
  }
  return cpu_ms() - begin;
}

static int compare(const void *left, const void *right)
{
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static double quantile(enum way way, double part)
{
  return times_ms[way][(size_t)(part * (REPEATS - 1))];
}

static double over_plain(enum way way, double part)
{
  return 100 * (quantile(way, part) / quantile(PLAIN, part) - 1);
}

// Another order every time: the previous way affects the caches.
static void shuffle(enum way order[WAYS])
{
  static uint64_t state = 88172645463325252u;
  for (unsigned i = WAYS - 1; i > 0; i--) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    unsigned other = (unsigned)(state % (i + 1));
    enum way moved = order[i];
    order[i] = order[other];
    order[other] = moved;
  }
}

static double median_difference(enum way way, enum way base)
{
  static double differences[REPEATS];
  for (int i = 0; i < REPEATS; i++)
    differences[i] = times_ms[way][i] - times_ms[base][i];
  qsort(differences, REPEATS, sizeof differences[0], compare);
  return differences[REPEATS / 2];
}

static void print_lines(double listener_ms)
{
  double floor = over_plain(PROFILING, 0.1), value = floor + 100 * listener_ms / quantile(PLAIN, 0.1);
  double divisor = floor > 0.1 ? floor : 0.1; // on a noisy machine the floor may be 0
  printf(
      "{\"bench\":\"overhead/onnxruntime-layers\",\"case\":\"squeezenet b1\",\"value\":%.2f,\"unit\":\"%%\","
      "\"floor\":%.2f,\"ratio\":%.3f,\"target\":%.3f,\"median_value\":%.2f,\"median_floor\":%.2f,\"plain_ms\":%.3f}\n",
      value, floor, value / divisor, (divisor + 1) / divisor, over_plain(LISTENER, 0.5), over_plain(PROFILING, 0.5),
      quantile(PLAIN, 0.1));
  double with = quantile(MODEL_SPAN, 0.1), plain = quantile(PLAIN, 0.1);
  printf("{\"bench\":\"overhead/model-level\",\"case\":\"squeezenet b1\",\"value\":%.4f,\"unit\":\"ms\",\"floor\":%.4f,"
         "\"ratio\":%.4f,\"target\":1.01,\"median_value\":%.4f,\"median_floor\":%.4f}\n",
         with, plain, with / plain, quantile(MODEL_SPAN, 0.5), quantile(PLAIN, 0.5));
}

int main(void)
{
  char path[4096], session[64], command[128];
  struct error err = {0};
  if (mkdtemp(folder) == NULL)
    fail("no work folder");
  snprintf(session, sizeof session, "/dev/shm/xsp-bench-onnxruntime-%d", (int)getpid());
  make_model(path, sizeof path);
  if (xsp_attach(session) != 0)
    fail("no capture session");
  open_models(path);
  for (int i = 0; i < WARMUPS; i++)
    for (int way = 0; way < WAYS; way++)
      run_once((enum way)way);
  enum way order[WAYS] = {PLAIN, MODEL_SPAN, PROFILING, LISTENER};
  for (int i = 0; i < REPEATS; i++) {
    shuffle(order);
    for (int k = 0; k < WAYS; k++) {
      must(predictor->predict(&models[opened[order[k]]], &input, &err), &err); // loads its weights into the caches
      times_ms[order[k]][i] = run_once(order[k]);
    }
  }
  double listener_ms = median_difference(LISTENER, PROFILING);
  for (int way = 0; way < WAYS; way++)
    qsort(times_ms[way], REPEATS, sizeof times_ms[way][0], compare);
  print_lines(listener_ms);
  for (int i = 0; i < OPENS; i++)
    predictor_close(predictor, &models[i]);
  free(input.data);
  arena_done(&arena);
  snprintf(command, sizeof command, "rm -rf %s %s", folder, session);
  return system(command) != 0;
}

// SPDX-License-Identifier: Apache-2.0
// Cost of xsp in an unmodified program that runs SqueezeNet in ONNX Runtime's C API on one thread: CPU time of an
// inference with models recorded, and with their layers, against the same program alone and against ONNX Runtime's own
// session profiling (the floor of the layers). One process per way and round, the ways in turn in each round; figures
// are p10 over all inferences. Also the cost of a symbol lookup while dlsym is interposed. The program runs itself as
// the traced one. Prints one JSON line per case.
#include "base/error.h"
#include "base/library.h"
#include "frameworks/onnxruntime/abi.h"

#include <dlfcn.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 6
#define INFERENCES 40
#define WARMUPS 5
#define LOOKUPS 200000
#define SAMPLES (ROUNDS * INFERENCES)

enum way { PLAIN, MODELS, PROFILING, LAYERS, WAYS };
static const char *const way_names[WAYS] = {"plain", "models", "profiling", "layers"};
static char folder[] = "/tmp/xsp-bench-frameworks-XXXXXX";

static _Noreturn void fail(const char *what)
{
  fprintf(stderr, "frameworks bench: %s\n", what);
  exit(1);
}

static double now_ns(clockid_t clock)
{
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static const char *environment(const char *name)
{
  const char *value = getenv(name);
  if (value == NULL || value[0] == 0)
    fail("XSP_BUILD, XSP_SOURCE and XSP_PYTHON must be set");
  return value;
}

// ---- the traced program ----------------------------------------------------------------------------------------------

static struct ort_api api;

static void must(struct ort_status *status)
{
  if (status != NULL)
    fail(api.error_message(status));
}

static void *look_up(const char *library_path)
{
  void *library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL), *found = NULL;
  if (library == NULL)
    fail(dlerror());
  double begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < LOOKUPS; i++)
    found = dlsym(library, "OrtSessionOptionsAppendExecutionProvider_CPU");
  printf("lookup %.3f\n", (now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / LOOKUPS);
  if (found == NULL)
    fail("no such function");
  return dlsym(library, ORT_GET_API_BASE);
}

static int guest(const char *library_path, const char *model, bool profiles)
{
  void *symbol = look_up(library_path);
  ort_get_api_base_fn get_base;
  memcpy(&get_base, &symbol, sizeof get_base);
  uint32_t version = ort_api_version(get_base()->version_string());
  ort_api_load(get_base()->get_api(version), version, &api);
  struct ort_env *env = NULL;
  struct ort_session_options *options = NULL;
  struct ort_session *session = NULL;
  struct ort_memory_info *memory = NULL;
  struct ort_allocator *allocator = NULL;
  struct ort_value *input = NULL;
  char *input_name = NULL, *output_name = NULL;
  must(api.create_env(ORT_LOG_ERROR, "bench", &env));
  must(api.create_session_options(&options));
  must(api.set_intra_op_threads(options, 1));
  if (profiles)
    must(api.enable_profiling(options, "own"));
  must(api.create_session(env, model, options, &session));
  must(api.default_allocator(&allocator));
  must(api.input_name(session, 0, allocator, &input_name));
  must(api.output_name(session, 0, allocator, &output_name));
  must(api.create_cpu_memory_info(ORT_ALLOCATOR_ARENA, ORT_MEMORY_DEFAULT, &memory));
  const int64_t shape[] = {1, 3, 224, 224};
  static float data[3 * 224 * 224];
  for (size_t i = 0; i < sizeof data / sizeof data[0]; i++)
    data[i] = (float)(i * 2654435761u % 1000) / 500.0f - 1;
  must(api.create_tensor_over(memory, data, sizeof data, shape, 4, 1, &input));
  for (int i = -WARMUPS; i < INFERENCES; i++) {
    struct ort_value *output = NULL;
    double begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
    must(api.run(session, NULL, (const char *const[]){input_name}, (const struct ort_value *const[]){input}, 1,
                 (const char *const[]){output_name}, 1, &output));
    if (i >= 0)
      printf("run %.3f\n", (now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / 1e6);
    api.release_value(output);
  }
  api.release_session(session);
  return 0;
}

// ---- the rounds ------------------------------------------------------------------------------------------------------

static double times_ms[WAYS][SAMPLES], lookups_ns[WAYS][ROUNDS];

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
  return remove(path);
}

static void set_tracing(enum way way, int round)
{
  char text[8192];
  const char *build = environment("XSP_BUILD");
  if (way != MODELS && way != LAYERS)
    return;
  snprintf(text, sizeof text, "%s/session-%d-%d", folder, way, round);
  setenv("XSP_SESSION", text, 1);
  setenv("XSP_LEVELS", way == MODELS ? "M" : "M/L", 1);
  snprintf(text, sizeof text, "%s/tracers/onnxruntime.so", build);
  setenv("XSP_TRACERS", text, 1);
  snprintf(text, sizeof text, "%s/libxsp.so:%s/tracers/frameworks.so", build, build);
  setenv("LD_PRELOAD", text, 1);
}

static void run_way(enum way way, int round, const char *library, const char *model)
{
  int ends[2];
  if (pipe(ends) != 0)
    fail("no pipe");
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    if (chdir(folder) != 0)
      _exit(1);
    set_tracing(way, round);
    execl("/proc/self/exe", "frameworks", way_names[way], library, model, (char *)NULL);
    _exit(1);
  }
  close(ends[1]);
  FILE *lines = fdopen(ends[0], "r");
  char line[128];
  int count = 0, status = 0;
  while (lines != NULL && fgets(line, sizeof line, lines) != NULL) {
    double value = strchr(line, ' ') == NULL ? 0 : strtod(strchr(line, ' '), NULL);
    if (strncmp(line, "lookup", 6) == 0)
      lookups_ns[way][round] = value;
    else if (count < INFERENCES)
      times_ms[way][round * INFERENCES + count++] = value;
  }
  fclose(lines);
  if (waitpid(child, &status, 0) != child || status != 0 || count != INFERENCES)
    fail("the traced program failed");
}

static int compare(const void *left, const void *right)
{
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static void print_lines(void)
{
  for (int way = 0; way < WAYS; way++) {
    qsort(times_ms[way], SAMPLES, sizeof times_ms[way][0], compare);
    qsort(lookups_ns[way], ROUNDS, sizeof lookups_ns[way][0], compare);
  }
  const int p10 = SAMPLES / 10, middle = SAMPLES / 2;
  double plain = times_ms[PLAIN][p10];
  printf("{\"bench\":\"frameworks/onnxruntime-models\",\"case\":\"squeezenet b1, C program\",\"value\":%.4f,"
         "\"unit\":\"ms\",\"floor\":%.4f,\"ratio\":%.4f,\"target\":1.01,\"median_value\":%.4f,\"median_floor\":%.4f}\n",
         times_ms[MODELS][p10], plain, times_ms[MODELS][p10] / plain, times_ms[MODELS][middle],
         times_ms[PLAIN][middle]);
  double own = 100 * (times_ms[PROFILING][p10] / plain - 1), ours = 100 * (times_ms[LAYERS][p10] / plain - 1);
  printf("{\"bench\":\"frameworks/onnxruntime-layers\",\"case\":\"squeezenet b1, C program\",\"value\":%.2f,"
         "\"unit\":\"%%\",\"floor\":%.2f,\"ratio\":%.3f,\"target\":null,\"plain_ms\":%.4f,\"median_value\":%.2f,"
         "\"median_floor\":%.2f}\n",
         ours, own, ours / (own > 0.1 ? own : 0.1), plain,
         100 * (times_ms[LAYERS][middle] / times_ms[PLAIN][middle] - 1),
         100 * (times_ms[PROFILING][middle] / times_ms[PLAIN][middle] - 1));
  double look_up_plain = lookups_ns[PLAIN][ROUNDS / 2], look_up_ours = lookups_ns[LAYERS][ROUNDS / 2];
  printf("{\"bench\":\"frameworks/dlsym\",\"case\":\"a name that is no framework's\",\"value\":%.1f,\"unit\":\"ns\","
         "\"floor\":%.1f,\"ratio\":%.3f,\"target\":null}\n",
         look_up_ours, look_up_plain, look_up_ours / look_up_plain);
}

int main(int argument_count, char **arguments)
{
  if (argument_count == 4)
    return guest(arguments[2], arguments[3], strcmp(arguments[1], way_names[PROFILING]) == 0);
  const char *python = environment("XSP_PYTHON");
  char command[4096], model[4096];
  snprintf(model, sizeof model, "%s/bench-models/squeezenet.onnx", environment("XSP_BUILD"));
  snprintf(command, sizeof command, "'%s' '%s/tools/models.py' '%s/bench-models' --set test >&2", python,
           environment("XSP_SOURCE"), environment("XSP_BUILD"));
  if (system(command) != 0)
    fail("the model cannot be made");
  if (getenv("VIRTUAL_ENV") == NULL) {
    snprintf(command, sizeof command, "%s", python);
    for (int i = 0; i < 2 && strrchr(command, '/') != NULL; i++) // …/bin/python3
      *strrchr(command, '/') = 0;
    setenv("VIRTUAL_ENV", command, 1);
  }
  setenv("ORT_DISABLE_TELEMETRY", "1", 1);
  struct library library;
  struct error err = {0};
  const struct library_names names = {"onnxruntime", (const char *const[]){"libonnxruntime.so.1", NULL},
                                      "onnxruntime/capi/libonnxruntime.so*", "pip install onnxruntime"};
  if (library_open(&names, NULL, &library, &err) != STATUS_OK)
    fail(err.why);
  if (mkdtemp(folder) == NULL)
    fail("no work folder");
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < WAYS; i++)
      run_way((enum way)((i + round) % WAYS), round, library.path, model);
  print_lines();
  return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

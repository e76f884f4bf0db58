// SPDX-License-Identifier: Apache-2.0
// An ordinary program that runs a model in ONNX Runtime's C API; without xsp. Started by
// test_run_onnxruntime.py. It prints its results and the runtime's answers, so that two runs can be compared byte
// for byte.
//   run_onnxruntime MODE MODEL INFERENCES BATCH   (linked: -DLINKED; else the library is looked up: $ORT_LIBRARY)
#include "frameworks/onnxruntime/abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANK_MAXIMUM 8
#define THREADS 4

static struct ort_api api;
static struct ort_env *env;
static struct ort_memory_info *memory;
static struct ort_allocator *allocator;
static const char *model;
static int inferences;
static int64_t batch;

static void must(struct ort_status *status, const char *what)
{
  if (status == NULL)
    return;
  printf("%s: %d %s\n", what, api.error_code(status), api.error_message(status));
  exit(1);
}
#define MUST(call) must((call), #call)

#ifdef LINKED
extern const struct ort_api_base *OrtGetApiBase(void);
#endif

static void open_library(void)
{
  ort_get_api_base_fn get_base;
#ifdef LINKED
  get_base = OrtGetApiBase;
#else
  void *library = dlopen(getenv("ORT_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
  void *symbol = library == NULL ? NULL : dlsym(library, ORT_GET_API_BASE);
  memcpy(&get_base, &symbol, sizeof get_base);
  if (get_base == NULL) {
    printf("%s\n", dlerror());
    exit(1);
  }
#endif
  const struct ort_api_base *base = get_base();
  uint32_t version = ort_api_version(base->version_string());
  ort_api_load(base->get_api(version), version, &api);
  printf("ONNX Runtime %s\n", base->version_string());
  MUST(api.create_env(2, "test", &env));
  MUST(api.create_cpu_memory_info(ORT_ALLOCATOR_ARENA, ORT_MEMORY_DEFAULT, &memory));
  MUST(api.default_allocator(&allocator));
}

struct loaded {
  struct ort_session *session;
  char *input_name, *output_name;
  struct ort_value *input;
  float *data;
  size_t count;
};

static struct loaded load_model(const char *path, const struct ort_session_options *options)
{
  struct loaded loaded = {0};
  MUST(api.create_session(env, path, options, &loaded.session));
  MUST(api.input_name(loaded.session, 0, allocator, &loaded.input_name));
  MUST(api.output_name(loaded.session, 0, allocator, &loaded.output_name));
  struct ort_type_info *type = NULL;
  const struct ort_tensor_info *tensor = NULL;
  size_t rank = 0;
  int64_t shape[RANK_MAXIMUM] = {0};
  MUST(api.input_type(loaded.session, 0, &type));
  MUST(api.tensor_info_of(type, &tensor));
  MUST(api.dimension_count(tensor, &rank));
  if (rank > RANK_MAXIMUM)
    exit(1);
  MUST(api.dimensions(tensor, shape, rank));
  loaded.count = 1;
  for (size_t i = 0; i < rank; i++) {
    if (shape[i] < 0)
      shape[i] = i == 0 ? batch : 1;
    loaded.count *= (size_t)shape[i];
  }
  api.release_type_info(type);
  loaded.data = malloc(loaded.count * sizeof *loaded.data);
  if (loaded.data == NULL)
    exit(1);
  for (size_t i = 0; i < loaded.count; i++)
    loaded.data[i] = (float)(i * 2654435761u % 1000) / 500.0f;
  MUST(api.create_tensor_over(memory, loaded.data, loaded.count * sizeof *loaded.data, shape, rank, 1, &loaded.input));
  return loaded;
}

static void unload(struct loaded *loaded)
{
  api.release_value(loaded->input);
  api.release_session(loaded->session);
  MUST(api.allocator_free(allocator, loaded->input_name));
  MUST(api.allocator_free(allocator, loaded->output_name));
  free(loaded->data);
}

static void find_more(void);

// slot 51: the values; not in abi.h, because xsp never looks at them
static struct ort_status *(*tensor_data)(struct ort_value *, void **);
static struct ort_status *(*element_count)(const struct ort_tensor_info *, size_t *);

static uint64_t sum_of(struct ort_value *value)
{
  struct ort_tensor_info *info = NULL;
  size_t count = 0;
  void *data = NULL;
  MUST(api.tensor_info_of_value(value, &info));
  MUST(element_count(info, &count));
  MUST(tensor_data(value, &data));
  api.release_tensor_info(info);
  uint64_t sum = 14695981039346656037u;
  for (size_t i = 0; i < count * sizeof(float); i++)
    sum = (sum ^ ((unsigned char *)data)[i]) * 1099511628211u;
  return sum;
}

static uint64_t run_once(const struct loaded *loaded, const struct ort_run_options *options)
{
  const char *inputs[] = {loaded->input_name}, *outputs[] = {loaded->output_name};
  const struct ort_value *values[] = {loaded->input};
  struct ort_value *output = NULL;
  MUST(api.run(loaded->session, options, inputs, values, 1, outputs, 1, &output));
  uint64_t sum = sum_of(output);
  api.release_value(output);
  return sum;
}

static void run_all(const struct loaded *loaded, const struct ort_run_options *options)
{
  for (int i = 0; i < inferences; i++)
    printf("%016lx\n", run_once(loaded, options));
}

static void plain(void)
{
  struct loaded loaded = load_model(model, NULL);
  run_all(&loaded, NULL);
  unload(&loaded);
}

static void from_array(void)
{
  FILE *file = fopen(model, "rb");
  static char bytes[64 << 20];
  size_t size = file == NULL ? 0 : fread(bytes, 1, sizeof bytes, file);
  struct loaded loaded = load_model(model, NULL), other = loaded;
  MUST(api.create_session_from_array(env, bytes, size, NULL, &other.session));
  run_all(&other, NULL);
  api.release_session(other.session);
  unload(&loaded);
}

static void with_options(void)
{
  struct ort_session_options *options = NULL;
  struct ort_run_options *run_options = NULL;
  MUST(api.create_session_options(&options));
  MUST(api.set_intra_op_threads(options, 1));
  struct loaded loaded = load_model(model, options);
  api.release_session_options(options);
  for (int i = 0; i < 3; i++) {
    MUST(api.create_run_options(&run_options));
    run_all(&loaded, run_options);
    run_all(&loaded, NULL);
    api.release_run_options(run_options);
  }
  unload(&loaded);
}

static struct loaded shared;

static void *run_in_thread(void *options)
{
  uint64_t first = run_once(&shared, options);
  for (int i = 1; i < inferences; i++)
    if (run_once(&shared, options) != first)
      return NULL;
  return &shared;
}

static void threads(void)
{
  struct ort_run_options *options = NULL;
  MUST(api.create_run_options(&options));
  shared = load_model(model, NULL);
  pthread_t thread[THREADS];
  for (int i = 0; i < THREADS; i++)
    pthread_create(&thread[i], NULL, run_in_thread, i % 2 ? options : NULL);
  for (int i = 0; i < THREADS; i++) {
    void *same = NULL;
    pthread_join(thread[i], &same);
    printf("thread %d %s\n", i, same != NULL ? "done" : "differs");
  }
  api.release_run_options(options);
  unload(&shared);
}

static struct ort_status *(*create_binding)(struct ort_session *, struct ort_binding **);
static struct ort_status *(*bind_output)(struct ort_binding *, const char *, const struct ort_memory_info *);

static void binding(void)
{
  struct loaded loaded = load_model(model, NULL);
  struct ort_binding *bound = NULL;
  struct ort_run_options *options = NULL;
  MUST(api.create_run_options(&options));
  MUST(create_binding(loaded.session, &bound));
  MUST(api.bind_input(bound, loaded.input_name, loaded.input));
  MUST(bind_output(bound, loaded.output_name, memory));
  for (int i = 0; i < inferences; i++)
    MUST(api.run_with_binding(loaded.session, options, bound));
  puts("bound");
  api.release_binding(bound);
  api.release_run_options(options);
  unload(&loaded);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ended;

static void one_ended(void *data, struct ort_value **outputs, size_t count, struct ort_status *status)
{
  must(status, "asynchronous");
  pthread_mutex_lock(&lock);
  *(uint64_t *)data = sum_of(outputs[0]);
  ended++;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

static void later(void)
{
  struct ort_session_options *options = NULL;
  MUST(api.create_session_options(&options));
  MUST(api.set_intra_op_threads(options, 2));
  struct loaded loaded = load_model(model, options);
  const char *inputs[] = {loaded.input_name}, *outputs[] = {loaded.output_name};
  const struct ort_value *values[] = {loaded.input};
  struct ort_value *results[64] = {NULL};
  uint64_t sums[64];
  for (int i = 0; i < inferences && i < 64; i++)
    MUST(api.run_async(loaded.session, NULL, inputs, values, 1, outputs, 1, &results[i], one_ended, &sums[i]));
  pthread_mutex_lock(&lock);
  while (ended < inferences)
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < inferences; i++) {
    printf("%016lx\n", sums[i]);
    api.release_value(results[i]);
  }
  api.release_session_options(options);
  unload(&loaded);
}

static void many_sessions(void)
{
  for (int i = 0; i < 20; i++) {
    struct loaded one = load_model(model, NULL), two = load_model(model, NULL);
    printf("%016lx %016lx\n", run_once(&one, NULL), run_once(&two, NULL));
    unload(&one);
    printf("%016lx\n", run_once(&two, NULL));
    unload(&two);
  }
}

// The program profiles by itself: its file, its name, its content.
static void own_profile(void)
{
  struct ort_session_options *options = NULL;
  MUST(api.create_session_options(&options));
  MUST(api.enable_profiling(options, "own"));
  struct loaded loaded = load_model(model, options);
  struct ort_run_options *run_options = NULL;
  MUST(api.create_run_options(&run_options));
  run_all(&loaded, run_options);
  run_all(&loaded, NULL);
  char *path = NULL;
  MUST(api.end_profiling(loaded.session, allocator, &path));
  printf("%.4s\n", path);
  rename(path, "own.json");
  MUST(api.allocator_free(allocator, path));
  run_all(&loaded, run_options);
  MUST(api.end_profiling(loaded.session, allocator, &path));
  printf("ended again: \"%.4s\"\n", path);
  MUST(api.enable_run_profiling(run_options, "single"));
  run_all(&loaded, run_options);
  MUST(api.disable_run_profiling(run_options));
  run_all(&loaded, run_options);
  unload(&loaded);
}

static void wrong_input(void)
{
  struct loaded loaded = load_model(model, NULL);
  const char *inputs[] = {"no such input"}, *outputs[] = {loaded.output_name};
  const struct ort_value *values[] = {loaded.input};
  struct ort_value *output = NULL;
  struct ort_status *status = api.run(loaded.session, NULL, inputs, values, 1, outputs, 1, &output);
  printf("%d %s\n", api.error_code(status), api.error_message(status));
  api.release_status(status);
  run_all(&loaded, NULL);
  struct ort_session *session = NULL;
  status = api.create_session(env, "/nowhere.onnx", NULL, &session);
  printf("%d %s\n", api.error_code(status), api.error_message(status));
  api.release_status(status);
  unload(&loaded);
}

static void devices(void)
{
  plain();
  const struct ort_ep_device *const *list = NULL;
  size_t count = 0;
  MUST(api.ep_devices(env, &list, &count));
  for (size_t i = 0; i < count; i++)
    printf("%s\n", api.ep_device_name(list[i]));
}

static void fork_first(void)
{
  fflush(stdout);
  pid_t child = fork();
  plain();
  fflush(stdout);
  if (child == 0)
    _exit(0);
  waitpid(child, NULL, 0);
}

static void fork_later(void)
{
  plain();
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) { // a session of its own: the parent's threads are not here
    struct ort_session_options *options = NULL;
    MUST(api.create_session_options(&options));
    MUST(api.set_intra_op_threads(options, 1));
    struct loaded loaded = load_model(model, options);
    run_all(&loaded, NULL);
    fflush(stdout);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

static void killed(void)
{
  struct loaded loaded = load_model(model, NULL);
  run_all(&loaded, NULL);
  fflush(stdout);
  kill(getpid(), 9);
}

// The environment is released and made again, then the library is closed and opened again.
static void again(void)
{
  for (int i = 0; i < 6; i++) {
    plain();
    api.release_memory_info(memory);
    api.release_env(env);
#ifndef LINKED
    if (i >= 3) { // opened in open_library and in main
      void *library = dlopen(getenv("ORT_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
      for (int k = 0; library != NULL && k < 100 && dlclose(library) == 0; k++)
        ;
      printf("still there: %d\n", dlopen(getenv("ORT_LIBRARY"), RTLD_NOW | RTLD_NOLOAD) != NULL);
    }
#endif
    open_library();
    find_more();
  }
}

static long resident_kb(void)
{
  long all = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld %ld", &all, &resident) != 2)
    exit(1);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// Memory that inferences leak, after some that fill the caches.
static void grow(void)
{
  struct loaded loaded = load_model(model, NULL);
  for (int i = 0; i < inferences / 2; i++)
    run_once(&loaded, NULL);
  long before = resident_kb();
  for (int i = 0; i < inferences; i++)
    run_once(&loaded, NULL);
  printf("grew by %ld kB\n", resident_kb() - before);
  unload(&loaded);
}

static void find_more(void)
{
#ifdef LINKED
  const void *const *table = OrtGetApiBase()->get_api(12);
#else
  const void *const *table =
      ((ort_get_api_base_fn)dlsym(dlopen(getenv("ORT_LIBRARY"), RTLD_NOW), ORT_GET_API_BASE))()->get_api(12);
#endif
  memcpy(&tensor_data, &table[51], sizeof tensor_data);
  memcpy(&element_count, &table[64], sizeof element_count);
  memcpy(&create_binding, &table[134], sizeof create_binding);
  memcpy(&bind_output, &table[138], sizeof bind_output);
}

static const struct {
  const char *name;
  void (*run)(void);
} modes[] = {{"plain", plain},
             {"array", from_array},
             {"options", with_options},
             {"threads", threads},
             {"binding", binding},
             {"async", later},
             {"many", many_sessions},
             {"profile", own_profile},
             {"wrong", wrong_input},
             {"devices", devices},
             {"fork-first", fork_first},
             {"fork-later", fork_later},
             {"killed", killed},
             {"grow", grow},
             {"again", again}};

int main(int argument_count, char **arguments)
{
  if (argument_count != 5)
    return 2;
  model = arguments[2];
  inferences = atoi(arguments[3]);
  batch = atoi(arguments[4]);
  open_library();
  find_more();
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
    if (strcmp(arguments[1], modes[i].name) == 0) {
      modes[i].run();
      api.release_memory_info(memory);
      api.release_env(env);
      puts("end");
      return 0;
    }
  return 2;
}

// SPDX-License-Identifier: Apache-2.0
// Programs that the tests of `xsp run` trace, by their first argument:
//   layers N     N layers of two kernels each; kernels are announced to the fake tracer by hooks, as the runner's are
//   models N     the same, N times, each inside a model-level span
//   crossing     two threads, each with two layers that cross and launches where they do; one after the other where
//                XSP_SERIALIZE says so, as a program does whose tracers make its launches synchronous
//   lines        counts the lines of stdin
// Prints one line, and one on stderr; the exit status is the last argument's where there is one more.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xsp/span.h>

#define LAYERS_MOST 64
#define KERNELS 2
#define LAYER_NS 100000
#define KERNEL_NS 50000

struct xsp_script_hooks { // guest/frameworks/script/predictor.h: the fake tracer looks for it
  uint32_t size;
  void (*kernel_begin)(const char *name);
  void (*kernel_end)(const char *name);
};
XSP_API struct xsp_script_hooks xsp_script_hooks = {sizeof(struct xsp_script_hooks), NULL, NULL};

static void work(int64_t duration_ns)
{
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do
    clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < duration_ns);
}

// ---- layers and kernels ----------------------------------------------------------------------------------------------
static void kernel(const char *name)
{
  if (xsp_script_hooks.kernel_begin != NULL)
    xsp_script_hooks.kernel_begin(name);
  work(KERNEL_NS);
  if (xsp_script_hooks.kernel_end != NULL)
    xsp_script_hooks.kernel_end(name);
}

static void layers(int count)
{
  for (int i = 0; i < count && i < LAYERS_MOST; i++) {
    char name[32];
    snprintf(name, sizeof name, "layer%d", i);
    struct xsp_span span = xsp_span_start(xsp_site_create("app", XSP_LEVEL_LAYER, name, NULL));
    work(LAYER_NS);
    for (int k = 0; k < KERNELS; k++)
      kernel(k == 0 ? "gemm" : "bias");
    xsp_span_finish(&span);
  }
}

static void models(int count)
{
  XSP_SITE(model, XSP_LEVEL_MODEL, "net");
  for (int i = 0; i < count; i++) {
    struct xsp_span span = xsp_span_start(&model);
    layers(2);
    xsp_span_finish(&span);
  }
}

// ---- layers that cross -----------------------------------------------------------------------------------------------
static pthread_barrier_t turn; // launches of the two threads alternate, so that every execution has them in one order

struct crossing {
  int thread;
  int is_serial;
};

static uint64_t next_correlation;

static void launch(const struct crossing *crossing, const char *name, uint16_t device)
{
  XSP_SITE_FULL(call, XSP_LEVEL_KERNEL, "launch", "api", "app"); // its name belongs to no layer
  struct xsp_site *site = xsp_site_create("app", XSP_LEVEL_KERNEL, name, "kernel");
  uint64_t correlation = __atomic_add_fetch(&next_correlation, 1, __ATOMIC_RELAXED);
  for (int thread = 0; thread < 2; thread++) {
    if (!crossing->is_serial)
      pthread_barrier_wait(&turn);
    if (thread != crossing->thread)
      continue;
    struct xsp_span span = xsp_span_start(&call);
    xsp_span_correlate(&span, XSP_KIND_LAUNCH, correlation);
    uint64_t start = xsp_clock_ticks();
    work(1000);
    xsp_span_finish(&span);
    const struct xsp_interval interval = {.size = sizeof interval,
                                          .track = device,
                                          .kind = XSP_KIND_EXECUTION,
                                          .start = start,
                                          .end = xsp_clock_ticks(),
                                          .correlation_id = correlation};
    xsp_span_emit(site, &interval);
  }
}

static void *cross(void *argument)
{
  const struct crossing *crossing = argument;
  const struct xsp_track_options options = {
      .size = sizeof options, .name = "device", .device_id = crossing->thread, .stream_id = 0};
  uint16_t device = xsp_track_create(&options);
  char conv_name[32], relu_name[32], own_kernel[32];
  snprintf(conv_name, sizeof conv_name, "conv%d", crossing->thread);
  snprintf(relu_name, sizeof relu_name, "relu%d", crossing->thread);
  snprintf(own_kernel, sizeof own_kernel, "gemm%d", crossing->thread);
  struct xsp_span conv = xsp_span_start(xsp_site_create("app", XSP_LEVEL_LAYER, conv_name, NULL));
  struct xsp_span relu = {0, 0, 0};
  launch(crossing, own_kernel, device); // conv's
  if (!crossing->is_serial)
    relu = xsp_span_start(xsp_site_create("app", XSP_LEVEL_LAYER, relu_name, NULL));
  launch(crossing, own_kernel, device); // conv's, by the order of the program
  launch(crossing, "both", device);     // conv's
  if (!crossing->is_serial)
    launch(crossing, "once", device); // of either thread
  if (crossing->is_serial) {
    xsp_span_finish(&conv);
    relu = xsp_span_start(xsp_site_create("app", XSP_LEVEL_LAYER, relu_name, NULL));
  }
  launch(crossing, own_kernel, device); // relu's
  launch(crossing, "both", device);     // relu's
  xsp_span_finish(&conv);
  launch(crossing, own_kernel, device); // relu's
  xsp_span_finish(&relu);
  return NULL;
}

static void crossing(void)
{
  pthread_t threads[2];
  const char *text = getenv("XSP_SERIALIZE");
  int is_serial = text != NULL && strcmp(text, "1") == 0;
  struct crossing each[2] = {{0, is_serial}, {1, is_serial}};
  pthread_barrier_init(&turn, NULL, 2);
  for (int i = 0; i < 2; i++) {
    if (pthread_create(&threads[i], NULL, cross, &each[i]) != 0)
      exit(9);
    if (is_serial)
      pthread_join(threads[i], NULL);
  }
  for (int i = 0; i < 2 && !is_serial; i++)
    pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&turn);
}

int main(int count, char **arguments)
{
  const char *what = count > 1 ? arguments[1] : "";
  int number = count > 2 ? atoi(arguments[2]) : 1;
  long lines = 0;
  if (strcmp(what, "layers") == 0)
    layers(number);
  else if (strcmp(what, "models") == 0)
    models(number);
  else if (strcmp(what, "crossing") == 0)
    crossing();
  for (int byte; strcmp(what, "lines") == 0 && (byte = getchar()) != EOF;)
    lines += byte == '\n';
  printf("%s: %ld lines\n", what, lines);
  fprintf(stderr, "%s: working\n", what);
  return count > 3 ? atoi(arguments[3]) : 0;
}

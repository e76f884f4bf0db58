// SPDX-License-Identifier: Apache-2.0
// make_kineto COUNT FILE: a trace of at least COUNT events as PyTorch's profiler writes them, about 295 bytes per event,
// the same each time. Training steps of one model with 24 layers of four operators; each operator holds another, that
// launches one kernel:
//
//      ProfilerStep# ▸ nn.Module: Model_0 ▸ nn.Module: Layer_n ▸ aten::… ▸ aten::… ▸ cudaLaunchKernel ⋯▸ kernel
//
// Parents come after their children in the file, as the profiler does not sort.
#include "bench/measure.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define LAYERS 24
#define OPERATORS 4

static FILE *file;
static long written, wanted;

static const char *const operators[] = {
    "aten::linear", "aten::conv2d", "aten::layer_norm", "aten::scaled_dot_product_attention",
    "aten::gelu",   "aten::add_",   "aten::softmax",    "aten::matmul"};
static const char *const inner_operators[] = {
    "aten::addmm",       "aten::convolution", "aten::native_layer_norm", "aten::_efficient_attention_forward",
    "aten::gelu_kernel", "aten::add",         "aten::_softmax",          "aten::bmm"};
static const char *const kernels[] = {
    "ampere_sgemm_128x64_tn",
    "void cudnn::ops::nchwToNhwcKernel<float, float, float, true, false, (cudnnKernelDataType_t)2>",
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>",
    "fmha_cutlassF_f32_aligned_64x64_rf_sm80",
    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl, at::detail::Array<char*, 2> >",
    ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
     "at::detail::Array<char*, 3> >"),
    "void softmax_warp_forward<float, float, float, 8, false, false>",
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8"};

struct place { // of an event
  int process, thread;
  uint64_t start_ns, end_ns;
};

static uint64_t below(uint64_t limit)
{
  return next_random() % limit;
}

__attribute__((format(printf, 4, 5))) static void put_event(const char *category, const char *name, struct place place,
                                                            const char *arguments_format, ...)
{
  uint64_t length = place.end_ns - place.start_ns;
  fprintf(file,
          ",\n  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d,\n"
          "    \"ts\": %" PRIu64 ".%03" PRIu64 ", \"dur\": %" PRIu64 ".%03" PRIu64 ",\n    \"args\": {\n      ",
          category, name, place.process, place.thread, place.start_ns / 1000, place.start_ns % 1000, length / 1000,
          length % 1000);
  va_list arguments;
  va_start(arguments, arguments_format);
  vfprintf(file, arguments_format, arguments);
  va_end(arguments);
  fputs("\n    }\n  }", file);
  written++;
}

static void put_kernel(int correlation, const char *name, uint64_t start_ns, uint64_t end_ns)
{
  int registers = (int)below(255), shared = (int)below(65536), blocks = (int)below(9), thousandths = (int)below(1000);
  int warps = (int)below(64), width = (int)below(1024), height = (int)below(16), occupancy = (int)below(100);
  put_event("kernel", name, (struct place){0, 7, start_ns, end_ns},
            "\"External id\": %d,\"queued\": 0, \"device\": 0, \"context\": 1,\n"
            "      \"stream\": 7, \"correlation\": %d,\n"
            "      \"registers per thread\": %d,\n"
            "      \"shared memory\": %d,\n"
            "      \"blocks per SM\": %d.%03d,\n"
            "      \"warps per SM\": %d,\n"
            "      \"grid\": [%d, %d, 1],\n"
            "      \"block\": [128, 1, 1],\n"
            "      \"est. achieved occupancy %%\": %d",
            correlation * 3, correlation, registers, shared, blocks, thousandths, warps, width, height, occupancy);
}

static struct place host(uint64_t start_ns, uint64_t end_ns)
{
  return (struct place){100, 100, start_ns, end_ns};
}

// One operator with its launch and kernel; returns the time at which the host continues.
static uint64_t put_operator(uint64_t now, uint64_t *device_free, int correlation)
{
  uint64_t kind = below(8);
  uint64_t outer = now;
  uint64_t inner = outer + 800 + below(700);
  uint64_t call = inner + 700 + below(500);
  now = call + 2500 + below(1500);
  put_event("cuda_runtime", "cudaLaunchKernel", host(call, now),
            "\"External id\": %d,\"cbid\": 211, \"correlation\": %d", correlation * 3, correlation);
  uint64_t start = *device_free > now ? *device_free + 500 : now + 1500;
  *device_free = start + 3000 + below(40000);
  put_kernel(correlation, kernels[kind], start, *device_free);
  now += 300 + below(300);
  int rows = (int)below(4096), columns = (int)below(4096), bias = (int)below(4096);
  put_event("cpu_op", inner_operators[kind], host(inner, now),
            "\"External id\": %d,\"Ev Idx\": %d,\"Input Dims\": [[%d, %d], [%d]], "
            "\"Input type\": [\"float\", \"float\"]",
            correlation * 3, correlation * 3, rows, columns, bias);
  now += 200 + below(200);
  put_event("cpu_op", operators[kind], host(outer, now), "\"External id\": %d,\"Ev Idx\": %d", correlation * 3 - 1,
            correlation * 3 - 1);
  return now + 500;
}

static void put_steps(void)
{
  uint64_t now = 1000000000, device_free = now;
  int correlation = 1;
  char name[64];
  for (int step = 0; written < wanted; step++) {
    uint64_t step_start = now;
    uint64_t model_start = now + 2000;
    now = model_start + 1000;
    for (int layer = 0; layer < LAYERS && written < wanted; layer++) {
      uint64_t layer_start = now;
      now += 1500;
      for (int i = 0; i < OPERATORS; i++)
        now = put_operator(now, &device_free, correlation++);
      snprintf(name, sizeof name, "nn.Module: Layer_%d", layer);
      put_event("python_function", name, host(layer_start, now), "\"Python id\": %d, \"Python parent id\": %d",
                correlation, step);
      now += 700;
    }
    put_event("python_function", "nn.Module: Model_0", host(model_start, now), "\"Python id\": 1");
    now += 1000;
    snprintf(name, sizeof name, "ProfilerStep#%d", step);
    put_event("user_annotation", name, host(step_start, now), "\"External id\": 0");
    now += 5000;
  }
}

int main(int count, char **arguments)
{
  if (count != 3) {
    fputs("usage: make_kineto COUNT FILE\n", stderr);
    return 2;
  }
  wanted = strtol(arguments[1], NULL, 10);
  file = fopen(arguments[2], "wb");
  if (file == NULL) {
    perror(arguments[2]);
    return 3;
  }
  setvbuf(file, NULL, _IOFBF, 1 << 20);
  fputs("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": \"SYNTH\"}],\n"
        "  \"displayTimeUnit\": \"ms\",\n  \"traceEvents\": [\n"
        "  {\"name\": \"process_name\", \"ph\": \"M\", \"ts\": 0, \"pid\": 100, \"tid\": 0, \"args\": {\"name\": "
        "\"python\"}}",
        file);
  put_steps();
  fputs("\n  ]\n}\n", file);
  if (fclose(file) != 0) {
    perror(arguments[2]);
    return 3;
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// What the tracer needs of PyTorch, in C, for tests without PyTorch: test_pytorch.py builds libtorch_cpu.so from it, and with
// -DPROGRAM a program that is linked against it. Operators run where the program says; the environment's STAND_IN_LAYOUT says
// where at::RecordFunction keeps its fields.
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS 40
struct record { // at::RecordFunction
  const char *name;
  uint64_t words[WORDS];
};
struct callback {
  void *(*start)(void **ret_context, const struct record *record);
  void (*end)(const struct record *record, void *context);
  double probability;
  bool scopes[10], needs_inputs, needs_outputs, needs_ids;
};
void torch_run(const char *name, int scope, int64_t sequence, uint64_t forward_thread, void (*inside)(void));
void torch_number_thread(uint64_t number);
void torch_range_begins(const char *name);
void torch_range_ends(void);
void torch_allocate(size_t bytes);
void torch_allocate_on(int type, int index, int64_t bytes, size_t total);
void torch_allocate_at(uintptr_t address, int type, int index, int64_t bytes, size_t total);

#ifndef PROGRAM

#define API(result, name, mangled, parameters)                                                                         \
  result name parameters __asm__(mangled);                                                                             \
  result name parameters

static struct callback callbacks[16];
static unsigned count;
static bool is_enabled = true;
static int64_t next_sequence;
static __thread uint64_t thread_number = 7;

static unsigned place(bool of_thread) // of the sequence number, and the forward thread
{
  const char *layout = getenv("STAND_IN_LAYOUT");
  bool is_moved = layout != NULL && strcmp(layout, "moved") == 0;
  return of_thread ? (is_moved ? 30 : 20) : is_moved ? 11 : 5;
}

API(uint64_t, add_callback, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", (struct callback callback))
{
  callbacks[count++] = callback;
  return count;
}
API(const char *, record_name, "_ZNK2at14RecordFunction4nameEv", (const struct record *record))
{
  return record->name;
}
API(uint64_t, current_thread, "_ZN2at14RecordFunction15currentThreadIdEv", (void))
{
  return thread_number;
}
void torch_number_thread(uint64_t number)
{
  thread_number = number;
}
API(void, construct, "_ZN2at14RecordFunctionC1ENS_11RecordScopeE", (struct record * record, uint8_t scope))
{
  const char *layout = getenv("STAND_IN_LAYOUT");
  memset(record, 0, sizeof *record);
  if (layout == NULL || strcmp(layout, "none") != 0)
    record->words[place(false)] = UINT64_MAX;
  if (is_enabled)
    puts("seen"); // a profiler of the program would have
}
API(void, destroy, "_ZN2at14RecordFunctionD1Ev", (struct record * record))
{
}
API(void, enable, "_ZN2at20enableRecordFunctionEb", (bool is_on))
{
  is_enabled = is_on;
}
API(bool, enabled, "_ZN2at23isRecordFunctionEnabledEv", (void))
{
  return is_enabled;
}
API(uint64_t, peek, "_ZN2at15sequence_number4peekEv", (void))
{
  const char *layout = getenv("STAND_IN_LAYOUT");
  return (uint64_t)next_sequence + (layout != NULL && strcmp(layout, "wrong") == 0);
}
API(bool, profiles_memory, "_ZN3c1022memoryProfilingEnabledEv", (void))
{
  return false;
}
struct framework_device { // c10::Device
  int8_t type, index;
};
API(void, report_memory, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
    (void *address, int64_t bytes, size_t total, size_t reserved, struct framework_device device))
{
}
API(void, note_block, "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm", (void *reporter, void *address, size_t bytes))
{
}

static void begin(struct record *record, const char *name, int scope, int64_t sequence, uint64_t forward_thread)
{
  is_enabled = false;
  construct(record, (uint8_t)scope);
  is_enabled = true;
  record->name = name;
  record->words[place(false)] = (uint64_t)sequence;
  record->words[place(true) - 1] = thread_number;
  record->words[place(true)] = forward_thread;
  next_sequence = sequence > next_sequence ? sequence : next_sequence;
  void *context;
  for (unsigned i = 0; i < count; i++)
    if (callbacks[i].scopes[scope])
      callbacks[i].start(&context, record);
}

static void end(struct record *record, int scope)
{
  for (unsigned i = 0; i < count; i++)
    if (callbacks[i].scopes[scope])
      callbacks[i].end(record, NULL);
}

void torch_run(const char *name, int scope, int64_t sequence, uint64_t forward_thread, void (*inside)(void))
{
  struct record record;
  begin(&record, name, scope, sequence, forward_thread);
  if (inside != NULL)
    inside();
  end(&record, scope);
}

static struct record later; // a range that ends when the program says so
void torch_range_begins(const char *name)
{
  begin(&later, name, 7, -1, 0);
}
void torch_range_ends(void)
{
  end(&later, 7);
}

void torch_allocate(size_t bytes)
{
  if (!profiles_memory())
    note_block(NULL, NULL, bytes);
}

// As allocators of devices do, where memory is profiled.
void torch_allocate_at(uintptr_t address, int type, int index, int64_t bytes, size_t total)
{
  if (profiles_memory())
    report_memory((void *)address, bytes, total, total, (struct framework_device){(int8_t)type, (int8_t)index});
}

void torch_allocate_on(int type, int index, int64_t bytes, size_t total)
{
  torch_allocate_at(0, type, index, bytes, total);
}

#else

static void multiply(void)
{
  torch_allocate(64);
  torch_run("aten::mm", 0, 5, 0, NULL);
}

static void engine_step(void)
{
  torch_run("MmBackward0", 1, 5, 7, NULL);
}

static void range(void)
{
  torch_run("aten::relu", 0, 6, 0, NULL);
}

static void post(void)
{
  torch_range_begins("gloo:send");
}

static void wait_for_it(void)
{
  torch_run("aten::mm", 0, 5, 0, NULL);
  torch_range_ends();
}

static void gather(void)
{
  torch_run("gloo:all_gather", 7, -1, 0, NULL);
}

static void reduce(void)
{
  torch_run("gloo:all_reduce", 7, -1, 0, NULL);
}

static void start_gather(void)
{
  torch_run("c10d::_allgather_base_", 0, -1, 0, gather);
}

static void start_reduce_scatter(void)
{
  torch_run("c10d::_reduce_scatter_base_", 0, -1, 0, reduce);
}

static void reduce_bucket(void)
{
  torch_run("torch::autograd::AccumulateGrad", 1, -1, 0, NULL);
  torch_run("torch::autograd::AccumulateGrad", 1, -1, 0, NULL);
  torch_run("c10d::allreduce_", 0, -1, 0, reduce);
}

// Two that stay, and between them many that do not.
static void blocks(void)
{
  torch_allocate_at(64, 0, -1, 8, 8);
  for (unsigned i = 0; i < 10000; i++) {
    torch_allocate_at(4096 + 64 * i, 0, -1, 16, 24);
    torch_allocate_at(4096 + 64 * i, 0, -1, -16, 8);
  }
  torch_allocate_at(128, 0, -1, 32, 40);
  torch_allocate_at(128, 1, 0, -32, 0); // of a GPU
}

// A child releases a block of its parent's, and allocates one of its own.
static void fork_with_blocks(void)
{
  torch_allocate_at(64, 0, -1, 8, 8);
  torch_allocate_at(128, 0, -1, 8, 16);
  pid_t child = fork();
  if (child == 0) {
    torch_allocate_at(64, 0, -1, -8, 8);
    torch_allocate_at(192, 0, -1, 8, 16);
    exit(0);
  }
  waitpid(child, NULL, 0);
}

static void *relu_on_another_thread(void *argument)
{
  torch_number_thread(8);
  torch_run("aten::relu", 0, 6, 0, NULL);
  return argument;
}

// The first backward operator runs where its forward operator did; the second one's thread has its number, too.
static void run_threads(void)
{
  pthread_t thread;
  torch_run("aten::mm", 0, 5, 0, NULL);
  torch_run("MmBackward0", 1, 5, 7, NULL);
  torch_run("aten::add", 0, 6, 0, NULL);
  pthread_create(&thread, NULL, relu_on_another_thread, NULL);
  pthread_join(thread, NULL);
  torch_run("ReluBackward0", 1, 6, 8, NULL);
}

int main(int argc, char **argv)
{
  if (argc > 1 && strcmp(argv[1], "threads") == 0) {
    run_threads();
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "fork") == 0) {
    torch_run("aten::linear", 0, 5, 0, fork_with_blocks);
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "exchange") == 0) {
    torch_run("c10d::send", 0, -1, 0, post);
    torch_run("mine", 7, -1, 0, wait_for_it);
    torch_run("part 0", 7, -1, 0, NULL);
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "collectives") == 0) {
    torch_run("FSDP::all_gather (layers.0)", 7, -1, 0, start_gather);
    torch_run("FSDP::post_backward_reduce (layers.1)", 7, -1, 0, start_reduce_scatter);
    torch_run("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 0, -1, 0, reduce_bucket);
    torch_run("c10d::allreduce_", 0, -1, 0, reduce);
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "blocks") == 0) {
    torch_run("aten::linear", 0, 5, 0, blocks);
    puts("1");
    return 0;
  }
  torch_run("aten::linear", 0, 5, 0, multiply);
  torch_run("mine", 7, -1, 0, range);
  torch_allocate_on(0, -1, 100, 100); // a CPU
  torch_allocate_on(1, 0, 200, 200);  // two GPUs
  torch_allocate_on(1, 1, 300, 300);
  torch_allocate_on(1, 1, -300, 0);
  torch_run("part 0", 7, -1, 0, NULL);
  torch_run("part 1", 7, -1, 0, NULL);
  torch_run("autograd::engine::evaluate_function: MmBackward0", 0, -1, 0, engine_step);
  printf("%d\n", dlsym(RTLD_DEFAULT, "_ZN3c1022memoryProfilingEnabledEv") != NULL);
  return 0;
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Cost of an NVTX range in the traced program, through the vendor's own headers and our tool, against a span of our own
// in the same run; switched off; and without any tool. Prints JSON lines for bench/run.py; everything else goes to
// stderr.
#include <stdio.h>

#if !__has_include(<nvtx3/nvToolsExt.h>)
int main(void)
{
  fprintf(stderr, "nvtx: not measured, NVTX's headers are not installed\n");
  return 0;
}
#else
#include <dirent.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xsp/span.h>

#define RANGES 300000L // per measurement
#define REPETITIONS 15 // odd
#define TEXTS 1024

XSP_SITE(site, XSP_LEVEL_APPLICATION, "span");

static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t registered;
struct all_reduce {
  uint64_t communicator;
  size_t bytes;
  int32_t operation;
};
static uint64_t schema_id;
static char texts[TEXTS][160], sizes[TEXTS][48];
static const volatile uint32_t zero;

typedef void (*loop_fn)(long count);

__attribute__((noinline)) static void loop_span(long count)
{
  for (long i = 0; i < count; i++) {
    struct xsp_span span = xsp_span_start(&site);
    __asm__ volatile("" ::: "memory");
    xsp_span_finish(&span);
  }
}

__attribute__((noinline)) static void loop_literal(long count)
{
  for (long i = 0; i < count; i++) {
    nvtxRangePushA("a range of the program");
    __asm__ volatile("" ::: "memory");
    nvtxRangePop();
  }
}

__attribute__((noinline)) static void loop_registered(long count)
{
  for (long i = 0; i < count; i++) {
    nvtxDomainRangePushEx(domain, &registered);
    __asm__ volatile("" ::: "memory");
    nvtxDomainRangePop(domain);
  }
}

// PyTorch's range per operator: the same name with other numbers, in a buffer of its own.
__attribute__((noinline)) static void loop_operator(long count)
{
  for (long i = 0; i < count; i++) {
    nvtxRangePushA(texts[i % TEXTS]);
    __asm__ volatile("" ::: "memory");
    nvtxRangePop();
  }
}

__attribute__((noinline)) static void loop_payload(long count)
{
  nvtxEventAttributes_t event = registered;
  event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  for (long i = 0; i < count; i++) {
    event.payload.llValue = i;
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
  }
}

// As NCCL calls it: a communicator, a size and an operation.
__attribute__((noinline)) static void loop_schema(long count)
{
  struct all_reduce call = {0xc0ffee, 0, 1};
  nvtxPayloadData_t data = {schema_id, sizeof call, &call};
  nvtxEventAttributes_t event = registered;
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.reserved0 = 1;
  event.payload.ullValue = NVTX_POINTER_AS_PAYLOAD_ULLVALUE(&data);
  for (long i = 0; i < count; i++) {
    call.bytes = (size_t)i;
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
  }
}

__attribute__((noinline)) static void loop_one_tag(long count)
{
  for (long i = 0; i < count; i++) {
    struct xsp_span span = xsp_span_start(&site);
    xsp_span_tag_int(&span, "payload", i);
    xsp_span_finish(&span);
  }
}

// The same span and tags as loop_operator leaves, by hand.
__attribute__((noinline)) static void loop_tagged_span(long count)
{
  for (long i = 0; i < count; i++) {
    struct xsp_span span = xsp_span_start(&site);
    xsp_span_tag_int(&span, "sequence", i);
    xsp_span_tag_int(&span, "op_id", i);
    xsp_span_tag_string(&span, "sizes", sizes[i % TEXTS]);
    xsp_span_finish(&span);
  }
}

__attribute__((noinline)) static void loop_two_flags(long count)
{
  for (long i = 0; i < count; i++) {
    if (__builtin_expect(zero != 0, 0))
      abort();
    __asm__ volatile("" ::: "memory");
    if (__builtin_expect(zero != 0, 0))
      abort();
  }
}

static double measure(loop_fn loop, long count)
{
  struct timespec begin, end;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  loop(count);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / (double)count;
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void compare_loops(const char *name, loop_fn subject, loop_fn floor_loop, const char *target)
{
  double values[REPETITIONS], floors[REPETITIONS];
  measure(subject, RANGES / 10);
  measure(floor_loop, RANGES / 10);
  for (int i = 0; i < REPETITIONS; i++) {
    floors[i] = measure(floor_loop, RANGES);
    values[i] = measure(subject, RANGES);
  }
  qsort(values, REPETITIONS, sizeof values[0], compare);
  qsort(floors, REPETITIONS, sizeof floors[0], compare);
  double value = values[REPETITIONS / 2], floor_value = floors[REPETITIONS / 2];
  printf("{\"bench\":\"nvtx/range\",\"case\":\"%s\",\"value\":%.4g,\"unit\":\"ns/range\",\"floor\":%.4g,\"ratio\":%.4g,"
         "\"target\":%s,\"peers\":{}}\n",
         name, value, floor_value, value / floor_value, target);
  fflush(stdout);
}

static void remove_folder(const char *folder)
{
  char path[512];
  DIR *directory = opendir(folder);
  for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    unlink(path);
  }
  if (directory != NULL)
    closedir(directory);
  rmdir(folder);
}

static void measure_without_tool(void)
{
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) { // NVTX looks for its tool once a process
    compare_loops("no tool, against two flag tests", loop_literal, loop_two_flags, "null");
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

static int prepare(const char *folder, const char *build)
{
  char tool[512];
  snprintf(tool, sizeof tool, "%s/tracers/nvtx.so", build);
  setenv("NVTX_INJECTION64_PATH", tool, 1);
  setenv("XSP_FLIGHT_RECORDER", "1", 1); // rings without a consumer
  if (xsp_attach(folder) != 0)
    return -1;
  for (int i = 0; i < TEXTS; i++) {
    snprintf(sizes[i], sizeof sizes[i], "[[%d, 64], [64, 128], []]", i % 32);
    snprintf(texts[i], sizeof texts[i], "aten::addmm, seq = %d, op_id = %d, sizes = %.47s", 1000 + i, 5000 + i,
             sizes[i]);
  }
  domain = nvtxDomainCreateA("bench");
  registered.version = NVTX_VERSION;
  registered.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  registered.message.registered = nvtxDomainRegisterStringA(domain, "a registered range");
  static const nvtxPayloadSchemaEntry_t entries[] = {
      {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "communicator", NULL, 0, 0, NULL, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "bytes", NULL, 0, offsetof(struct all_reduce, bytes), NULL, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "operation", NULL, 0, offsetof(struct all_reduce, operation), NULL, NULL},
  };
  nvtxPayloadSchemaAttr_t schema = {0};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries;
  schema.numEntries = sizeof entries / sizeof entries[0];
  schema.payloadStaticSize = sizeof(struct all_reduce);
  schema_id = nvtxPayloadSchemaRegister(domain, &schema);
  return domain == NULL || schema_id == 0 ? -1 : 0;
}

int main(void)
{
  char folder[64];
  const char *build = getenv("XSP_BUILD");
  snprintf(folder, sizeof folder, "/dev/shm/xsp-bench-nvtx-%d", (int)getpid());
  unsetenv("XSP_SESSION");
  unsetenv("NVTX_INJECTION64_PATH");
  measure_without_tool();
  if (build == NULL || prepare(folder, build) != 0) {
    fprintf(stderr, "nvtx: no session in /dev/shm, or no tracers/nvtx.so in XSP_BUILD\n");
    remove_folder(folder);
    return 1;
  }
  compare_loops("literal text, against a span", loop_literal, loop_span, "1.1");
  compare_loops("registered string, against a span", loop_registered, loop_span, "1.1");
  compare_loops("registered string and a number, against a span with a tag", loop_payload, loop_one_tag, "null");
  compare_loops("payload of three fields by schema, against a span with three tags", loop_schema, loop_tagged_span,
                "null");
  compare_loops("operator with seq, op_id and sizes, against a span with three tags", loop_operator, loop_tagged_span,
                "null");
  xsp_tracer_set_levels("nvtx", XSP_LEVEL_MASK(XSP_LEVEL_MODEL));
  compare_loops("operator whose level is off, against two flag tests", loop_operator, loop_two_flags, "null");
  xsp_tracer_set_levels("nvtx", 0);
  compare_loops("switched off, against two flag tests", loop_literal, loop_two_flags, "null");
  remove_folder(folder);
  return 0;
}
#endif

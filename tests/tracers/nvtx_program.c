// SPDX-License-Identifier: Apache-2.0
// Uses all of NVTX through the vendor's own headers: NVTX_PROGRAM SECTION. Built by test_nvtx.py if the headers are
// installed. With -DLIBRARY it is a library with an NVTX of its own. Ends with 1 and a line if NVTX answers wrongly.
#include <dlfcn.h>
#include <errno.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

void in_library(nvtxDomainHandle_t domain, nvtxStringHandle_t string);

#ifdef LIBRARY
__attribute__((visibility("default"))) void in_library(nvtxDomainHandle_t domain, nvtxStringHandle_t string)
{
  nvtxEventAttributes_t event = {0};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = string;
  nvtxRangePushA("in the library");
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainRangePop(domain);
  nvtxRangePop();
}
#else

#define DEMAND(truth)                                                                                                  \
  do {                                                                                                                 \
    if (!(truth)) {                                                                                                    \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #truth);                                              \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

static nvtxEventAttributes_t text_event(const char *text)
{
  nvtxEventAttributes_t event = {0};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = text;
  return event;
}

static void core(void)
{
  nvtxInitialize(NULL);
  nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "the main thread");
  DEMAND(nvtxRangePushA("plain") == 0);
  DEMAND(nvtxRangePushW(L"wide \u00fc\u20ac\U0001f600") == 1);
  nvtxEventAttributes_t event = text_event("with attributes");
  event.category = 3;
  nvtxNameCategoryA(3, "input");
  event.colorType = NVTX_COLOR_ARGB;
  event.color = 0xff00ff00;
  event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  event.payload.dValue = 0.5;
  DEMAND(nvtxRangePushEx(&event) == 2);
  DEMAND(nvtxRangePop() == 2 && nvtxRangePop() == 1 && nvtxRangePop() == 0);
  DEMAND(nvtxRangePop() < 0);
  nvtxMarkA("mark a");
  nvtxMarkW(L"mark w");
  event = text_event("mark ex");
  event.category = 4;
  nvtxNameCategoryW(4, L"w\u00f6rter");
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  event.payload.ullValue = UINT64_MAX;
  nvtxMarkEx(&event);
  nvtxRangeId_t a = nvtxRangeStartA("start a"), w = nvtxRangeStartW(L"start w");
  event = text_event("start ex");
  event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
  event.payload.iValue = -4;
  nvtxRangeId_t ex = nvtxRangeStartEx(&event);
  DEMAND(a != 0 && w != 0 && ex != 0 && a != w && w != ex);
  nvtxRangeEnd(a);
  nvtxRangeEnd(ex);
  nvtxRangeEnd(w);
  nvtxRangeEnd(12345);
  const int types[] = {NVTX_PAYLOAD_TYPE_INT64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32, NVTX_PAYLOAD_TYPE_FLOAT};
  const char *const names[] = {"int64", "uint32", "float"};
  for (int i = 0; i < 3; i++) {
    event = text_event(names[i]);
    event.payloadType = types[i];
    event.payload.llValue = -9;
    if (i == 1)
      event.payload.uiValue = UINT32_MAX;
    if (i == 2)
      event.payload.fValue = 1.5f;
    nvtxRangePushEx(&event);
    nvtxRangePop();
  }
  event = text_event(NULL); // no message at all
  event.messageType = NVTX_MESSAGE_UNKNOWN;
  nvtxRangePushEx(&event);
  nvtxRangePop();
  nvtxRangePushA(NULL);
  nvtxRangePop();
  event = text_event("of an older header");
  event.size = 16; // too short for a message
  nvtxRangePushEx(&event);
  nvtxRangePop();
}

static void domains(void)
{
  nvtxDomainHandle_t domain = nvtxDomainCreateA("mine"), wide = nvtxDomainCreateW(L"w\u00eede"),
                     nameless = nvtxDomainCreateA("");
  DEMAND(domain != NULL && wide != NULL && nameless != NULL && domain != wide);
  nvtxStringHandle_t string = nvtxDomainRegisterStringA(domain, "registered");
  nvtxStringHandle_t wide_string = nvtxDomainRegisterStringW(wide, L"wide registered \u20ac");
  DEMAND(string != NULL && wide_string != NULL);
  DEMAND(nvtxDomainRegisterStringA(domain, "registered") == string);
  nvtxEventAttributes_t event = text_event(NULL);
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = string;
  DEMAND(nvtxDomainRangePushEx(domain, &event) == 0);
  DEMAND(nvtxRangePushA("default") == 0); // nesting is a domain's own
  DEMAND(nvtxDomainRangePop(domain) == 0);
  DEMAND(nvtxRangePop() == 0);
  DEMAND(nvtxDomainRangePop(domain) < 0);
  event.category = 9; // of a number that has no name, and then one
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainRangePop(domain);
  nvtxDomainNameCategoryA(domain, 10, "io");
  nvtxDomainNameCategoryW(wide, 10, L"other");
  event.category = 10;
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainRangePop(domain);
  event.message.registered = wide_string;
  nvtxDomainRangePushEx(wide, &event);
  nvtxDomainRangePop(wide);
  event = text_event(NULL);
  event.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  event.message.unicode = L"unicode";
  nvtxRangeId_t id = nvtxDomainRangeStartEx(domain, &event);
  nvtxDomainRangeEnd(domain, id);
  nvtxDomainMarkEx(domain, &event);
  event = text_event("ncclAllReduce");
  nvtxDomainRangePushEx(nameless, &event);
  nvtxDomainRangePop(nameless);
  event = text_event("something else");
  nvtxDomainRangePushEx(nameless, &event);
  nvtxDomainRangePop(nameless);
  nvtxResourceAttributes_t resource = {0};
  resource.version = NVTX_VERSION;
  resource.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
  resource.identifierType = NVTX_RESOURCE_TYPE_GENERIC_POINTER;
  resource.identifier.pValue = &resource;
  nvtxResourceHandle_t handle = nvtxDomainResourceCreate(domain, &resource);
  DEMAND(handle != NULL);
  nvtxDomainResourceDestroy(handle);
  nvtxDomainDestroy(domain);
  event = text_event("after its end");
  nvtxDomainRangePushEx(nvtxDomainCreateA("mine"), &event);
  nvtxDomainRangePop(nvtxDomainCreateA("mine"));
}

// As NCCL does: schemas with numbers of its own, an enumeration, and events that carry them.
struct all_reduce {
  uint64_t communicator;
  size_t bytes;
  int operation;
};

// A text that cannot be read is left out, and errno stays the program's.
static void point_nowhere(nvtxDomainHandle_t domain, nvtxPayloadSchemaAttr_t schema)
{
  static const nvtxPayloadSchemaEntry_t pointed[] = {
      {NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "text", NULL, 0, 0, NULL, NULL},
  };
  const char *nowhere = (const char *)8;
  schema.entries = pointed;
  schema.numEntries = 1;
  nvtxPayloadData_t points = {nvtxPayloadSchemaRegister(domain, &schema), sizeof nowhere, &nowhere};
  errno = 0;
  nvtxMarkPayload(domain, &points, 1);
  DEMAND(errno == 0);
}

static void payloads(void)
{
  enum { ALL_REDUCE = 3, OPERATION = 11 };
  nvtxDomainHandle_t domain = nvtxDomainCreateA("NCCL");
  DEMAND(nvtxDomainIsEnabled(domain) == 1);
  static const nvtxPayloadEnum_t values[] = {{"Sum", 0, 0}, {"Product", 1, 0}, {"Max", 2, 0}};
  nvtxPayloadEnumAttr_t operation = {0};
  operation.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                        NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID;
  operation.entries = values;
  operation.numEntries = 3;
  operation.sizeOfEnum = sizeof(int);
  operation.schemaId = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + OPERATION;
  DEMAND(nvtxPayloadEnumRegister(domain, &operation) == NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + OPERATION);
  static const nvtxPayloadSchemaEntry_t entries[] = {
      {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", NULL, 0, 0, NULL, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]", NULL, 0, offsetof(struct all_reduce, bytes), NULL,
       NULL},
      {0, NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + OPERATION, "Reduction operation", NULL, 0,
       offsetof(struct all_reduce, operation), NULL, NULL},
  };
  nvtxPayloadSchemaAttr_t schema = {0};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries;
  schema.numEntries = 3;
  schema.payloadStaticSize = sizeof(struct all_reduce);
  schema.schemaId = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + ALL_REDUCE;
  DEMAND(nvtxPayloadSchemaRegister(domain, &schema) == NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + ALL_REDUCE);
  struct all_reduce call = {0xc0ffee, 1 << 20, 2};
  nvtxPayloadData_t data = {NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + ALL_REDUCE, sizeof call, &call};
  nvtxEventAttributes_t event = text_event("ncclAllReduce");
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.reserved0 = 1;
  event.payload.ullValue = NVTX_POINTER_AS_PAYLOAD_ULLVALUE(&data);
  DEMAND(nvtxDomainRangePushEx(domain, &event) == 0);
  DEMAND(nvtxDomainRangePop(domain) == 0);
  nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &event));

  // A dynamic schema whose first entry is the event's message.
  static const nvtxPayloadSchemaEntry_t with_message[] = {
      {NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "text", NULL, 16, 0, NULL, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "rank", NULL, 0, 0, NULL, NULL},
  };
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
  schema.entries = with_message;
  schema.numEntries = 2;
  struct {
    char text[16];
    int rank;
  } said = {"by its payload", 5};
  nvtxPayloadData_t says = {nvtxPayloadSchemaRegister(domain, &schema), sizeof said, &said};
  DEMAND(says.schemaId >= NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
  DEMAND(nvtxRangePushPayload(domain, &says, 1) == 0);
  nvtxPayloadData_t more = {NVTX_PAYLOAD_ENTRY_TYPE_INT32, sizeof said.rank, &said.rank};
  DEMAND(nvtxRangePopPayload(domain, &more, 1) == 0);
  strcpy(said.text, "started");
  nvtxRangeEndPayload(domain, nvtxRangeStartPayload(domain, &says, 1), &more, 1);
  strcpy(said.text, "said twice");
  nvtxRangePushPayload(domain, &says, 1);
  nvtxRangePopPayload(domain, &says, 1);
  nvtxRangeId_t started = nvtxRangeStartPayload(domain, &says, 1);
  said.rank = 6;
  nvtxRangeEndPayload(domain, started, &says, 1);
  said.rank = 5;
  strcpy(said.text, "marked");
  nvtxMarkPayload(domain, &says, 1);
  DEMAND(nvtxPayloadSchemaRegister(domain, NULL) == 0);
  point_nowhere(domain, schema);
}

static void counters(void)
{
  nvtxDomainHandle_t domain = nvtxDomainCreateA("counted");
  nvtxCounterAttr_t attributes = {0};
  attributes.structSize = sizeof attributes;
  attributes.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
  attributes.name = "queue";
  uint64_t queue = nvtxCounterRegister(domain, &attributes);
  attributes.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE;
  attributes.name = "load";
  attributes.counterId = NVTX_COUNTER_ID_STATIC_START + 5;
  uint64_t load = nvtxCounterRegister(domain, &attributes);
  DEMAND(queue != 0 && load == NVTX_COUNTER_ID_STATIC_START + 5);
  nvtxCounterSampleInt64(domain, queue, 12);
  nvtxCounterSampleFloat64(domain, load, 0.75);
  nvtxCounterSampleNoValue(domain, queue, NVTX_COUNTER_SAMPLE_ZERO);
  nvtxCounterSampleNoValue(domain, queue, NVTX_COUNTER_SAMPLE_UNAVAILABLE);
  double value = 1.25;
  nvtxCounterSample(domain, load, &value, sizeof value);
  int64_t values[] = {21, 22, 23}, times[3];
  for (int i = 0; i < 3; i++)
    times[i] = nvtxTimestampGet();
  nvtxCounterBatch_t batch = {queue, values, sizeof values, 0, times, sizeof times};
  nvtxCounterBatchSubmit(domain, &batch);
  nvtxCounterSampleInt64(domain, 99, 1); // never registered
}

// Events reported after their end, with times from NVTX.
static void deferred(void)
{
  struct told {
    int64_t begin, end;
    int32_t request;
    char text[12];
  };
  static const nvtxPayloadSchemaEntry_t entries[] = {
      {NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP | NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "begin",
       NULL, 0, 0, NULL, NULL},
      {NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP | NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "end",
       NULL, 0, 0, NULL, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "request", NULL, 0, 0, NULL, NULL},
      {NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "text", NULL, 12, 0, NULL, NULL},
  };
  nvtxDomainHandle_t domain = nvtxDomainCreateA("told later");
  nvtxPayloadSchemaAttr_t schema = {0};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries;
  schema.numEntries = 4;
  schema.payloadStaticSize = sizeof(struct told);
  uint64_t id = nvtxPayloadSchemaRegister(domain, &schema);
  struct told all[3];
  for (int i = 0; i < 3; i++) {
    all[i].begin = nvtxTimestampGet();
    all[i].request = i;
    strcpy(all[i].text, "request");
    all[i].end = nvtxTimestampGet();
  }
  nvtxEventBatch_t batch = {0};
  batch.eventSchemaId = id;
  batch.size = sizeof all;
  batch.events = all;
  nvtxEventBatchSubmit(domain, &batch);
  all[0].request = 10;
  nvtxPayloadData_t one = {id, sizeof all[0], &all[0]};
  nvtxEventSubmit(domain, &one, 1);
  all[0].begin = 1; // of another clock
  nvtxEventSubmit(domain, &one, 1);
}

// More texts than anyone reads, pushed and registered.
static void flood(void)
{
  char text[64];
  nvtxEventAttributes_t event = text_event(NULL);
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  nvtxDomainHandle_t domain = nvtxDomainCreateA("flood");
  for (int i = 0; i < 40000; i++) {
    snprintf(text, sizeof text, "request %d", i);
    nvtxRangePushA(text);
    nvtxRangePop();
  }
  for (int i = 0; i < 40000; i++) {
    snprintf(text, sizeof text, "registered %d", i);
    event.message.registered = nvtxDomainRegisterStringA(domain, text);
    DEMAND(event.message.registered != NULL);
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
  }
}

static void *named_later(void *out)
{
  uint32_t *number = out;
  __atomic_store_n(&number[0], (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
  while (__atomic_load_n(&number[1], __ATOMIC_ACQUIRE) == 0)
    sched_yield();
  nvtxRangePushA("on a named thread");
  nvtxRangePop();
  return NULL;
}

static nvtxRangeId_t ends_elsewhere;

static void *crowd(void *unused)
{
  (void)unused;
  char text[64];
  for (int i = 0; i < 2000; i++) {
    snprintf(text, sizeof text, "aten::add, seq = %d, op_id = %d, sizes = [[%d]]", i, i + 1, i % 7);
    nvtxRangePushA(text);
    nvtxRangePushA("inner");
    nvtxRangePop();
    nvtxRangePop();
    nvtxRangeEnd(nvtxRangeStartA("any thread's"));
  }
  nvtxRangeEnd(ends_elsewhere);
  return NULL;
}

static void threads(void)
{
  uint32_t number[2] = {0, 0};
  pthread_t thread[4];
  pthread_create(&thread[0], NULL, named_later, number);
  while (__atomic_load_n(&number[0], __ATOMIC_ACQUIRE) == 0)
    sched_yield();
  nvtxNameOsThreadA(number[0], "named by another");
  __atomic_store_n(&number[1], 1, __ATOMIC_RELEASE);
  pthread_join(thread[0], NULL);
  ends_elsewhere = nvtxRangeStartA("ends elsewhere");
  for (int i = 0; i < 4; i++)
    pthread_create(&thread[i], NULL, crowd, NULL);
  for (int i = 0; i < 4; i++)
    pthread_join(thread[i], NULL);
}

static void library(void)
{
  void *handle = dlopen(getenv("NVTX_LIBRARY"), RTLD_NOW);
  void *symbol = handle == NULL ? NULL : dlsym(handle, "in_library");
  void (*function)(nvtxDomainHandle_t, nvtxStringHandle_t);
  DEMAND(symbol != NULL);
  memcpy(&function, &symbol, sizeof function);
  nvtxDomainHandle_t domain = nvtxDomainCreateA("shared");
  function(domain, nvtxDomainRegisterStringA(domain, "handed over"));
  dlclose(handle);
  nvtxRangePushA("after dlclose");
  nvtxRangePop();
}

static void forks(void)
{
  nvtxRangePushA("around the fork");
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    nvtxRangePushA("in the child");
    nvtxRangePop();
    DEMAND(nvtxRangePop() == 0);
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  DEMAND(status == 0);
  nvtxRangePop();
}

static int storm_goes_on = 1;

static void *push_on(void *number)
{
  char text[64];
  for (long i = 0; __atomic_load_n(&storm_goes_on, __ATOMIC_RELAXED); i++) {
    snprintf(text, sizeof text, "thread %ld text %ld", (long)(intptr_t)number, i % 5000);
    nvtxRangePushA(text);
    nvtxRangeEnd(nvtxRangeStartA("started"));
    nvtxMarkA("mark");
    nvtxRangePop();
  }
  return NULL;
}

// Forks while other threads are anywhere in the tool: children must not wait for work of threads that they do not have.
static void storm(void)
{
  pthread_t thread[3];
  nvtxInitialize(NULL); // NVTX itself waits for ever in the child of a fork during this
  for (long i = 0; i < 3; i++)
    pthread_create(&thread[i], NULL, push_on, (void *)(intptr_t)i);
  for (int i = 0; i < 40; i++) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
      char text[64];
      for (int j = 0; j < 20; j++) {
        snprintf(text, sizeof text, "child text %d", j);
        nvtxRangePushA(text);
        nvtxRangePop();
      }
      nvtxRangePushA("child");
      nvtxRangePop();
      _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    DEMAND(status == 0);
  }
  __atomic_store_n(&storm_goes_on, 0, __ATOMIC_RELAXED);
  for (int i = 0; i < 3; i++)
    pthread_join(thread[i], NULL);
}

static void *leave(void *unused)
{
  (void)unused;
  nvtxRangePushA("left open");
  exit(3);
}

static void exits(void)
{
  pthread_t thread;
  pthread_create(&thread, NULL, leave, NULL);
  pthread_join(thread, NULL);
}

static void steps(void)
{
  for (int i = 0; i < 5; i++) {
    char text[32];
    snprintf(text, sizeof text, "iteration %d", i);
    nvtxRangePushA(text);
    nvtxRangePushA("aten::mm, seq = 1, op_id = 2");
    nvtxRangePop();
    nvtxRangePop();
  }
}

int main(int count, char **arguments)
{
  static const struct {
    const char *name;
    void (*run)(void);
  } sections[] = {
      {"core", core},       {"domains", domains}, {"payloads", payloads}, {"counters", counters},
      {"threads", threads}, {"library", library}, {"forks", forks},       {"exits", exits},
      {"steps", steps},     {"storm", storm},     {"deferred", deferred}, {"flood", flood},
  };
  for (int i = 1; i < count; i++)
    for (size_t j = 0; j < sizeof sections / sizeof sections[0]; j++)
      if (strcmp(arguments[i], sections[j].name) == 0)
        sections[j].run();
  printf("done\n");
  return 0;
}
#endif

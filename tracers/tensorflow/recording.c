// SPDX-License-Identifier: Apache-2.0
// Recording single predictions; see recording.h. TensorFlow has one recorder in a process: while a prediction has it,
// others have no layers, and while the program profiles itself none has.
//
// Each prediction is read when it has ended, and not several at once: what is not read stays in the program's memory, and
// nobody knows whether another prediction will come.
#include "tracers/tensorflow/recording.h"

#include "base/hash.h"
#include "profiles/layer_publish.h"
#include "tracers/tensorflow/activities.h"

#include <stdlib.h>
#include <string.h>

#define LEVEL_ALL 3 // operations that cost little, too
#define NODES 65536u
#define OVERLAP "predictions overlap: TensorFlow has one recorder for all threads, their layers are left out"

static const struct tensorflow_functions *tf;
static uint32_t is_busy;     // atomic: a prediction has the recorder, or is being published
static uint32_t open_calls;  // atomic: predictions that go on, recorded or not
static uint32_t has_overlap; // atomic: of the one that has the recorder
static bool is_broken;
static uint32_t said_overlap; // atomic
static struct layer_publisher *publisher;
static struct {
  uint64_t key;
  int64_t index;
} nodes[NODES]; // by function and name: a layer has the same number in each prediction

static void say_once(uint32_t *was_said, const char *message)
{
  if (__atomic_exchange_n(was_said, 1, __ATOMIC_RELAXED) == 0)
    recording_say(message);
}

void recording_start(const struct tensorflow_functions *functions)
{
  tf = functions;
  is_broken = tf->record == NULL || tf->take == NULL || tf->drop == NULL;
  if (is_broken && (xsp_session_levels() & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) != 0)
    recording_say("this TensorFlow has no recorder that is known: its models are recorded, its layers are not");
}

bool recording_is_wanted(void)
{
  return (xsp_tracer_levels("tensorflow") & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) != 0;
}

bool recording_begin(void)
{
  static uint32_t said_taken;
  uint32_t others = __atomic_fetch_add(&open_calls, 1, __ATOMIC_ACQ_REL);
  if (others > 0)
    __atomic_store_n(&has_overlap, 1, __ATOMIC_RELEASE);
  if (!recording_is_wanted() || is_broken)
    return false;
  if (__atomic_exchange_n(&is_busy, 1, __ATOMIC_ACQ_REL) != 0) {
    say_once(&said_overlap, OVERLAP);
    return false;
  }
  // Whoever goes on meanwhile would be in the recording, partly, with nothing that says whose it is.
  __atomic_store_n(&has_overlap, __atomic_load_n(&open_calls, __ATOMIC_ACQUIRE) > 1, __ATOMIC_RELEASE);
  if (tf->record(LEVEL_ALL))
    return true;
  say_once(&said_taken, "the program uses TensorFlow's profiler itself: meanwhile layers are not recorded");
  __atomic_store_n(&is_busy, 0, __ATOMIC_RELEASE);
  return false;
}

void recording_leave(void)
{
  __atomic_fetch_sub(&open_calls, 1, __ATOMIC_ACQ_REL);
}

static int64_t index_of(uint64_t function, const char *name)
{
  static int64_t count;
  uint64_t key = hash_text(name, strlen(name), function) | 1;
  for (size_t i = 0; i < 64; i++) {
    size_t slot = (key + i) % NODES;
    if (nodes[slot].key == key)
      return nodes[slot].index;
    if (nodes[slot].key != 0)
      continue;
    nodes[slot].key = key;
    nodes[slot].index = count++;
    return nodes[slot].index;
  }
  return -1;
}

static const char *category_of(const char *type)
{
  static const struct {
    const char *type, *category;
  } known[] = {{"Const", "constant"},
               {"HostConst", "constant"},
               {"_HostConst", "constant"},
               {"VarHandleOp", "variable"},
               {"ReadVariableOp", "variable"},
               {"_ReadVariablesOp", "variable"},
               {"VariableV2", "variable"},
               {"_Arg", "input"},
               {"_DeviceArg", "input"},
               {"_Recv", "input"},
               {"_HostRecv", "input"},
               {"Placeholder", "input"},
               {"_Retval", "output"},
               {"_DeviceRetval", "output"},
               {"_Send", "output"},
               {"_HostSend", "output"},
               {"NoOp", "control"},
               {"Enter", "control"},
               {"Exit", "control"},
               {"Merge", "control"},
               {"NextIteration", "control"},
               {"Switch", "control"},
               {"LoopCond", "control"},
               {"ControlTrigger", "control"}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strcmp(type, known[i].type) == 0)
      return known[i].category;
  return NULL;
}

static bool publish(const struct operation *operations, size_t count, uint64_t function, struct xsp_context model,
                    struct arena *arena)
{
  static const struct layer_publisher_options publishing = {"tensorflow", "thread", LAYER_TIMES_REALTIME};
  struct layer_told *told = arena_alloc_array(arena, count + 1, sizeof *told);
  if (publisher == NULL)
    publisher = layer_publisher_create(&publishing);
  if (told == NULL || publisher == NULL)
    return false;
  for (size_t i = 0; i < count; i++)
    told[i] = (struct layer_told){.name = operations[i].name,
                                  .type = operations[i].type,
                                  .category = category_of(operations[i].type),
                                  .index = index_of(function, operations[i].name),
                                  .alloc_bytes = -1,
                                  .start_ns = operations[i].start_ns,
                                  .duration_ns = operations[i].end_ns - operations[i].start_ns,
                                  .parent = operations[i].parent};
  return layer_publish(publisher, told, count, model, 0, NULL) == STATUS_OK;
}

void recording_end(uint64_t function, struct xsp_context model, int64_t start_ns, int64_t end_ns)
{
  static uint32_t said_lost;
  const void *events[3] = {NULL, NULL, NULL}; // the vector
  struct arena arena = {0};
  struct activities activities;
  struct operation *operations = NULL;
  size_t count = 0;
  (void)tf->take(events);
  bool is_read = activities_read(events, &arena, &activities);
  if (is_read)
    tf->drop(events);
  else // left where it lies: who cannot read it cannot free it
    is_broken = true;
  bool is_done =
      is_read && model.id != 0 &&
      activities_operations(&activities, (uint64_t)start_ns, (uint64_t)end_ns, &arena, &operations, &count) &&
      publish(operations, count, function, model, &arena);
  arena_done(&arena);
  __atomic_store_n(&is_busy, 0, __ATOMIC_RELEASE);
  if (!is_read)
    say_once(&said_lost, "what this TensorFlow recorded cannot be read: its models are recorded, its layers are not");
  else if (!is_done && model.id != 0)
    say_once(&said_lost, "layers of a prediction were lost: out of memory");
}

// SPDX-License-Identifier: Apache-2.0
// What is read of TensorFlow's recorder: containers of C++ as this machine's compiler lays them out, layouts that are not
// those, and which operations belong to a call.
#include "frameworks/tensorflow/activities.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

const void *tensorflow_made_start(void);
void tensorflow_made_thread(const char *name);
void tensorflow_made_event(const char *name, int64_t start_ns, int64_t end_ns);
void tensorflow_made_drop_first(void);

// First: nothing is trusted yet, and every address is tried before it is read.
static void other_layouts_are_refused(void **state)
{
  struct pool pool = {.maximum_bytes = 1 << 24};
  struct activities activities;
  static char room[480];
  struct {
    uint64_t words[15];
  } thread = {{1, (uintptr_t) "name", 4}};
  const void *vector[] = {&thread, (char *)&thread + sizeof thread - 8, NULL};
  assert_int_equal(activities_read(vector, &pool, &activities), ACTIVITIES_UNKNOWN); // threads of another size
  vector[1] = (char *)&thread + sizeof thread;
  for (unsigned which = 0; which < 6; which++) {
    uint64_t words[] = {(uintptr_t)room, (uintptr_t)room, (uintptr_t)room + 480, (uintptr_t)room};
    memcpy(&thread.words[7], words, sizeof words);
    thread.words[11] = (uintptr_t)room + 48;
    if (which == 0)
      thread.words[9] += 48; // nodes of another size
    if (which == 1)
      thread.words[7] = thread.words[8] = 4096, thread.words[9] = 4096 + 480; // nothing is there
    if (which == 2)
      thread.words[7] = (uintptr_t)room + 480;
    if (which == 3)
      memcpy(room, &(uint64_t[]){4096, 5, 0, 0, 1, 2}, 48); // a name that is nowhere
    if (which == 4)
      memcpy(room, &(uint64_t[]){(uintptr_t)room, (uint64_t)1 << 40, 0, 0, 1, 2}, 48); // longer than any
    if (which == 5)
      memcpy(room, &(uint64_t[]){(uintptr_t)room + 16, 3, 0x41414141, 0, 1, 2}, 48); // does not end where it should
    assert_int_equal(activities_read(vector, &pool, &activities), ACTIVITIES_UNKNOWN);
    assert_int_equal(activities.count, 0);
  }
  framework_pool_done(&pool);
}

static void containers_are_read(void **state)
{
  const void *events = tensorflow_made_start();
  tensorflow_made_thread("main");
  for (int i = 0; i < 100; i++) { // over several nodes, names short and long
    char name[80];
    snprintf(name, sizeof name, i % 2 == 0 ? "n%d:T" : "a name that is longer than what lies inside:%d", i);
    tensorflow_made_event(name, 1000 - i, 2000 + i);
  }
  tensorflow_made_drop_first();
  tensorflow_made_event("begun", 5, -1);
  tensorflow_made_thread("empty");
  tensorflow_made_thread("a thread whose name is longer than what lies inside");
  tensorflow_made_event("other:T", 3, 4);
  struct pool pool = {.maximum_bytes = 1 << 24};
  struct activities activities;
  assert_int_equal(activities_read(events, &pool, &activities), ACTIVITIES_READ);
  assert_int_equal(activities.count, 100);
  assert_string_equal(activities.items[0].name, "a name that is longer than what lies inside:99");
  assert_int_equal(activities.items[0].start_ns, 901);
  assert_int_equal(activities.items[0].end_ns, 2099);
  assert_string_equal(activities.items[97].name, "n2:T");
  assert_string_equal(activities.items[99].name, "other:T");
  assert_int_equal(activities.items[99].thread, 2);
  assert_int_equal(activities.threads[0], UINT64_C(0xfffffffffffffff7)); // a hash: any 64 bits
  assert_int_equal(activities.threads[2], UINT64_C(0xfffffffffffffff9));
  framework_pool_done(&pool);
}

static size_t operations_of(struct pool *pool, struct operation **ret_operations, const void *events)
{
  struct activities activities;
  size_t count = 99;
  assert_int_equal(activities_read(events, pool, &activities), ACTIVITIES_READ);
  assert_true(activities_operations(&activities, 100, 900, pool, ret_operations, &count));
  return count;
}

static void operations_belong_to_steps(void **state)
{
  const void *events = tensorflow_made_start();
  tensorflow_made_thread("caller");
  tensorflow_made_event("EagerLocalExecute: __inference_f_1", 100, 890);
  tensorflow_made_event("FunctionRun#id=-7,_r=1,_pt=2#", 120, 880);
  tensorflow_made_thread("worker");
  tensorflow_made_event("ExecutorState::Process#id=-7,iter_num=0#", 200, 400);
  tensorflow_made_event("m/conv/BiasAdd:_FusedConv2D#shape=(4)#", 210, 300);
  tensorflow_made_event("m/call:PartitionedCall", 310, 390);
  tensorflow_made_event("FunctionRun#id=8#", 320, 380); // within our step: ours, too
  tensorflow_made_event("ExecutorState::Process#id=9,iter_num=0#", 410, 500);
  tensorflow_made_event("map/add:AddV2", 420, 430); // of an input pipeline
  tensorflow_made_event("Iterator::Map", 620, 630);
  tensorflow_made_event("Iterator::Map:x y", 640, 650);
  tensorflow_made_event("ThreadpoolListener::Record", 660, 670);
  tensorflow_made_thread("inner");
  tensorflow_made_event("ExecutorState::Process#id=8,iter_num=0#", 325, 370);
  tensorflow_made_event("m/inner:MatMul", 330, 360);
  tensorflow_made_event("late:Relu", 600, 610); // what is around it had not ended
  tensorflow_made_event("outside:Relu", 1000, 1010);
  tensorflow_made_thread("pipeline");
  tensorflow_made_event("FunctionRun#id=9#", 110, 500); // began before ours, on another thread
  tensorflow_made_event("FunctionRun#id=10#", 600, 700);
  tensorflow_made_event("map/sub:Sub", 720, 730); // what is around it had not ended
  struct pool pool = {.maximum_bytes = 1 << 24};
  struct operation *operations = NULL;
  size_t count = operations_of(&pool, &operations, events);
  assert_int_equal(count, 4);
  assert_string_equal(operations[0].name, "m/conv/BiasAdd");
  assert_string_equal(operations[0].type, "_FusedConv2D");
  assert_string_equal(operations[1].type, "PartitionedCall");
  assert_string_equal(operations[2].name, "m/inner");
  assert_string_equal(operations[3].name, "late");
  for (size_t i = 0; i < count; i++)
    assert_true(operations[i].parent == SIZE_MAX);
  assert_int_equal(operations[0].thread, UINT64_C(0xfffffffffffffff8)); // worker
  assert_int_equal(operations[2].thread, UINT64_C(0xfffffffffffffff9)); // inner
  framework_pool_done(&pool);
}

static void operations_within_operations_nest(void **state)
{
  const void *events = tensorflow_made_start();
  tensorflow_made_thread("caller");
  tensorflow_made_event("SessionRun#id=3,_r=1#", 100, 900);
  tensorflow_made_event("ExecutorState::Process#id=3#", 150, 800);
  tensorflow_made_event("outer:While", 200, 500);
  tensorflow_made_event("MemoryAllocation#allocator_name=cpu,bytes_reserved=0,requested_bytes=7,addr=1#", 205, 205);
  tensorflow_made_event("a:Add", 210, 220);
  tensorflow_made_event("MemoryAllocation#allocator_name=cpu,bytes_reserved=0,requested_bytes=100,addr=1#", 220, 220);
  tensorflow_made_event("MemoryAllocation#allocator_name=cpu,bytes_reserved=0,requested_bytes=-5,addr=1#", 220, 220);
  tensorflow_made_event("MemoryDeallocation#bytes_reserved=0,requested_bytes=50,addr=1#", 220, 220);
  tensorflow_made_event("b:Add", 230, 240);
  tensorflow_made_event("MemoryAllocation#allocator_name=cpu,bytes_reserved=0,requested_bytes=20,addr=1#", 235, 235);
  tensorflow_made_event("MemoryAllocation#allocator_name=cpu,bytes_reserved=0,requested_bytes=3,addr=1#", 300,
                        300); // after a and b
  tensorflow_made_event("c:Add", 600, 610);
  tensorflow_made_event("MemoryAllocation#allocator_name=mklcpu,bytes_reserved=0,requested_bytes=9,addr=1#", 605, 605);
  tensorflow_made_event("MemoryAllocation#allocator_name=cpu,bytes_reserved=0,requested_bytes=1000,addr=1#", 620,
                        620); // in none
  tensorflow_made_thread("pool");
  tensorflow_made_event("MemoryAllocation#allocator_name=cpu,bytes_reserved=0,requested_bytes=5000,addr=1#", 605, 605);
  struct pool pool = {.maximum_bytes = 1 << 24};
  struct operation *operations = NULL;
  assert_int_equal(operations_of(&pool, &operations, events), 4);
  assert_true(operations[0].parent == SIZE_MAX);
  assert_int_equal(operations[1].parent, 0);
  assert_int_equal(operations[2].parent, 0);
  assert_true(operations[3].parent == SIZE_MAX);
  assert_int_equal(operations[0].alloc_bytes, 10);
  assert_int_equal(operations[1].alloc_bytes, 100);
  assert_int_equal(operations[2].alloc_bytes, 20);
  assert_int_equal(operations[3].alloc_bytes, 0);
  framework_pool_done(&pool);
}

static void input_is_waited_for_until_it_is_there(void **state)
{
  const void *events = tensorflow_made_start();
  tensorflow_made_thread("caller");
  tensorflow_made_event("SessionRun#id=3,_r=1#", 100, 900);
  tensorflow_made_event("ExecutorState::Process#id=3#", 105, 130);
  tensorflow_made_event("next:IteratorGetNext", 110, 115); // returns before its input is there
  tensorflow_made_event("w:ReadVariableOp", 116, 120);
  tensorflow_made_event("ExecutorState::Process#id=3#", 500, 800);
  tensorflow_made_event("conv:Conv2D", 510, 700);
  tensorflow_made_event("more:IteratorGetNextAsOptional", 701, 702);
  tensorflow_made_thread("pipeline");
  tensorflow_made_event("IteratorGetNextOp::DoCompute#id=4,iter_num=0#", 112, 890); // of another step
  tensorflow_made_event("IteratorGetNextOp::DoCompute#id=3,iter_num=0#", 112, 490);
  tensorflow_made_event("IteratorGetNextAsOptionalOp::DoCompute#id=3,iter_num=0#", 702, 703);
  struct pool pool = {.maximum_bytes = 1 << 24};
  struct operation *operations = NULL;
  assert_int_equal(operations_of(&pool, &operations, events), 4);
  assert_string_equal(operations[0].name, "w");
  assert_string_equal(operations[1].name, "next");
  assert_int_equal(operations[1].start_ns, 120); // the step computed until then
  assert_int_equal(operations[1].end_ns, 490);
  assert_int_equal(operations[1].thread, UINT64_C(0xfffffffffffffff8)); // pipeline
  assert_true(operations[1].parent == SIZE_MAX);
  assert_string_equal(operations[2].name, "conv");
  assert_int_equal(operations[3].end_ns, 703);
  framework_pool_done(&pool);
}

static void each_iterator_waits_for_its_own_input(void **state)
{
  const void *events = tensorflow_made_start();
  tensorflow_made_thread("caller");
  tensorflow_made_event("SessionRun#id=3,_r=1#", 100, 900);
  tensorflow_made_event("ExecutorState::Process#id=3#", 105, 130);
  tensorflow_made_event("sync:IteratorGetNextSync", 106, 107); // computes on its own thread
  tensorflow_made_event("one:IteratorGetNext", 110, 111);
  tensorflow_made_event("two:IteratorGetNext", 112, 113);
  tensorflow_made_thread("a pipeline");
  tensorflow_made_event("IteratorGetNextOp::DoCompute#id=3,iter_num=0#", 113, 690);
  tensorflow_made_thread("another pipeline");
  tensorflow_made_event("IteratorGetNextOp::DoCompute#id=3,iter_num=0#", 111, 490);
  tensorflow_made_event("IteratorGetNextOp::DoCompute#id=3,iter_num=0#", 500, 510); // there is no third one
  struct pool pool = {.maximum_bytes = 1 << 24};
  struct operation *operations = NULL;
  assert_int_equal(operations_of(&pool, &operations, events), 3);
  assert_string_equal(operations[1].name, "one");
  assert_int_equal(operations[1].start_ns, 111);
  assert_int_equal(operations[1].end_ns, 490);
  assert_string_equal(operations[2].name, "two");
  assert_int_equal(operations[2].start_ns, 113);
  assert_int_equal(operations[2].end_ns, 690);
  framework_pool_done(&pool);
}

static void without_a_step_there_is_nothing(void **state)
{
  const void *events = tensorflow_made_start();
  struct pool pool = {.maximum_bytes = 1 << 24};
  struct operation *operations = NULL;
  assert_int_equal(operations_of(&pool, &operations, events), 0);
  tensorflow_made_thread("caller");
  tensorflow_made_event("a:Add", 210, 220);
  assert_int_equal(operations_of(&pool, &operations, events), 0);
  framework_pool_done(&pool);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(other_layouts_are_refused),
      cmocka_unit_test(containers_are_read),
      cmocka_unit_test(operations_belong_to_steps),
      cmocka_unit_test(operations_within_operations_nest),
      cmocka_unit_test(input_is_waited_for_until_it_is_there),
      cmocka_unit_test(each_iterator_waits_for_its_own_input),
      cmocka_unit_test(without_a_step_there_is_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

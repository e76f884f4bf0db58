// SPDX-License-Identifier: Apache-2.0
// A program with ITT events: itt_emitter CASE. Run by test_itt.py, which has the expected spans of each case. The
// interface is written by hand, so that it can also be used wrongly.
#include "tests/tracers/itt_static.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 2000

static const struct itt_id none;
static struct itt_domain *domain;

static struct itt_string *text(const char *of)
{
  return itt.string_handle_create(of);
}

static struct itt_id id_of(unsigned long long number)
{
  return (struct itt_id){number, 7, 9};
}

// Waits long enough for the clocks to show it.
static void work(void)
{
  itt_stamp start = itt.get_timestamp();
  while (itt.get_timestamp() - start < 2000)
    ;
}

static void begin(const char *name)
{
  itt.task_begin(domain, none, none, text(name));
}

// ---- case tasks
static void tagged(void)
{
  unsigned long long natural = ULLONG_MAX, small = 5;
  int numbers[4] = {1, -2, 3, 4};
  short narrow = -3;
  float real = 0.5f;
  double list[2] = {1.25, -2};
  itt.task_begin(domain, id_of(1), none, text("tagged"));
  itt.metadata_add(domain, none, text("u64"), ITT_TYPE_U64, 1, &small);
  itt.metadata_add(domain, id_of(1), text("largest"), ITT_TYPE_U64, 1, &natural);
  itt.metadata_add(domain, id_of(1), text("s32 list"), ITT_TYPE_S32, 4, numbers);
  itt.metadata_add(domain, id_of(1), text("s16"), ITT_TYPE_S16, 1, &narrow);
  itt.metadata_add(domain, id_of(1), text("float"), ITT_TYPE_FLOAT, 1, &real);
  itt.metadata_add(domain, id_of(1), text("double list"), ITT_TYPE_DOUBLE, 2, list);
  itt.metadata_add(domain, id_of(1), text("nothing"), ITT_TYPE_S32, 0, NULL);
  itt.metadata_str_add(domain, id_of(1), text("whole"), "to its end", (size_t)-1);
  itt.metadata_str_add(domain, id_of(1), text("part"), "four letters", 4);
  itt.metadata_add_with_scope(domain, ITT_SCOPE_TASK, text("scope"), ITT_TYPE_U64, 1, &small);
  itt.metadata_str_add_with_scope(domain, ITT_SCOPE_TASK, text("scope text"), "near", 4);
  itt.task_end(domain);
}

static void case_tasks(void)
{
  begin("outer");
  begin("inner");
  work();
  itt.task_end(domain);
  tagged();
  itt.task_end(domain);
  itt.task_begin_fn(domain, none, none, (void *)(uintptr_t)strlen);
  itt.task_end(domain);
  itt_stamp start = itt.get_timestamp();
  work();
  itt.task_begin_ex(domain, NULL, start, none, none, text("stamped"));
  itt.metadata_str_add(domain, none, text("note"), "kept until the end", 18);
  itt.task_end_ex(domain, NULL, itt.get_timestamp());
  struct itt_domain *other = itt.domain_create("other domain"); // domains end for themselves
  begin("first");
  itt.task_begin(other, none, none, text("second"));
  itt.task_end(domain);
  itt.task_end(other);
  struct itt_domain *library = itt.domain_create("oneDNN");
  itt.task_begin(library, none, none, text("convolution"));
  itt.task_end(library);
  struct itt_domain *creation = itt.domain_create("dnnl::primitive::create");
  itt.task_begin(creation, none, none, text("a primitive"));
  itt.task_end(creation);
  struct itt_domain *torch = itt.domain_create("PyTorch");
  itt.task_begin(torch, none, none, text("aten::mm"));
  itt.task_end(torch);
}

// ---- case ranges
static void case_ranges(void)
{
  itt.task_begin_overlapped(domain, id_of(1), none, text("a"));
  itt.task_begin_overlapped(domain, id_of(2), none, text("b"));
  itt.metadata_str_add(domain, id_of(2), text("of"), "b", 1);
  work();
  itt.task_end_overlapped(domain, id_of(1));
  work();
  itt.task_end_overlapped(domain, id_of(2));
  itt.task_begin_overlapped_ex(domain, NULL, itt.get_timestamp(), id_of(3), none, text("stamped range"));
  itt.task_end_overlapped_ex(domain, NULL, itt.get_timestamp(), id_of(3));
  itt.region_begin(domain, id_of(4), none, text("region"));
  itt.metadata_add(domain, id_of(4), text("rows"), ITT_TYPE_U32, 1, &(unsigned){640});
  work();
  itt.region_end(domain, id_of(4));
  itt.task_group(domain, id_of(5), none, text("batch 7"));
  itt.task_begin(domain, none, id_of(5), text("of the group"));
  itt.task_end(domain);
  itt.id_destroy(domain, id_of(5));
  itt.task_begin(domain, none, id_of(5), text("after the group"));
  itt.task_end(domain);
}

// ---- case frames
static void *begins_frame(void *frames)
{
  itt.frame_begin_v3(frames, NULL);
  return NULL;
}

static void case_frames(void)
{
  struct itt_domain *frames = itt.domain_create("game loop");
  struct itt_id id = id_of(1);
  for (int i = 0; i < 3; i++) {
    itt.frame_begin_v3(frames, NULL);
    itt.frame_begin_v3(frames, NULL); // open already: nothing
    work();
    itt.frame_end_v3(frames, NULL);
    itt.frame_end_v3(frames, NULL); // ended already: nothing
  }
  itt.frame_begin_v3(frames, &id);
  work();
  itt.frame_end_v3(frames, &id);
  itt_stamp start = itt.get_timestamp();
  work();
  itt.frame_submit_v3(frames, NULL, start, itt.get_timestamp());
  itt.frame_submit_v3(frames, NULL, start, ITT_STAMP_NOW);
  itt.frame_submit_v3(frames, NULL, 0, 0);                        // no times
  itt.frame_submit_v3(frames, NULL, start, start - 1);            // backwards
  itt.frame_submit_v3(frames, NULL, start, start + (1ull << 60)); // the future
  itt.frame_submit_v3(frames, NULL, 1, start);                    // before the machine
  struct itt_domain *handed_over = itt.domain_create("handed over");
  pthread_t thread;
  pthread_create(&thread, NULL, begins_frame, handed_over);
  pthread_join(thread, NULL);
  itt.frame_end_v3(handed_over, NULL);
}

// ---- case numbers
static unsigned long long own_clock = 1000; // a clock of the program's: a thousand ticks a second

static void read_own_clock(struct itt_clock_info *info, void *data)
{
  info->frequency = 1000;
  info->base = *(unsigned long long *)data;
}

static void case_numbers(void)
{
  struct itt_counter *counter = itt.counter_create("requests", "server");
  itt.counter_inc(counter);
  itt.counter_inc_delta(counter, 10);
  itt.counter_dec(counter);
  itt.counter_dec_delta(counter, 3);
  itt.counter_set_value(counter, &(unsigned long long){100});
  itt.counter_inc(itt.counter_create("requests", "server")); // the same
  struct itt_counter *load = itt.counter_create_typed("load", NULL, ITT_TYPE_DOUBLE);
  itt.counter_set_value(load, &(double){0.25});
  itt.counter_set_value_ex(load, NULL, itt.get_timestamp(), &(double){0.75});
  itt.counter_set_value_v3(itt.counter_create_v3(domain, "signed", ITT_TYPE_S32), &(int){-5});
  itt.counter_inc_v3(domain, text("by handle"));
  itt.counter_inc_delta_v3(domain, text("by handle"), 4);
  itt.counter_dec_v3(domain, text("by handle"));
  itt.counter_dec_delta_v3(domain, text("by handle"), 2);
  itt.marker(domain, none, text("here"), ITT_SCOPE_TRACK_GROUP);
  itt.marker_ex(domain, NULL, itt.get_timestamp(), none, text("there"), ITT_SCOPE_GLOBAL);
  int mark = itt.mark_create("old mark");
  itt.mark(mark, "with a parameter");
  itt.metadata_add(domain, none, text("of no task"), ITT_TYPE_S32, 2, (int[]){7, 8});
  int event = itt.event_create("event cut here", 5), other = itt.event_create("single", 6);
  itt.event_start(event);
  itt.event_start(event);
  work();
  itt.event_end(event);
  itt.event_end(event);
  for (int i = 0; i < 40; i++) // never ended: instants, as they are pushed out
    itt.event_start(other);
  struct itt_clock_domain *clock = itt.clock_domain_create(read_own_clock, &own_clock);
  itt.task_begin_ex(domain, clock, own_clock - 2, none, none, text("own clock"));
  itt.task_end_ex(domain, clock, own_clock - 1);
  own_clock = 500000;
  itt.clock_domain_reset();
  itt.task_begin_ex(domain, clock, own_clock - 2, none, none, text("own clock after reset"));
  itt.task_end_ex(domain, clock, own_clock - 1);
}

// ---- case control
static void case_control(void)
{
  itt.thread_set_name("first name");
  itt.thr_name_set("the chief (cut)", 9);
  begin("before");
  itt.task_end(domain);
  itt.pause();
  itt.pause();
  begin("while paused");
  itt.task_end(domain);
  begin("begun while paused");
  itt.resume();
  itt.task_end(domain);
  itt.resume();
  begin("after");
  itt.task_end(domain);
  void *symbol = dlsym(RTLD_DEFAULT, "xsp_tracer_set_levels");
  uint32_t (*set_levels)(const char *, uint32_t);
  memcpy(&set_levels, &symbol, sizeof set_levels);
  if (symbol != NULL) { // a task that was off before a pause stays off
    set_levels("itt", 1u << 2);
    itt.pause();
    itt.resume();
    begin("switched off by somebody else");
    itt.task_end(domain);
    set_levels("itt", 0x1f);
  }
  itt.detach();
  begin("detached");
  itt.task_end(domain);
}

// ---- case hostile
static void *ends_elsewhere(void *unused)
{
  itt.task_end(domain); // nothing is open on this thread
  itt.region_end(domain, id_of(77));
  begin("left open by a thread");
  return NULL;
}

static void case_hostile(void)
{
  pthread_t thread;
  itt.task_begin(NULL, none, none, NULL);
  itt.metadata_add(NULL, none, NULL, ITT_TYPE_U64, 1, &(unsigned long long){1});
  itt.metadata_str_add(NULL, none, NULL, "value", 5);
  itt.metadata_str_add(NULL, none, NULL, NULL, 5);
  itt.metadata_str_add(NULL, id_of(55), NULL, "of nothing", 5);
  itt.metadata_add(NULL, none, NULL, 99, 1, "12345678");
  itt.metadata_add(NULL, none, NULL, ITT_TYPE_U64, 1, NULL);
  itt.task_end(NULL);
  itt.task_end(domain);
  itt.task_end_ex(domain, NULL, 0);
  itt.task_begin_ex(domain, NULL, 5, none, none, text("impossible times"));
  itt.task_end_ex(domain, NULL, 3);
  itt.task_end_overlapped(domain, id_of(3));
  itt.region_end(domain, none);
  itt.frame_begin_v3(NULL, NULL);
  itt.frame_end_v3(NULL, NULL);
  itt.frame_submit_v3(NULL, NULL, 0, ITT_STAMP_NOW);
  itt.counter_inc(NULL);
  itt.counter_set_value(NULL, NULL);
  itt.counter_set_value(itt.counter_create("c", NULL), NULL);
  itt.counter_set_value(itt.counter_create_typed("odd", NULL, 1234), "12345678");
  itt.marker(NULL, none, NULL, -5);
  itt.mark(-1, NULL);
  itt.mark(INT_MAX, NULL);
  itt.event_start(0);
  itt.event_end(4097);
  itt.event_end(INT_MIN);
  itt.event_create(NULL, 3);
  itt.event_create("x", -1);
  itt.thread_set_name(NULL);
  itt.thr_name_set(NULL, 5);
  itt.thr_name_set("abc", -1);
  itt.relation_add(domain, id_of(1), ITT_RELATION_CHILD_OF, id_of(2));
  itt.relation_add(domain, none, 99, none);
  itt.task_group(domain, none, none, NULL);
  itt.clock_domain_create(NULL, NULL);
  itt.domain_create(NULL);
  itt.string_handle_create(NULL);
  if (itt.counter_create(NULL, NULL) != NULL)
    exit(3);
  struct itt_domain zero = {0};
  itt.task_begin(&zero, none, none, text("in a domain without a name"));
  itt.task_end(&zero);
  for (int i = 0; i < 1000; i++) // deeper than the tracer records
    begin("deep");
  for (int i = 0; i < 1000; i++)
    itt.task_end(domain);
  for (unsigned i = 0; i < 5000; i++)
    itt.region_begin(domain, id_of(100 + i), none, text("never ended"));
  char *long_name = calloc(1, 100001);
  memset(long_name, 'n', 100000);
  begin(long_name);
  itt.metadata_str_add(domain, none, text(long_name), long_name, 100000);
  itt.task_end(domain);
  free(long_name);
  pthread_create(&thread, NULL, ends_elsewhere, NULL);
  pthread_join(thread, NULL);
  begin("left open");
  begin("left open too");
}

// ---- case threads
struct shared {
  pthread_barrier_t begun, done;
};

static void *thread_work(void *argument)
{
  struct shared *shared = argument;
  static unsigned long long next = 1;
  unsigned long long number = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
  char name[32];
  snprintf(name, sizeof name, "worker %llu", number);
  itt.thread_set_name(name);
  pthread_barrier_wait(&shared->begun);
  itt.task_begin(domain, id_of(1000 + number), id_of(1), text("child"));
  pthread_barrier_wait(&shared->begun); // all of them are open
  for (int i = 0; i < ROUNDS; i++) {
    snprintf(name, sizeof name, "name %d", i % 100);
    itt.task_begin(domain, id_of(number << 32 | (unsigned)i), none, text(name));
    itt.metadata_add(domain, none, text("round"), ITT_TYPE_S32, 1, &i);
    itt.task_begin_overlapped(domain, id_of(number << 40 | (unsigned)i), id_of(1), text("range"));
    itt.task_end(domain);
    itt.task_end_overlapped(domain, id_of(number << 40 | (unsigned)i));
    itt.counter_inc(itt.counter_create("rounds", NULL));
  }
  itt.task_end(domain);
  begin("by relation");
  itt.task_end(domain);
  itt.task_begin(domain, id_of(2000 + number), none, text("by relation"));
  itt.relation_add(domain, id_of(2000 + number), ITT_RELATION_CHILD_OF, id_of(1));
  itt.task_end(domain);
  itt.region_begin(domain, id_of(3000 + number), none, text("ended by another"));
  pthread_barrier_wait(&shared->done);
  return NULL;
}

static void *leaves_open(void *unused)
{
  itt.task_begin(domain, id_of(555), none, text("left open"));
  return NULL;
}

static void *comes_later(void *unused)
{
  itt.task_begin(domain, none, id_of(555), text("of a parent whose thread has ended"));
  itt.task_end(domain);
  itt.task_end(domain); // that of the thread before is not open here
  return NULL;
}

static void case_threads(void)
{
  struct shared shared;
  pthread_t threads[THREADS];
  pthread_create(&threads[0], NULL, leaves_open, NULL);
  pthread_join(threads[0], NULL);
  pthread_create(&threads[0], NULL, comes_later, NULL);
  pthread_join(threads[0], NULL);
  pthread_barrier_init(&shared.begun, NULL, THREADS + 1);
  pthread_barrier_init(&shared.done, NULL, THREADS + 1);
  itt.task_begin(domain, id_of(1), none, text("parent"));
  for (int i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, thread_work, &shared);
  pthread_barrier_wait(&shared.begun);
  pthread_barrier_wait(&shared.begun);
  pthread_barrier_wait(&shared.done);
  for (unsigned i = 1; i <= THREADS; i++)
    itt.region_end(domain, id_of(3000 + i));
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  itt.task_end(domain);
}

// ---- case fork
static void case_fork(void)
{
  begin("around the fork");
  itt.task_begin_ex(domain, NULL, itt.get_timestamp(), none, none, text("stamped around the fork"));
  itt.region_begin(domain, id_of(1), none, text("region around the fork"));
  pid_t child = fork();
  if (child == 0) {
    struct itt_domain *other = itt.domain_create("other domain");
    itt.task_begin_ex(other, NULL, itt.get_timestamp(), none, none, text("stamped in the child"));
    itt.metadata_str_add(other, none, text("note"), "the child's", 11);
    itt.task_end(domain); // the parent's: not recorded twice
    itt.task_begin_ex(other, NULL, itt.get_timestamp(), none, none, text("within it"));
    itt.task_end(other);
    itt.task_end(other);
    itt.task_end(domain);
    itt.region_end(domain, id_of(1));
    begin("in the child");
    itt.task_end(domain);
    exit(0);
  }
  waitpid(child, NULL, 0);
  itt.region_end(domain, id_of(1));
  itt.task_end(domain);
  itt.task_end(domain);
}

// ---- case modules: two shared objects; one is closed again
static void *function(void *library, const char *name)
{
  void *symbol = dlsym(library, name);
  if (symbol == NULL)
    exit(4);
  return symbol;
}

static void case_modules(const char *path)
{
  void *library = dlopen(path, RTLD_NOW);
  if (library == NULL)
    exit(4);
  int (*open)(void) = (int (*)(void))(uintptr_t)function(library, "module_open");
  struct itt_domain *(*domain_of)(const char *) =
      (struct itt_domain * (*)(const char *))(uintptr_t)function(library, "module_domain");
  struct itt_string *(*string_of)(const char *) =
      (struct itt_string * (*)(const char *))(uintptr_t)function(library, "module_string");
  void (*task)(const struct itt_domain *, struct itt_string *) =
      (void (*)(const struct itt_domain *, struct itt_string *))(uintptr_t)function(library, "module_task");
  void (*close)(void) = (void (*)(void))(uintptr_t)function(library, "module_close");
  if (!open())
    exit(5);
  if (domain_of("emitter") != domain || string_of("shared") != text("shared"))
    exit(6); // one process: equal names are one handle
  task(domain, text("our handle"));
  struct itt_domain *theirs = domain_of("theirs");
  itt.task_begin(theirs, none, none, string_of("their handle"));
  close();
  dlclose(library);
  itt.task_end(theirs); // the handle stays
}

// ---- case early: objects that the static part made before the collector
static void case_early(void)
{
  static struct itt_domain early = {.flags = 1, .name = "early domain"};
  static struct itt_string name = {.text = "early name"};
  static struct itt_counter counter = {.name = "early counter", .type = ITT_TYPE_S64};
  itt.task_begin(&early, none, none, &name);
  itt.task_end(&early);
  itt.counter_set_value(&counter, &(long long){-42});
}

// ---- case tables
static void case_tables(void)
{
  static struct itt_global wrong;
  void *before = (void *)(uintptr_t)itt.task_begin;
  if (before == NULL || itt.no_such_function_of_the_api != NULL || itt.sync_prepare != NULL)
    exit(7);
  if (strcmp(itt.api_version(), "xsp") != 0)
    exit(7);
  void *symbol = dlsym(itt_module.library, "__itt_api_init");
  void (*initialize)(struct itt_global *, int);
  memcpy(&initialize, &symbol, sizeof initialize);
  initialize(NULL, -1);
  wrong.slots = itt_slots;
  wrong.major = 3;
  wrong.build = 20230630; // no magic: left alone
  itt.task_begin = NULL;
  initialize(&wrong, -1);
  if (itt.task_begin != NULL)
    exit(8);
  memcpy(wrong.magic, ITT_MAGIC, sizeof wrong.magic);
  wrong.build = 20101001; // slots of another size
  initialize(&wrong, -1);
  if (itt.task_begin != NULL)
    exit(9);
  wrong.build = 20230630;
  wrong.slots = NULL;
  initialize(&wrong, -1);
  initialize(&itt_module, -1); // a second time, as after a module's fini
  if ((void *)(uintptr_t)itt.task_begin != before)
    exit(10);
  begin("after all");
  itt.task_end(domain);
}

static void case_killed(void)
{
  begin("finished");
  itt.task_end(domain);
  begin("open when killed");
  raise(SIGKILL);
}

// ---- case names: more than the tracer stores
static void case_names(void)
{
  char name[32];
  for (int i = 0; i < 70000; i++) {
    snprintf(name, sizeof name, "name %d of many", i);
    begin(name);
    itt.task_end(domain);
  }
  if (text("name 80000 of many") != text("name 90000 of many") || text("name 1 of many") == text("name 2 of many"))
    exit(11);
}

// ---- case capture: XSP_CAPTURE_RANGE=record*
static void case_capture(void)
{
  begin("outside");
  itt.task_end(domain);
  begin("record a task");
  begin("inside");
  itt.task_end(domain);
  itt.task_end(domain);
  begin("outside");
  itt.task_end(domain);
  itt.region_begin(domain, id_of(1), none, text("record a region"));
  begin("inside");
  itt.task_end(domain);
  itt.metadata_str_add(domain, id_of(1), text("of"), "the region", (size_t)-1);
  itt.region_end(domain, id_of(1));
  itt.frame_begin_v3(itt.domain_create("record a frame"), NULL);
  begin("inside");
  itt.task_end(domain);
  itt.frame_end_v3(itt.domain_create("record a frame"), NULL);
  begin("outside");
  itt.task_end(domain);
}

static void case_steps(void)
{
  struct itt_domain *frames = itt.domain_create("step frame");
  for (int i = 0; i < 3; i++) {
    begin("step 1");
    begin("aten::relu");
    itt.task_end(domain);
    itt.task_end(domain);
  }
  itt.frame_begin_v3(frames, NULL);
  itt.frame_end_v3(frames, NULL);
}

int main(int count, char **arguments)
{
  static const struct {
    const char *name;
    void (*run)(void);
  } cases[] = {{"tasks", case_tasks},     {"ranges", case_ranges},   {"frames", case_frames},
               {"numbers", case_numbers}, {"control", case_control}, {"hostile", case_hostile},
               {"threads", case_threads}, {"fork", case_fork},       {"early", case_early},
               {"tables", case_tables},   {"killed", case_killed},   {"steps", case_steps},
               {"names", case_names},     {"capture", case_capture}};
  const char *wanted = count > 1 ? arguments[1] : "";
  if (!itt_open())
    return 2;
  if (itt.task_begin == NULL) { // no session
    puts("off");
    return strcmp(wanted, "off") == 0 ? 0 : 2;
  }
  domain = itt.domain_create("emitter");
  if (strcmp(wanted, "modules") == 0 && count > 2) {
    case_modules(arguments[2]);
    return 0;
  }
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    if (strcmp(cases[i].name, wanted) == 0) {
      cases[i].run();
      itt_close();
      return 0;
    }
  return 2;
}

// SPDX-License-Identifier: Apache-2.0
// Joining a session: make or map its files, note this process in it, take care of fork and exit. The constructor does
// nothing but look at one environment variable where there is no session, and only arrives (arrive.c) where that will do.
#include "capture/capture.h"

#include "base/clock.h"
#include "base/small_file.h"
#include "format/level.h"
#include "format/session_clock.h"
#include "format/session_memory.h"
#include "format/traceparent.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define JOIN_WAIT_S 1 // a join takes some 200 us

struct capture capture;
struct attach_block capture_attach_block = {
    .magic = ATTACH_MAGIC, .self = &capture_attach_block, .size = sizeof capture_attach_block};

// Everywhere secure_getenv: a program with more rights than its caller must not write or load where the caller says.
static uint64_t number_from_environment(const char *name, uint64_t otherwise)
{
  const char *text = secure_getenv(name);
  char *end;
  if (text == NULL || *text < '0' || *text > '9')
    return otherwise;
  unsigned long long value = strtoull(text, &end, 10);
  return *end == '\0' ? value : otherwise;
}

static void read_boot_id(uint8_t boot_id[16])
{
  char text[64];
  small_file_read("/proc/sys/kernel/random/boot_id", text, sizeof text);
  if (!boot_id_read(text, boot_id))
    memset(boot_id, 0, 16);
}

// A session of the program's own: nobody drains, everything is on unless XSP_LEVELS says otherwise.
static void fill_session(struct session_head *head)
{
  const char *levels = secure_getenv("XSP_LEVELS");
  struct level_set set;
  head->levels = levels != NULL && level_set_parse(levels, strlen(levels), &set) ? set.mask : XSP_LEVEL_MASK_ALL;
  head->version = SESSION_VERSION;
  head->head_size = sizeof *head;
  head->tick_clock = session_clock_choose(secure_getenv("XSP_CLOCK"));
  head->flags = number_from_environment("XSP_FLIGHT_RECORDER", 0) != 0 ? SESSION_FLIGHT_RECORDER : 0;
  uint64_t records = number_from_environment(
      "XSP_RING_RECORDS", head->flags & SESSION_FLIGHT_RECORDER ? RING_RECORDS_RECORDER : RING_RECORDS_LEAST);
  head->ring_records = RING_RECORDS_LEAST;
  while (head->ring_records < records && head->ring_records < RING_RECORDS_MOST)
    head->ring_records *= 2;
  head->memory_limit = session_memory_limit(secure_getenv("XSP_SESSION_LIMIT_BYTES"), capture.directory);
  head->next_process = 1;
  head->next_ring = 1;
  read_boot_id(head->boot_id);
  uint64_t random[3];
  if (getrandom(random, sizeof random, GRND_NONBLOCK) != sizeof random) {
    random[0] = clock_now_ns(CLOCK_MONOTONIC);
    random[1] = (uint64_t)getpid();
    random[2] = (random[0] ^ random[1] << 32) * UINT64_C(0x9e3779b97f4a7c15);
  }
  head->span_base = session_span_base(random[2]);
  if (traceparent_read(secure_getenv("TRACEPARENT"), head->trace_id, head->parent_id))
    return;
  memset(head->parent_id, 0, sizeof head->parent_id);
  memcpy(head->trace_id, random, sizeof head->trace_id);
}

// Gives a finished file its name unless somebody was faster, who then made the same. False: neither worked.
static bool put_in_place(const char *temporary, const char *path)
{
  bool done = link(temporary, path) == 0 || errno == EEXIST;
  int error = errno;
  unlink(temporary);
  errno = error;
  return done;
}

__attribute__((noinline)) static bool create_session(const char *session_path) // large; not for a join
{
  char temporary[PATH_MAX], path[PATH_MAX];
  capture_file_path_number(temporary, ".catalog-", (uint32_t)getpid());
  capture_file_path(path, "catalog");
  if (!catalog_create(temporary) || !put_in_place(temporary, path))
    return false;
  capture_file_path_number(temporary, ".session-", (uint32_t)getpid());
  char *memory = capture_file_create(temporary, SESSION_FILE_SIZE, 0);
  if (memory == NULL)
    return false;
  struct session_head *head = (struct session_head *)memory;
  struct session_control *control = (struct session_control *)(memory + SESSION_CONTROL_OFFSET);
  fill_session(head);
  for (size_t i = 0; i < SESSION_TRACERS; i++)
    control->levels[i] = head->levels;
  memcpy(control->tracer[0].name, "app", 4);
  control->tracer[0].claimed = 2;
  __atomic_store_n(&head->magic, SESSION_MAGIC, __ATOMIC_RELEASE);
  munmap(memory, SESSION_FILE_SIZE);
  return put_in_place(temporary, session_path); // last: who sees it may rely on the catalog
}

static int map_session(bool may_make)
{
  char path[PATH_MAX];
  capture_file_path(path, "session");
  char *memory = capture.arrived != NULL ? capture.arrived : capture_file_map(path, SESSION_FILE_SIZE);
  if (memory == NULL && errno == ENOENT && may_make && create_session(path))
    memory = capture_file_map(path, SESSION_FILE_SIZE);
  if (memory == NULL)
    return -errno;
  struct session_head *head = (struct session_head *)memory;
  uint8_t boot_id[16];
  read_boot_id(boot_id);
  int error = 0;
  bool is_known = __atomic_load_n(&head->magic, __ATOMIC_ACQUIRE) == SESSION_MAGIC && head->version == SESSION_VERSION;
  if (!is_known)
    error = -EPROTO;
  else if (memcmp(head->boot_id, boot_id, sizeof boot_id) != 0)
    error = -ESTALE; // ticks of another boot cannot be joined
  else if (head->tick_clock != SESSION_TICKS_TSC && head->tick_clock != SESSION_TICKS_MONOTONIC)
    error = -ENOTSUP; // who made the session in this boot asked the processor, which a virtual machine makes slow
  if (error == 0) {
    capture_file_path(path, "catalog");
    error = catalog_open(path) ? 0 : -errno;
  }
  if (error != 0) {
    if (capture.arrived != NULL && is_known) // it was to record: not to be overlooked
      __atomic_add_fetch(&head->lost, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&capture.arrived, NULL, __ATOMIC_RELAXED);
    munmap(memory, SESSION_FILE_SIZE);
    return error;
  }
  capture.session = head;
  capture.control = (struct session_control *)(memory + SESSION_CONTROL_OFFSET);
  capture.switches = (struct session_switches *)(memory + SESSION_SWITCHES_OFFSET);
  __atomic_store_n(&capture.ticks, head->tick_clock, __ATOMIC_RELAXED);
  return 0;
}

int session_set_directory(const char *directory, bool may_make)
{
  size_t length = strlen(directory), base = 0;
  if (directory[0] != '/') {
    if (getcwd(capture.directory, sizeof capture.directory - 1) == NULL)
      return -errno;
    base = strlen(capture.directory);
    capture.directory[base++] = '/';
  }
  if (base + length >= sizeof capture.directory)
    return -ENAMETOOLONG;
  memcpy(capture.directory + base, directory, length + 1);
  if (may_make && mkdir(capture.directory, 0700) != 0 && errno != EEXIST)
    return -errno;
  struct stat status; // who else can write to it could cut our mappings short, or make us write elsewhere
  if (lstat(capture.directory, &status) != 0)
    return -errno;
  bool is_ours = S_ISDIR(status.st_mode) && status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return is_ours ? 0 : -EPERM;
}

// ---- attaching
static int attach(const char *directory, bool may_make)
{
  int error = capture.arrived != NULL ? 0 : session_set_directory(directory, may_make);
  if (error == 0)
    error = map_session(may_make);
  if (error != 0)
    return error;
  capture.pid = getpid();
  return 0;
}

void session_note_directory(void)
{
  struct attach_block *block = &capture_attach_block;
  memcpy(block->directory, capture.directory, sizeof block->directory);
  __atomic_store_n(&block->state, ATTACH_JOINED, __ATOMIC_RELEASE);
  __atomic_store_n(&block->before_session, UINT32_MAX, __ATOMIC_RELEASE); // sites seen before come back
}

static uint32_t
    given_up; // atomic: uses of the session that did not wait for a join to end, and are not counted as lost yet

static void count_given_up(void)
{
  uint32_t uses = __atomic_exchange_n(&given_up, 0, __ATOMIC_SEQ_CST);
  if (uses != 0 && capture_attached())
    session_count_lost(uses);
}

// `from`: CAPTURE_NONE, or CAPTURE_ARRIVED.
static int join(uint32_t from, const char *directory, bool may_make)
{
  int saved_errno = errno;
  struct signals_held before;
  signals_hold(&before); // a handler could wait for the thread that it interrupted
  uint32_t state = from;
  if (!__atomic_compare_exchange_n(&capture.state, &state, CAPTURE_BUSY, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    signals_release(&before);
    if (state == CAPTURE_BUSY)
      return -EINPROGRESS;
    struct stat mine, theirs;
    bool same = stat(capture.directory, &mine) == 0 && stat(directory, &theirs) == 0 && mine.st_dev == theirs.st_dev &&
                mine.st_ino == theirs.st_ino;
    errno = saved_errno;
    return same ? 0 : -EBUSY;
  }
  int error = attach(directory, may_make);
  // Partner: capture_attached. Everything above is visible to whoever sees CAPTURE_ATTACHED.
  __atomic_store_n(&capture.state, error == 0 ? CAPTURE_ATTACHED : CAPTURE_NONE, __ATOMIC_SEQ_CST);
  signals_release(&before);
  if (from == CAPTURE_ARRIVED)
    (void)syscall(SYS_futex, &capture.state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0); // partner: await_join
  if (error == 0) {
    clock_calibrate();
    session_process();
    count_given_up();
    (void)ring_acquire(); // now, while the program has a large stack and may still make system calls
    session_note_directory();
    const char *tracers = secure_getenv("XSP_TRACERS");
    if (tracers != NULL && from == CAPTURE_NONE)
      tracers_load(tracers);
  } else {
    count_given_up(); // map_session counted what this join was for
  }
  errno = saved_errno;
  return error;
}

// The folder of an xsp that has ended is not made again by what its program starts later: nobody would read or remove it.
static int join_by_environment(void)
{
  const char *directory = secure_getenv("XSP_SESSION");
  bool is_xsps = secure_getenv("XSP_SESSION_JOIN") != NULL;
  return directory == NULL || *directory == '\0' ? -ENOENT : join(CAPTURE_NONE, directory, !is_xsps);
}

int xsp_attach(const char *directory)
{
  (void)session_is_in();
  if (directory == NULL)
    return join_by_environment();
  return *directory == '\0' ? -ENOENT : join(CAPTURE_NONE, directory, true);
}

// Joining takes some 6 KiB of stack, which a handler on a stack of its own may not have.
static bool is_on_signal_stack(void)
{
  stack_t stack;
  return sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK) != 0;
}

// Another thread joins, which is in no handler: spans that this one began meanwhile would be lost. Where the joining thread
// gets no CPU, or its files no answer, they are, and counted; nobody waits a second time.
static void await_join(void)
{
  static bool is_long; // atomic
  struct timespec until;
  (void)clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += JOIN_WAIT_S;
  while (__atomic_load_n(&capture.state, __ATOMIC_ACQUIRE) == CAPTURE_BUSY &&
         !__atomic_load_n(&is_long, __ATOMIC_RELAXED)) {
    long error = syscall(SYS_futex, &capture.state, FUTEX_WAIT_BITSET_PRIVATE, CAPTURE_BUSY, &until, NULL,
                         FUTEX_BITSET_MATCH_ANY) == 0
                     ? 0
                     : errno;
    if (error != 0 && error != EINTR && error != EAGAIN)
      __atomic_store_n(&is_long, true, __ATOMIC_RELAXED);
  }
  if (__atomic_load_n(&capture.state, __ATOMIC_ACQUIRE) != CAPTURE_BUSY)
    return;
  (void)__atomic_add_fetch(&given_up, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&capture.state, __ATOMIC_SEQ_CST) != CAPTURE_BUSY) // the join did not see it
    count_given_up();
}

// In a handler on a stack of its own it is left to the next use: sites come back.
void session_join_arrived(void)
{
  int saved_errno = errno;
  uint32_t state = __atomic_load_n(&capture.state, __ATOMIC_ACQUIRE);
  int error = state == CAPTURE_ARRIVED && !is_on_signal_stack() ? join(state, capture.directory, false) : 0;
  if (error == -EINPROGRESS || state == CAPTURE_BUSY) {
    await_join();
  } else if (error != 0 && !capture_attached()) {
    __atomic_store_n(&capture_attach_block.before_session, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&capture_attach_block.state, ATTACH_NONE, __ATOMIC_RELEASE);
  }
  errno = saved_errno;
}

// One thread takes the request. A folder that is gone is not made again: its xsp does not wait any more.
static void join_by_request(void)
{
  struct attach_block *block = &capture_attach_block;
  uint32_t state = ATTACH_ASKED;
  if (is_on_signal_stack())
    return;
  if (!__atomic_compare_exchange_n(&block->state, &state, ATTACH_BUSY, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return;
  block->directory[sizeof block->directory - 1] = '\0';
  int error = block->directory[0] == '/' ? join(CAPTURE_NONE, block->directory, false) : -EINVAL;
  if (error == 0)
    return;
  block->error = error;
  __atomic_store_n(&block->before_session, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&block->state, ATTACH_FAILED, __ATOMIC_RELEASE);
}

void session_attach_if_asked(void)
{
  if (session_is_in() || __atomic_load_n(&capture.arrived, __ATOMIC_RELAXED) != NULL)
    return;
  if (__atomic_load_n(&capture.asked, __ATOMIC_RELAXED) != 0 ||
      __atomic_exchange_n(&capture.asked, 1, __ATOMIC_RELAXED) != 0) {
    if (__atomic_load_n(&capture_attach_block.before_session, __ATOMIC_ACQUIRE) != 0 && !capture_attached())
      join_by_request();
    return;
  }
  (void)join_by_environment();
}

// The child has one thread, the forking one. Nothing it inherited may be written as its own any more.
static void session_start_clean(void)
{
  uint32_t busy = CAPTURE_BUSY, again = capture.arrived != NULL ? CAPTURE_ARRIVED : CAPTURE_NONE;
  // Another thread of the parent was joining.
  (void)__atomic_compare_exchange_n(&capture.state, &busy, again, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  given_up = 0; // the parent counts them
  if (!capture_attached())
    return;
  ring_start_clean();
  if (capture.process != NULL) {
    capture.parent = capture.process;
    capture.parent_tracks = __atomic_load_n(&capture.process->track_count, __ATOMIC_RELAXED);
    if (capture.parent_tracks > PROCESS_TRACKS)
      capture.parent_tracks = PROCESS_TRACKS;
  }
  capture.process = NULL;
  capture.pid = getpid();
}

__attribute__((constructor)) static void load(int argument_count, char **arguments)
{
  ring_prepare();
  pthread_atfork(NULL, NULL, session_start_clean);
  session_rank_from_environment(); // now: the program may change its environment
  const char *directory = secure_getenv("XSP_SESSION");
  if (directory != NULL && *directory != '\0' && !arrive(directory, argument_count, arguments))
    session_attach_if_asked();
}

// Exit, from whichever thread. Other threads may still record: nothing is unmapped, nothing is waited for.
__attribute__((destructor)) static void leave(void)
{
  if (!capture_attached())
    return;
  tracers_stop();
  struct process_head *process = __atomic_load_n(&capture.process, __ATOMIC_ACQUIRE);
  if (process == NULL || process->pid != (uint32_t)getpid())
    return;
  clock_calibrate();
  __atomic_store_n(&process->ended, 1, __ATOMIC_RELEASE);
}

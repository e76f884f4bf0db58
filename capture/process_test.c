// SPDX-License-Identifier: Apache-2.0
// Runs the traced programs of test_guest.c, each in a session folder of its own, and reads what they left.
// First argument: the guest program. Every test runs with the inline path, with plain calls and without the counter.
#include "capture/test_reader.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xsp/span.h>

#include <cmocka.h>

#define GUEST_OUTPUT 4096

static const char *guest, *plugin_host, *plugin;
static char session[256];
static struct session_read result;

struct guest_run {
  const char *program;
  const char *environment[4]; // NAME=VALUE
  const char *arguments[5];
  uint64_t file_bytes_most; // RLIMIT_FSIZE; 0: none
  const char *folder;       // NULL: `session`
};
static char output[GUEST_OUTPUT];

static void run_child(const struct guest_run *run, int out)
{
  setenv("XSP_SESSION", run->folder != NULL ? run->folder : session, 1);
  for (int i = 0; i < 4 && run->environment[i] != NULL; i++)
    putenv((char *)(uintptr_t)run->environment[i]);
  if (run->file_bytes_most != 0) {
    struct rlimit limit = {run->file_bytes_most, run->file_bytes_most};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  dup2(out, 1);
  const char *arguments[7] = {run->program != NULL ? run->program : guest};
  memcpy(arguments + 1, run->arguments, sizeof run->arguments);
  execv(arguments[0], (char *const *)(uintptr_t)arguments);
  _exit(126);
}

// Runs to the end of all that holds the output open (daemons too). Returns the exit status, 128 + signal where killed.
static int run_guest(const struct guest_run *run)
{
  int ends[2], status;
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  pid_t child = fork();
  if (child == 0)
    run_child(run, ends[1]);
  close(ends[1]);
  size_t length = 0;
  ssize_t got;
  while (length < sizeof output - 1 && (got = read(ends[0], output + length, sizeof output - 1 - length)) > 0)
    length += (size_t)got;
  output[length] = '\0';
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define RUN(...) run_guest(&(struct guest_run){.arguments = {__VA_ARGS__}})

static void read_result(void)
{
  assert_true(session_read(session, &result));
  assert_int_equal(result.incomplete, 0);
  assert_true(ids_are_unique(&result));
}

static int set_up(void **state)
{
  (void)state;
  snprintf(session, sizeof session, "/dev/shm/xsp-test-%d", (int)getpid());
  remove_folder(session);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  session_read_done(&result);
  remove_folder(session);
  return 0;
}

static uint64_t about(const struct read_record *span, unsigned type)
{
  const struct read_record *record = find_about(&result, span, type);
  assert_non_null(record);
  return record->record.start;
}

// The site's only tag.
static const struct catalog_site_tag *site_tag(const struct catalog_site *site)
{
  const struct catalog_site_tag *tag = (const struct catalog_site_tag *)(result.catalog + (size_t)site->first_tag * 8);
  assert_int_not_equal(site->first_tag, 0);
  assert_int_equal(tag->entry.type, CATALOG_SITE_TAG);
  assert_int_equal(tag->next, 0);
  return tag;
}

static void test_annotations(void **state)
{
  (void)state;
  assert_int_equal(RUN("annotate"), 0);
  read_result();
  assert_int_equal(result.misused, 5);
  assert_int_equal(result.dropped + result.lost, 0);
  assert_int_equal(result.ended, 1);
  const struct read_record *outer = find_span(&result, "outer"), *inner = find_span(&result, "inner");
  assert_non_null(outer);
  assert_non_null(inner);
  assert_true(inner->record.start >= outer->record.start);
  assert_true(inner->record.start + inner->record.duration <= outer->record.start + outer->record.duration);
  assert_true((int64_t)about(inner, RECORD_TAG_INT) == -8);
  uint64_t bits = about(inner, RECORD_TAG_DOUBLE);
  double value;
  memcpy(&value, &bits, sizeof value);
  assert_true(value == 1.5);
  assert_string_equal(read_text(&result, (uint32_t)about(inner, RECORD_TAG_STRING)), "cpu");
  assert_string_equal(read_text(&result, find_about(&result, inner, RECORD_TAG_STRING)->record.site), "provider");
  assert_string_equal(read_text(&result, find_about(&result, inner, RECORD_LOG)->record.site), "hello");
  assert_int_equal(about(inner, RECORD_CORRELATION), 99);
  assert_int_equal(find_about(&result, inner, RECORD_CORRELATION)->record.kind_clock, XSP_KIND_LAUNCH);
  assert_int_equal(about(inner, RECORD_PARENT), (uint64_t)outer->ring << 32 | outer->record.id);
  const struct read_record *variant = find_span(&result, "made kernel"), *cycle = find_span(&result, "cycle");
  assert_int_equal(count_spans(&result, "made kernel") + count_spans(&result, "cycle"), 3);
  const struct read_record *kernel = variant + 1;
  while (kernel < result.records + result.count && kernel->record.type != RECORD_SPAN)
    kernel++;
  assert_int_not_equal(kernel->record.site, variant->record.site); // same name, another site
  assert_int_equal(read_site(&result, kernel->record.site)->name, read_site(&result, variant->record.site)->name);
  assert_int_equal(read_site(&result, kernel->record.site)->first_tag, 0);
  const struct catalog_site_tag *shape = site_tag(read_site(&result, variant->record.site));
  assert_string_equal(read_text(&result, (uint32_t)shape->value), "8x8");
  assert_int_equal(kernel->record.start, 100);
  assert_int_equal(kernel->record.duration, 250);
  assert_int_equal(kernel->record.track, 1);
  assert_int_equal(kernel->record.kind_clock, XSP_KIND_EXECUTION | XSP_CLOCK_MONOTONIC << 4);
  assert_int_equal(about(kernel, RECORD_CORRELATION), 99);
  assert_int_equal(about(kernel, RECORD_PARENT), (uint64_t)outer->ring << 32 | outer->record.id);
  assert_string_equal(read_text(&result, (uint32_t)about(kernel, RECORD_TAG_STRING)), "1x2x3");
  assert_int_equal(cycle->record.kind_clock, XSP_KIND_SYNC | XSP_CLOCK_FOREIGN << 4);
  assert_int_equal(result.process[1].track_count, 2);
  assert_string_equal(read_text(&result, result.records[0].record.site), "the main thread");
  const struct catalog_site *site = read_site(&result, inner->record.site);
  assert_int_equal(site->level, XSP_LEVEL_MODEL);
  assert_string_equal(read_text(&result, site_tag(site)->key), "layer_index");
  assert_int_equal(site_tag(site)->value, 7);
  assert_string_equal(result.control.tracer[read_site(&result, kernel->record.site)->tracer].name, "made");
  assert_string_equal(read_text(&result, read_site(&result, kernel->record.site)->category), "kernel");
  assert_true(result.head.calibration_count >= 2);
  assert_int_equal(result.head.calibration[0].sequence, 1);
}

static void test_order(void **state)
{
  (void)state;
  assert_int_equal(RUN("order"), 0);
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 1);
  assert_int_equal(count_spans(&result, "inner"), 201);
  assert_int_equal(count_spans(&result, "third"), 2001);
  assert_int_equal(result.misused, 1);
  assert_int_equal(result.open_count, 1);
  assert_string_equal(read_text(&result, read_site(&result, result.open[0].span.site)->name), "outer");
}

static void test_misuse(void **state)
{
  (void)state;
  assert_int_equal(RUN("misuse"), 0);
  read_result();
  assert_int_equal(result.misused, 2);
  assert_int_equal(count_spans(&result, "outer"), 1);
  assert_null(find_about(&result, find_span(&result, "inner"), RECORD_TAG_INT));
  size_t left_open = 0; // by the thread that ended: noted as a record, its ring is free for others
  for (size_t i = 0; i < result.count; i++)
    left_open += result.records[i].record.type == RECORD_OPEN;
  assert_int_equal(left_open, 1);
  assert_int_equal(result.open_count, 0);
}

static void test_levels(void **state)
{
  (void)state;
  assert_int_equal(RUN("levels"), 0);
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 1);
  assert_int_equal(count_spans(&result, "inner"), 3);
  assert_int_equal(count_spans(&result, "handler"), 1);
  assert_int_equal(result.misused, 0);
}

static void test_session_levels(void **state)
{
  (void)state;
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"parallel", "1", "1"}, .environment = {"XSP_LEVELS=M"}}),
                   0);
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 0);
  assert_int_equal(count_spans(&result, "inner"), 1);
  assert_int_equal(result.head.levels, XSP_LEVEL_MASK(XSP_LEVEL_MODEL));
}

static void test_churn(void **state)
{
  (void)state;
  assert_int_equal(RUN("churn", "10000"), 0);
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 10000);
  assert_int_equal(result.dropped + result.lost, 0);
  assert_true(result.rings <= 16); // eight at a time
  uint32_t threads = 0;
  for (size_t i = 0; i < result.count; i++) // every thread's one span comes behind its own name
    if (result.records[i].record.type == RECORD_THREAD) {
      threads++;
      assert_true(i + 1 < result.count && result.records[i + 1].ring == result.records[i].ring);
      assert_int_equal(result.records[i + 1].record.type, RECORD_SPAN);
    }
  assert_int_equal(threads, 10000);
}

static void test_thread_without_end(void **state)
{
  (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  skip(); // sanitizers do not survive threads that end so
#endif
  assert_int_equal(RUN("raw-exit", "200"), 0);
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 200);
  assert_int_equal(result.dropped + result.lost + result.misused, 0);
  assert_true(result.rings <= 16);
}

static void test_parallel(void **state)
{
  (void)state;
  assert_int_equal(RUN("parallel", "8", "20000"), 0);
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 160000);
  assert_int_equal(count_spans(&result, "inner"), 160000);
  assert_int_equal(result.dropped + result.lost + result.misused, 0);
}

static void test_ring_limit(void **state)
{
  (void)state;
  const char *small[] = {"XSP_RING_RECORDS=256", "XSP_SESSION_LIMIT_BYTES=100000"};
  assert_int_equal(
      run_guest(&(struct guest_run){.arguments = {"parallel", "1", "20000"}, .environment = {small[0], small[1]}}), 0);
  read_result();
  size_t kept = count_spans(&result, "outer") + count_spans(&result, "inner");
  assert_true(kept > 1000); // it grew
  assert_true(result.dropped > 0);
  assert_int_equal(result.count + result.dropped, 40000 + 1250 + 1); // spans, tags, one thread: none unaccounted for
}

static void test_flight_recorder(void **state)
{
  (void)state;
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"parallel", "1", "20000"},
                                                 .environment = {"XSP_RING_RECORDS=1024", "XSP_FLIGHT_RECORDER=1"}}),
                   0);
  read_result();
  assert_int_equal(result.dropped, 0);
  assert_int_equal(result.count, 1024); // the newest, without a gap
  assert_int_equal(result.records[1023].position, 40000 + 1250);
}

static void test_storm(void **state)
{
  (void)state;
  long outer, inner, handled;
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"storm", "300"}}), 0);
  assert_int_equal(sscanf(output, "%ld %ld %ld", &outer, &inner, &handled), 3);
  read_result();
  assert_true(handled > 100);
  assert_int_equal(result.misused, 0);
  assert_int_equal(result.open_count, 0);
  size_t spans = 0, tags = 0, threads = 0;
  for (size_t i = 0; i < result.count; i++) { // nothing torn: each record is one that the guest wrote
    const struct record *record = &result.records[i].record;
    spans +=
        record->type == RECORD_SPAN && read_site(&result, record->site) != NULL && record->duration < UINT64_C(1) << 40;
    tags += record->type == RECORD_TAG_INT && record->start == 1;
    threads += record->type == RECORD_THREAD;
  }
  assert_int_equal(spans + tags + threads, result.count);
  assert_int_equal(result.count + result.dropped, (size_t)(outer + inner + 3 * handled) + 1);
  if (result.dropped == 0) {
    assert_int_equal(count_spans(&result, "outer"), outer);
    assert_int_equal(count_spans(&result, "inner"), inner);
    assert_int_equal(count_spans(&result, "handler"), handled);
    assert_int_equal(count_spans(&result, "third"), handled);
  }
}

static void test_fork(void **state)
{
  (void)state;
  assert_int_equal(RUN("fork"), 0);
  read_result();
  assert_int_equal(result.processes, 7);
  assert_int_equal(count_spans(&result, "outer"), 1);
  assert_int_equal(count_spans(&result, "inner"), 6);
  assert_int_equal(count_spans(&result, "third"), 3); // on the parent's track, from each child
  assert_int_equal(result.misused, 3);
  assert_int_equal(result.ended, 7);
  assert_int_equal(result.open_count, 0);
  for (size_t i = 0; i < result.count; i++)
    assert_int_equal(result.process[result.records[i].process].pid, result.records[i].tid); // one thread each
}

static void test_fork_in_handler(void **state)
{
  (void)state;
#if defined(__SANITIZE_THREAD__)
  skip(); // the sanitizer's own fork handlers allocate
#endif
  long count;
  assert_int_equal(
      run_guest(&(struct guest_run){.arguments = {"fork-handler"}, .environment = {"XSP_RING_RECORDS=1024"}}), 0);
  assert_int_equal(sscanf(output, "%ld", &count), 1);
  read_result();
  size_t in_parent = 0;
  for (size_t i = 0; i < result.count; i++)
    in_parent += result.records[i].process == 1 && result.records[i].record.type == RECORD_SPAN;
  assert_int_equal(count_spans(&result, "third"), 20);
  assert_int_equal(in_parent + result.dropped, count);
}

static void test_vfork(void **state)
{
  (void)state;
  assert_int_equal(RUN("vfork"), 0);
  read_result();
  assert_int_equal(result.processes, 2);
  assert_int_equal(count_spans(&result, "outer"), 1);
  assert_int_equal(count_spans(&result, "third"), 1);
  assert_int_not_equal(find_span(&result, "outer")->process, find_span(&result, "third")->process);
}

static void test_daemon(void **state)
{
  (void)state;
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"daemon"}, .environment = {"XSP_RING_RECORDS=1024"}}),
                   0);
  assert_string_equal(output, "done\n");
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 1);
  assert_int_equal(count_spans(&result, "inner"), 20000);
  assert_int_equal(result.dropped + result.lost, 0);
  assert_true(result.catalog_size > 512 << 10); // it grew, by name, although every descriptor was taken away
}

static void test_unloaded_plugin(void **state)
{
  (void)state;
  assert_int_equal(run_guest(&(struct guest_run){.program = plugin_host, .arguments = {plugin}}), 0);
  read_result();
  assert_int_equal(count_spans(&result, "plugin"), 3);
  assert_int_equal(result.processes, 1);
}

static void test_exit_from_thread(void **state)
{
  (void)state;
  assert_int_equal(
      run_guest(&(struct guest_run){.arguments = {"exit-thread"}, .environment = {"XSP_SESSION_LIMIT_BYTES=8388608"}}),
      3);
  assert_true(session_read(session, &result));
  assert_int_equal(count_spans(&result, "outer"), 1);
  assert_int_equal(result.ended, 1);
  assert_true(ids_are_unique(&result));
}

static void test_explicit_attach(void **state)
{
  (void)state;
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"attach", session}, .folder = ""}), 0);
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 1);
}

static void test_trace_context(void **state)
{
  (void)state;
  assert_int_equal(RUN("trace-context"), 0);
  read_result();
  const struct read_record *outer = find_span(&result, "outer"), *inner = find_span(&result, "inner");
  static const uint8_t trace[16] = {0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd,
                                    0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c};
  static const uint8_t parent[8] = {0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31};
  assert_memory_equal(&find_about(&result, outer, RECORD_TRACE)->record.start, trace, 16);
  assert_memory_equal(&find_about(&result, outer, RECORD_REMOTE_PARENT)->record.start, parent, 8);
  char expected[64];
  snprintf(expected, sizeof expected, "-%08x%08x-01", inner->ring, inner->record.id);
  assert_non_null(strstr(output, expected)); // what other services will name as their parent
  assert_int_equal(result.misused, 0);
}

// ---- with a collector: rings are given back while they are written, and wrap many times
struct drain {
  struct ring_head *ring[32];
  uint64_t spans, others, wrong;
};

static void *map_file(const char *name, size_t *ret_size)
{
  char path[512];
  struct stat status;
  snprintf(path, sizeof path, "%s/%s", session, name);
  int file = open(path, O_RDWR | O_CLOEXEC);
  void *memory = MAP_FAILED;
  if (file >= 0 && fstat(file, &status) == 0 && status.st_size > 0)
    memory = mmap(NULL, *ret_size = (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0)
    close(file);
  return memory == MAP_FAILED ? NULL : memory;
}

static void drain_once(struct drain *drain)
{
  for (uint32_t i = 0; i < 32; i++) {
    char name[32];
    size_t size = 0;
    snprintf(name, sizeof name, "ring-%u", i + 1);
    struct ring_head *ring = drain->ring[i] != NULL ? drain->ring[i] : map_file(name, &size);
    if (ring == NULL || (size != 0 && (size < RING_HEAD_SIZE || __atomic_load_n(&ring->magic, __ATOMIC_ACQUIRE) == 0)))
      continue;
    drain->ring[i] = ring;
    const struct record *records = (const struct record *)((char *)ring + RING_HEAD_SIZE);
    uint64_t tail = ring->tail;
    for (;; tail++) {
      const struct record *record = &records[tail & (ring->record_count - 1)];
      if (__atomic_load_n(&record->commit, __ATOMIC_ACQUIRE) != (uint32_t)(tail + 1))
        break;
      bool is_span = record->type == RECORD_SPAN,
           is_known = record->type >= RECORD_TAG_INT && record->type <= RECORD_OPEN;
      drain->spans += is_span;
      drain->others += is_known && record->type != RECORD_THREAD;
      drain->wrong += (!is_span && !is_known) || (is_span && (record->id == 0 || record->duration > UINT64_C(1) << 40));
    }
    __atomic_store_n(&ring->tail, tail, __ATOMIC_RELAXED);
    __atomic_store_n(&ring->producer.limit, tail + ring->record_count - RING_MARGIN, __ATOMIC_RELEASE);
  }
}

static uint64_t drain_guest(const char *mode, const char *argument, const char *second, struct drain *drain)
{
  memset(drain, 0, sizeof *drain);
  const struct guest_run make = {
      .arguments = {"attach", session}, .environment = {"XSP_RING_RECORDS=1024"}, .folder = ""};
  assert_int_equal(run_guest(&make), 0); // makes the session and one span
  size_t size = 0;
  struct session_head *head = map_file("session", &size);
  assert_non_null(head);
  head->collector_pid = (uint32_t)getpid();
  munmap(head, size);
  int ends[2], status;
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  pid_t child = fork();
  if (child == 0)
    run_child(&(struct guest_run){.arguments = {mode, argument, second}}, ends[1]);
  close(ends[1]);
  while (waitpid(child, &status, WNOHANG) == 0)
    drain_once(drain);
  assert_int_equal(status, 0);
  drain_once(drain);
  ssize_t got = read(ends[0], output, sizeof output - 1);
  output[got > 0 ? got : 0] = '\0';
  close(ends[0]);
  uint64_t dropped = 0;
  for (uint32_t i = 0; i < 32; i++)
    if (drain->ring[i] != NULL) {
      dropped += drain->ring[i]->producer.dropped;
      munmap(drain->ring[i], RING_HEAD_SIZE + drain->ring[i]->record_count * sizeof(struct record));
    }
  return dropped;
}

static void test_drained_threads(void **state)
{
  (void)state;
  struct drain drain;
  uint64_t dropped = drain_guest("parallel", "4", "50000", &drain);
  assert_int_equal(drain.wrong, 0);
  assert_true(drain.spans > 4 * 1024); // they wrapped
  assert_int_equal(drain.spans + drain.others + dropped, 1 + 4 * (50000 * 2 + 3125));
}

static void test_drained_storm(void **state)
{
  (void)state;
  struct drain drain;
  long outer, inner, handled;
  uint64_t dropped = drain_guest("storm", "300", NULL, &drain);
  assert_int_equal(sscanf(output, "%ld %ld %ld", &outer, &inner, &handled), 3);
  assert_int_equal(drain.wrong, 0);
  assert_true(handled > 100);
  assert_int_equal(drain.spans + drain.others + dropped, (uint64_t)(1 + outer + inner + 3 * handled));
}

// ---- places where nothing can be written: the program runs as if xsp were not there
static void test_no_place(void **state)
{
  (void)state;
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"parallel", "2", "10"}, .folder = "/proc/no/such"}), 0);
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"parallel", "2", "10"}, .folder = "/dev/null"}), 0);
  assert_string_equal(output, "");
}

static void test_read_only_home(void **state)
{
  (void)state;
  char home[300], folder[320], variable[320];
  snprintf(home, sizeof home, "%s-home", session);
  snprintf(folder, sizeof folder, "%s/session", home);
  snprintf(variable, sizeof variable, "HOME=%s", home);
  mkdir(home, 0700);
  if (mount("xsp-test", home, "tmpfs", MS_RDONLY, "size=64k") != 0) {
    rmdir(home);
    print_message("mounting is not permitted here\n");
    skip();
  }
  int inside = run_guest(&(struct guest_run){.arguments = {"parallel", "2", "10"}, .folder = folder});
  int beside = run_guest(&(struct guest_run){.arguments = {"annotate"}, .environment = {variable}});
  umount(home);
  rmdir(home);
  assert_int_equal(inside, 0);
  assert_int_equal(beside, 0);
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 1);
}

static void check_full_memory(const char *size, bool expect_spans)
{
  remove_folder(session);
  mkdir(session, 0700);
  if (mount("xsp-test", session, "tmpfs", 0, size) != 0) {
    print_message("mounting is not permitted here\n");
    skip();
  }
  int status = run_guest(&(struct guest_run){.arguments = {"parallel", "4", "20000"}});
  bool is_read = session_read(session, &result);
  umount(session);
  assert_int_equal(status, 0); // no SIGBUS above all
  if (!expect_spans)
    return;
  assert_true(is_read);
  size_t kept = count_spans(&result, "outer") + count_spans(&result, "inner");
  assert_true(kept > 0 && kept < 160000);
  size_t tags = 0;
  for (size_t i = 0; i < result.count; i++)
    tags += result.records[i].record.type == RECORD_TAG_STRING;
  // Lost spans took their tags with them, so the sum lies between spans alone and all records.
  assert_true(kept + tags + result.dropped + result.lost >= 160000);
  assert_true(kept + tags + result.dropped + result.lost <= 160000 + 5000);
  session_read_done(&result);
}

static void test_full_memory(void **state)
{
  (void)state;
  check_full_memory("size=1m", true);
  check_full_memory("size=320k", true); // hardly a ring
  check_full_memory("size=64k", false); // no session
  check_full_memory("nr_inodes=4,size=16m", false);
}

static void test_file_size_limit(void **state)
{
  (void)state;
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"parallel", "2", "20000"}, .file_bytes_most = 300000}),
                   0);
  read_result();
  assert_true(result.dropped > 0 && count_spans(&result, "inner") > 1000);
}

static void test_joining_together(void **state)
{
  (void)state;
  pid_t children[6];
  for (int i = 0; i < 6; i++)
    if ((children[i] = fork()) == 0)
      run_child(&(struct guest_run){.arguments = {"parallel", "2", "100"}}, 2);
  for (int i = 0; i < 6; i++) {
    int status;
    waitpid(children[i], &status, 0);
    assert_int_equal(status, 0);
  }
  read_result();
  assert_int_equal(result.processes, 6);
  assert_int_equal(count_spans(&result, "outer"), 1200);
  assert_int_equal(count_spans(&result, "inner"), 1200);
}

int main(int count, char **arguments)
{
  if (count < 4)
    return 64;
  guest = arguments[1], plugin_host = arguments[2], plugin = arguments[3];
  if (count > 4)
    putenv(arguments[4]);
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(annotations),
      TEST(order),
      TEST(misuse),
      TEST(levels),
      TEST(session_levels),
      TEST(churn),
      TEST(thread_without_end),
      TEST(parallel),
      TEST(ring_limit),
      TEST(flight_recorder),
      TEST(storm),
      TEST(fork),
      TEST(fork_in_handler),
      TEST(vfork),
      TEST(daemon),
      TEST(unloaded_plugin),
      TEST(exit_from_thread),
      TEST(explicit_attach),
      TEST(trace_context),
      TEST(no_place),
      TEST(read_only_home),
      TEST(full_memory),
      TEST(file_size_limit),
      TEST(joining_together),
      TEST(drained_threads),
      TEST(drained_storm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Texts, nesting, ranges of any thread, limits, capture ranges, threads and forks: each in a child process with a session
// of its own, read by a reader that shares no code with capture.
#include "tests/support/ring_reader.h"
#include "tracers/annotations/fast.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define THREADS 4
#define ROUNDS 2000

// On a span's inline path the site's mask and the switches are read plainly while others store them: the mask anew with
// the value it has, the switches to be seen soon or later. Frozen with version 1 of that path.
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
  return "race:xsp_span_start\n";
}

static struct session_read result;

#define DEMAND(truth)                                                                                                  \
  do {                                                                                                                 \
    if (!(truth)) {                                                                                                    \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #truth);                                              \
      _exit(1);                                                                                                        \
    }                                                                                                                  \
  } while (0)

// Runs `program` in a child with a session and reads what it left into `result`.
static void record(void (*program)(void), const char *model_range, const char *capture_range)
{
  char folder[] = "/dev/shm/xsp-annotations-XXXXXX";
  assert_non_null(mkdtemp(folder));
  char session[64];
  snprintf(session, sizeof session, "%s/session", folder);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    if (model_range != NULL)
      setenv("XSP_MODEL_RANGE", model_range, 1);
    if (capture_range != NULL)
      setenv("XSP_CAPTURE_RANGE", capture_range, 1);
    if (mkdir(session, 0700) != 0 || xsp_attach(session) != 0)
      _exit(2);
    annotations_start("test");
    program();
    _exit(0);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  bool is_read = status == 0 && session_read(session, &result);
  remove_folder(session);
  rmdir(folder);
  assert_int_equal(status, 0);
  assert_true(is_read);
  assert_true(ids_are_unique(&result));
}

static int tear_down(void **state)
{
  session_read_done(&result);
  memset(&result, 0, sizeof result);
  return 0;
}

// ---- what was recorded
static const void *entry(uint32_t id)
{
  return result.catalog + (size_t)id * 8;
}

static const struct catalog_site *site_of(const char *span)
{
  const struct read_record *record = find_span(&result, span);
  assert_non_null(record);
  return read_site(&result, record->record.site);
}

static const struct catalog_site_tag *site_tag(const struct catalog_site *site, const char *key)
{
  for (uint32_t id = site->first_tag; id != 0;) {
    const struct catalog_site_tag *tag = entry(id);
    if (strcmp(read_text(&result, tag->key), key) == 0)
      return tag;
    id = tag->next;
  }
  return NULL;
}

static const struct read_record *span_tag(const char *span, const char *key)
{
  const struct read_record *about = find_span(&result, span);
  assert_non_null(about);
  for (size_t i = 0; i < result.count; i++) {
    const struct record *record = &result.records[i].record;
    if (result.records[i].ring == about->ring && record->id == about->record.id && record->type >= RECORD_TAG_INT &&
        record->type <= RECORD_TAG_STRING && strcmp(read_text(&result, record->site), key) == 0)
      return &result.records[i];
  }
  return NULL;
}

static void assert_site(const char *span, unsigned level, const char *category, const char *domain)
{
  const struct catalog_site *site = site_of(span);
  assert_int_equal(site->level, level);
  const char *text = site->category == 0 ? NULL : read_text(&result, site->category);
  if (category == NULL)
    assert_null(text);
  else
    assert_string_equal(text, category);
  const struct catalog_site_tag *tag = site_tag(site, "domain");
  if (domain == NULL)
    assert_null(tag);
  else
    assert_string_equal(read_text(&result, (uint32_t)tag->value), domain);
}

// ---- as a tracer does
static void range(const char *domain_name, const char *category, const char *text)
{
  struct annotation_domain *domain = annotation_domain(domain_name);
  const struct annotation *annotation = annotation_find(domain, category, text, strlen(text));
  annotation_push(domain, annotation, text, strlen(text), NULL);
  annotation_pop(domain);
}

static void say_everything(void)
{
  struct annotation_domain *domain = annotation_domain("mine"), *nameless = annotation_domain_nameless();
  range(NULL, NULL, "plain");
  range("mine", "io", "load");
  range("NCCL", NULL, "ncclAllReduce");
  range(NULL, NULL, "aten::mm, seq = 3, op_id = 12, sizes = [[2, 3], [3, 4]]");
  range(NULL, NULL, "iteration 7");
  range(NULL, "program", "mean");
  const struct annotation *nccl = annotation_find_text(nameless, NULL, "ncclBroadcast");
  annotation_push(nameless, nccl, NULL, 0, NULL);
  annotation_pop(nameless);
  struct xsp_span mark = annotation_mark(domain, "here", 4);
  xsp_span_tag_int(&mark, "payload", 5);
  struct xsp_span counter = annotation_counter(domain, "bytes", 0);
  xsp_span_tag_int(&counter, "value", -7);
  counter = annotation_counter(domain, "share", 0);
  xsp_span_tag_double(&counter, "value", 0.5);
}

static void test_texts(void **state)
{
  record(say_everything, "iteration *", NULL);
  assert_site("plain", XSP_LEVEL_APPLICATION, NULL, NULL);
  assert_site("load", XSP_LEVEL_APPLICATION, "io", "mine");
  assert_site("ncclAllReduce", XSP_LEVEL_LIBRARY, NULL, "NCCL");
  assert_site("ncclBroadcast", XSP_LEVEL_LIBRARY, NULL, "NCCL");
  assert_site("aten::mm", XSP_LEVEL_LAYER, NULL, NULL);
  assert_int_equal(span_tag("aten::mm", "sequence")->record.start, 3);
  assert_int_equal(span_tag("aten::mm", "op_id")->record.start, 12);
  assert_string_equal(read_text(&result, (uint32_t)span_tag("aten::mm", "sizes")->record.start), "[[2, 3], [3, 4]]");
  assert_site("iteration 7", XSP_LEVEL_MODEL, NULL, NULL);
  assert_int_equal(site_tag(site_of("iteration 7"), "step")->value, 1);
  assert_null(site_tag(site_of("plain"), "step"));
  assert_site("mean", XSP_LEVEL_APPLICATION, NULL, NULL); // "program" is xsp's own category
  assert_string_equal(read_text(&result, (uint32_t)site_tag(site_of("mean"), "category")->value), "program");
  assert_site("here", XSP_LEVEL_APPLICATION, "mark", "mine");
  assert_int_equal(find_span(&result, "here")->record.duration, 0);
  assert_int_equal(span_tag("here", "payload")->record.start, 5);
  assert_site("bytes", XSP_LEVEL_APPLICATION, "counter", "mine");
  assert_int_equal((int64_t)span_tag("bytes", "value")->record.start, -7);
  double share;
  memcpy(&share, &span_tag("share", "value")->record.start, sizeof share);
  assert_true(share == 0.5);
}

static void look_up(void)
{
  struct annotation_domain *domain = annotation_domain(NULL), *other = annotation_domain("other");
  DEMAND(annotation_domain("other") == other && other != domain);
  DEMAND(strcmp(annotation_domain_name(other), "other") == 0);
  char text[32] = "first";
  const struct annotation *first = annotation_find(domain, NULL, text, 5);
  DEMAND(first->site != NULL && !first->has_varying_tags);
  DEMAND(annotation_find(domain, NULL, "first", 5) == first);
  DEMAND(annotation_find(domain, NULL, "first and more", 5) == first); // no NUL is needed
  DEMAND(annotation_find_text(domain, NULL, text) == first);
  DEMAND(annotation_find(domain, "a", text, 5) != first && annotation_find(other, NULL, text, 5) != first);
  memcpy(text, "later", 6); // the same address, another text
  const struct annotation *later = annotation_find_text(domain, NULL, text);
  DEMAND(later != first && strcmp(later->site->name, "later") == 0);
  DEMAND(annotation_find(domain, NULL, "first", 5) == first);
  DEMAND(annotation_find(domain, "b", text, 5) != annotation_find(domain, "a", text, 5));
  const struct annotation *one = annotation_find_text(domain, NULL, "aten::mm, seq = 1");
  DEMAND(one->has_varying_tags && annotation_find_text(domain, NULL, "aten::mm, seq = 2") == one);
  DEMAND(annotation_find_text(domain, NULL, "")->site != NULL);
  static char long_text[70000];
  memset(long_text, 'x', sizeof long_text - 1);
  DEMAND(strlen(annotation_find_text(domain, NULL, long_text)->site->name) == 65535);
  range(NULL, NULL, "first");
}

static void test_look_up(void **state)
{
  record(look_up, NULL, NULL);
  assert_int_equal(count_spans(&result, "first"), 1);
}

static void nest(void)
{
  struct annotation_domain *a = annotation_domain("a"), *b = annotation_domain("b");
  int depth = -1;
  DEMAND(annotation_pop(a) == -1);
  annotation_push(a, annotation_find_text(a, NULL, "a0"), NULL, 0, &depth);
  DEMAND(depth == 0);
  annotation_push(b, annotation_find_text(b, NULL, "b0"), NULL, 0, &depth);
  DEMAND(depth == 0);
  annotation_push(a, annotation_find_text(a, NULL, "a1"), NULL, 0, &depth);
  DEMAND(depth == 1);
  struct xsp_span open = annotation_innermost(b);
  xsp_span_tag_int(&open, "late", 1);
  DEMAND(annotation_pop(b) == 0 && annotation_pop(b) == -1); // not the innermost of all
  annotation_push(a, NULL, NULL, 0, &depth);
  DEMAND(depth == 2 && annotation_innermost(a).start == 0);
  DEMAND(annotation_pop(a) == 2 && annotation_pop(a) == 1 && annotation_pop(a) == 0 && annotation_pop(a) == -1);
  const struct annotation *deep = annotation_find_text(a, NULL, "deep");
  for (int i = 0; i < 2000; i++)
    annotation_push(a, deep, NULL, 0, &depth);
  DEMAND(depth == 1999);
  for (int i = 2000; i-- > 0;)
    DEMAND(annotation_pop(a) == i);
  DEMAND(annotation_pop(a) == -1);
}

static void test_nesting(void **state)
{
  record(nest, NULL, NULL);
  assert_int_equal(count_spans(&result, "a0") + count_spans(&result, "a1") + count_spans(&result, "b0"), 3);
  assert_non_null(span_tag("b0", "late"));
  assert_int_equal(count_spans(&result, "deep"), 512);
  assert_int_equal(result.misused, 0);
  assert_int_equal(result.open_count, 0);
}

// ---- ranges of any thread
static uint64_t handed_over;

static void *end_it(void *unused)
{
  struct annotation_tags tags;
  annotation_tags_clear(&tags);
  annotation_tags_int(&tags, "at_end", 2);
  annotation_range_end_tagged(handed_over, &tags);
  return NULL;
}

static void start_and_end(void)
{
  struct annotation_domain *domain = annotation_domain(NULL);
  const char *text = "aten::mm, op_id = 9, sizes = [[1]]";
  struct annotation_tags tags;
  annotation_tags_clear(&tags);
  annotation_tags_text(&tags, "who", "me and you", 2);
  annotation_tags_double(&tags, "share", 0.25);
  handed_over =
      annotation_range_start_tagged(domain, annotation_find_text(domain, NULL, text), text, strlen(text), &tags);
  uint64_t same_time = annotation_range_start(domain, annotation_find_text(domain, NULL, "other"), NULL, 0);
  DEMAND(handed_over != 0 && same_time != 0 && handed_over != same_time);
  pthread_t thread;
  DEMAND(pthread_create(&thread, NULL, end_it, NULL) == 0);
  pthread_join(thread, NULL);
  annotation_range_end(handed_over); // once more: nothing
  annotation_range_end(same_time);
  annotation_range_end(0);
  annotation_range_end(UINT64_MAX);
  static uint64_t many[5000];
  const struct annotation *crowd = annotation_find_text(domain, NULL, "crowd");
  for (int i = 0; i < 5000; i++)
    DEMAND((many[i] = annotation_range_start(domain, crowd, NULL, 0)) != 0);
  for (int i = 0; i < 5000; i++)
    annotation_range_end(many[i]);
  for (int i = 0; i < 100; i++)
    annotation_range_end(annotation_range_start(domain, annotation_find_text(domain, NULL, "after"), NULL, 0));
}

static void test_started_ranges(void **state)
{
  record(start_and_end, NULL, NULL);
  assert_int_equal(count_spans(&result, "aten::mm"), 1);
  assert_int_equal(span_tag("aten::mm", "op_id")->record.start, 9);
  assert_string_equal(read_text(&result, (uint32_t)span_tag("aten::mm", "sizes")->record.start), "[[1]]");
  assert_string_equal(read_text(&result, (uint32_t)span_tag("aten::mm", "who")->record.start), "me");
  assert_int_equal(span_tag("aten::mm", "at_end")->record.start, 2);
  assert_non_null(span_tag("aten::mm", "share"));
  const struct record *first = &find_span(&result, "aten::mm")->record, *other = &find_span(&result, "other")->record;
  assert_int_not_equal(first->track, 0);
  assert_int_not_equal(first->track, other->track); // they overlap
  assert_int_equal(count_spans(&result, "crowd"), 4096);
  assert_int_equal(count_spans(&result, "after"), 100);
}

// ---- limits
static char said[4][128];
static int said_count;

static void hear(const struct xsp_host *host, const char *message)
{
  if (said_count < 4)
    snprintf(said[said_count], sizeof said[0], "%s", message);
  said_count++;
}

static void flood(void)
{
  static const struct xsp_host host = {.size = sizeof host, .say = hear};
  annotations_host(&host);
  char text[64];
  for (int i = 0; i < 70000; i++) {
    snprintf(text, sizeof text, "request %d of %d", i, 2 * i);
    range(NULL, NULL, text);
  }
  for (int i = 0; i < 20000; i++) {
    snprintf(text, sizeof text, "%c%c%c%c", 'a' + i % 26, 'a' + i / 26 % 26, 'a' + i / 676 % 26, 'a' + i / 17576);
    range(NULL, NULL, text);
  }
  DEMAND(said_count == 2);
  DEMAND(strstr(said[0], "share a name") != NULL && strstr(said[1], "not recorded") != NULL);
  range(NULL, NULL, "request 5 of 10"); // known
}

static void test_limits(void **state)
{
  record(flood, NULL, NULL);
  assert_int_equal(count_spans(&result, "request # of #"), 70000 - 32768);
  assert_int_equal(count_spans(&result, "request 5 of 10"), 2);
  assert_int_equal(count_spans(&result, "aaaa"), 1);
  assert_int_equal(count_spans(&result, "zzbb"), 0);
}

// ---- capture ranges
static void *capture_again(void *unused)
{
  for (int i = 0; i < ROUNDS; i++) {
    struct annotation_domain *domain = annotation_domain(NULL);
    annotation_push(domain, annotation_find_text(domain, NULL, "measured"), NULL, 0, NULL);
    range(NULL, NULL, "inside");
    annotation_pop(domain);
  }
  return NULL;
}

static void capture(void)
{
  XSP_SITE_FULL(foreign, XSP_LEVEL_KERNEL, "foreign", NULL, "another");
  struct annotation_domain *domain = annotation_domain(NULL);
  struct xsp_span span = xsp_span_start(&foreign);
  DEMAND(span.start == 0);
  range(NULL, NULL, "before");
  const struct annotation *measured = annotation_find_text(domain, NULL, "measured");
  DEMAND(measured->is_capture_range);
  annotation_push(domain, measured, NULL, 0, NULL);
  annotation_push(domain, measured, NULL, 0, NULL);
  span = xsp_span_start(&foreign);
  xsp_span_finish(&span);
  annotation_pop(domain);
  range(NULL, NULL, "still inside");
  annotation_pop(domain);
  range(NULL, NULL, "between");
  uint64_t id = annotation_range_start(domain, measured, NULL, 0);
  range(NULL, NULL, "inside");
  annotation_range_end(id);
  range(NULL, NULL, "between");
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    DEMAND(pthread_create(&threads[i], NULL, capture_again, NULL) == 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  DEMAND(xsp_tracer_levels("test") == 0);
  range(NULL, NULL, "after");
}

static void test_capture_range(void **state)
{
  record(capture, NULL, "measured");
  assert_int_equal(count_spans(&result, "before") + count_spans(&result, "between") + count_spans(&result, "after"), 0);
  assert_int_equal(count_spans(&result, "foreign"), 1);
  assert_int_equal(count_spans(&result, "still inside"), 1);
  // Of several threads, the last to leave switches off: some that begin at that instant may be lost, never many.
  assert_true(count_spans(&result, "inside") >= ROUNDS);
}

// ---- threads
static void *work(void *number)
{
  char text[64];
  for (int i = 0; i < ROUNDS; i++) {
    range(NULL, NULL, "same");
    snprintf(text, sizeof text, "number %d", i % 100);
    range(i % 2 == 0 ? "even" : "odd", NULL, text);
    snprintf(text, sizeof text, "aten::add, seq = %d, op_id = %d", i, i);
    range(NULL, NULL, text);
    struct annotation_domain *domain = annotation_domain(NULL);
    annotation_range_end(annotation_range_start(domain, annotation_find_text(domain, NULL, "any"), NULL, 0));
    annotation_mark(domain, "mark", 4);
  }
  return NULL;
}

static void work_together(void)
{
  for (int round = 0; round < 2; round++) { // the second round's threads take over the first's blocks
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
      DEMAND(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
      pthread_join(threads[i], NULL);
  }
}

static void test_threads(void **state)
{
  record(work_together, NULL, NULL);
  assert_int_equal(count_spans(&result, "same"), 2 * THREADS * ROUNDS);
  assert_int_equal(count_spans(&result, "aten::add"), 2 * THREADS * ROUNDS);
  assert_int_equal(count_spans(&result, "any"), 2 * THREADS * ROUNDS);
  assert_int_equal(count_spans(&result, "mark"), 2 * THREADS * ROUNDS);
  assert_int_equal(count_spans(&result, "number 8"), 2 * THREADS * ROUNDS / 100);
  assert_int_equal(result.misused, 0);
}

static void *leave_open(void *unused)
{
  struct annotation_domain *domain = annotation_domain(NULL);
  annotation_push(domain, annotation_find_text(domain, NULL, "measured"), NULL, 0, NULL);
  return NULL;
}

static void end_inside(void)
{
  pthread_t thread;
  DEMAND(pthread_create(&thread, NULL, leave_open, NULL) == 0);
  pthread_join(thread, NULL);
  range(NULL, NULL, "afterwards");
  DEMAND(pthread_create(&thread, NULL, work, NULL) == 0); // takes over the block, with nothing open
  pthread_join(thread, NULL);
}

static void test_thread_ends_inside(void **state)
{
  record(end_inside, NULL, "measured");
  assert_int_equal(count_spans(&result, "afterwards"), 0);
  assert_int_equal(count_spans(&result, "same"), 0);
}

// ---- levels
static void switch_levels(void)
{
  struct annotation_domain *domain = annotation_domain(NULL);
  const char *first = "aten::mul, seq = 1, op_id = 2", *second = "aten::mul, seq = 3, op_id = 4";
  range(NULL, NULL, first);
  DEMAND(xsp_tracer_set_levels("test", XSP_LEVEL_MASK(XSP_LEVEL_MODEL)) != 0);
  DEMAND(!annotations_are_off());
  int depth;
  DEMAND(annotation_push(domain, annotation_find_text(domain, NULL, first), first, strlen(first), &depth).start == 0);
  range(NULL, NULL, "plain");
  range(NULL, NULL, "step 1, op_id = 5"); // is on: matches the model range
  DEMAND(depth == 0 && annotation_pop(domain) == 0);
  xsp_tracer_set_levels("test", 0);
  DEMAND(annotations_are_off());
  range(NULL, NULL, first);
  xsp_tracer_set_levels("test", XSP_LEVEL_MASK_ALL);
  range(NULL, NULL, second);
}

static void test_levels(void **state)
{
  record(switch_levels, "step *", NULL);
  assert_int_equal(count_spans(&result, "aten::mul"), 2);
  assert_int_equal(count_spans(&result, "plain"), 0);
  assert_int_equal(count_spans(&result, "step 1"), 1);
  assert_int_equal(site_of("step 1")->level, XSP_LEVEL_MODEL);
  size_t tags = 0; // both that were recorded have theirs
  for (size_t i = 0; i < result.count; i++)
    tags += result.records[i].record.type == RECORD_TAG_INT &&
            (result.records[i].record.start == 3 || result.records[i].record.start == 1);
  assert_int_equal(tags, 2);
}

// ---- forks
static void fork_inside(void)
{
  struct annotation_domain *domain = annotation_domain(NULL);
  annotation_push(domain, annotation_find_text(domain, NULL, "measured"), NULL, 0, NULL);
  uint64_t id = annotation_range_start(domain, annotation_find_text(domain, NULL, "any"), NULL, 0);
  pid_t child = fork();
  if (child == 0) {
    range(NULL, NULL, "of the child");
    annotation_range_end(id);
    DEMAND(annotation_pop(domain) == 0 && annotation_pop(domain) == -1);
    range(NULL, NULL, "measured"); // switches off at its end, for all
    range(NULL, NULL, "outside");
    _exit(0);
  }
  int status;
  DEMAND(waitpid(child, &status, 0) == child && status == 0);
  range(NULL, NULL, "of the parent"); // still inside
  annotation_range_end(id);
  annotation_pop(domain);
}

static void test_fork(void **state)
{
  record(fork_inside, NULL, "measured");
  assert_int_equal(count_spans(&result, "of the child"), 1);
  assert_int_equal(count_spans(&result, "of the parent"), 1);
  assert_int_equal(count_spans(&result, "measured"), 2);
  assert_int_equal(count_spans(&result, "outside"), 0);
  assert_int_equal(count_spans(&result, "any"), 1);
  assert_int_equal(result.misused, 0);
}

// ---- signals
static volatile sig_atomic_t handled;

static void handle(int signal)
{
  char text[32];
  struct annotation_domain *domain = annotation_domain(handled % 2 == 0 ? NULL : "of signals");
  snprintf(text, sizeof text, "signal %d", (int)(handled++ % 50)); // new ones, too
  int level;
  annotation_push(domain, annotation_find_text(domain, NULL, text), NULL, 0, &level);
  DEMAND(annotation_pop(domain) == level);
}

static void interrupt(void)
{
  struct sigaction action = {.sa_handler = handle};
  struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
  struct annotation_domain *domain = annotation_domain(NULL);
  range(NULL, NULL, "main");
  DEMAND(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
  for (int i = 0; i < 20000 || (handled < 200 && i < 100000000); i++) {
    int level = annotation_push_known(domain, "main"); // inline, or not yet known at this address
    if (level < 0)
      annotation_push(domain, annotation_find_text(domain, NULL, "main"), NULL, 0, &level);
    DEMAND(level == 0 && annotation_pop_plain(domain) == 0);
  }
  DEMAND(setitimer(ITIMER_REAL, &never, NULL) == 0);
  DEMAND(annotation_pop(domain) == -1 && handled >= 200);
}

static void test_signals(void **state)
{
  record(interrupt, NULL, NULL);
  assert_true(count_spans(&result, "main") > 20000);
  assert_true(count_spans(&result, "signal 0") >= 4);
  assert_int_equal(result.misused, 0);
  assert_int_equal(result.open_count, 0);
}

// ---- without a session
static void test_no_session(void **state)
{
  annotations_start("test");
  struct annotation_domain *domain = annotation_domain(NULL);
  const struct annotation *annotation = annotation_find_text(domain, NULL, "nothing");
  assert_non_null(annotation);
  assert_null(annotation->site);
  int depth = -1;
  assert_int_equal(annotation_push(domain, annotation, NULL, 0, &depth).start, 0);
  assert_int_equal(depth, 0);
  assert_int_equal(annotation_pop(domain), 0);
  annotation_range_end(annotation_range_start(domain, annotation, NULL, 0));
  assert_int_equal(annotation_mark(domain, "x", 1).start, 0);
  struct xsp_span counter = annotation_counter(domain, "x", 0);
  xsp_span_tag_int(&counter, "value", 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(test_##name, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(texts),
      TEST(look_up),
      TEST(nesting),
      TEST(started_ranges),
      TEST(limits),
      TEST(capture_range),
      TEST(threads),
      TEST(fork),
      TEST(levels),
      TEST(signals),
      TEST(thread_ends_inside),
      TEST(no_session), // last: starts this process's tracer
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

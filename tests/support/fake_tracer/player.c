// SPDX-License-Identifier: Apache-2.0
// The script's player. Lines are played one after the other, each on its own thread, so that a script gives the same
// rings every time. Called once by fake.c, before the traced program's main work.
#include "tests/support/fake_tracer/player.h"

#include "tests/support/fake_tracer/words.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xsp/span.h>

#define NAMES_MAXIMUM 4096 // spans that a script can refer to
#define THREADS_MAXIMUM 64
#define TRACKS_MAXIMUM 64

struct named_span {
  const char *name;
  struct xsp_span span;
  struct xsp_context context;
};
struct named_track {
  const char *name;
  uint16_t track;
  bool is_foreign;
};
struct player {
  struct named_span spans[NAMES_MAXIMUM];
  size_t span_count;
  struct named_track tracks[TRACKS_MAXIMUM];
  size_t track_count;
  int64_t epoch_ns; // what wall times of the script count from
  const char *problem;
};
struct player_thread {
  struct player *player;
  const char *name;
  pthread_t thread;
  sem_t wanted, done;
  const struct words *words; // the line to play; NULL: end
};

static struct player player; // one script per process

static struct named_span *find_span(const char *name)
{
  for (size_t i = player.span_count; i-- > 0;)
    if (strcmp(player.spans[i].name, name) == 0)
      return &player.spans[i];
  return NULL;
}

static const struct named_track *find_track(const char *name)
{
  for (size_t i = 0; i < player.track_count; i++)
    if (strcmp(player.tracks[i].name, name) == 0)
      return &player.tracks[i];
  return NULL;
}

static bool keep_span(const char *name, struct xsp_span span)
{
  if (player.span_count == NAMES_MAXIMUM)
    return false;
  player.spans[player.span_count++] = (struct named_span){name, span, xsp_span_context(&span)};
  return true;
}

static int index_of(const char *word, const char *const *list, int count)
{
  for (int i = 0; i < count; i++)
    if (strcmp(word, list[i]) == 0)
      return i;
  return -1;
}

static struct xsp_site *site_of(const struct words *words)
{
  static const char *const levels[] = {XSP_LEVEL_NAMES};
  int level = index_of(words_value(words, "level", "application"), levels, XSP_LEVEL_COUNT);
  if (level < 0)
    return NULL;
  return xsp_site_create(words_value(words, "tracer", "fake"), (enum xsp_level)level,
                         words_value(words, "name", "span"), words_value(words, "category", NULL));
}

static int kind_of(const char *word)
{
  static const char *const kinds[] = {"sync", "launch", "execution"};
  return index_of(word, kinds, 3);
}

static int64_t number_of(const struct words *words, const char *name, int64_t otherwise)
{
  int64_t number = otherwise;
  const char *text = words_value(words, name, NULL);
  if (text != NULL && !words_number(text, &number))
    player.problem = "not a whole number";
  return number;
}

static struct xsp_context parent_of(const struct words *words)
{
  const char *name = words_value(words, "parent", NULL);
  const struct named_span *parent = name != NULL ? find_span(name) : NULL;
  if (name != NULL && parent == NULL)
    player.problem = "the parent is not known yet";
  return parent != NULL ? parent->context : (struct xsp_context){0, 0};
}

// ---- statements: each returns a static text where the line is wrong ---------------------------------------------------

// span REF start=NS end=NS [level= name= category= tracer= kind= correlation= track= parent=]
static const char *play_span(const struct words *words)
{
  const char *track_name = words_value(words, "track", NULL);
  const struct named_track *track = track_name != NULL ? find_track(track_name) : NULL;
  int kind = kind_of(words_value(words, "kind", "sync"));
  struct xsp_site *site = site_of(words);
  if (words->count != 2 || kind < 0 || site == NULL || (track_name != NULL && track == NULL))
    return "span wants a name of its own, known level, kind and track";
  bool is_foreign = track != NULL && track->is_foreign;
  int64_t base = is_foreign ? 0 : player.epoch_ns;
  struct xsp_interval interval = {.size = sizeof interval,
                                  .track = track != NULL ? track->track : 0,
                                  .kind = (uint8_t)kind,
                                  .clock = is_foreign ? XSP_CLOCK_FOREIGN : XSP_CLOCK_REALTIME,
                                  .start = (uint64_t)(base + number_of(words, "start", 0)),
                                  .end = (uint64_t)(base + number_of(words, "end", 0)),
                                  .correlation_id = (uint64_t)number_of(words, "correlation", 0),
                                  .parent = parent_of(words)};
  if (player.problem != NULL)
    return player.problem;
  return keep_span(words->word[1], xsp_span_emit(site, &interval)) ? NULL : "too many spans with names";
}

// begin REF [level= name= category= tracer= parent=]: at the time it is played; finish REF ends it
static const char *play_begin(const struct words *words)
{
  struct xsp_site *site = site_of(words);
  if (words->count != 2 || site == NULL)
    return "begin wants a name of its own and a known level";
  struct xsp_span span = xsp_span_start(site);
  struct xsp_context parent = parent_of(words);
  if (parent.id != 0)
    xsp_span_set_parent(&span, parent);
  if (player.problem != NULL)
    return player.problem;
  return keep_span(words->word[1], span) ? NULL : "too many spans with names";
}

static const char *play_finish(const struct words *words)
{
  struct named_span *named = words->count == 2 ? find_span(words->word[1]) : NULL;
  if (named == NULL)
    return "finish wants a span that began";
  xsp_span_finish(&named->span);
  return NULL;
}

// burst COUNT [level= name= category= tracer=]: that many spans as fast as the machine can
static const char *play_burst(const struct words *words)
{
  int64_t count = 0;
  struct xsp_site *site = site_of(words);
  if (words->count != 2 || !words_number(words->word[1], &count) || site == NULL)
    return "burst wants a count and a known level";
  for (int64_t i = 0; i < count; i++) {
    struct xsp_span span = xsp_span_start(site);
    xsp_span_finish(&span);
  }
  return NULL;
}

// tag REF KEY VALUE: 5 is an integer, 5.0 a double, "5" or five a text
static const char *play_tag(const struct words *words)
{
  const struct named_span *named = words->count == 4 ? find_span(words->word[1]) : NULL;
  if (named == NULL)
    return "tag wants a known span, a key and a value";
  int64_t number;
  double real;
  if (!words->is_quoted[3] && words_number(words->word[3], &number))
    xsp_span_tag_int(&named->span, words->word[2], number);
  else if (!words->is_quoted[3] && words_real(words->word[3], &real))
    xsp_span_tag_double(&named->span, words->word[2], real);
  else
    xsp_span_tag_string(&named->span, words->word[2], words->word[3]);
  return NULL;
}

static const char *play_log(const struct words *words)
{
  const struct named_span *named = words->count == 3 ? find_span(words->word[1]) : NULL;
  if (named == NULL)
    return "log wants a known span and a text";
  xsp_span_log(&named->span, words->word[2]);
  return NULL;
}

static const char *play_correlate(const struct words *words)
{
  const struct named_span *named = words->count == 4 ? find_span(words->word[1]) : NULL;
  int kind = words->count == 4 ? kind_of(words->word[2]) : -1;
  int64_t number = 0;
  if (named == NULL || kind < 0 || !words_number(words->word[3], &number))
    return "correlate wants a known span, a kind and a number";
  xsp_span_correlate(&named->span, (enum xsp_kind)kind, (uint64_t)number);
  return NULL;
}

// track NAME [clock=NAME device=N stream=N | of=thread]
static const char *play_track(const struct words *words)
{
  if (words->count != 2 || player.track_count == TRACKS_MAXIMUM)
    return "track wants a name";
  bool is_thread = strcmp(words_value(words, "of", ""), "thread") == 0; // the one that plays the line
  struct xsp_track_options options = {.size = sizeof options,
                                      .thread_id = is_thread ? (uint32_t)gettid() : 0,
                                      .name = words->word[1],
                                      .clock = words_value(words, "clock", NULL),
                                      .device_id = number_of(words, "device", -1),
                                      .stream_id = number_of(words, "stream", -1)};
  uint16_t track = xsp_track_create(&options);
  player.tracks[player.track_count++] = (struct named_track){options.name, track, options.clock != NULL};
  return player.problem != NULL ? player.problem : track == 0 ? "no track could be made" : NULL;
}

static const char *play_levels(const struct words *words)
{
  int64_t mask = 0;
  if (words->count != 3 || !words_number(words->word[2], &mask))
    return "levels wants a tracer and a mask";
  (void)xsp_tracer_set_levels(words->word[1], (uint32_t)mask);
  return NULL;
}

static const char *play(const struct words *words)
{
  static const struct {
    const char *word;
    const char *(*play)(const struct words *words);
  } statements[] = {{"span", play_span},   {"begin", play_begin},   {"finish", play_finish},
                    {"burst", play_burst}, {"tag", play_tag},       {"log", play_log},
                    {"track", play_track}, {"levels", play_levels}, {"correlate", play_correlate}};
  for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
    if (strcmp(words->word[0], statements[i].word) == 0)
      return statements[i].play(words);
  return "unknown statement";
}

// ---- threads --------------------------------------------------------------------------------------------------------

static void *run_thread(void *argument)
{
  struct player_thread *thread = argument;
  xsp_thread_name(thread->name);
  for (;;) {
    while (sem_wait(&thread->wanted) != 0)
      ;
    if (thread->words == NULL)
      return NULL;
    player.problem = play(thread->words);
    sem_post(&thread->done);
  }
}

static struct player_thread threads[THREADS_MAXIMUM];
static size_t thread_count;

static struct player_thread *find_thread(const char *name)
{
  for (size_t i = 0; i < thread_count; i++)
    if (strcmp(threads[i].name, name) == 0)
      return &threads[i];
  if (thread_count == THREADS_MAXIMUM)
    return NULL;
  struct player_thread *thread = &threads[thread_count];
  thread->name = name;
  if (sem_init(&thread->wanted, 0, 0) != 0 || sem_init(&thread->done, 0, 0) != 0 ||
      pthread_create(&thread->thread, NULL, run_thread, thread) != 0)
    return NULL;
  thread_count++;
  return thread;
}

static void play_on(struct player_thread *thread, const struct words *words)
{
  if (thread == NULL) {
    player.problem = play(words);
    return;
  }
  thread->words = words;
  sem_post(&thread->wanted);
  while (words != NULL && sem_wait(&thread->done) != 0)
    ;
}

static void end_threads(void)
{
  for (size_t i = 0; i < thread_count; i++) {
    play_on(&threads[i], NULL);
    pthread_join(threads[i].thread, NULL);
  }
  thread_count = 0;
}

// ---- the script -----------------------------------------------------------------------------------------------------

// Lines that say how to go on; true: the line was one of them.
static bool steer(const struct words *words, struct player_thread **thread)
{
  if (strcmp(words->word[0], "thread") == 0 && words->count == 2) {
    bool is_main = strcmp(words->word[1], "main") == 0;
    *thread = is_main ? NULL : find_thread(words->word[1]);
    if (!is_main && *thread == NULL)
      player.problem = "no more threads can be made";
    return true;
  }
  if (strcmp(words->word[0], "epoch") == 0 && words->count == 2) {
    if (!words_number(words->word[1], &player.epoch_ns))
      player.problem = "not a whole number";
    return true;
  }
  return false;
}

int player_run(char *script, char *why, size_t why_size)
{
  struct player_thread *thread = NULL;
  unsigned line_number = 0;
  player.problem = NULL;
  for (char *line = script, *next; line != NULL && player.problem == NULL; line = next) {
    struct words words;
    next = strchr(line, '\n');
    if (next != NULL)
      *next++ = '\0';
    line_number++;
    if (!words_split(line, &words))
      player.problem = "an open quote, or too many words";
    else if (words.count > 0 && !steer(&words, &thread))
      play_on(thread, &words);
  }
  end_threads();
  if (player.problem == NULL)
    return 0;
  snprintf(why, why_size, "line %u of the script: %s", line_number, player.problem);
  return -EINVAL;
}

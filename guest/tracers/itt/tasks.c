// SPDX-License-Identifier: Apache-2.0
// What nests on a thread: tasks, which end per domain. Called by the program's threads through collector.c. Each thread has
// a block of its own, which it alone writes; others only read the ids of its open tasks, to find parents.
//
// A task is a span from its begin on, so that a killed process shows it open. Two kinds are published when they end
// instead: those that bring their own times, and layers, whose name arrives while they run.
#include "tracers/annotations/guest.h"
#include "tracers/itt/itt.h"

#include <pthread.h>
#include <string.h>

#define TASKS_MOST 256
#define PENDING_MOST 8 // tasks of one thread that are published when they end, open at once

enum how { HOW_NOTHING, HOW_SPAN, HOW_PUSHED, HOW_STAMPED, HOW_LAYER };

struct task {
  uint64_t context;    // atomic: ring << 32 | id of its span, last written; 0: none, or its id is being changed
  uint64_t d1, d2, d3; // atomic: its id
  // What follows is its thread's alone.
  struct annotation_domain *domain;
  const struct annotation *annotation;
  struct xsp_span span;
  uint64_t start;            // HOW_STAMPED, HOW_LAYER
  struct xsp_context parent; // of these
  struct itt_layer *pending; // of these; NULL: none was free, or it takes no tags
  uint8_t how, role;
  bool has_id;
};

struct thread {
  struct guest_block block;
  uint32_t depth;          // atomic; others read it
  uint32_t beyond;         // open tasks that found no room
  uint32_t pending_in_use; // bits
  struct itt_opencv *opencv;
  struct task task[TASKS_MOST];
  struct itt_events events;
  struct itt_layer pending[PENDING_MOST];
};

static struct guest_threads threads; // of struct thread
static __thread struct thread *own_thread
    __attribute__((tls_model("initial-exec"))); // a pointer: dlopen has room for it

// ---- a thread's block
static void forget(struct thread *own)
{
  for (uint32_t i = 0; i < own->depth && i < TASKS_MOST; i++)
    __atomic_store_n(&own->task[i].context, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&own->depth, 0, __ATOMIC_RELEASE);
  own->beyond = own->events.count = own->pending_in_use = 0;
  itt_opencv_free(&own->opencv);
}

// What a thread leaves open stays open.
static void thread_ends(void *block)
{
  struct thread *own = block;
  forget(own);
  own_thread = NULL;
  __atomic_store_n(&own->block.in_use, 0, __ATOMIC_RELEASE);
}

// The forking thread lives on alone. What was open is its parent's: it still nests here, but is not recorded twice.
static void child_starts(void)
{
  struct thread *own = own_thread;
  for (struct guest_block *block = threads.blocks; block != NULL; block = block->next) {
    struct thread *other = (struct thread *)block;
    if (other == own)
      continue;
    other->opencv = NULL; // its thread may have been changing it
    forget(other);
    block->in_use = 0;
  }
  for (uint32_t i = 0; own != NULL && i < own->depth && i < TASKS_MOST; i++)
    if (own->task[i].how != HOW_PUSHED) {
      own->task[i].how = HOW_NOTHING;
      own->task[i].context = 0;
      own->task[i].pending = NULL; // what the child opens may have it
    }
  if (own != NULL)
    own->events.count = own->pending_in_use = 0;
  itt_ranges_forget();
}

void itt_tasks_start(void)
{
  threads.has_key = pthread_key_create(&threads.key, thread_ends) == 0;
  pthread_atfork(NULL, NULL, child_starts);
}

static __attribute__((noinline)) struct thread *thread_begins(void)
{
  return own_thread = guest_thread_begin(&threads, sizeof *own_thread);
}

static struct thread *this_thread(void)
{
  struct thread *own = own_thread;
  return __builtin_expect(own != NULL, 1) ? own : thread_begins();
}

// ---- ids of open tasks, read by other threads
// The context is written last and never twice with one value, so that it also guards the id.
static void publish(struct task *task, struct itt_id id, uint64_t context)
{
  __atomic_store_n(&task->context, 0, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  __atomic_store_n(&task->d1, id.d1, __ATOMIC_RELAXED);
  __atomic_store_n(&task->d2, id.d2, __ATOMIC_RELAXED);
  __atomic_store_n(&task->d3, id.d3, __ATOMIC_RELAXED);
  __atomic_store_n(&task->context, context, __ATOMIC_RELEASE);
}

static bool has_id(const struct task *task, struct itt_id id)
{
  return __atomic_load_n(&task->d1, __ATOMIC_RELAXED) == id.d1 &&
         __atomic_load_n(&task->d2, __ATOMIC_RELAXED) == id.d2 && __atomic_load_n(&task->d3, __ATOMIC_RELAXED) == id.d3;
}

// Its span runs: it takes tags and a parent now.
static bool is_live(const struct task *task)
{
  return task->how == HOW_SPAN || task->how == HOW_PUSHED;
}

static bool is_none(struct itt_id id)
{
  return (id.d1 | id.d2 | id.d3) == 0;
}

static uint64_t context_in(const struct thread *thread, struct itt_id id)
{
  uint32_t depth = __atomic_load_n(&thread->depth, __ATOMIC_ACQUIRE);
  for (uint32_t i = depth < TASKS_MOST ? depth : TASKS_MOST; i-- > 0;) {
    const struct task *task = &thread->task[i];
    uint64_t context = __atomic_load_n(&task->context, __ATOMIC_ACQUIRE);
    if (context == 0 || !has_id(task, id))
      continue;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&task->context, __ATOMIC_RELAXED) == context)
      return context;
  }
  return 0;
}

struct xsp_context itt_task_context(struct itt_id id)
{
  struct thread *own = own_thread;
  uint64_t context = own == NULL || is_none(id) ? 0 : context_in(own, id);
  if (context == 0 && !is_none(id))
    for (struct guest_block *other = __atomic_load_n(&threads.blocks, __ATOMIC_ACQUIRE); other != NULL && context == 0;
         other = other->next)
      context = context_in((struct thread *)other, id);
  return (struct xsp_context){(uint32_t)(context >> 32), (uint32_t)context};
}

// ---- begin
static struct itt_layer *take_pending(struct thread *own)
{
  for (uint32_t i = 0; i < PENDING_MOST; i++)
    if ((own->pending_in_use & 1u << i) == 0) {
      own->pending_in_use |= 1u << i;
      struct itt_layer *pending = &own->pending[i];
      pending->name[0] = pending->type[0] = '\0';
      annotation_tags_clear(&pending->tags);
      return pending;
    }
  return NULL;
}

static void give_pending(struct thread *own, struct task *task)
{
  if (task->pending != NULL)
    own->pending_in_use &= ~(1u << (task->pending - own->pending));
  task->pending = NULL;
}

static enum how how_of(const struct itt_use *use, uint64_t start)
{
  if (use->annotation->is_capture_range || use->annotation->has_varying_tags)
    return HOW_PUSHED;
  if (use->role == ITT_ROLE_LAYER) // also while its level is off: names are learned in a net's first pass
    return HOW_LAYER;
  if (annotation_site_is_off(use->annotation->site))
    return HOW_NOTHING;
  return start != 0 ? HOW_STAMPED : HOW_SPAN;
}

// The parent where it is open, else the name of the group that it is.
static void put_parent(struct task *task, struct itt_id parent)
{
  task->parent = itt_task_context(parent);
  if (is_live(task))
    xsp_span_set_parent(&task->span, task->parent);
  char group[256];
  if (task->parent.id != 0 || !itt_group_name(parent, group, sizeof group))
    return;
  if (task->pending != NULL)
    annotation_tags_text(&task->pending->tags, "task_group", group, strlen(group));
  else if (is_live(task))
    xsp_span_tag_string(&task->span, "task_group", group);
}

static void identify(struct task *task, struct itt_id id)
{
  uint64_t context = 0;
  if (is_live(task) && task->span.start != 0) {
    struct xsp_context own = xsp_span_context(&task->span);
    context = (uint64_t)own.ring << 32 | own.id;
  }
  task->has_id = true;
  publish(task, id, context);
}

void itt_task_begin_at(const struct itt_domain *domain, uint64_t start, const struct itt_id *id,
                       const struct itt_id *parent, struct itt_string *name)
{
  struct thread *own = this_thread();
  struct itt_use storage;
  if (own == NULL || own->depth >= TASKS_MOST) {
    itt_lose(ITT_LOSS_DEEP);
    if (own != NULL)
      own->beyond++;
    return;
  }
  const struct itt_use *use = itt_use_of(domain, name, &storage);
  // Depth first: a handler's tasks go above this one and leave the stack as they found it.
  uint32_t depth = own->depth;
  struct task *task = &own->task[depth];
  __atomic_store_n(&task->context, 0, __ATOMIC_RELAXED);
  task->domain = NULL;
  __atomic_store_n(&own->depth, depth + 1, __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  task->annotation = use->annotation;
  task->role = (uint8_t)use->role;
  task->how = (uint8_t)how_of(use, start);
  task->has_id = false;
  task->pending = NULL;
  task->parent = (struct xsp_context){0, 0};
  task->domain = use->domain;
  if (__builtin_expect(use->role != ITT_ROLE_PLAIN, 0))
    itt_opencv_begin(&own->opencv, use->role);
  if (task->how == HOW_LAYER || task->how == HOW_STAMPED) {
    task->pending = take_pending(own);
    task->start = start != 0 ? start : xsp_clock_ticks();
  } else if (task->how == HOW_SPAN) {
    task->span = xsp_span_start(use->annotation->site);
  } else if (task->how == HOW_PUSHED) {
    task->span = annotation_push(use->domain, use->annotation, use->text, strlen(use->text), NULL);
  }
  if (!is_none(*id))
    identify(task, *id);
  if (!is_none(*parent) && task->how != HOW_NOTHING)
    put_parent(task, *parent);
}

// ---- end
static void publish_stamped(struct task *task, struct xsp_site *site, uint64_t end)
{
  if (!itt_accepts(site, task->start, end))
    return;
  struct xsp_interval interval = {.size = sizeof interval, .start = task->start, .end = end, .parent = task->parent};
  struct xsp_span span = xsp_span_emit(site, &interval);
  if (task->pending != NULL)
    annotation_tags_put(&task->pending->tags, &span);
}

// One in the middle ends: those above it move down.
static void close_gap(struct thread *own, uint32_t place)
{
  uint32_t depth = own->depth;
  for (uint32_t i = place; i + 1 < depth; i++) {
    struct task *to = &own->task[i], *from = &own->task[i + 1];
    struct itt_id id = {from->d1, from->d2, from->d3};
    uint64_t context = from->context;
    publish(to, (struct itt_id){0, 0, 0}, 0);
    memcpy(&to->domain, &from->domain, sizeof *to - offsetof(struct task, domain));
    __atomic_store_n(&from->context, 0, __ATOMIC_RELAXED);
    publish(to, id, context);
  }
  __atomic_store_n(&own->task[depth - 1].context, 0, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&own->depth, depth - 1, __ATOMIC_RELEASE);
}

void itt_task_end_at(const struct itt_domain *domain, uint64_t end)
{
  struct thread *own = own_thread;
  if (own != NULL && own->beyond > 0) {
    own->beyond--;
    return;
  }
  struct annotation_domain *wanted = itt_domain_of(domain);
  uint32_t place = own == NULL ? 0 : own->depth;
  while (place > 0 && own->task[place - 1].domain != wanted)
    place--;
  if (place-- == 0) {
    itt_lose(ITT_LOSS_END);
    return;
  }
  struct task *task = &own->task[place];
  if (task->how == HOW_SPAN)
    xsp_span_finish(&task->span);
  else if (task->how == HOW_PUSHED)
    (void)annotation_pop(wanted);
  else if (task->how == HOW_STAMPED)
    publish_stamped(task, task->annotation->site, end != 0 ? end : xsp_clock_ticks());
  else if (task->how == HOW_LAYER) {
    end = end != 0 ? end : xsp_clock_ticks(); // before the name is looked up
    struct xsp_site *site = task->pending == NULL ? NULL : itt_opencv_layer(&own->opencv, task->pending);
    publish_stamped(task, site != NULL ? site : task->annotation->site, end);
  }
  if (__builtin_expect(task->role != ITT_ROLE_PLAIN, 0))
    itt_opencv_end(&own->opencv, (enum itt_role)task->role);
  give_pending(own, task);
  close_gap(own, place);
}

// ---- metadata, relations
static struct task *find_open(struct thread *own, const struct itt_domain *domain, const struct itt_id *id)
{
  struct annotation_domain *wanted = itt_domain_of(domain);
  for (uint32_t i = own == NULL ? 0 : own->depth; i-- > 0;)
    if (id == NULL || is_none(*id) ? own->task[i].domain == wanted : own->task[i].has_id && has_id(&own->task[i], *id))
      return &own->task[i];
  return NULL;
}

// A layer's name and type are metadata of its task, or of the task right inside of it that does its work.
static struct itt_layer *layer_of(struct thread *own, struct task *task)
{
  if (task->how != HOW_LAYER && task != own->task)
    task--;
  return task->how == HOW_LAYER ? task->pending : NULL;
}

bool itt_task_tag(const struct itt_domain *domain, const struct itt_id *id, const struct annotation_tags *tags)
{
  struct thread *own = own_thread;
  struct task *task = find_open(own, domain, id);
  if (task == NULL)
    return false;
  if (itt_opencv_is(task->domain))
    itt_opencv_note(&own->opencv, layer_of(own, task), (enum itt_role)task->role, tags);
  if (is_live(task))
    annotation_tags_put(tags, &task->span);
  else if (task->pending != NULL)
    annotation_tags_copy(&task->pending->tags, tags);
  return true;
}

bool itt_task_set_parent(struct itt_id child, struct itt_id parent)
{
  struct task *task = find_open(own_thread, NULL, &child);
  if (task == NULL || is_none(child) || is_none(parent))
    return false;
  struct xsp_context context = itt_task_context(parent);
  if (context.id == 0)
    return false;
  task->parent = context;
  if (is_live(task))
    xsp_span_set_parent(&task->span, context);
  return true;
}

// ---- events
struct itt_events *itt_thread_events(void)
{
  struct thread *own = this_thread();
  return own == NULL ? NULL : &own->events;
}

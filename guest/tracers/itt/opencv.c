// SPDX-License-Identifier: Apache-2.0
// Which layer an OpenCV task is. OpenCV's dnn module announces every layer under one name, its function's; what the layer
// is called is said by the task that does its work, inside of it, and its type only while a net is set up, before any name:
//
//   allocateLayers                      the types of all layers, in their order: a plan
//     getLayerInstance  type=Convolution
//     getLayerInstance  type=Sigmoid
//     allocateLayer …
//   forwardToLayer                      one pass: the layers in the same order
//     forwardLayer
//       ConvolutionLayerImpl::forward  name=conv1
//     forwardLayer                      (fused into the one before: nothing is announced)
//
// So the n-th layer of a pass has the n-th type of its net's plan. Which plan is a pass's is known right after the net was
// set up, and later by the names: the first one that a plan has at another place or not at all sends us to another plan.
#include "tracers/itt/itt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLANS_MOST 64u
#define LAYERS_MOST 65536u
#define NESTED_MOST 8u // passes inside of layers

struct plan { // published whole; only `name` changes afterwards
  uint32_t count;
  struct place {
    const char *type; // kept for the process's life, one pointer a text
    const char *name; // the same; atomic; NULL: not known yet
  } place[];
};
static struct plan *plans[PLANS_MOST]; // atomic
static uint32_t plan_count;            // atomic: claimed

struct itt_opencv {
  struct plan *building; // NULL: none
  uint32_t capacity;
  const struct plan *current;
  bool is_set_up; // current is what this thread set up, and no pass has ended since
  uint32_t passes, index[NESTED_MOST];
};

bool itt_opencv_is(const struct annotation_domain *domain)
{
  static struct annotation_domain *opencv; // atomic
  struct annotation_domain *known = __atomic_load_n(&opencv, __ATOMIC_RELAXED);
  if (known == domain)
    return domain != NULL;
  if (known != NULL || domain == NULL || strcmp(annotation_domain_name(domain), "OpenCVTrace") != 0)
    return false;
  __atomic_store_n(&opencv, (struct annotation_domain *)domain, __ATOMIC_RELAXED);
  return true;
}

enum itt_role itt_opencv_role(const char *text, const struct annotation *annotation)
{
  static const struct {
    const char *function;
    enum itt_role role;
  } roles[] = {{"::forwardToLayer(", ITT_ROLE_PASS},
               {"::allocateLayers(", ITT_ROLE_PLAN},
               {"::allocateLayer(", ITT_ROLE_ALLOCATE},
               {"::getLayerInstance(", ITT_ROLE_INSTANCE}};
  if (annotation->site != NULL && annotation->site->level == XSP_LEVEL_LAYER)
    return ITT_ROLE_LAYER;
  for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
    if (strstr(text, roles[i].function) != NULL)
      return roles[i].role;
  return ITT_ROLE_PLAIN;
}

static const char *intern(const char *text)
{
  struct itt_name *name = itt_name(ITT_NAME_STRING, text, NULL, 0);
  return name == NULL ? NULL : name->text;
}

// ---- plans
static bool is_same(const struct plan *plan, const struct plan *other)
{
  if (plan->count != other->count)
    return false;
  for (uint32_t i = 0; i < plan->count; i++)
    if (plan->place[i].type != other->place[i].type)
      return false;
  return true;
}

// Takes `plan`. A net that is set up again (for another shape) has the plan it had.
static const struct plan *publish(struct plan *plan)
{
  for (uint32_t i = 0; i < PLANS_MOST; i++) {
    const struct plan *known = __atomic_load_n(&plans[i], __ATOMIC_ACQUIRE);
    if (known != NULL && is_same(known, plan)) {
      free(plan);
      return known;
    }
  }
  uint32_t place = __atomic_fetch_add(&plan_count, 1, __ATOMIC_RELAXED);
  if (place >= PLANS_MOST) {
    __atomic_store_n(&plan_count, PLANS_MOST, __ATOMIC_RELAXED);
    free(plan);
    return NULL;
  }
  __atomic_store_n(&plans[place], plan, __ATOMIC_RELEASE);
  return plan;
}

static void finish_plan(struct itt_opencv *state)
{
  struct plan *plan = state->building;
  state->building = NULL;
  if (plan == NULL)
    return;
  if (plan->count == 0) {
    free(plan);
    return;
  }
  state->current = publish(plan);
  state->is_set_up = state->current != NULL;
}

static void add_layer(struct itt_opencv *state, const char *type)
{
  struct plan *plan = state->building;
  if (plan->count == state->capacity) {
    uint32_t capacity = state->capacity == 0 ? 64 : state->capacity * 2;
    struct plan *larger =
        capacity > LAYERS_MOST ? NULL : realloc(plan, sizeof *plan + capacity * sizeof plan->place[0]);
    if (larger == NULL) {
      free(plan);
      state->building = NULL;
      return;
    }
    state->building = plan = larger;
    state->capacity = capacity;
  }
  plan->place[plan->count++] = (struct place){intern(type), NULL};
}

// ---- what happens on a thread
static struct itt_opencv *state_of(struct itt_opencv **state)
{
  if (*state == NULL)
    *state = calloc(1, sizeof **state);
  return *state;
}

void itt_opencv_free(struct itt_opencv **state)
{
  if (*state == NULL)
    return;
  free((*state)->building);
  free(*state);
  *state = NULL;
}

void itt_opencv_begin(struct itt_opencv **given, enum itt_role role)
{
  int saved_errno = errno;
  struct itt_opencv *state = state_of(given);
  if (state != NULL && role == ITT_ROLE_PASS) {
    if (state->passes < NESTED_MOST)
      state->index[state->passes] = 0;
    state->passes++;
  } else if (state != NULL && role == ITT_ROLE_PLAN) {
    free(state->building);
    state->capacity = 0;
    state->building = calloc(1, sizeof *state->building);
  } else if (state != NULL && role == ITT_ROLE_ALLOCATE) {
    finish_plan(state); // types that follow are repetitions
  }
  errno = saved_errno;
}

void itt_opencv_end(struct itt_opencv **given, enum itt_role role)
{
  struct itt_opencv *state = *given;
  if (state == NULL)
    return;
  if (role == ITT_ROLE_LAYER && state->passes > 0 && state->passes <= NESTED_MOST) {
    state->index[state->passes - 1]++;
  } else if (role == ITT_ROLE_PASS && state->passes > 0) {
    state->passes--;
    state->is_set_up = false;
  } else if (role == ITT_ROLE_PLAN) {
    finish_plan(state);
  }
}

void itt_opencv_instance(struct itt_opencv **given, const char *type)
{
  int saved_errno = errno;
  struct itt_opencv *state = *given;
  if (state != NULL && state->building != NULL)
    add_layer(state, type);
  errno = saved_errno;
}

// ---- a layer ends
static bool has_name_at(const struct plan *plan, uint32_t index, const char *name)
{
  return plan != NULL && index < plan->count && __atomic_load_n(&plan->place[index].name, __ATOMIC_ACQUIRE) == name;
}

// The type of the layer `name` (interned; NULL: not announced) at `index` of a pass. NULL: not known.
static const char *type_of(struct itt_opencv *state, uint32_t index, const char *name)
{
  struct plan *current = (struct plan *)state->current;
  bool is_inside = current != NULL && index < current->count;
  if (name == NULL)
    return is_inside ? current->place[index].type : NULL;
  if (is_inside && state->is_set_up) {
    __atomic_store_n(&current->place[index].name, name, __ATOMIC_RELEASE);
    return current->place[index].type;
  }
  if (has_name_at(current, index, name))
    return current->place[index].type;
  for (uint32_t i = 0; i < PLANS_MOST; i++) {
    const struct plan *other = __atomic_load_n(&plans[i], __ATOMIC_ACQUIRE);
    if (has_name_at(other, index, name)) {
      state->current = other;
      return other->place[index].type;
    }
  }
  return NULL;
}

static void copy_text(char *to, size_t size, const char *text)
{
  size_t length = annotation_text_cut(text, strnlen(text, size), size - 1);
  memcpy(to, text, length);
  to[length] = '\0';
}

void itt_opencv_note(struct itt_opencv **state, struct itt_layer *layer, enum itt_role role,
                     const struct annotation_tags *tags)
{
  for (uint32_t i = 0; i < tags->count; i++) {
    if (tags->tag[i].type != ANNOTATION_TAG_TEXT)
      continue;
    const char *tag = tags->text + tags->tag[i].key, *value = tags->text + tags->tag[i].at;
    if (role == ITT_ROLE_INSTANCE && strcmp(tag, "type") == 0)
      itt_opencv_instance(state, value);
    if (layer != NULL && layer->name[0] == '\0' && strcmp(tag, "name") == 0)
      copy_text(layer->name, sizeof layer->name, value);
    if (layer != NULL && layer->type[0] == '\0' && strcmp(tag, "type") == 0)
      copy_text(layer->type, sizeof layer->type, value);
  }
}

struct xsp_site *itt_opencv_layer(struct itt_opencv **given, struct itt_layer *layer)
{
  int saved_errno = errno;
  struct itt_opencv *state = state_of(given);
  const char *name = layer->name[0] == '\0' ? NULL : intern(layer->name), *type = NULL;
  if (state != NULL && state->passes > 0 && state->passes <= NESTED_MOST)
    type = type_of(state, state->index[state->passes - 1], name);
  struct itt_name *learned = name == NULL ? NULL : itt_name(ITT_NAME_LAYER, name, NULL, 0);
  if (layer->type[0] != '\0')
    type = layer->type;
  else if (type == NULL && learned != NULL) // of two nets that share names and are run in turns, or in an unknown order
    type = (const char *)(uintptr_t)__atomic_load_n(&learned->value, __ATOMIC_ACQUIRE);
  else if (type != NULL && learned != NULL)
    __atomic_store_n(&learned->value, (int64_t)(uintptr_t)type, __ATOMIC_RELEASE);
  if (name == NULL && type != NULL) {
    bool is_input = strcmp(type, "__NetInputLayer__") == 0;
    snprintf(layer->name, sizeof layer->name, is_input ? "_input" : "%.200s (unnamed)", type);
    name = layer->name;
  }
  struct itt_name *entry = name == NULL ? NULL : itt_name(ITT_NAME_LAYER, name, type, 0);
  struct xsp_site *site = entry == NULL ? NULL : itt_name_site(entry, XSP_LEVEL_LAYER, NULL, "layer_type");
  errno = saved_errno;
  return site;
}

// SPDX-License-Identifier: Apache-2.0
// Models by handle; see tracer_models.h. Made and forgotten under a lock, where MXNet itself takes its time; found without one.
//
// A model is called as the file that its symbol was read from, else as what its parameters' names begin with (Gluon's
// prefix), else as its first output.
#include "frameworks/mxnet/tracer_models.h"

#include "base/hash.h"
#include "base/scoped.h"
#include "base/slice.h"
#include "format/range.h"
#include "frameworks/mxnet/layers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 4096u
#define PROBES 64u
#define GONE 1u
#define FILES 64u
#define NAME_SIZE 256u
#define GRAPH_BYTES_MAXIMUM ((size_t)256 << 20)
#define FUSING_BACKEND "MKLDNN" // active on CPUs unless MXNET_SUBGRAPH_BACKEND is set

struct slot {
  uintptr_t handle; // atomic; 0: free, GONE: was removed
  struct model *model;
};
struct file { // a symbol's variables, and the file it was read from
  uint64_t variables;
  char name[NAME_SIZE];
};

static struct slot slots[SLOTS];
static struct file files[FILES]; // a ring
static unsigned file_count;
static struct model *gone;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct mxnet_functions *mx;
static const char *the_model_range;

// Another thread of the parent may have had the lock. What it left is usable at each instant.
static void forked(void)
{
  pthread_mutex_init(&lock, NULL);
}

void mxnet_models_start(const struct mxnet_functions *functions, const char *model_range)
{
  mx = functions;
  the_model_range = model_range;
  pthread_atfork(NULL, NULL, forked);
}

// ---- by handle -------------------------------------------------------------------------------------------------------

static struct slot *slot_of(uintptr_t handle, unsigned probe)
{
  size_t first = (size_t)(((uint64_t)handle >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
  return &slots[(first + probe) % SLOTS];
}

static struct slot *find_slot(const void *handle)
{
  for (unsigned i = 0; i < PROBES; i++) {
    struct slot *slot = slot_of((uintptr_t)handle, i);
    uintptr_t there = __atomic_load_n(&slot->handle, __ATOMIC_ACQUIRE);
    if (there == (uintptr_t)handle)
      return slot;
    if (there == 0)
      return NULL;
  }
  return NULL;
}

struct model *mxnet_models_find(const void *handle)
{
  struct slot *slot = (uintptr_t)handle > GONE ? find_slot(handle) : NULL;
  return slot != NULL ? __atomic_load_n(&slot->model, __ATOMIC_ACQUIRE) : NULL;
}

static void retire(struct model *model)
{
  model->next = gone;
  gone = model;
}

// Under the lock. False: no room.
static bool put(const void *handle, struct model *model)
{
  struct slot *slot = find_slot(handle);
  if (slot != NULL) { // another one had this address
    retire(slot->model);
    __atomic_store_n(&slot->model, model, __ATOMIC_RELEASE);
    return true;
  }
  for (unsigned i = 0; i < PROBES; i++) {
    slot = slot_of((uintptr_t)handle, i);
    if (slot->handle <= GONE) {
      __atomic_store_n(&slot->model, model, __ATOMIC_RELEASE);
      __atomic_store_n(&slot->handle, (uintptr_t)handle, __ATOMIC_RELEASE);
      return true;
    }
  }
  return false;
}

void mxnet_models_remove(const void *handle)
{
  SCOPED_LOCK(&lock);
  struct slot *slot = (uintptr_t)handle > GONE ? find_slot(handle) : NULL;
  if (slot != NULL) {
    retire(slot->model);
    __atomic_store_n(&slot->handle, GONE, __ATOMIC_RELEASE);
  }
}

void mxnet_models_sweep(void)
{
  SCOPED_LOCK(&lock);
  while (gone != NULL) {
    struct model *model = gone;
    gone = model->next;
    framework_pool_done(&model->pool);
    free(model);
  }
}

// ---- names -----------------------------------------------------------------------------------------------------------

static void first_output(void *symbol, char *name)
{
  static const char end[] = "_output";
  uint32_t count = 0;
  const char **names = NULL;
  if (mx->SymbolListOutputs(symbol, &count, &names) != 0 || count == 0)
    return;
  size_t length = strlen(names[0]) - (text_ends_with(names[0], end) ? sizeof end - 1 : 0);
  snprintf(name, NAME_SIZE, "%.*s", (int)length, names[0]);
}

// The names of its arguments, in whatever order: rewriting a graph renames what it gives, and not these.
static bool sum_variables(void *symbol, uint64_t *ret_sum)
{
  uint32_t count = 0;
  const char **names = NULL;
  if (mx->SymbolListArguments(symbol, &count, &names) != 0)
    return false;
  *ret_sum = count;
  for (uint32_t i = 0; i < count; i++)
    *ret_sum += hash_text(names[i], strlen(names[i]), 0);
  return true;
}

void mxnet_models_note_file(void *symbol, const char *path)
{
  struct file file;
  if (path == NULL || !sum_variables(symbol, &file.variables))
    return;
  const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
  const char *end = strstr(base, "-symbol.json");
  if (end == NULL)
    end = strrchr(base, '.');
  snprintf(file.name, sizeof file.name, "%.*s", (int)(end != NULL ? (size_t)(end - base) : strlen(base)), base);
  SCOPED_LOCK(&lock);
  files[file_count++ % FILES] = file;
}

static bool file_of(void *symbol, char *name)
{
  uint64_t variables = 0;
  if (!sum_variables(symbol, &variables))
    return false;
  bool found = false;
  SCOPED_LOCK(&lock);
  for (unsigned i = 0; i < FILES && i < file_count && !found; i++) {
    const struct file *file = &files[(file_count - 1 - i) % FILES];
    found = file->variables == variables;
    if (found)
      memcpy(name, file->name, NAME_SIZE);
  }
  return found;
}

static bool is_parameter(const char *name)
{
  static const char *const ends[] = {"_weight", "_bias", "_gamma", "_beta"};
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
    if (text_ends_with(name, ends[i]))
      return true;
  return false;
}

// "resnetv10" of resnetv10_conv0_weight, resnetv10_batchnorm0_gamma, …
static bool common_prefix(void *symbol, char *name)
{
  uint32_t count = 0;
  const char **names = NULL, *first = NULL;
  size_t length = 0;
  if (mx->SymbolListArguments(symbol, &count, &names) != 0)
    return false;
  for (uint32_t i = 0; i < count; i++) {
    if (!is_parameter(names[i]))
      continue;
    if (first == NULL) {
      first = names[i];
      length = strlen(first);
    }
    size_t same = 0;
    while (same < length && names[i][same] == first[same])
      same++;
    length = same;
  }
  while (length > 0 && first[length - 1] != '_')
    length--;
  if (length < 2)
    return false;
  snprintf(name, NAME_SIZE, "%.*s", (int)(length - 1), first);
  return true;
}

static struct xsp_site *site_of(void *symbol)
{
  char name[NAME_SIZE] = "model";
  if (!file_of(symbol, name) && !common_prefix(symbol, name))
    first_output(symbol, name);
  const char *model = name[0] != 0 ? name : "model";
  struct xsp_site *site = xsp_site_create("mxnet", XSP_LEVEL_MODEL, model, NULL);
  if (site != NULL)
    xsp_site_tag_string(site, "model", model);
  if (site != NULL && range_matches(the_model_range, name, strlen(name)))
    xsp_site_tag_int(site, "step", 1);
  return site;
}

// ---- operators -------------------------------------------------------------------------------------------------------

static void read_operators(void *symbol, struct model *model)
{
  const char *json = NULL;
  struct mxnet_symbol graph;
  if (mx->SymbolSaveToJSON(symbol, &json) != 0 ||
      mxnet_symbol_read(json, strlen(json), "MXNet's graph", &model->pool, &graph, NULL) != STATUS_OK)
    return;
  model->operators = framework_pool_alloc(&model->pool, graph.count + 1, sizeof *model->operators);
  if (model->operators != NULL)
    model->operator_count = mxnet_operators(&graph, model->operators);
}

// What a predictor makes of the symbol that it was given; NULL: the symbol itself.
static void *fuse(void *symbol)
{
  const char *backend = getenv("MXNET_SUBGRAPH_BACKEND");
  void *fused = NULL;
  if ((backend != NULL && strcmp(backend, FUSING_BACKEND) != 0) ||
      mx->GenBackendSubgraph(symbol, FUSING_BACKEND, &fused) != 0 || fused == symbol)
    return NULL;
  return fused;
}

static int64_t executor_batch(void *executor)
{
  uint32_t count = 0;
  void **arrays = NULL;
  int rank = 0;
  const int *shape = NULL;
  if (mx->ExecutorOutputs(executor, &count, &arrays) != 0)
    return -1;
  void *first = count > 0 ? arrays[0] : NULL;
  for (uint32_t i = 1; i < count; i++) // references of our own
    (void)mx->NDArrayFree(arrays[i]);
  bool is_known = first != NULL && mx->NDArrayGetShapeEx(first, &rank, &shape) == 0 && rank > 0;
  int64_t batch = is_known ? shape[0] : -1;
  if (first != NULL)
    (void)mx->NDArrayFree(first);
  return batch;
}

int64_t mxnet_models_batch_size(enum mxnet_model_kind kind, const struct model *model, void *handle, void *output)
{
  int rank = 0;
  const int *shape = NULL;
  uint32_t *predicted = NULL, predicted_rank = 0;
  if (kind == MXNET_EXECUTOR)
    return model->batch_size;
  if (kind == MXNET_PREDICTOR)
    return mx->PredGetOutputShape(handle, 0, &predicted, &predicted_rank) == 0 && predicted_rank > 0
               ? (int64_t)predicted[0]
               : -1;
  return output != NULL && mx->NDArrayGetShapeEx(output, &rank, &shape) == 0 && rank > 0 ? shape[0] : -1;
}

// ---- making ----------------------------------------------------------------------------------------------------------

static void describe(enum mxnet_model_kind kind, void *handle, void *symbol, bool with_operators, struct model *model)
{
  model->site = site_of(symbol);
  model->batch_size = kind == MXNET_EXECUTOR ? executor_batch(handle) : -1;
  if (!with_operators)
    return;
  void *fused = kind == MXNET_PREDICTOR ? fuse(symbol) : NULL;
  read_operators(fused != NULL ? fused : symbol, model);
  if (fused != NULL)
    (void)mx->SymbolFree(fused);
}

void mxnet_models_add(enum mxnet_model_kind kind, void *handle, void *symbol, const char *json, bool with_operators)
{
  struct model *model = calloc(1, sizeof *model);
  void *own = NULL; // a symbol of ours
  if (model == NULL || (uintptr_t)handle <= GONE)
    goto fail;
  model->pool.maximum_bytes = GRAPH_BYTES_MAXIMUM;
  if (json != NULL && mx->SymbolCreateFromJSON(json, &own) != 0)
    goto fail;
  if (symbol == NULL && json == NULL && mx->ExecutorGetOptimizedSymbol(handle, &own) != 0)
    goto fail;
  describe(kind, handle, own != NULL ? own : symbol, with_operators, model);
  pthread_mutex_lock(&lock);
  bool is_kept = put(handle, model);
  pthread_mutex_unlock(&lock);
  if (own != NULL)
    (void)mx->SymbolFree(own);
  if (is_kept)
    return;
fail:
  if (model != NULL)
    framework_pool_done(&model->pool);
  free(model);
}

// SPDX-License-Identifier: Apache-2.0
// The models that a program has, by the handle that it runs: how they are called and which operators they have.
#ifndef XSP_FRAMEWORKS_MXNET_TRACER_MODELS_H
#define XSP_FRAMEWORKS_MXNET_TRACER_MODELS_H

#include "frameworks/mxnet/hooks.h"
#include "frameworks/mxnet/symbol.h"

#include <stddef.h>

struct model {
  struct xsp_site *site;        // of its predictions
  struct mxnet_node *operators; // as they are executed; NULL: not known
  size_t operator_count;
  int64_t batch_size; // of an executor, whose shapes are fixed; negative: asked of each result
  struct pool pool;
  struct model *next; // of those that are gone
};

void mxnet_models_start(const struct mxnet_functions *functions, const char *model_range);
// An executor is first seen when it is run: `symbol` and `json` NULL.
void mxnet_models_add(enum mxnet_model_kind kind, void *handle, void *symbol, const char *json, bool with_operators);
struct model *mxnet_models_find(const void *handle); // NULL: not known. Never waits
// It stays readable until mxnet_models_sweep.
void mxnet_models_remove(const void *handle);
void mxnet_models_sweep(void); // call once removed models are no longer used
void mxnet_models_note_file(void *symbol, const char *path);
// The first dimension of the first result; negative: not known.
int64_t mxnet_models_batch_size(enum mxnet_model_kind kind, const struct model *model, void *handle, void *output);

#endif

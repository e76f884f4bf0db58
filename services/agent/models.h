// SPDX-License-Identifier: Apache-2.0
// The models that an agent serves: manifests in a folder (*.yml), looked at anew each time, so that files may come and go. Any thread.
#ifndef XSP_AGENT_MODELS_H
#define XSP_AGENT_MODELS_H

#include "agent/record.h"
#include "base/error.h"
#include "base/message.h"

struct models;
// Of `record` the frameworks count: a model whose framework is not here is left out. All of it must live as long. `folder` NULL: there
// are no models. STATUS_INPUT: the folder cannot be read.
enum status agent_models_open(const char *folder, const struct agent_record *record, message_fn message,
                              struct models **ret_models, struct error *err) MUST_CHECK;
void agent_models_close(struct models *models); // NULL: nothing

// Those that `user` may know of, in `arena`, by the names of files. NULL is the owner, who may do everything; "" is anybody. A manifest
// that is wrong is left out, and reported once.
void agent_models_list(struct models *models, const char *user, struct arena *arena, struct agent_model **ret_models,
                       size_t *ret_count);
// The manifest of the newest model that `user` may use, that fits "net" or "net==1.0", and is for `framework` unless that is NULL.
// NULL: there is none, or only such that the user may not use.
const char *agent_models_find(struct models *models, const char *requirement, const char *framework, const char *user,
                              struct arena *arena, bool *ret_is_forbidden);
// Writes FOLDER/FILE.yml, over an earlier one. STATUS_INPUT: it is not a manifest, or for a framework that is not here.
enum status agent_models_publish(struct models *models, const char *file, struct slice text,
                                 struct error *err) MUST_CHECK;
bool agent_models_delete(struct models *models, const char *file); // false: there is none

#endif

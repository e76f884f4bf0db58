// SPDX-License-Identifier: Apache-2.0
// MXNet's process profiler, switched on while layers are recorded, and its recordings of predictions that have ended.
#ifndef XSP_FRAMEWORKS_MXNET_TRACER_PROFILE_H
#define XSP_FRAMEWORKS_MXNET_TRACER_PROFILE_H

#include "frameworks/mxnet/tracer_models.h"

#define PREDICTION_MODELS_MAXIMUM 16u

struct prediction { // that has ended
  struct xsp_context span;
  int64_t start_us, end_us; // CLOCK_REALTIME
  const struct model *models[PREDICTION_MODELS_MAXIMUM];
  unsigned model_count;
  uint32_t epoch; // of the profile, when it began; 0: there was none
};

void mxnet_profile_start(const struct mxnet_functions *functions, const char *session);
// Whether layers may be recorded at all, now or after being switched on.
bool mxnet_profile_layers_possible(void);
// Before a prediction, in no span: switches the profiler as the levels are. Returns its epoch; 0: it is off.
uint32_t mxnet_profile_before(void);
// After a prediction, in no span: its layers will be published. Does not allocate or wait.
void mxnet_profile_add(const struct prediction *prediction);
// Publishes what waits, where it is time for it. `nobody_predicts`: no prediction is open on any thread.
void mxnet_profile_after(bool nobody_predicts);
bool mxnet_profile_is_idle(void); // nothing waits
void mxnet_profile_give_up(void); // the program uses the profiler by itself from now on
// The file that the program's profile goes to, and that it was written: MXNet writes the beginning of a profile once in a
// process, and the program's is not to lack it because ours came first.
void mxnet_profile_note_file(int count, const char *const *keys, const char *const *values);
void mxnet_profile_mend_file(void);
void mxnet_profile_end(void); // the last chance

#endif

// SPDX-License-Identifier: Apache-2.0
// TensorFlow's recorder of activities, on during single predictions, and the layers that become of what it recorded.
#ifndef XSP_FRAMEWORKS_TENSORFLOW_TRACER_RECORDING_H
#define XSP_FRAMEWORKS_TENSORFLOW_TRACER_RECORDING_H

#include "frameworks/tensorflow/hooks.h"

void tensorflow_recording_start(const struct tensorflow_functions *functions);
bool tensorflow_recording_is_wanted(void); // the layer level is on
// Before a prediction, in no span. False: it will have no layers. Each is followed by tensorflow_recording_leave.
bool tensorflow_recording_begin(uint64_t function, bool with_layers);
void tensorflow_recording_leave(void);
// After it, in no span. `function`: whose layers they are.
void tensorflow_recording_end(uint64_t function, struct xsp_context model, int64_t start_ns, int64_t end_ns);
// Around the program's own start of the recorder, which a prediction that has it loses.
void tensorflow_recording_program_begins(void);
void tensorflow_recording_program_began(void);

#endif

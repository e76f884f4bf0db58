// SPDX-License-Identifier: Apache-2.0
// Profile files of ONNX Runtime, for versions that take no listener. One thread.
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_PROFILE_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_PROFILE_H

#include "base/error.h"
#include "frameworks/common/inferences.h"
#include "frameworks/onnxruntime/abi.h"

#include <stddef.h>
#include <stdint.h>

// Reads a session profile of ONNX Runtime (a JSON array of events) and publishes its node events as layer spans.
// The n-th model_run of the file is the n-th of `inferences`: its nodes become children of that span, nodes of sub-graphs
// children of the node that runs them. `start_ns` is CLOCK_REALTIME at the file's time zero.
// Errors: STATUS_INPUT with the offset, where the text is no such profile; what came before it is not published.
enum status onnxruntime_profile_publish(const char *text, size_t length, uint64_t start_ns,
                                        const struct inferences *inferences, const char *path,
                                        struct error *err) MUST_CHECK;
// The same for a file.
enum status onnxruntime_profile_publish_file(const char *path, uint64_t start_ns, const struct inferences *inferences,
                                             struct error *err) MUST_CHECK;

#endif

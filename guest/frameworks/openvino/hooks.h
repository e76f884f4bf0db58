// SPDX-License-Identifier: Apache-2.0
// What the predictor asks of openvino.so in the same process. Found by dlsym. OpenVINO's CPU plug-in announces every node
// that it executes as an ITT task (domain ov::op::cpu::details, 2026.0 and later); each becomes a layer span.
#ifndef XSP_FRAMEWORKS_OPENVINO_HOOKS_H
#define XSP_FRAMEWORKS_OPENVINO_HOOKS_H

#include "frameworks/common/layer_publish.h"

#include <stddef.h>
#include <stdint.h>
#include <xsp/span.h>

#define OPENVINO_NODE_DOMAIN "ov::op::cpu::details" // checked with 2026.4.1

struct openvino_listener { // static; appended to only
  uint32_t size;
  // Tags for nodes of these names, from their next execution on; copied. While no inference runs.
  void (*describe)(const struct layer_report *layers, size_t count);
  // The calling thread begins an inference in this span: nodes on other threads become its children. Nodes outside of
  // inferences (constants, when a model is compiled) are counted and not recorded.
  void (*begin)(struct xsp_context model);
  void (*end)(void);
  uint64_t (*own_ticks)(void);  // spent in here, inside nodes' begins and ends
  uint64_t (*node_count)(void); // nodes that were announced so far
};
#define OPENVINO_LISTENER_SYMBOL "xsp_openvino_listener"
typedef const struct openvino_listener *(*openvino_listener_fn)(void);
XSP_API const struct openvino_listener *xsp_openvino_listener(void);

#endif

// SPDX-License-Identifier: Apache-2.0
// xsp: watch a framework from inside its process. A client gets each operator, compilation, allocation and GPU call as it
// happens, and can ask for the call path from Python down to it.
//
//   static void operator_event(const struct xsp_event *event, void *context) { … }
//   if (xsp_monitor_init() == 0)
//     xsp_monitor_subscribe(XSP_DOMAIN_OPERATOR, operator_event, NULL);
//
// A client is a tracer (<xsp/tracer.h>, `xsp run -t ./client.so`) or the program itself, run by `xsp run`. Events come from
// xsp's tracers, at the levels that the session records: operators at the layer level. Every function may be called from any
// thread; none blocks, aborts, prints or allocates. Link with -lxsp.
#ifndef XSP_MONITOR_H
#define XSP_MONITOR_H

#include <xsp/call_path.h>

#ifdef __cplusplus
extern "C" {
#endif

enum xsp_domain {
  XSP_DOMAIN_OPERATOR = 0,    // operators of a framework
  XSP_DOMAIN_COMPILATION = 1, // of a graph
  XSP_DOMAIN_MEMORY = 2,      // tensors' allocations and frees
  XSP_DOMAIN_GPU = 3,         // calls of a GPU's driver, and functions of `xsp run --functions`
};
#define XSP_DOMAIN_COUNT 4

enum xsp_phase {
  XSP_PHASE_BEGIN = 0,
  XSP_PHASE_END = 1,   // on the thread of its begin, and with its id
  XSP_PHASE_POINT = 2, // of no length
};

// Valid for the call; texts too. Fields are only appended; `size` covers those that exist.
struct xsp_event {
  uint32_t size;
  uint8_t domain; // enum xsp_domain
  uint8_t phase;  // enum xsp_phase
  uint16_t reserved;
  const char *source; // the tracer's name: "pytorch"
  const char *name;   // "aten::conv2d", "allocate", "free", "cuLaunchKernel"
  const char *module; // of the model, "layer4.0.conv1"; NULL: none or unknown
  uint64_t id;        // unique in the process; 0: not recorded
  int64_t sequence;   // autograd's number, which a forward operator and its backward operators share; -1: none
  uint64_t address;   // memory: of the block
  int64_t bytes;      // memory: > 0 allocated, < 0 freed
  // Private. xsp_event_arguments and xsp_event_results call it.
  size_t (*describe)(const struct xsp_event *event, int of_results, char *text, size_t size);
  const void *subject;
};

// On the thread where it happens, in the middle of the framework's work: short, and without calls into the framework. Events
// that a callback causes are not reported.
typedef void (*xsp_event_fn)(const struct xsp_event *event, void *context);

// Call it first. 0; -ENOENT: this process belongs to no session, and nothing will be reported.
XSP_API int xsp_monitor_init(void);
// Returns a subscription (> 0); -EINVAL: no such domain; -ENOSPC: 16 subscriptions exist.
XSP_API int xsp_monitor_subscribe(enum xsp_domain domain, xsp_event_fn callback, void *context);
// Ends all subscriptions. A callback that runs on another thread may still be running.
XSP_API void xsp_monitor_finalize(void);

// Within a callback: what an event was called with, and what it returned (at its end), as JSON arrays with one item per value:
//   [{"type":"float32","shape":[32,64,56,56]},true,"same"]
// Writes at most `size` bytes with the ending NUL into `text`. Returns the length of all of it without the NUL; 0: not known.
XSP_API size_t xsp_event_arguments(const struct xsp_event *event, char *text, size_t size);
XSP_API size_t xsp_event_results(const struct xsp_event *event, char *text, size_t size);

// ---- call paths ----
#define XSP_SOURCE_PYTHON 1u
#define XSP_SOURCE_FRAMEWORK 2u // operators that are open on this thread
#define XSP_SOURCE_NATIVE 4u    // frames of libraries: module and address; name where the module exports it, mangled
#define XSP_SOURCE_ALL 7u
// The calling thread's path, outermost frame first. Returns how many frames there are; at most `most` are written, and of a
// longer path the innermost. Not in signal handlers: native names take the loader's lock, the first time. Texts live as long as
// the process. 0: no tracer in this process can give paths.
XSP_API size_t xsp_monitor_call_path(uint32_t sources, struct xsp_frame *frames, size_t most);
// The same as a number for xsp_interval.call_path; native frames are in it only if the tracer records them. 0: none.
XSP_API uint32_t xsp_monitor_path(uint32_t sources);

// ---- for tracers: report events ----
// Bit 1 << domain is set where somebody subscribed. Test it before making an event.
XSP_API extern volatile uint32_t xsp_monitor_domains_v1;
XSP_API void xsp_monitor_report(const struct xsp_event *event);
// `find` returns the calling thread's path (xsp_call_path) from these sources. One provider per process: the last.
XSP_API void xsp_monitor_provide(uint32_t (*find)(uint32_t sources));

#ifdef __cplusplus
}
#endif

#endif

// SPDX-License-Identifier: Apache-2.0
// xsp: write a tracer. A tracer turns one profiler's events into spans, live in the traced process.
//
// A tracer is a shared object that exports one function, xsp_tracer_entry, and publishes through <xsp/span.h>. It is
// loaded into a process of a session by XSP_TRACERS=/path/a.so,/path/b.so:option=value (see docs/tracers.md).
// Guest manners are the contract: never exit, abort, block, write to stdout, or throw.
#ifndef XSP_TRACER_H
#define XSP_TRACER_H

#include <xsp/span.h>

#ifdef __cplusplus
extern "C" {
#endif

struct xsp_tracer_option {
  const char *name;
  const char *value_name; // "FILE", "N"; for help
  const char *summary;
};

// The host's functions for a tracer. Fields are only appended.
struct xsp_host {
  uint32_t size;
  uint32_t abi_version; // XSP_ABI_VERSION of the host
  // The option's value, or NULL if it was not given. Valid while the process lives.
  const char *(*option)(const struct xsp_host *host, const char *name);
  // One line for the user, kept with the trace (not printed into the program's output).
  void (*say)(const struct xsp_host *host, const char *message);
  // --- base ABI, version 1, ends here ---
  // Called by `probe`, for `xsp check`: the library that the tracer would use and its version (NULL: unknown), and
  // advice if it is not usable, one line. They exist if `size` covers them. Strings are copied.
  void (*found)(const struct xsp_host *host, const char *library, const char *version);
  void (*advise)(const struct xsp_host *host, const char *advice);
  // Counts events that the tracer knows of and cannot publish, as dropped by the run: a vendor's buffers were full. Exists if
  // `size` covers it. On a thread that publishes spans.
  void (*lost)(const struct xsp_host *host, uint64_t events);
};

// One static descriptor per tracer. Fields are only appended.
struct xsp_tracer {
  uint32_t size;
  uint32_t level_mask;                     // levels it can publish
  const char *name;                        // "onnxruntime"; at most 31 bytes
  const char *summary;                     // one line
  const struct xsp_tracer_option *options; // ends with a NULL name; may be NULL
  // Called first, or alone (`xsp check`). 0: usable. Else writes the reason, one line, into `why`.
  int (*probe)(const struct xsp_host *host, char *why, size_t why_size);
  int (*start)(const struct xsp_host *host); // once, before the program's main work; 0 or negated errno
  void (*flush)(void);                       // publishes what is finished; may be NULL
  void (*stop)(void);                        // at exit; may be NULL; may never be called (SIGKILL)
  // --- base ABI, version 1, ends here ---
};

#define XSP_TRACER_ENTRY "xsp_tracer_entry"
typedef const struct xsp_tracer *(*xsp_tracer_entry_fn)(const struct xsp_host *host);
XSP_API const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *host);

// For a tracer that a vendor's API loaded (NVTX_INJECTION64_PATH, OPENCL_LAYERS, …): joins the session as if listed in
// XSP_TRACERS; `start` runs before this returns, `stop` at exit. With "@PATH:option=value" in XSP_TRACERS, processes
// that never use it do not load it, and it has these options once it joins. `probe` is not called. Any thread, any
// number of times for one descriptor. The library stays loaded until exit. 0, or a negated errno: -ENOENT without a
// session.
XSP_API int xsp_tracer_join(const struct xsp_tracer *tracer);

// Whether spans of the site were recorded at this moment (CLOCK_REALTIME): for what a profiler reports later, which is kept or left
// by when it began, whatever is on now. Beyond the last 256 switches: as at the first of them. Any thread.
XSP_API int xsp_site_was_on(struct xsp_site *site, uint64_t realtime_ns);

// What a sampled thread did: it was on a CPU, or waited.
enum xsp_sample_kind {
  XSP_SAMPLE_CPU = 1,
  XSP_SAMPLE_SLEEP, // for time to pass
  XSP_SAMPLE_LOCK,  // for another thread: locks, conditions, semaphores, joins
  XSP_SAMPLE_IO,    // for a file, socket, pipe, or an event of one
  XSP_SAMPLE_CHILD, // for a process
};
// Records where the calling thread is: at `call_path` (<xsp/call_path.h>; 0: unknown), within its innermost open span. For a
// CPU, `duration_ns` is the thread's CPU time that the sample stands for; else the wait that ends now. The caller asks
// xsp_tracer_levels whether its tracer is on. Any thread, in signal handlers too. 1: recorded; 0: no session, or no room,
// which is counted.
XSP_API int xsp_sample(enum xsp_sample_kind kind, uint32_t call_path, uint64_t duration_ns);
// For xsp_sample alone: the path `caller` and then all frames of the path `inner`, at most 256, of which none is from here. It costs
// as much as one new frame, so native functions that are below many callers are made once, as a path of their own. 0: as xsp_call_path.
XSP_API uint32_t xsp_sample_path(uint32_t caller, uint32_t inner);

// For intervals whose beginning and end the tracer sees on the thread that runs them: xsp_count keeps the thread's counters (`--counters`)
// at a place of its own, xsp_count_tag adds what they counted between two places (`from` < `to`) to a span that was emitted on this
// thread. Nothing where none are wanted.
#define XSP_COUNT_PLACES 33u
XSP_API void xsp_count(unsigned place);
XSP_API void xsp_count_tag(const struct xsp_span *span, unsigned from, unsigned to);

// What the tracers of this process have seen and not yet published becomes spans now: a device's work that has ended. For
// programs that look at their trace while they run. Any thread, outside of callbacks of a profiler; may take milliseconds.
XSP_API void xsp_tracers_flush(void);

#ifdef __cplusplus
}
#endif

#endif

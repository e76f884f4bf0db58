// SPDX-License-Identifier: Apache-2.0
// xsp: trace my code. Spans, tags, logs, tracks, correlation. Link with -lxsp.
//
//   #include <xsp/span.h>
//   XSP_SITE(load, XSP_LEVEL_APPLICATION, "load image");
//   struct xsp_span span = xsp_span_start(&load);
//   ...
//   xsp_span_finish(&span);
//
// Nothing is recorded, and a start costs one load and one branch, unless the process belongs to a capture session
// (environment XSP_SESSION, or xsp_attach). Every function may be called from any thread and from signal handlers, at
// any time, before and after a session; none blocks, aborts, prints, or (after a thread's first span) allocates. Errors
// never reach the traced program: records that cannot be stored are counted as dropped and reported with the trace.
// Times are nanoseconds where a name ends in _ns, else ticks of xsp_clock_ticks().
#ifndef XSP_SPAN_H
#define XSP_SPAN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XSP_API __attribute__((visibility("default")))
#define XSP_ABI_VERSION 1

enum xsp_level { // the lower the value, the higher in the stack
  XSP_LEVEL_APPLICATION = 0,
  XSP_LEVEL_MODEL = 1,
  XSP_LEVEL_LAYER = 2,
  XSP_LEVEL_LIBRARY = 3,
  XSP_LEVEL_KERNEL = 4,
};
#define XSP_LEVEL_COUNT 5
#define XSP_LEVEL_NAMES "application", "model", "layer", "library", "kernel" // of an array, by level
#define XSP_LEVEL_MASK(level) (UINT32_C(1) << (level))
#define XSP_LEVEL_MASK_ALL UINT32_C(0x1f)

enum xsp_kind {
  XSP_KIND_SYNC = 0,
  XSP_KIND_LAUNCH = 1,    // start of an asynchronous operation: its place in the hierarchy
  XSP_KIND_EXECUTION = 2, // its run: its cost. Same correlation id as its launch.
};

// A place in a program (or a name known at run time) that publishes spans: name, level, tracer, category. Static, or
// from xsp_site_create. Registered at its first use. Fields are only appended; `size` covers those that exist.
struct xsp_site {
  uint32_t size;                   // sizeof(struct xsp_site)
  uint32_t mask;                   // XSP_LEVEL_MASK(level)
  const volatile uint32_t *levels; // the tracer's switches; private
  uint32_t id;                     // private; 0 until registered
  uint32_t level;                  // enum xsp_level
  const char *name;                // borrowed, must outlive the site
  const char *category;            // NULL: none. "kernel", "api", "memcpy", … see docs/format.md
  const char *tracer;              // NULL: "app". At most 31 bytes.
};

XSP_API extern const volatile uint32_t xsp_unregistered_v1; // all ones: sends a site's first span to the slow path

#define XSP_SITE_FULL(variable, level_, name_, category_, tracer_)                                                     \
  static struct xsp_site variable = {sizeof(struct xsp_site),                                                          \
                                     XSP_LEVEL_MASK(level_),                                                           \
                                     &xsp_unregistered_v1,                                                             \
                                     0,                                                                                \
                                     (level_),                                                                         \
                                     (name_),                                                                          \
                                     (category_),                                                                      \
                                     (tracer_)}
#define XSP_SITE(variable, level_, name_) XSP_SITE_FULL(variable, level_, name_, NULL, NULL)

// A started span. Plain value, no ownership: losing it only leaves an open span. All zero: not recorded.
struct xsp_span {
  uint64_t start; // ticks; 0: not recorded
  uint32_t site;  // site id
  uint32_t id;    // within its thread's ring
};

// ---- start and finish: on the same thread, in any order ----
// The plain functions; the inline ones below are the same with the common path compiled in. A start without a site
// (NULL) and a finish of a span that is not recorded do nothing; a finish of a span that is not open on this thread
// (finished already, started by another thread or before a fork) is counted as misused and records nothing.
XSP_API struct xsp_span xsp_span_start_call(struct xsp_site *site);
XSP_API void xsp_span_finish_call(struct xsp_span *span);

#if defined(XSP_NO_INLINE) || !(defined(__x86_64__) || defined(__aarch64__)) ||                                        \
    __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
static inline struct xsp_span xsp_span_start(struct xsp_site *site)
{
  return xsp_span_start_call(site);
}
static inline void xsp_span_finish(struct xsp_span *span)
{
  xsp_span_finish_call(span);
}
#else
#include <xsp/span_inline.h> // defines xsp_span_start and xsp_span_finish, version 1
#endif

// A span from here to the end of the enclosing block, however it is left (not by longjmp or exit). gcc and clang.
#define XSP_SCOPE_JOIN_(a, b) a##b
#define XSP_SCOPE_NAME_(a, b) XSP_SCOPE_JOIN_(a, b)
#define XSP_SCOPE(level_, name_)                                                                                       \
  XSP_SITE(XSP_SCOPE_NAME_(xsp_scope_site_, __LINE__), level_, name_);                                                 \
  struct xsp_span XSP_SCOPE_NAME_(xsp_scope_, __LINE__) __attribute__((cleanup(xsp_span_finish), unused)) =            \
      xsp_span_start(&XSP_SCOPE_NAME_(xsp_scope_site_, __LINE__))

// ---- tags and logs of a span, between its start and its finish ----
// On the thread that started it. Each writes one 32-byte record (strings are interned once per process and cut at 65,535
// bytes). No effect on a span that is not recorded.
XSP_API void xsp_span_tag_int(const struct xsp_span *span, const char *key, int64_t value);
XSP_API void xsp_span_tag_double(const struct xsp_span *span, const char *key, double value);
XSP_API void xsp_span_tag_string(const struct xsp_span *span, const char *key, const char *value);
XSP_API void xsp_span_log(const struct xsp_span *span, const char *message); // with the time of the call
XSP_API void xsp_span_correlate(const struct xsp_span *span, enum xsp_kind kind, uint64_t correlation_id);

// A reference to a span that outlives its handle and crosses threads: for explicit parents.
struct xsp_context {
  uint32_t ring;
  uint32_t id; // 0: none
};
XSP_API struct xsp_context xsp_span_context(const struct xsp_span *span);
XSP_API void xsp_span_set_parent(const struct xsp_span *span, struct xsp_context parent);

// ---- sites, tags that are the same for all spans of a site ----
// A site for a name found at run time; the same arguments give the same site id. Owned by the library, never freed;
// NULL without a session or when names are full. Strings are copied.
XSP_API struct xsp_site *xsp_site_create(const char *tracer, enum xsp_level level, const char *name,
                                         const char *category);
// The same for one name with different tags (a layer and its shapes): sites of different `variant` are different sites.
// 0 is xsp_site_create's.
XSP_API struct xsp_site *xsp_site_create_variant(const char *tracer, enum xsp_level level, const char *name,
                                                 const char *category, uint32_t variant);
// Every span of the site carries the tag; costs nothing per span. Set before the site's first span.
XSP_API void xsp_site_tag_int(struct xsp_site *site, const char *key, int64_t value);
XSP_API void xsp_site_tag_double(struct xsp_site *site, const char *key, double value);
XSP_API void xsp_site_tag_string(struct xsp_site *site, const char *key, const char *value);

// ---- tracks and clocks, and finished intervals ----
enum xsp_clock {
  XSP_CLOCK_TICKS = 0,    // xsp_clock_ticks()
  XSP_CLOCK_REALTIME = 1, // nanoseconds of CLOCK_REALTIME
  XSP_CLOCK_MONOTONIC = 2,
  XSP_CLOCK_FOREIGN = 3, // nanoseconds of the track's own clock (a simulator's); never mixed with the others
};
struct xsp_track_options {
  uint32_t size;      // sizeof(struct xsp_track_options)
  uint32_t thread_id; // 0: not a thread. Else a thread of this process (gettid): its own track; the rest is ignored
  const char *name;   // "cuda:0 stream 7"
  const char *clock;  // NULL: wall time. Else the foreign clock's name: spans of the track use XSP_CLOCK_FOREIGN
  int64_t device_id;  // -1: none
  int64_t stream_id;  // -1: none
};
// The id under which the session keeps a text; 0 without a session or when it is full.
XSP_API uint32_t xsp_string(const char *text, size_t length);
// A track that is not a thread, or that of another thread: for intervals which a profiler reports later and elsewhere. 0 on
// failure (0 means the calling thread's own track).
XSP_API uint16_t xsp_track_create(const struct xsp_track_options *options);
XSP_API void xsp_thread_name(const char *name); // names the calling thread's track
// This process is number `rank` of the `world_size` processes of one job, and number `local_rank` of those on its host (-1:
// unknown, or as the environment has it). Without a call, what the environment of the process's start says (RANK, WORLD_SIZE,
// …; docs/ranks.md). Takes no effect where the rank is not below the size.
XSP_API void xsp_process_rank(uint32_t rank, int32_t local_rank, uint32_t world_size);

struct xsp_interval {
  uint32_t size; // sizeof(struct xsp_interval)
  uint16_t track;
  uint8_t kind;  // enum xsp_kind
  uint8_t clock; // enum xsp_clock
  uint64_t start;
  uint64_t end;              // >= start, else dropped and counted
  uint64_t correlation_id;   // 0: none
  struct xsp_context parent; // {0}: none named
  // --- version 1 ends here: `size` may be XSP_INTERVAL_SIZE_V1 ---
  uint32_t call_path; // xsp_call_path of <xsp/call_path.h>; 0: the site's, or none
  uint32_t flags;     // XSP_INTERVAL_EARLIER, or 0
};
#define XSP_INTERVAL_SIZE_V1 40u
#define XSP_INTERVAL_EARLIER 1u // it began while its level was on (xsp_site_was_on): published though that is off now
// Records a finished interval in one call. Returns a handle for tags (valid until the thread's next span; do not finish
// it), all zero if nothing was recorded.
XSP_API struct xsp_span xsp_span_emit(struct xsp_site *site, const struct xsp_interval *interval);

XSP_API uint64_t xsp_clock_ticks(void); // the session's tick clock: TSC where invariant, else CLOCK_MONOTONIC ns

// ---- tracers and levels, on and off while the program runs ----
// Bits outside the session's levels stay off. Returns the mask now in force. `tracer` as in xsp_site; "*": all of them
// (xsp_tracer_levels then returns the levels that at least one has on).
XSP_API uint32_t xsp_tracer_set_levels(const char *tracer, uint32_t level_mask);
XSP_API uint32_t xsp_tracer_levels(const char *tracer);
XSP_API uint32_t xsp_session_levels(void); // levels that may be switched on; 0 without a session

// ---- W3C trace context ----
#define XSP_TRACEPARENT_SIZE 56 // "00-<32 hex>-<16 hex>-<2 hex>" and a NUL
// Writes the header that makes other services children of `span`. Where span is NULL or not recorded: of the thread's
// innermost open span, else of the span of the program that xsp started, else of the span that called the program.
// Returns 0, or -1: no session, or no such span.
XSP_API int xsp_traceparent_out(const struct xsp_span *span, char header[XSP_TRACEPARENT_SIZE]);
// Makes the remote span named by `header` the parent of `span`, its trace id the trace of `span`. 0, or -1: malformed.
XSP_API int xsp_traceparent_in(const struct xsp_span *span, const char *header);

// ---- session ----
// Joins the session in `directory` (NULL: environment XSP_SESSION), creating it if it does not exist. A process belongs
// to one session for its life. Called implicitly at the first span if XSP_SESSION is set.
// 0 on success, else a negated errno value.
XSP_API int xsp_attach(const char *directory);

#ifdef __cplusplus
}
#endif

#endif

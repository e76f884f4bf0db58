// SPDX-License-Identifier: Apache-2.0
// xsp: call paths of spans, from the outermost caller to the span's own frame.
//
//   struct xsp_frame frame = {.size = sizeof frame, .kind = XSP_FRAME_PYTHON, .name = "train", .file = "train.py", .line = 42};
//   uint32_t train = xsp_call_path(0, &frame);
//   frame = (struct xsp_frame){.size = sizeof frame, .kind = XSP_FRAME_FRAMEWORK, .name = "aten::conv2d"};
//   xsp_site_call_path(site, xsp_call_path(train, &frame));
//
// A call path is a frame and the call path of its caller, named by a number; 0 is none. A path ends in the span's own frame:
// an operator's has the Python frames outermost first, then the operators around it, then the operator. As in <xsp/span.h>,
// every function may be called from any thread and from signal handlers, and none blocks or allocates.
#ifndef XSP_CALL_PATH_H
#define XSP_CALL_PATH_H

#include <xsp/span.h>

#ifdef __cplusplus
extern "C" {
#endif

enum xsp_frame_kind {
  XSP_FRAME_PYTHON = 0,
  XSP_FRAME_FRAMEWORK = 1, // an operator
  XSP_FRAME_NATIVE = 2,
  XSP_FRAME_DEVICE = 3, // a kernel; a line or an instruction of it
};
#define XSP_FRAME_KINDS 4
#define XSP_CALL_PATH_FRAMES 16384u // frames of one path at most

struct xsp_frame {    // fields are only appended; NULL, "" and 0: unknown
  uint32_t size;      // sizeof(struct xsp_frame)
  uint32_t kind;      // enum xsp_frame_kind
  const char *name;   // function, operator or kernel. Texts are copied, cut at 65,535 bytes
  const char *file;   // source file
  const char *module; // executable or library
  uint32_t line;      // in `file`, from 1
  uint64_t address;   // in the process, or in `module` where that is named
};

// The call path of a frame that was called from `caller` (0: the outermost frame). Within a process the same arguments give
// the same number; the numbers are valid in forked children too. 0: no session; or, counted as lost, no room in the session
// or a path of more than XSP_CALL_PATH_FRAMES; or, counted as misused, a `caller` that is not a path or a frame of no kind.
// 10 to 20 ns for a path that is known.
XSP_API uint32_t xsp_call_path(uint32_t caller, const struct xsp_frame *frame);
// Every span of the site has the path; costs nothing per span. Set before the site's first span. Sites of one name need
// different variants (xsp_site_create_variant) to have different paths.
XSP_API void xsp_site_call_path(struct xsp_site *site, uint32_t path);
// The path of one span, between its start and its finish, on its thread; takes precedence over its site's. One 32-byte
// record. For finished intervals: xsp_interval.call_path.
XSP_API void xsp_span_call_path(const struct xsp_span *span, uint32_t path);

#ifdef __cplusplus
}
#endif

#endif

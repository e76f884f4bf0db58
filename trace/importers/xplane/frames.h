// SPDX-License-Identifier: Apache-2.0
// Lines of the program that a module came from (frames.c), for hlo.c.
#ifndef XSP_IMPORTERS_XPLANE_FRAMES_H
#define XSP_IMPORTERS_XPLANE_FRAMES_H

#include "importers/xplane/xplane.h"

struct xplane_location {
  uint64_t file, function, line;
};
struct xplane_frame {
  uint64_t location, caller;
  uint32_t path; // of import_context
};
struct xplane_frames { // of a module; its numbers count from 1
  VECTOR(struct slice) files, functions;
  VECTOR(struct xplane_location) locations;
  VECTOR(struct xplane_frame) frames;
};

bool xplane_frames_read(struct xplane_frames *frames, struct wire index); // false: it is damaged
// The innermost line; what is not known stays as it is.
void xplane_frames_place(const struct xplane_frames *frames, uint64_t frame, struct slice *ret_file,
                         uint64_t *ret_line);
// The call path of an operation of that frame, else of that line. 0: neither is known.
uint32_t xplane_frames_path(struct xplane *x, struct xplane_frames *frames, uint64_t frame, struct slice file,
                            uint64_t line, struct slice type);
void xplane_frames_done(struct xplane_frames *frames);

#endif

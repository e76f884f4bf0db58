// SPDX-License-Identifier: Apache-2.0
// The line protocol between `xsp profile` and its runner process (one per level set), over a socketpair.
//
// Runner arguments: --control-fd N --model PATH --predictor NAME --levels M/L --tracer-directory DIR --work-directory DIR
//   [--library PATH] [--device DEVICE] [--threads N] [--affinity CPULIST] [--seed N] [--input NAME=FILE.npy]… [--dim NAME=N]…
//   [--expect EXPECTATION]… [--profile-file] [--unfused] [--pin-algorithms] [--layer-outputs] [--values-fd N]; the capture session comes by XSP_SESSION, further tracers by XSP_TRACERS.
//
// Lines end with '\n', fields are separated by '\t'; '\t', '\n' and '\\' inside a field are written \t, \n, \\.
//   runner: ready FRAMEWORK VERSION LIBRARY LAYER_SOURCE NOTE DEVICE CLASS CUDNN   once, when the model is open; NOTE
//           and DEVICE may be empty; CLASS: of the device, a number of enum predictor_on; CUDNN: version, 0 without
//   runner: error STATUS WHAT WHERE WHY ADVICE                    STATUS as enum status' number; the runner then exits
//   xsp:    predict BATCH WARMUP(0|1|cold)                        one inference under one model span
//   runner: done                                                  answers predict, prepare and flush
//   xsp:    prepare BATCH                                         makes and fills the inputs, outside any prediction
//   xsp:    picture PATH [LABEL [NAME OFFSET SIZE CRC32]]         a picture of the coming inference; LABEL: a picture with the class of each
//           pixel, "": none. With NAME it is a part of the file at PATH
//   xsp:    infer WARMUP(0|1) [OUTPUT]                             predict, whose input is made of the pictures
//   runner: score ITEM PLACE VALUE                                the best classes of each item, best first, in OUTPUT ("": the only one); then done. Without OUTPUT none
//   runner: unreadable ITEM WHAT WHERE WHY ADVICE                 instead: this picture cannot be read or decoded, and there was no inference; then done
//   runner: box ITEM PLACE SCORE LEFT TOP RIGHT BOTTOM            instead, where OUTPUT is of boxes: best first, in pixels of the picture
//   runner: mask ITEM WIDTH HEIGHT LENGTHS                        of the box before, where OUTPUT is of instances: the pixels outside and inside of it in
//           turns, column by column of the picture of this size ("12 3 40 3"); a further line goes on
//   runner: pixels ITEM LABEL FOUND COUNT                         of a mask: how many have these classes; LABEL "-": of the output, whatever the label
//   runner: token ITEM NUMBER                                     of a text, in order
//   xsp:    load                                                  the pictures are prepared and kept
//   xsp:    query WARMUP(0|1) ARRIVAL FIRST COUNT                 predict, whose input is COUNT kept ones from FIRST on, at ARRIVAL, in ns
//           of CLOCK_MONOTONIC (0: at once); the model span gets the tag wait_ns, from ARRIVAL to its start
//   xsp:    describe                                              what the model takes and gives, a line for each, then done
//   runner: input|output NAME TYPE SHAPE                          TYPE: a number, 0 where it is unknown; SHAPE: "N,3,?", "-"
//   runner: layer NAME TYPE OPERATOR                              a tensor between layers, with --layer-outputs
//   xsp:    read input|output NAME                                a tensor of the last `infer`; "": its first output
//   runner: tensor TYPE SHAPE BYTES                               its values are in the file of --values-fd; then done
//   runner: unread WHY                                            it has none that can be read; then done
//   xsp:    flush                                                 what the framework holds back is published
//   xsp:    quit                                                  the runner closes the model and exits 0
//
// A model span has level model, tracer "runner", the model file's name without its ending, and tags batch_size,
// warmup (1, only on warm-up), cold (1, on the first inference of a process that is asked for it as such), own_ns (time spent
// in xsp's own code inside the span, measured; only where known).
#ifndef XSP_FORMAT_PROTOCOL_H
#define XSP_FORMAT_PROTOCOL_H

#include "base/buf.h"

#include <stddef.h>

#define PROTOCOL_LINE_MAXIMUM 8192
#define PROTOCOL_FIELDS 9
#define PROTOCOL_SCORES 5 // of an item, at most

// Appends the escaped fields (first is the verb), tab-separated, with the newline.
void protocol_format(struct buf *out, const char *const *fields, size_t count);
// Splits and unescapes `line` (without newline) in place; returns the number of fields, 0 where it is malformed.
size_t protocol_parse(char *line, char *fields[PROTOCOL_FIELDS]);

#endif

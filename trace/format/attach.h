// SPDX-License-Identifier: Apache-2.0
// How a running process is asked to join a session. libxsp.so has one such block in its data. Who may trace the process
// (process_vm_writev) writes a session's folder into it, then `state`, then `before_session`; the process's next span comes
// to the slow path, which joins. Nothing in the process waits for it, and nothing is stopped.
#ifndef XSP_FORMAT_ATTACH_H
#define XSP_FORMAT_ATTACH_H

#include <stdint.h>

#define ATTACH_MAGIC                                                                                                   \
  {                                                                                                                    \
    0x9d, 'x', 's', 'p', ' ', 'a', 't', 't', 'a', 'c', 'h', ' ', 'v', '1', 0xc3, 0x1a                                  \
  }
#define ATTACH_DIRECTORY_BYTES 4032

enum attach_state {
  ATTACH_NONE = 0, // in no session; the library writes all but ATTACH_ASKED and the way back from it
  ATTACH_ASKED,
  ATTACH_BUSY,
  ATTACH_JOINED, // a session, also one that was not asked for: `directory`
  ATTACH_FAILED, // `error`; may be asked again
};

struct attach_block {
  uint8_t magic[16];
  const void *self;                       // address in the process: a copy of the block is none
  uint32_t size;                          // of the block, bytes
  uint32_t state;                         // atomic, enum attach_state
  int32_t error;                          // negated errno
  uint32_t before_session;                // atomic; where sites point while there is no session: 0, all ones once asked
  char directory[ATTACH_DIRECTORY_BYTES]; // absolute path, ends with NUL
};

#endif

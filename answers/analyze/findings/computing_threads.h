// SPDX-License-Identifier: Apache-2.0
// How many threads compute, by samples, and where the program asks for that number. For rules.
#ifndef XSP_ANALYZE_FINDINGS_COMPUTING_THREADS_H
#define XSP_ANALYZE_FINDINGS_COMPUTING_THREADS_H

#include "analyze/findings/findings.h"

struct computing_threads {
  size_t threads;    // of a pool of a process: alike, and with a tenth of the mean time of its threads
  size_t of_all;     // of all processes: with a tenth of the time of the thread with most
  double processors; // that the program may use
};
// STATUS_NO: there are no samples, or the number of processors is not known.
enum status computing_threads_count(struct findings *findings, struct computing_threads *ret,
                                    struct error *err) MUST_CHECK;
// The program's last call of torch.set_num_threads (*ret_is_asked), else the line with most time; PLACE_NONE.
enum status computing_threads_place(struct findings *findings, uint32_t *ret_place, bool *ret_is_asked,
                                    struct error *err) MUST_CHECK;

#endif

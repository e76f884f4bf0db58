// SPDX-License-Identifier: Apache-2.0
// An interrupted verb leaves no half-written output. Used by the verbs that write a file of report/.
#ifndef XSP_PROGRAMS_XSP_UNFINISHED_H
#define XSP_PROGRAMS_XSP_UNFINISHED_H

// From here on Ctrl-C, a hang-up and a plain kill remove the unfinished output before they end the program.
void unfinished_removed_by_signals(void);

#endif

// SPDX-License-Identifier: Apache-2.0
// Renders the verbs' descriptors: help text, man pages, shell completion. One source, three forms.
#ifndef XSP_PROGRAMS_XSP_HELP_H
#define XSP_PROGRAMS_XSP_HELP_H

#include "base/buf.h"
#include "programs/xsp/verb.h"

void help_text(const struct verb *verb, unsigned width, struct buf *out); // for the terminal; NULL: of all verbs
void help_start(struct buf *out);                                         // a command for each of the three jobs
// The description with its list.
void help_description(const struct verb *verb, struct buf *out);
void help_man(const struct verb *verb, struct buf *out); // roff; NULL: xsp(1)
// A completion script for "bash", "zsh" or "fish". False: no such shell.
bool help_completion(const char *shell, struct buf *out);

#endif

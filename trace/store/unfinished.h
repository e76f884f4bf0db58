// SPDX-License-Identifier: Apache-2.0
// Files that must not outlive a program that ends early: unfinished traces, and private copies of them.
#ifndef XSP_STORE_UNFINISHED_H
#define XSP_STORE_UNFINISHED_H

struct unfinished {
  const char *path;
  void (*remove)(const char *path); // async-signal-safe
};
// From any thread. Borrowed until unfinished_forget; meanwhile store_unfinished_remove calls `remove`. There is room for
// four; of further ones the files stay.
void unfinished_add(struct unfinished *unfinished);
void unfinished_forget(struct unfinished *unfinished); // one that was never added, too
// Removes the file PATH + ending; not where the name is too long. Async-signal-safe.
void unfinished_unlink(const char *path, const char *ending);

#endif

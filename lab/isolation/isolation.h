// SPDX-License-Identifier: Apache-2.0
// Front door: runs a process in namespaces of its own (mount, pid, ipc, uts, network without interfaces), with limits of CPU, memory
// and time. runc makes them. The process sees the host's file system, without its private folders, or a container's, read-only; what it
// may write is in memory. docs/isolation.md is the user's page, docs/internals/isolation.md has the processes.
#ifndef XSP_ISOLATION_ISOLATION_H
#define XSP_ISOLATION_ISOLATION_H

#include "base/arena.h"
#include "base/error.h"
#include "base/message.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// What the process has besides stdin, stdout and stderr.
#define ISOLATION_CONTROL_FD 3
#define ISOLATION_VALUES_FD 4

struct isolation {
  const char *runtime;       // path of runc, from isolation_find_runtime
  const char *container;     // as the user or a manifest names it; NULL: the host's file system
  const char *root;          // its root file system; NULL: the host's
  const char *digest;        // "sha256:…" of its image's manifest; NULL: it is a folder
  const char *const *hidden; // folders of the host that it sees empty, in memory; NULL-terminated; may be NULL
  const char *const *paths;  // files and folders of the host that it also sees, at their places; as `hidden`
  double cpus;               // of time each second; 0: no limit
  int64_t memory_bytes;      // 0: no limit
  unsigned time_limit_s;     // from start to end; 0: no limit
};

// STATUS_SYSTEM, with what to do: runc is not installed, or the caller is not root.
enum status isolation_find_runtime(struct arena *arena, const char **ret_path, struct error *err) MUST_CHECK;

// The folders of the host in which users and services keep sockets, pipes and private files: homes, /tmp, /var, /run, /dev/shm, TMPDIR.
// Those that are there, without links, NULL-terminated.
const char **isolation_hidden_folders(struct arena *arena);

// Fills container, root and digest from a folder: a root file system, or an OCI image layout. The layers of the latter are unpacked
// into the cache (XSP_IMAGE_CACHE) if they are not there yet; `message` reports that. Errors: STATUS_INPUT, STATUS_SYSTEM.
enum status isolation_open_container(const char *folder, message_fn message, struct arena *arena,
                                     struct isolation *isolation, struct error *err) MUST_CHECK;
// The folder of an image's name in $XSP_IMAGES: '/', ':' and '@' in the name are '_' there. NULL where the variable is not set. Nothing
// is fetched. STATUS_INPUT: the folder is missing.
enum status isolation_named_container(const char *name, struct arena *arena, const char **ret_folder,
                                      struct error *err) MUST_CHECK;

// How it ended, in memory that its keeper shares with xsp.
struct isolation_end;
struct isolation_end *isolation_end_create(void); // ends the process where memory is out
void isolation_end_free(struct isolation_end *end);
// If a limit ended it or a process that it started, or if it did not start, sets *err to that, and returns true. `output`: what it
// wrote last.
bool isolation_explain(const struct isolation *isolation, const struct isolation_end *end, const char *output,
                       struct error *err);

struct isolation_process {
  const char *const *arguments; // NULL-terminated; [0] is a path
  const char *work_folder;      // it can write there, in memory; empty outside, and removed if xsp is gone
  const char *session_folder;   // it can write there; stays, for `xsp recover`. NULL: its spans are not recorded
  int control, values;          // descriptors for ISOLATION_CONTROL_FD and ISOLATION_VALUES_FD
  pid_t owner;                  // of the keeper: xsp
  struct isolation_end *end;
};
// For a fresh child of xsp with its environment, stdin, stdout and stderr set: it becomes the keeper of the isolated process.
// It ends as that does (exit status or signal), and ends it at SIGTERM, which it gets when xsp ends, too, and when the time is over.
// Afterwards neither container, cgroup, mount nor folder of it is left.
_Noreturn void isolation_keep(const struct isolation *isolation, const struct isolation_process *process);

#endif

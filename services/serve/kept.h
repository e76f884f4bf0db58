// SPDX-License-Identifier: Apache-2.0
// The .xsp files of the server's folder, by their names. Regular files only; links are not followed. Any thread.
#ifndef XSP_SERVE_KEPT_H
#define XSP_SERVE_KEPT_H

#include "base/error.h"
#include "base/vector.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct kept_file {
  char name[256];
  uint64_t bytes, number; // `number`: of its inode; another one is another file of this name
  int64_t changed_ns;     // Unix epoch
  bool is_growing;        // spans for it still come: it will be made again
};
struct kept_files {
  VECTOR(struct kept_file) list;
};

enum status kept_folder_open(const char *path, int *ret_folder, struct error *err) MUST_CHECK;
// Removes files BEGINNING….partial of the folder `name` in `folder`: a server that was killed left them.
void kept_remove_partials(int folder, const char *name, const char *beginning);
// The newest file first. STATUS_SYSTEM: the folder cannot be read. Free by vector_done.
enum status kept_list(int folder, struct kept_files *ret_files, struct error *err) MUST_CHECK;
// For reading. -1: there is no such file.
int kept_open(int folder, const char *name, struct stat *ret_facts);
// A file without a name, to write and read. -1 with errno: the folder cannot take it.
int kept_temporary(int folder);

#define KEPT_PARTIAL_SIZE 64
// A file with a name that is no trace's, for what may become one (base/file_place.h). -1 with errno. The next server removes
// what is left.
int kept_partial(int folder, char ret_name[KEPT_PARTIAL_SIZE]);

// ---- files that requests are about -----------------------------------------------------------------------------------
struct kept_uses {
  pthread_mutex_t lock;
  VECTOR(const char *) names; // borrowed; one for each request
};
void kept_use(struct kept_uses *uses, const char *name);
void kept_use_end(struct kept_uses *uses, const char *name); // the same pointer
// Removes a file that no request is about. False: one is, or it cannot be removed.
bool kept_remove(struct kept_uses *uses, int folder, const char *name);

#endif

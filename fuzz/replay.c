// SPDX-License-Identifier: Apache-2.0
// An ordinary main for a fuzz target: gives it no bytes at NULL, as an empty body of a request is, then the given files and
// folders, so that every crash stays a test. Exit status 2 if a folder is empty: a replay that read nothing must not pass.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t replayed;

static int replay_file(const char *path)
{
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    return 2;
  }
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  uint8_t *data = malloc((size_t)size + 1); // exact size, so that ASan sees an overrun by one
  uint8_t *exact = malloc(size > 0 ? (size_t)size : 1);
  size_t got = fread(data, 1, (size_t)size, file);
  fclose(file);
  memcpy(exact, data, got);
  free(data);
  LLVMFuzzerTestOneInput(exact, got);
  free(exact);
  replayed++;
  return 0;
}

int main(int count, char **arguments)
{
  LLVMFuzzerTestOneInput(NULL, 0);
  for (int i = 1; i < count; i++) {
    DIR *folder = opendir(arguments[i]);
    if (folder == NULL) {
      if (replay_file(arguments[i]) != 0)
        return 2;
      continue;
    }
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
      if (entry->d_name[0] == '.')
        continue;
      char path[4096];
      snprintf(path, sizeof path, "%s/%s", arguments[i], entry->d_name);
      if (replay_file(path) != 0)
        return 2;
    }
    closedir(folder);
  }
  printf("replayed %zu inputs\n", replayed);
  return replayed > 0 ? 0 : 2;
}

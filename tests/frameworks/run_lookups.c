// SPDX-License-Identifier: Apache-2.0
// A program that looks symbols up in every way and prints the results; test_run_lookups.py runs it without and with
// frameworks.so preloaded and compares. With -DWRAPPER: a library in front of libc's functions, as wrappers of malloc
// are, which finds the next ones by RTLD_NEXT.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef WRAPPER

static int calls;
int wrapper_calls(void);
int wrapper_calls(void)
{
  return calls;
}

pid_t getppid(void)
{
  static pid_t (*next)(void);
  if (next == NULL) {
    void *found = dlsym(RTLD_NEXT, "getppid");
    memcpy(&next, &found, sizeof next);
  }
  calls++;
  return next();
}

void *calloc(size_t count, size_t size) // called from inside the loader, before anything is set up
{
  static void *(*next)(size_t, size_t);
  static int looking;
  static char early[4096];
  static size_t used;
  if (next == NULL && !looking) {
    looking = 1;
    void *found = dlsym(RTLD_NEXT, "calloc");
    memcpy(&next, &found, sizeof next);
    looking = 0;
  }
  if (next != NULL)
    return next(count, size);
  used += (count * size + 15) & ~(size_t)15;
  return used <= sizeof early ? early + used - ((count * size + 15) & ~(size_t)15) : NULL;
}

#else

#define LOOKUPS 5000
#define THREADS 8

static const char *where(const void *address) // names the address, independent of its value
{
  Dl_info info;
  static char text[256];
  if (address == NULL)
    return "nothing";
  if (dladdr(address, &info) == 0 || info.dli_sname == NULL)
    return "something";
  const char *file = strrchr(info.dli_fname, '/');
  snprintf(text, sizeof text, "%s of %s", info.dli_sname, file == NULL ? info.dli_fname : file + 1);
  return text;
}

static void show(const char *what, const void *found)
{
  int kept = errno;
  const char *error = dlerror();
  printf("%s: %s, errno %d, error %s\n", what, where(found), kept, error == NULL ? "none" : error);
  errno = 0;
}

int of_this_program(void);
__attribute__((visibility("default"))) int of_this_program(void)
{
  return 42;
}

static void *look_up_often(void *library)
{
  char name[32];
  long found = 0;
  for (int i = 0; i < LOOKUPS; i++) {
    snprintf(name, sizeof name, "nothing_%d", i);
    found += dlsym(library, i % 2 ? name : "cos") != NULL;
    found += dlsym(RTLD_DEFAULT, i % 3 ? "strlen" : name) != NULL;
    found += dlsym(RTLD_NEXT, "strlen") != NULL;
  }
  return (void *)found;
}

int main(int argument_count, char **arguments)
{
  void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL), *own = dlopen(NULL, RTLD_NOW);
  printf("parent %d\n", getppid() > 0);
  errno = 0;
  show("a library", dlsym(library, "cos"));
  show("not in a library", dlsym(library, "no_such_function"));
  show("default", dlsym(RTLD_DEFAULT, "of_this_program"));
  show("default, libc", dlsym(RTLD_DEFAULT, "strlen"));
  show("default, wrapped", dlsym(RTLD_DEFAULT, "getppid"));
  show("default, nothing", dlsym(RTLD_DEFAULT, "no_such_function"));
  show("next", dlsym(RTLD_NEXT, "strlen"));
  show("next, nothing", dlsym(RTLD_NEXT, "of_this_program"));
  show("next, wrapped", dlsym(RTLD_NEXT, "getppid"));
  show("program", dlsym(own, "of_this_program"));
  show("program, nothing", dlsym(own, "no_such_function"));
  show("version", dlvsym(library, "cos", "GLIBC_2.2.5"));
  show("no such version", dlvsym(library, "cos", "GLIBC_0"));
  show("framework", dlsym(library, "OrtGetApiBase"));
  show("module", dlsym(library, "PyInit_onnxruntime_pybind11_state"));
  void *apart = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
  show("apart", apart == NULL ? NULL : dlsym(apart, "cos"));
  show("apart, nothing", apart == NULL ? NULL : dlsym(apart, "no_such_function"));
  show("program's framework", dlsym(own, "OrtGetApiBase") != NULL ? (void *)main : NULL);
  show("default framework", dlsym(RTLD_DEFAULT, "OrtGetApiBase") != NULL ? (void *)main : NULL);
  pthread_t thread[THREADS];
  for (int i = 0; i < THREADS; i++)
    pthread_create(&thread[i], NULL, look_up_often, library);
  for (int i = 0; i < THREADS; i++) {
    void *found = NULL;
    pthread_join(thread[i], &found);
    printf("thread: %ld\n", (long)found);
  }
  void *found = dlsym(RTLD_DEFAULT, "wrapper_calls");
  if (found != NULL) {
    int (*calls)(void);
    memcpy(&calls, &found, sizeof calls);
    getppid();
    printf("wrapped calls %d\n", calls());
  }
  fflush(stdout);
  const char *volatile no_name = argument_count > 1 && *arguments[1] != 'x' ? arguments[1] : NULL;
  if (argument_count > 1) // an invalid name ("x": not even a text): handled by the loader
    printf("%p\n", dlsym(library, no_name));
  return 0;
}

#endif

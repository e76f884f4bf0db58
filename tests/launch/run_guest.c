// SPDX-License-Identifier: Apache-2.0
// A program that forks, crashes, sends signals and so on, for tests/launch/test_run.py: it must print and end the same
// with and without xsp. `run-guest MODE [ARGUMENT]`. Compiled twice: plain, and with spans of its own around
// everything.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dirent.h>
#include <dlfcn.h>

#ifdef XSP_TRACED
#include <xsp/span.h>
XSP_SITE(work_site, XSP_LEVEL_APPLICATION, "work");
#endif

extern char **environ;

static void work(void)
{
#ifdef XSP_TRACED
  for (int i = 0; i < 100; i++) {
    struct xsp_span span = xsp_span_start(&work_site);
    xsp_span_tag_int(&span, "i", i);
    xsp_span_finish(&span);
  }
#endif
}

// This many spans, as fast as possible or at a million per second.
static int publish(const char *name, long count, bool is_paced)
{
#ifdef XSP_TRACED
  struct xsp_site *site = xsp_site_create("app", XSP_LEVEL_APPLICATION, name, NULL);
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (long i = 0; i < count; i++) {
    struct xsp_span span = xsp_span_start(site);
    if (!is_paced)
      xsp_span_tag_int(&span, "i", i);
    xsp_span_finish(&span);
    for (long ns = 0; is_paced && ns < i * 1000;) {
      clock_gettime(CLOCK_MONOTONIC, &now);
      ns = (now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec;
    }
  }
#endif
  return 0;
}

static void say(const char *text)
{
  ssize_t written = write(STDOUT_FILENO, text, strlen(text));
  (void)written;
}

static int wait_for(pid_t child)
{
  int how = 0;
  while (waitpid(child, &how, 0) < 0)
    if (errno != EINTR)
      return 99;
  return WIFSIGNALED(how) ? 100 + WTERMSIG(how) : WEXITSTATUS(how);
}

// ---- what a program can see of its surroundings ---------------------------------------------------------------------------
static void print_status_lines(void)
{
  static const char *const wanted[] = {
      "SigBlk:", "SigIgn:", "SigPnd:", "ShdPnd:", "Threads:", "NoNewPrivs:", "Umask:", "TracerPid:"};
  char line[512];
  FILE *file = fopen("/proc/self/status", "re");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
      if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
        fputs(line, stdout);
  if (file != NULL)
    fclose(file);
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
  return atoi((*a)->d_name) - atoi((*b)->d_name);
}

static void print_descriptors(void)
{
  struct dirent **entries = NULL;
  int count = scandir("/proc/self/fd", &entries, NULL, by_number);
  for (int i = 0; i < count; i++) {
    char path[300], target[512];
    snprintf(path, sizeof path, "/proc/self/fd/%s", entries[i]->d_name);
    ssize_t length = readlink(path, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    if (length > 0 && strstr(target, "/fd") == NULL && target[0] == '/')
      printf("fd %s %s\n", entries[i]->d_name, target);
    else if (length > 0 && target[0] != '/')
      printf("fd %s %.*s\n", entries[i]->d_name, (int)strcspn(target, ":["), target); // a pipe's number differs
    free(entries[i]);
  }
  free(entries);
}

static int mode_facts(const char *expected_group)
{
  print_status_lines();
  print_descriptors();
  for (int limit = 0; limit < RLIM_NLIMITS; limit++) {
    struct rlimit value = {0, 0};
    getrlimit((__rlimit_resource_t)limit, &value);
    printf("limit %d %llu %llu\n", limit, (unsigned long long)value.rlim_cur, (unsigned long long)value.rlim_max);
  }
  int subreaper = 0, death = 0;
  prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
  prctl(PR_GET_PDEATHSIG, &death);
  char folder[4096], name[64] = "";
  prctl(PR_GET_NAME, name);
  printf("policy %d nice %d dumpable %d subreaper %d death %d name %s folder %s\n", sched_getscheduler(0),
         getpriority(PRIO_PROCESS, 0), prctl(PR_GET_DUMPABLE), subreaper, death, name,
         getcwd(folder, sizeof folder) != NULL ? folder : "?");
  printf("group of the caller %d session of the caller %d\n", getpgrp() == atoi(expected_group),
         getsid(0) == getsid(atoi(expected_group)));
  for (char **entry = environ; *entry != NULL; entry++)
    printf("variable %s\n", *entry);
  return 0;
}

static int mode_arguments(int count, char **words)
{
  for (int i = 0; i < count; i++)
    printf("[%s]\n", words[i]);
  return 0;
}

// ---- forking -------------------------------------------------------------------------------------------------------------
static int mode_fork(void)
{
  for (int i = 0; i < 5; i++) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      work();
      exit(i);
    }
    printf("%d\n", wait_for(child));
  }
  return 3;
}

static int vfork_once(const char *self, int how)
{
  pid_t child = vfork();
  if (child == 0) {
    if (how == 0)
      _exit(11);
    execl(self, self, "exit", how == 1 ? "12" : "13", (char *)NULL);
    _exit(99);
  }
  work();
  return wait_for(child);
}

static int mode_vfork(const char *self)
{
  for (int how = 0; how < 3; how++)
    printf("%d\n", vfork_once(self, how));
  return 4;
}

static int mode_double_fork(void)
{
  int ends[2];
  char byte = 0;
  if (pipe(ends) != 0)
    return 99;
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    pid_t parent = getpid();
    if (fork() == 0) {
      while (getppid() == parent) // adopted: by process 1 or a subreaper of the machine's, never by xsp
        sched_yield();
      char command[64] = "", path[64];
      snprintf(path, sizeof path, "/proc/%d/comm", getppid());
      int file = open(path, O_RDONLY);
      ssize_t got = file >= 0 ? read(file, command, sizeof command - 1) : 0;
      command[got > 0 ? got : 0] = '\0';
      work();
      byte = strncmp(command, "xsp", 3) == 0 ? 'x' : 'o';
      _exit(write(ends[1], &byte, 1) == 1 ? 0 : 1);
    }
    exit(6);
  }
  close(ends[1]);
  int status = wait_for(child);
  ssize_t got = read(ends[0], &byte, 1);
  printf("%d %zd %c\n", status, got, byte);
  return 5;
}

static void *fork_in_thread(void *context)
{
  long *sum = context;
  for (int i = 0; i < 5; i++) {
    work();
    pid_t child = fork();
    if (child == 0)
      _exit(1);
    *sum += wait_for(child);
  }
  return NULL;
}

static int mode_fork_in_threads(void)
{
  pthread_t threads[8];
  long sums[8] = {0};
  for (int i = 0; i < 8; i++)
    pthread_create(&threads[i], NULL, fork_in_thread, &sums[i]);
  long sum = 0;
  for (int i = 0; i < 8; i++) {
    pthread_join(threads[i], NULL);
    sum += sums[i];
  }
  printf("%ld\n", sum);
  return 0;
}

// The parent ends at once; its child writes a file when stdout has no other owner.
static int mode_daemon(const char *path)
{
  say("leaving\n");
  if (fork() != 0)
    _exit(8);
  setsid();
  if (fork() != 0)
    _exit(0);
  for (int file = 0; file < 256; file++)
    close(file);
  if (chdir("/") != 0)
    return 99;
  work();
  char temporary[4096];
  snprintf(temporary, sizeof temporary, "%s.new", path);
  int file = open(temporary, O_WRONLY | O_CREAT, 0600);
  ssize_t written = write(file, "done\n", 5);
  close(file);
  return written == 5 && rename(temporary, path) == 0 ? 0 : 1;
}

// A process that continues when a file appears, after the program has ended. It ends with the file's folder: a test has failed.
static int mode_outlive(const char *go, const char *done)
{
  int ends[2];
  char byte = 0, folder[4096];
  snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(go, '/') - go), go);
  if (pipe(ends) != 0)
    return 99;
  pid_t child = fork();
  if (child != 0) {
    close(ends[1]);
    return read(ends[0], &byte, 1) == 0 ? 8 : 99;
  }
  setsid();
  work();
  say("joined\n");
  for (int file = 0; file < 3; file++)
    close(file);
  close(ends[0]);
  close(ends[1]); // its parent ends
  while (access(go, F_OK) != 0 && access(folder, F_OK) == 0)
    usleep(1000);
  publish("late", 100, false);
  return open(done, O_WRONLY | O_CREAT, 0600) >= 0 ? 0 : 1;
}

// ---- ending --------------------------------------------------------------------------------------------------------------
static void *end_here(void *context)
{
  const char *how = context;
  work();
  if (strcmp(how, "exit") == 0)
    exit(21);
  if (strcmp(how, "_exit") == 0)
    _exit(22);
  if (strcmp(how, "abort") == 0)
    abort();
  return NULL;
}

static int mode_thread(char *how)
{
  pthread_t thread;
  pthread_create(&thread, NULL, end_here, how);
  if (strcmp(how, "leave") == 0) { // the process ends with its last thread
    say("main leaves\n");
    pthread_exit(NULL);
  }
  pthread_join(thread, NULL);
  return 99;
}

static int mode_crash(const char *how)
{
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  work();
  say("so far\n");
  if (strcmp(how, "null") == 0)
    raise(SIGSEGV);
  if (strcmp(how, "abort") == 0)
    abort();
  if (strcmp(how, "trap") == 0)
    __builtin_trap();
  if (strcmp(how, "kill") == 0)
    kill(getpid(), SIGKILL);
  if (strcmp(how, "term") == 0)
    raise(SIGTERM);
  return 99;
}

static void at_exit(void)
{
  work();
  say("at exit\n");
}

// ---- descriptors, libraries, environment ---------------------------------------------------------------------------------
static int mode_close_all(void)
{
  work();
  say("closing\n");
  for (int file = 0; file < 1024; file++)
    close(file);
  work();
  int file = open("/dev/null", O_RDWR); // the lowest number must be free for it
  return file == 0 ? 31 : 99;
}

static int mode_libraries(void)
{
#ifndef XSP_STATIC
  for (int i = 0; i < 20; i++) {
    void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL), *other = dlopen("libutil.so.1", RTLD_LAZY);
    void *symbol = library != NULL ? dlsym(library, "cos") : NULL;
    work();
    printf("%d", symbol != NULL);
    if (library != NULL)
      dlclose(library);
    if (other != NULL)
      dlclose(other);
  }
  puts("");
#endif
  return 0;
}

static int mode_clear_environment(const char *self)
{
  work();
  char *const command[] = {(char *)self, "environment", NULL}, *const nothing[] = {"ONLY=this", NULL};
  execve(self, command, nothing);
  return 99;
}

static int mode_environment(void)
{
  for (char **entry = environ; *entry != NULL; entry++)
    puts(*entry);
  return 0;
}

// ---- signals -------------------------------------------------------------------------------------------------------------
static volatile sig_atomic_t received[NSIG];

static void on_signal(int number)
{
  received[number]++;
  char line[] = "got 00\n";
  line[4] = (char)('0' + number / 10);
  line[5] = (char)('0' + number % 10);
  say(line);
  work();
}

// Prints each signal until SIGUSR2, then the count of each.
static int mode_signals(void)
{
  static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGCONT, SIGWINCH};
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    signal(numbers[i], on_signal);
  say("ready\n");
  while (received[SIGUSR2] == 0)
    sigsuspend(&before);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    printf("%d: %d\n", numbers[i], (int)received[numbers[i]]);
  return 7;
}

static int mode_stop_itself(void)
{
  pid_t parent = getpid(), child = fork();
  if (child == 0) { // continues it as soon as it is stopped
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", parent);
    for (bool is_stopped = false; !is_stopped; sched_yield()) {
      int file = open(path, O_RDONLY);
      ssize_t got = read(file, text, sizeof text - 1);
      close(file);
      text[got > 0 ? got : 0] = '\0';
      const char *end = strrchr(text, ')');
      is_stopped = end != NULL && end[2] == 'T';
    }
    kill(parent, SIGCONT);
    _exit(0);
  }
  raise(SIGSTOP);
  printf("went on, %d\n", wait_for(child));
  return 9;
}

static int mode_session(void)
{
  pid_t child = fork();
  if (child == 0) {
    pid_t own = setsid();
    work();
    printf("%d %d\n", own == getpid(), getpgrp() == getpid());
    exit(0);
  }
  return wait_for(child) + 1;
}

static int mode_terminal(void)
{
  char line[128];
  printf("%d%d%d foreground %d\n", isatty(0), isatty(1), isatty(2), tcgetpgrp(0) == getpgrp());
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    printf("read %s", line);
    fflush(stdout);
  }
  return 17;
}

static int mode_copy(void)
{
  char bytes[65536];
  ssize_t got;
  while ((got = read(0, bytes, sizeof bytes)) > 0) {
    work();
    if (write(1, bytes, (size_t)got) != got)
      return 40;
  }
  return got == 0 ? 0 : 41;
}

int main(int argc, char **argv)
{
  const char *mode = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "";
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);
  work();
  int status = 98;
  if (strcmp(mode, "facts") == 0)
    status = mode_facts(argument);
  else if (strcmp(mode, "arguments") == 0)
    status = mode_arguments(argc - 2, argv + 2);
  else if (strcmp(mode, "exit") == 0)
    status = atoi(argument);
  else if (strcmp(mode, "_exit") == 0)
    _exit(atoi(argument));
  else if (strcmp(mode, "at-exit") == 0)
    status = atexit(at_exit);
  else if (strcmp(mode, "fork") == 0)
    status = mode_fork();
  else if (strcmp(mode, "vfork") == 0)
    status = mode_vfork(argv[0]);
  else if (strcmp(mode, "double-fork") == 0)
    status = mode_double_fork();
  else if (strcmp(mode, "fork-in-threads") == 0)
    status = mode_fork_in_threads();
  else if (strcmp(mode, "daemon") == 0)
    status = mode_daemon(argument);
  else if (strcmp(mode, "thread") == 0)
    status = mode_thread(argv[2]);
  else if (strcmp(mode, "crash") == 0)
    status = mode_crash(argument);
  else if (strcmp(mode, "close-all") == 0)
    status = mode_close_all();
  else if (strcmp(mode, "libraries") == 0)
    status = mode_libraries();
  else if (strcmp(mode, "clear-environment") == 0)
    status = mode_clear_environment(argv[0]);
  else if (strcmp(mode, "environment") == 0)
    status = mode_environment();
  else if (strcmp(mode, "signals") == 0)
    status = mode_signals();
  else if (strcmp(mode, "stop-itself") == 0)
    status = mode_stop_itself();
  else if (strcmp(mode, "session") == 0)
    status = mode_session();
  else if (strcmp(mode, "terminal") == 0)
    status = mode_terminal();
  else if (strcmp(mode, "flood") == 0)
    status = publish("flood", atol(argument), false);
  else if (strcmp(mode, "paced") == 0)
    status = publish("paced", atol(argument), true);
  else if (strcmp(mode, "outlive") == 0)
    status = mode_outlive(argument, argv[3]);
  else if (strcmp(mode, "copy") == 0)
    status = mode_copy();
  fflush(stdout);
  return status;
}

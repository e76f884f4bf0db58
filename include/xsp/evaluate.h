// SPDX-License-Identifier: Apache-2.0
// xsp: evaluate models from a program of any language, with the figures that `xsp evaluate` prints. Link with -lxsp_evaluate.
//
//   const char *const arguments[] = {"resnet50.yml", "--data", "pictures/", "--output", "resnet50.xsp", NULL};
//   char *json;
//   if (xsp_evaluate(arguments, &json) != XSP_EVALUATE_OK)
//     puts(xsp_evaluate_error());
//
// A call starts the program xsp in a process of its own and waits for it: what a framework does (exit, crash, take all memory) happens
// there. It ends with the calling thread. xsp is XSP_PROGRAM (environment), else the one that lies beside this library.
//
// Threads: any number at the same time. Nothing is kept between calls but each thread's last error.
#ifndef XSP_EVALUATE_H
#define XSP_EVALUATE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XSP_EVALUATE_API __attribute__((visibility("default")))
#define XSP_EVALUATE_VERSION 1 // raised where functions are added; none is removed or changed

enum xsp_evaluate_status { // the exit statuses of xsp, and one more
  XSP_EVALUATE_OK = 0,
  XSP_EVALUATE_NO = 1,
  XSP_EVALUATE_INPUT = 2,  // wrong use, or an input is missing, unreadable or broken
  XSP_EVALUATE_SYSTEM = 3, // the environment failed: a framework or xsp itself is missing, a process was killed
  XSP_EVALUATE_MEMORY = 5,
};

XSP_EVALUATE_API uint32_t xsp_evaluate_version(void); // XSP_EVALUATE_VERSION of the library
// Why the calling thread's last call failed, in one line without a line break; "" where it did not. Never NULL.
XSP_EVALUATE_API const char *xsp_evaluate_error(void);
// `arguments`: those of `xsp evaluate`, then NULL; --json and --quiet are added. *ret_json: what it prints, an object for one table
// or an array of several (docs/evaluate.md), freed by xsp_evaluate_free; NULL on failure. Returns enum xsp_evaluate_status.
XSP_EVALUATE_API int xsp_evaluate(const char *const *arguments, char **ret_json);
XSP_EVALUATE_API void xsp_evaluate_free(char *json); // NULL is fine

#ifdef __cplusplus
}
#endif

#endif

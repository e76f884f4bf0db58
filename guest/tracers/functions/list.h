// SPDX-License-Identifier: Apache-2.0
// The list of functions that --functions names: its grammar, and whether a function is on it.
//
//   # comment                            to the end of the line
//   cblas_sgemm                          a function of any library
//   libdnnl.so*:dnnl_primitive_execute   of libraries whose file name, soname or (with a '/') path matches only
//   cudnn*Forward                        '*' and '?' in both; a name keeps at least three characters of its own
//   sgemm_ as "Fortran sgemm"            what its spans are called
//   dnnl_sgemm level kernel              application, model, layer, library (the default) or kernel
//   many_arguments stack 2048            bytes of arguments on the stack that are handed on (default 1024)
//   cudaMalloc(pointer to, ulong bytes) -> int   its arguments and its result become tags
//
// Free of libc, because the loader's namespace that reads the list has none; pure, no recursion, no allocation.
#ifndef XSP_TRACERS_FUNCTIONS_LIST_H
#define XSP_TRACERS_FUNCTIONS_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUNCTIONS_RULES_MOST 1024
#define FUNCTIONS_LIST_BYTES_MOST (UINT32_C(256) << 10)
#define FUNCTIONS_STACK_DEFAULT 1024
#define FUNCTIONS_STACK_MOST 4096
#define FUNCTIONS_PARAMETERS_MOST 12

// Of arguments and results, as C has them: int and uint of 32 bits, long and ulong of 64, text: a string's address.
enum functions_type {
  FUNCTIONS_NO_TYPE,
  FUNCTIONS_INT,
  FUNCTIONS_UINT,
  FUNCTIONS_LONG,
  FUNCTIONS_ULONG,
  FUNCTIONS_POINTER,
  FUNCTIONS_TEXT,
  FUNCTIONS_FLOAT,
  FUNCTIONS_DOUBLE,
};
#define FUNCTIONS_TYPE_NAMES "int", "uint", "long", "ulong", "pointer", "text", "float", "double"

struct function_parameter {
  const char *name; // key of the tag
  uint8_t type;     // enum functions_type
};

struct function_rule {
  const char *library; // pattern; NULL: any
  const char *name;    // symbol, or a pattern of symbols
  const char *as;      // NULL: the symbol's name
  uint32_t line;       // from 1
  uint16_t stack_bytes;
  uint8_t level; // enum xsp_level
  bool is_pattern;
  uint8_t result; // enum functions_type; none: no tag
  uint8_t parameter_count;
  struct function_parameter parameters[FUNCTIONS_PARAMETERS_MOST];
  uint32_t found; // functions that it found; the loader's side counts
};

struct functions_fault { // what is wrong with a list, in words without names
  uint32_t line;
  const char *what; // "cannot be traced: …"
  char word[64];    // the word it is about, cut; may be empty
};

// Cuts `text` (of `length` bytes, text[length] is writable) into strings that the rules borrow. False: `ret_fault` says
// why, and `ret_count` rules before it are usable.
bool functions_list_parse(char *text, size_t length, struct function_rule rules[FUNCTIONS_RULES_MOST],
                          uint32_t *ret_count, struct functions_fault *ret_fault);

// '*' any characters, '?' one.
bool functions_glob(const char *pattern, const char *text);
// Why a function of this name is never traced; NULL: it may be.
const char *functions_refusal(const char *name);
bool functions_same(const char *a, const char *b);

#endif

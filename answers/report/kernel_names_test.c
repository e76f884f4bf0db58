// SPDX-License-Identifier: Apache-2.0
// Short forms of kernel names that real profilers wrote; names that only look like C++; and that different names stay
// different.
#include "report/kernel_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_one_name(void **unused)
{
  (void)unused;
  static const char *const cases[][2] = {
      {"void cudnn::winograd_nonfused::winogradForwardData4x4<float, "
       "float>(cudnn::winograd_nonfused::WinogradDataParams"
       "<float, float>)",
       "cudnn::winograd_nonfused::winogradForwardData4x4<…>"},
      {"volta_scudnn_128x64_relu_interior_nn_v1", "volta_scudnn_128x64_relu_interior_nn_v1"},
      {"cask_cudnn::computeBOffsetsKernel(cask_cudnn::ComputeBOffsetsParams)", "cask_cudnn::computeBOffsetsKernel"},
      {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_32x3_nt_align4>(cutlass_80_tensorop::Params)",
       "cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_32x3_nt_align4>"},
      {"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::CUDAFunctor_add<float> >"
       "(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1}>(int, "
       "at::native::gpu_kernel_impl<float>::{lambda(int)#1})",
       "at::native::elementwise_kernel<…CUDAFunctor_add…>"},
      {"void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int, float const*)",
       "at::native::max_pool_forward_nchw<…>"},
      {"void <unnamed>::elementwise_kernel_with_index<int, at::native::arange_cuda_out(const c10::Scalar &)::[lambda() "
       "(instance 1)]>(T1)",
       "elementwise_kernel_with_index<…arange_cuda_out…>"},
      {"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float, 7, cublasGemvParams<float> >(int)",
       "internal::gemvx::kernel<…cublasGemvParams…>"},
      {"nchwToNhwcKernel<float, (cudnnKernelDataType_t)0>(int)", "nchwToNhwcKernel<…>"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::<unnamed>::where_kernel_impl(at::TensorIterator "
       "&)::[lambda(bool, float) (instance 1)], std::array<char *, 3>>(int, T2, T3)",
       "at::native::vectorized_elementwise_kernel<…where_kernel_impl…>"},
      // What is no function of C++, or not whole, stays.
      {"triton_poi_fused_add_cos_sin_0", "triton_poi_fused_add_cos_sin_0"},
      {"Memcpy DtoH (Device -> Pageable)", "Memcpy DtoH (Device -> Pageable)"},
      {"gemm (128 x 64)", "gemm (128 x 64)"},
      {"void broken<float(int", "void broken<float(int"},
      {"a<b", "a<b"},
      {"a>b)c]d}", "a>b)c]d}"},
      {"<>", "<>"},
      {"()", "()"},
      {"", ""},
      {"f()", "f"},
      {"operator<<(int)", "operator<<"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct arena arena = {0};
    const char *brief;
    page_kernel_names_short(&cases[i][0], 1, &arena, &brief);
    assert_string_equal(brief, cases[i][1]);
    arena_done(&arena);
  }
}

static void test_different_names_stay_different(void **unused)
{
  (void)unused;
  static const char *const names[] = {
      "void scale<4, MulFunctor<float>, Array<char*, 2> >(int)",
      "void scale<4, MulFunctor<double>, Array<char*, 2> >(int)",
      "void scale<4, FillFunctor<float>, Array<char*, 2> >(int)",
      "void copy<4>(float)",
      "void copy<4>(double)", // differ in what is elided only
      "void copy<4>(float)",  // the same again
      NULL,
      "plain",
  };
  static const char *const expected[] = {
      "scale<…MulFunctor float…>",
      "scale<…MulFunctor double…>",
      "scale<…FillFunctor…>",
      "copy<…> #2",
      "copy<…> #1",
      "copy<…> #2",
      NULL,
      "plain",
  };
  struct arena arena = {0};
  const char *briefs[8];
  page_kernel_names_short(names, 8, &arena, briefs);
  for (size_t i = 0; i < 8; i++)
    if (expected[i] == NULL)
      assert_null(briefs[i]);
    else
      assert_string_equal(briefs[i], expected[i]);
  arena_done(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_name),
      cmocka_unit_test(test_different_names_stay_different),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

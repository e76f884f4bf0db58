// SPDX-License-Identifier: Apache-2.0
// Kernels whose instructions are sampled: sampled.cubin, made by make_sampled.py. A change here changes the lines that
// test_cuda_samples.py expects.
extern "C" __global__ void saxpy(float *y, const float *x, float a, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

__global__ void sum_blocks(float *total, const float *x)
{
  __shared__ float part[256];
  part[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    atomicAdd(total, part[0]);
}

// Fourier transforms, determinants and detection operators: what is saved and what backward allocates, as measured with
// PyTorch 2.15 on fake CUDA tensors; torchvision's by its source. Complex tensors are pairs.
#include <gtest/gtest.h>

#include "tests/analyzer/eager/operator_run.h"

namespace onnx_mem::eager {
namespace {

struct SpectralCase {
  std::string name;
  std::string op;
  std::vector<Argument> arguments;
  Dims output;
  int64_t saved;  // storages, inputs among them
  std::string backward;
  Attributes attributes = {};
};
void PrintTo(const SpectralCase& c, std::ostream* out) { *out << c.name; }

const Dims kSignal{2, 128, 64};
const Dims kSpectrum{2, 128, 64, 2};
const Dims kHalfSpectrum{2, 128, 33, 2};
const Dims kMatrices{32, 64, 64};

class SpectralTest : public testing::TestWithParam<SpectralCase> {};

TEST_P(SpectralTest, SavesAndAllocatesAsMeasured) {
  const SpectralCase& c = GetParam();
  OperatorRun run;
  std::vector<TensorRef> inputs;
  for (const Argument& argument : c.arguments) inputs.push_back(run.Static(argument));
  const TensorRef y = run.One(c.op, inputs, c.output, c.attributes);
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(y->dims, c.output);
  EXPECT_EQ(run.SavedBytes(/*with_inputs=*/true), c.saved);
  EXPECT_EQ(run.Backward(y), c.backward);
}

// The real part of a complex gradient is a view; AccumulateGrad copies it into the parameter's layout ("clone").
INSTANTIATE_TEST_SUITE_P(
    Measured, SpectralTest,
    testing::ValuesIn(std::vector<SpectralCase>{
        {"fft", "fft_r2c", {{kSignal}}, kSpectrum, 65536, "_fft_c2c:131072 clone:65536"},
        {"rfft", "fft_r2c", {{kSignal}}, kHalfSpectrum, 65536, "new_zeros:131072 _fft_c2c:131072 clone:65536"},
        {"fft_of_complex", "fft_c2c", {{kSpectrum}}, kSpectrum, 0, "_fft_c2c:131072"},
        {"irfft", "fft_c2r", {{{2, 65, 64, 2}}}, kSignal, 0, "_fft_r2c:66560"},
        {"to_complex", "to_complex", {{kSignal}}, kSpectrum, 0, "clone:65536"},
        {"abs", "complex_abs", {{kHalfSpectrum}}, {2, 128, 33}, 67584, "sgn:67584 mul:67584"},
        {"product",
         "complex_mul",
         {{kHalfSpectrum}, {{128, 33, 2}}},
         kHalfSpectrum,
         67584 + 33792,
         "clone:67584 mul:67584 clone:33792 mul:67584 sum:33792"},
        {"stft",
         "stft",
         {{{2, 8000}}, {{256}, false}},
         {2, 122, 129, 2},
         249856 + 1024,
         "new_zeros:499712 _fft_c2c:499712 mul:249856 new_zeros:64000 arange:128000 clone:499712",
         {{"frame", int64_t{256}}, {"hop", int64_t{64}}}},
        {"stft_without_window",
         "stft",
         {{{2, 8256}}},
         {2, 126, 129, 2},
         66048,
         "new_zeros:516096 _fft_c2c:516096 new_zeros:66048 arange:132096 clone:516096",
         {{"frame", int64_t{256}}, {"hop", int64_t{64}}}},
        {"det",
         "det",
         {{kMatrices}},
         {32},
         524288 + 524288 + 8192 + 128,
         "mul:128 diag_embed:524288 eq:2048 where:8192 diag_embed:524288 add:524288 linalg_lu_solve:524288"},
        {"logdet",
         "logdet",
         {{kMatrices}},
         {32},
         524288 + 524288 + 8192 + 128,
         "diag_embed:524288 linalg_lu_solve:524288"},
        {"inverse", "inverse", {{kMatrices}}, kMatrices, 524288, "bmm:524288 bmm:524288 neg:524288"},
        {"roi_align",
         "roi_align",
         {{{2, 16, 56, 56}}, {{64, 4}, false}},
         {64, 16, 7, 7},
         1024,
         "_roi_align_backward:401408"},
        {"roi_pool",
         "roi_pool",
         {{{2, 16, 56, 56}}, {{64, 5}, false}},
         {64, 16, 7, 7},
         1280 + 200704,
         "_roi_pool_backward:401408"},
        {"deform_conv",
         "deform_conv",
         {{{2, 16, 56, 56}}, {{32, 16, 3, 3}}, {{2, 18, 56, 56}}},
         {2, 32, 56, 56},
         401408 + 18432 + 451584,
         "_deform_conv2d_backward:401408 _deform_conv2d_backward:18432 _deform_conv2d_backward:451584"},
    }),
    [](const testing::TestParamInfo<SpectralCase>& info) { return info.param.name; });

}  // namespace
}  // namespace onnx_mem::eager

// Random numbers of a simulation: a seed gives the same ones on every machine (SplitMix64, public domain).
#pragma once

#include <algorithm>
#include <cstdint>

#include "comm/base/deadline.h"

namespace muster::simulation {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  // Below `limit`, which is positive.
  uint64_t Below(uint64_t limit) { return Next() % limit; }
  int Between(int first, int last) {
    return first + static_cast<int>(Below(static_cast<uint64_t>(last - first) + 1));
  }
  bool Chance(double probability) { return Fraction() < probability; }
  double Fraction() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  Duration Between(Duration first, Duration last) {
    return first +
           Duration(static_cast<Duration::rep>(Fraction() * static_cast<double>((last - first).count())));
  }
  // Exponential, at most 20 times the mean.
  Duration About(Duration mean) {
    const double factor = MinusLogarithm(1.0 - Fraction());
    return Duration(static_cast<Duration::rep>(std::min(factor, 20.0) * static_cast<double>(mean.count())));
  }
  // Another, independent sequence.
  Random Fork() { return Random(Next()); }

 private:
  // Of 0 < x <= 1. The C library's logarithm differs between processors.
  static double MinusLogarithm(double x) {
    constexpr double kLogarithmOfTwo = 0.6931471805599453;
    double result = 0;
    for (; x < 0.75; x *= 2) result += kLogarithmOfTwo;
    const double s = (1 - x) / (1 + x);
    const double square = s * s;
    return result + 2 * s * (1 + square * (1.0 / 3 + square * (1.0 / 5 + square / 7)));
  }

  uint64_t state_;
};

}  // namespace muster::simulation

// Figures for users: "45 us", "1.2 GB/s", "8 MiB". Pure.
#pragma once

#include <cstdint>
#include <string>

namespace muster::check {

std::string ShowNanoseconds(int64_t nanoseconds);  // "45 us" "1.2 ms" "3.5 s", three digits
std::string ShowRate(uint64_t bytes_per_second);   // "1.2 GB/s", decimal units
std::string ShowFlops(uint64_t per_second);        // "5.1 TFLOP/s"
std::string ShowBytes(uint64_t bytes);             // "8 MiB", binary units; "unlimited"
std::string ShowCount(uint64_t count);             // "1024", "unlimited"

}  // namespace muster::check

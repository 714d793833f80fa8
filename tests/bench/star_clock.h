// When what happened to the clients of a star, and what both sides' processors did for it; the same for the
// real service and for the bare one.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>

namespace muster::bench {

class StarClock {
 public:
  explicit StarClock(int clients) : clients_(clients) {}

  void OnLinked() {
    if (++linked_count_ == clients_) linked_ = Now();
  }
  void OnRoster() {
    if (received_ == 0) first_ = Now();
    if (++received_ == clients_) last_ = Now();
  }
  bool done() const { return received_ == clients_; }

  // Waits for the server, and prints milliseconds: until the last client was linked, the first roster came,
  // the last came; processor time of the server and of this process; then the bytes of hello and roster.
  // False if the server has failed.
  bool Finish(pid_t server, size_t hello_bytes, size_t roster_bytes) {
    int status = 0;
    rusage theirs{};
    rusage ours{};
    wait4(server, &status, 0, &theirs);
    getrusage(RUSAGE_SELF, &ours);
    std::printf("%.3f %.3f %.3f %.3f %.3f %zu %zu\n", linked_, first_, last_, Processor(theirs),
                Processor(ours), hello_bytes, roster_bytes);
    return status == 0;
  }

 private:
  double Now() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }
  static double Processor(const rusage& usage) {
    const auto milliseconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
    };
    return milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
  }

  const int clients_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  int linked_count_ = 0;
  int received_ = 0;
  double linked_ = 0;
  double first_ = 0;
  double last_ = 0;
};

}  // namespace muster::bench

// The differences that exclude two ranks from one group, as an error that names both sides. Pure.
#pragma once

#include <optional>
#include <string>

#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous {

// "rank 5 on gpu03", "ranks 0-3 on gpu01".
std::string DescribeProcess(const ProcessInfo& member);

// The first thing that `other` and `mine` do not agree on; absent when they agree. Error: kDisagreement.
std::optional<Error> FindDisagreement(const ProcessInfo& mine, const ProcessInfo& other);

// Of two processes with one rank. Error: kDisagreement.
struct Claimant {
  int pid = 0;
  const std::string& node;
};
Error ClaimedTwice(int rank, const Claimant& first, const Claimant& second);

// The failure for every rank if a process cannot be part of the group.
Failure RefusalOf(const ProcessInfo& member);

// The rank for a refusal; -1 if the hello claims none.
int FirstRankOf(const Hello& hello);

// A leftover of an earlier incarnation of the job among the processes of a hello. It is refused alone,
// because the new group must not fail with it. Error: kDisagreement.
std::optional<Error> FindLeftover(const ProcessInfo& mine, const Hello& hello);

}  // namespace muster::rendezvous

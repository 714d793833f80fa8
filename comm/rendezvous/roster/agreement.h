// What makes two ranks unfit for one group, as an error that names both sides. Pure.
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

// What every rank is told of a process that cannot be part of the group.
Failure RefusalOf(const ProcessInfo& member);

// Whose refusal it is; -1 where nothing is claimed.
int FirstRankOf(const Hello& hello);

// A leftover of an earlier incarnation of the job among those who say hello: to be refused alone, because it
// must not take the new group down with it. Error: kDisagreement.
std::optional<Error> FindLeftover(const ProcessInfo& mine, const Hello& hello);

}  // namespace muster::rendezvous

"""Deliberate defects: a file of production code with one replacement, in a search of its own."""

load("//deploy/bazel:rules.bzl", "muster_binary")

# name: (the complaint that must find it: kInvariants of scenario/run_scenario.h; package, file, text, what takes its place).
# Exactly one place in the file has the text.
MUTATIONS = {
    "heartbeat_is_never_sent": (
        "fails without a fault",
        "comm/rendezvous/liveness",
        "heartbeat_monitor.cc",
        "peer.stream->Send(EncodeBare(ControlType::kHeartbeat));",
        "static_cast<void>(peer);",
    ),
    "failure_is_not_passed_on": (
        "disagree",
        "comm/rendezvous/liveness",
        "failure_notifier.cc",
        "  links_.children().SendAll(Encode(*failures_.failure()));",
        "",
    ),
    "second_claim_is_accepted": (
        "twice",
        "comm/rendezvous/roster",
        "roster_builder.cc",
        "  if (seat.taken) {",
        "  if (seat.taken) return std::nullopt;\n  if (seat.taken) {",
    ),
    "proof_is_not_checked": (
        "admitted",
        "comm/auth",
        "proof.cc",
        "return std::make_unique<EmptyProver>(AuthMethod::kSecret, secret.Psk());",
        "static_cast<void>(secret); return std::make_unique<EmptyProver>(AuthMethod::kSecret, std::nullopt);",
    ),
    "deadline_is_not_armed": (
        "hangs",
        "comm/rendezvous/join",
        "joiner.cc",
        "  deadline_.Set(request_.timeouts.rendezvous);",
        "",
    ),
    "answer_of_the_root_is_awaited_for_a_minute": (
        "late",
        "comm/rendezvous/join",
        "upstream_link.cc",
        "constexpr Duration kVerdictGrace = std::chrono::seconds(5);",
        "constexpr Duration kVerdictGrace = std::chrono::seconds(60);",
    ),
    "each_level_has_one_deadline": (
        "blames",
        "comm/rendezvous/join",
        "upstream_link.cc",
        " + LevelsBetween() * kGraceOfLevel",
        "",
    ),
    "silent_leader_above_is_awaited": (
        "blames",
        "comm/rendezvous/join",
        "upstream_link.cc",
        "  if (leader_lost_ || !IsBelowALeader()) return;",
        "  if (leader_lost_ || IsBelowALeader() || !IsBelowALeader()) return;",
    ),
    "root_that_stood_still_does_not_know_it": (
        "blames",
        "comm/rendezvous/control",
        "control_plane.cc",
        "    if (!maps_.tolerates()) links_.SendUp(Encode(silent.failure));",
        "",
    ),
    "lost_leader_is_not_reported": (
        "waits",
        "comm/rendezvous/join",
        "upstream_link.cc",
        "  if (acceptance_.known_above && acceptances_ > 1) return",
        "  if (accepted_) return",
    ),
    "hello_below_a_lost_leader_is_lost": (
        "waits",
        "comm/rendezvous/join",
        "upstream_link.cc",
        " && acceptances_ > 1)",
        ")",
    ),
    "hellos_end_with_the_leader_above": (
        "waits",
        "comm/rendezvous/join",
        "upstream_link.cc",
        "  if (IsBelowALeader()) {",
        "  if (false) {",
    ),
    "process_without_its_roster_waits_for_the_next_group": (
        "lingers",
        "comm/rendezvous/control",
        "rejoin_handler.cc",
        "  if (auto failure = LoseUnformed(source, hello)) return",
        "  if (auto failure = hello.members.empty() ? LoseUnformed(source, hello) : std::nullopt) return",
    ),
    "reports_end_with_the_leader_above": (
        "unreported",
        "comm/rendezvous/control",
        "control_plane.cc",
        "  if (!request_) return false;",
        "  return false;",
    ),
    "nodes_behind_a_silent_leader_are_awaited": (
        "lingers",
        "comm/rendezvous/control",
        "control_plane.cc",
        "  peers_->LoseNodesBehind(source);",
        "",
    ),
    "node_with_a_part_of_its_ranks_is_whole": (
        "waits",
        "comm/rendezvous/join",
        "failure_notice.cc",
        "return arrived.whole_nodes < arrived.nodes;",
        "return arrived.by_node.size() < arrived.nodes;",
    ),
    "leave_message_is_lost": (
        "hangs",
        "comm/rendezvous/liveness",
        "leaving.cc",
        "  links_.SendUp(Encode(left));",
        "",
    ),
    "survey_does_not_await_the_ranks_below": (
        "unanswered",
        "comm/rendezvous/survey",
        "surveyor.cc",
        "    for (const int rank : child.ranks) await(rank);",
        "",
    ),
    "owner_below_is_not_found": (
        "unanswered",
        "comm/rendezvous/liveness",
        "owner_inquiry.cc",
        "  Merge(collected.best, answer);",
        "  static_cast<void>(Merge);",
    ),
    "answer_about_an_owner_names_the_rank_that_passes_it_on": (
        "mistaken",
        "comm/rendezvous/liveness",
        "owner_inquiry.cc",
        "  Merge(collected.best, answer);",
        "  Merge(collected.best, answer);\n  collected.best.rank = params_.links.children().Find(source)->ranks.front();",
    ),
    "roster_has_the_payload_of_one_rank_for_all": (
        "merged",
        "comm/rendezvous/roster",
        "roster_builder.cc",
        "seat.pid, seat.claim.payload, seat.first",
        "seat.pid, seats_.front().claim.payload, seat.first",
    ),
    "result_is_durable_without_its_disk": (
        "loses items",
        "comm/map/journal",
        "appender.cc",
        "  if (fdatasync(segment.fd.get()) != 0) return CannotWrite(segment, errno);",
        "",
    ),
    "item_has_one_attempt_less": (
        "gives up items",
        "comm/map",
        "item_book.cc",
        "  if (AttemptsOf(item) <= static_cast<uint32_t>(retries_)) {",
        "  if (AttemptsOf(item) < static_cast<uint32_t>(retries_)) {",
    ),
    "items_that_are_given_back_stay": (
        "works twice",
        "comm/map",
        "member.cc",
        "    for (; queue.size() > kept; queue.pop_back()) returned.items.push_back(queue.back().index);",
        "    for (size_t i = kept; i < queue.size(); ++i) returned.items.push_back(queue[i].index);",
    ),
    "items_of_earlier_runs_are_begun": (
        "works again",
        "comm/map",
        "root.cc",
        "    ledger_->Resume(one.item, one.ending == Ending::kPoisoned, one.took);",
        "",
    ),
    "ranks_receive_another_end_of_a_map": (
        "ends apart",
        "comm/map",
        "root.cc",
        "Send(rank, Over{OutcomeNow()});\n                     });",
        "{ Outcome its = OutcomeNow(); if (rank > 0) ++its.resumed; Send(rank, Over{its}); }\n});",
    ),
    "items_are_granted_once_a_second": (
        "overruns",
        "comm/map",
        "root.cc",
        "ledger_->GiveBack(rank, returned->items, now);\n  }\n  Dispatch();",
        "ledger_->GiveBack(rank, returned->items, now);\n  }",
    ),
    "rank_that_a_map_has_lost_fails_the_group": (
        "stops",
        "comm/rendezvous/liveness",
        "loss.cc",
        "  return facts.map_at_work && facts.names_a_rank ? Loss::kTolerated : Loss::kFailure;",
        "  return Loss::kFailure;",
    ),
    "no_process_stays_after_a_rank_that_was_started_again": (
        "waits",
        "comm/rendezvous/join",
        "failure_notice.cc",
        "  if (AllNodesAreHere(params_.arrived)) EndStay();",
        "  if (std::ranges::any_of(params_.arrived.processes, [](const auto& one) { return one.second.size() > 1 && std::ranges::count(one.second, 0) == 0; })) EndStay();\n  if (AllNodesAreHere(params_.arrived)) EndStay();",
    ),
    "item_has_one_attempt_less_if_some_ranks_were_started_again": (
        "gives up items",
        "comm/map",
        "root.cc",
        "std::make_unique<Ledger>(first_->identity.items, first_->options.retries)",
        "std::make_unique<Ledger>(first_->identity.items, [&] { const Roster& all = params_.roster; int again = 0; for (int one = 0; one < all.size(); ++one) again += all.members[static_cast<size_t>(one)].pid >= 100 + all.LocalSize(all.NodeOf(one)) ? 1 : 0; return std::max(0, first_->options.retries - (again > 0 && again < all.size() ? 1 : 0)); }())",
    ),
    "map_of_a_group_without_a_root_is_awaited": (
        "blames",
        "comm/rendezvous/control",
        "map_relay.cc",
        "  if (const auto heading = map::HeadingOf(message)) {",
        "  if (const auto heading = map::HeadingOf(message); false) {",
    ),
    "descriptor_of_an_attempt_stays_open": (
        "leaks descriptors",
        "comm/rendezvous/link",
        "root_dialer.cc",
        "  attempt.connecting.Reset();",
        "  static_cast<void>(attempt.connecting.Release());",
    ),
    "buffer_of_a_wait_is_not_freed": (
        "leaks memory",
        "comm/net",
        "event_loop.cc",
        "  std::array<epoll_event, 64> events{};",
        "  auto& events = *new std::array<epoll_event, 64>();",
    ),
    "buffer_of_a_read_is_not_freed": (
        "grows",
        "comm/net",
        "frame_stream.cc",
        "  std::array<uint8_t, kReadBytes> chunk;",
        "  Bytes& chunk = *new Bytes(kReadBytes);",
    ),
}

def mutated_search(name):
    _complaint, package, file, text, replacement = MUTATIONS[name]
    native.genrule(
        name = name + "_source",
        srcs = ["//%s:%s" % (package, file)],
        outs = [name + ".cc"],
        cmd = "python3 $(execpath mutate.py) $< '%s' '%s' > $@" % (text, replacement),
        tools = ["mutate.py"],
    )

    # Its object comes before the library of the same file.
    muster_binary(
        name = "search_" + name,
        srcs = [name + ".cc"],
        tags = ["manual"],  # tests/simulation/run --mutations
        deps = [":main"],
    )

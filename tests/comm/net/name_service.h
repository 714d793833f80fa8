// A name service for tests: the names that they set, as one address each or as unknown. Replaces getaddrinfo in the test's
// program; other names and numeric addresses are looked up as usual.
#pragma once

#include <string>
#include <vector>

namespace muster::net {

// `address`: numeric; empty: "Temporary failure in name resolution".
void SetName(const std::string& name, const std::string& address);
// The answers in turn; the last one is given from then on.
void SetName(const std::string& name, std::vector<std::string> addresses);
// Since the name was set.
int AnswersFor(const std::string& name);

}  // namespace muster::net

#include "comm/rendezvous/pmi/pmix_api.h"

#include <pmix.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "comm/system/bounded_call.h"
#include "comm/system/shared_library.h"

namespace muster::rendezvous {
namespace {

// Uses only types and constants of the header: its macros are functions of the library since release 5.
struct Functions {
  Symbols symbols;
  decltype(&PMIx_Init) init = symbols.Need("PMIx_Init");
  decltype(&PMIx_Finalize) finalize = symbols.Need("PMIx_Finalize");
  decltype(&PMIx_Error_string) error_string = symbols.Need("PMIx_Error_string");
  decltype(&PMIx_Publish) publish = symbols.Need("PMIx_Publish");
  decltype(&PMIx_Unpublish) unpublish = symbols.Need("PMIx_Unpublish");
  decltype(&PMIx_Lookup) look_up = symbols.Need("PMIx_Lookup");
  decltype(&PMIx_Put) put = symbols.Need("PMIx_Put");
  decltype(&PMIx_Commit) commit = symbols.Need("PMIx_Commit");
  decltype(&PMIx_Get) get = symbols.Need("PMIx_Get");
};

// All zero, as PMIX_INFO_CONSTRUCT has it.
template <typename T>
T Blank() {
  T value;
  std::memset(&value, 0, sizeof value);
  return value;
}

template <size_t Size>
void CopyText(char (&to)[Size], std::string_view text) {
  std::copy_n(text.data(), std::min(text.size(), Size - 1), to);
}

// Borrows the text.
pmix_info_t TextInfo(const std::string& name, const std::string& text) {
  auto info = Blank<pmix_info_t>();
  CopyText(info.key, name);
  info.value.type = PMIX_STRING;
  info.value.data.string = const_cast<char*>(text.c_str());
  return info;
}

pmix_info_t WithinThisLaunch() {
  auto info = Blank<pmix_info_t>();
  CopyText(info.key, PMIX_RANGE);
  info.value.type = PMIX_DATA_RANGE;
  info.value.data.range = PMIX_RANGE_NAMESPACE;
  return info;
}

pmix_info_t NoLongerThan(int seconds) {
  auto info = Blank<pmix_info_t>();
  CopyText(info.key, PMIX_TIMEOUT);
  info.value.type = PMIX_INT;
  info.value.data.integer = seconds;
  return info;
}

// Fetches again: a root that has ended may have published another value.
pmix_info_t Anew() {
  auto info = Blank<pmix_info_t>();
  CopyText(info.key, PMIX_GET_REFRESH_CACHE);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

std::optional<std::string> TextOf(const pmix_value_t& value) {
  if (value.type != PMIX_STRING || value.data.string == nullptr) return std::nullopt;
  return std::string(value.data.string);
}

std::optional<uint32_t> NumberOf(const pmix_value_t& value) {
  if (value.type == PMIX_UINT32) return value.data.uint32;
  if (value.type == PMIX_UINT16) return value.data.uint16;
  return std::nullopt;
}

bool IsAbsent(pmix_status_t status) { return status == PMIX_ERR_NOT_FOUND || status == PMIX_ERR_TIMEOUT; }

class Library : public PmixApi {
 public:
  explicit Library(const Functions& functions) : pmix_(functions) {}

  Status Init() override {
    const pmix_status_t status = pmix_.init(&self_, nullptr, 0);
    return status == PMIX_SUCCESS ? Status() : Refuse("PMIx_Init", status);
  }
  void Finalize() override { pmix_.finalize(nullptr, 0); }

  Result<bool> Publish(const std::string& name, const std::string& text) override {
    const std::array infos{TextInfo(name, text), WithinThisLaunch()};
    const pmix_status_t status = pmix_.publish(infos.data(), infos.size());
    if (status == PMIX_ERR_NOT_SUPPORTED) return false;
    if (status != PMIX_SUCCESS) return Refuse("PMIx_Publish", status);
    return true;
  }

  Result<Found> LookUp(const std::string& name) override {
    auto data = Blank<pmix_pdata_t>();
    CopyText(data.key, name);
    const pmix_info_t info = WithinThisLaunch();
    const pmix_status_t status = pmix_.look_up(&data, 1, &info, 1);
    if (status == PMIX_ERR_NOT_SUPPORTED) return Found{false, std::nullopt};
    if (IsAbsent(status)) return Found{};
    if (status != PMIX_SUCCESS) return Refuse("PMIx_Lookup", status);
    Found found{true, TextOf(data.value)};
    if (found.text) std::free(data.value.data.string);
    return found;
  }

  void Unpublish(const std::string& name) override {
    std::string text = name;
    std::array<char*, 2> names{text.data(), nullptr};
    const pmix_info_t info = WithinThisLaunch();
    pmix_.unpublish(names.data(), &info, 1);
  }

  Status Say(const std::string& name, const std::string& text) override {
    auto value = Blank<pmix_value_t>();
    value.type = PMIX_STRING;
    value.data.string = const_cast<char*>(text.c_str());
    pmix_status_t status = pmix_.put(PMIX_GLOBAL, name.c_str(), &value);
    if (status != PMIX_SUCCESS) return Refuse("PMIx_Put", status);
    status = pmix_.commit();
    return status == PMIX_SUCCESS ? Status() : Refuse("PMIx_Commit", status);
  }

  Result<std::optional<std::string>> AskRankZero(const std::string& name, int seconds) override {
    const std::array infos{NoLongerThan(seconds), Anew()};
    pmix_value_t* value = nullptr;
    const pmix_status_t status = Get(0, name.c_str(), infos.data(), infos.size(), &value);
    if (IsAbsent(status)) return std::nullopt;
    if (status != PMIX_SUCCESS || value == nullptr) return Refuse("PMIx_Get", status);
    std::optional<std::string> text = TextOf(*value);
    Free(value);
    return text;
  }

  Result<PmixPlace> GetPlace() override {
    PmixPlace place;
    place.world_size = Number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
    place.local_rank = Number(self_.rank, PMIX_LOCAL_RANK);
    place.local_peers = Text(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS);
    place.local_world_size = Number(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE);
    place.num_nodes = Number(PMIX_RANK_WILDCARD, PMIX_NUM_NODES);
    return place;
  }

 private:
  pmix_status_t Get(pmix_rank_t rank, const char* name, const pmix_info_t* infos, size_t count,
                    pmix_value_t** value) const {
    pmix_proc_t whom = self_;
    whom.rank = rank;
    return pmix_.get(&whom, name, infos, count, value);
  }

  template <typename T>
  std::optional<T> Read(pmix_rank_t rank, const char* name,
                        std::optional<T> (*read)(const pmix_value_t&)) const {
    pmix_value_t* value = nullptr;
    if (Get(rank, name, nullptr, 0, &value) != PMIX_SUCCESS || value == nullptr) return std::nullopt;
    std::optional<T> result = read(*value);
    Free(value);
    return result;
  }
  std::optional<uint32_t> Number(pmix_rank_t rank, const char* name) const {
    return Read(rank, name, NumberOf);
  }
  std::optional<std::string> Text(pmix_rank_t rank, const char* name) const {
    return Read(rank, name, TextOf);
  }

  static void Free(pmix_value_t* value) {
    if (value->type == PMIX_STRING) std::free(value->data.string);
    std::free(value);
  }

  tl::unexpected<Error> Refuse(std::string_view call, pmix_status_t status) const {
    const bool hopeless =
        status == PMIX_ERR_NOT_SUPPORTED || status == PMIX_ERR_UNREACH || call == "PMIx_Init";
    const char* text = pmix_.error_string(status);
    return Fail(hopeless ? Code::kConfiguration : Code::kSystem, "{} failed: {}", call,
                text == nullptr ? std::to_string(status) : text);
  }

  const Functions pmix_;
  pmix_proc_t self_ = Blank<pmix_proc_t>();
};

Result<PmixPlace> Ask(const std::function<Result<std::shared_ptr<PmixApi>>()>& load) {
  MUSTER_TRY(const auto api, load());
  MUSTER_CHECK(api->Init());
  Result<PmixPlace> place = api->GetPlace();
  api->Finalize();
  return place;
}

}  // namespace

Result<std::shared_ptr<PmixApi>> LoadPmix() {
  MUSTER_TRY(const SharedLibrary library, SharedLibrary::Open({"libpmix.so.2"}, {}));
  MUSTER_TRY(const Functions pmix, FindFunctions<Functions>(library));
  return std::make_shared<Library>(pmix);
}

Result<PmixPlace> AskPmixServer(Deadline deadline, std::function<Result<std::shared_ptr<PmixApi>>()> load) {
  const auto place = std::make_shared<Result<PmixPlace>>();
  MUSTER_CHECK(RunWithin(deadline, {Code::kDeadline, "the PMIx server of this node has not answered in time"},
                         [place, load = std::move(load)] { *place = Ask(load); }));
  return *place;
}

}  // namespace muster::rendezvous

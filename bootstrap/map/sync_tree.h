// The content of a directory, on its disk: a crash of the node, or the loss of its power, does not take it.
#pragma once

#include <string>

#include "comm/base/error.h"

namespace muster::map {

// `directory` and all below it, apart from its own empty files: of an attempt those are the streams of a program that
// wrote nothing. False: there was nothing else. Links are not followed. BLOCKS for the disk. Error: kSystem.
Result<bool> SyncTree(const std::string& directory);

// The names in `directory`. Error: kSystem.
Status SyncNames(const std::string& directory);

}  // namespace muster::map

#pragma once

#include "comm/base/version.h"  // IWYU pragma: export

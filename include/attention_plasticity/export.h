#pragma once

/// @file
/// AP_API marks what the shared libraries export. Everything else is hidden.

#if defined(__GNUC__)
#define AP_API __attribute__((visibility("default")))
#else
#define AP_API
#endif

// Assertions on our own mistakes, by cost: ECO_ASSERT(light, cond, "what must hold").
//
//   light          always compiled in: a compare on a path that is not per byte
//   normal         on unless NDEBUG
//   heavy          only with ECO_HEAVY_ASSERTS: walks whole structures
//
// A failed assertion prints where and what, then aborts: continuing could deliver wrong bytes.
#pragma once

namespace eco {

[[noreturn]] void assertion_failed(const char* file, int line, const char* condition, const char* message);

}  // namespace eco

#define ECO_ASSERT_CHECK_(cond, message)          \
  (static_cast<bool>(cond) ? static_cast<void>(0) \
                           : ::eco::assertion_failed(__FILE__, __LINE__, #cond, message))

#define ECO_ASSERT_light_(cond, message) ECO_ASSERT_CHECK_(cond, message)
#ifdef NDEBUG
#define ECO_ASSERT_normal_(cond, message) static_cast<void>(0)
#else
#define ECO_ASSERT_normal_(cond, message) ECO_ASSERT_CHECK_(cond, message)
#endif
#ifdef ECO_HEAVY_ASSERTS
#define ECO_ASSERT_heavy_(cond, message) ECO_ASSERT_CHECK_(cond, message)
#else
#define ECO_ASSERT_heavy_(cond, message) static_cast<void>(0)
#endif

#define ECO_ASSERT(level, cond, message) ECO_ASSERT_##level##_(cond, message)

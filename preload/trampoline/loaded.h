// What a loaded object's dynamic section says.
#pragma once

#include <link.h>

namespace eco::trampoline {

// glibc makes this an address when it loads the object, musl leaves it relative to the object's start.
inline ElfW(Addr) address_in(const dl_phdr_info& object, ElfW(Addr) value) {
  return value < object.dlpi_addr ? value + object.dlpi_addr : value;
}

}  // namespace eco::trampoline

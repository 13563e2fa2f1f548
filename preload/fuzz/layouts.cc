#include "preload/fuzz/layouts.h"

#include <algorithm>
#include <stdexcept>

namespace eco::fuzz {
namespace {

struct Field {
  MPI_Datatype type;
  int bytes;
};

std::vector<Field> fields_of(const std::string& signature) {
  const Field an_int{MPI_INT, 4}, a_double{MPI_DOUBLE, 8};
  if (signature == "byte") return {{MPI_BYTE, 1}};
  if (signature == "char") return {{MPI_CHAR, 1}};
  if (signature == "short") return {{MPI_SHORT, 2}};
  if (signature == "int") return {an_int};
  if (signature == "double") return {a_double};
  if (signature == "two") return {an_int, an_int};
  if (signature == "mixed") return {a_double, an_int};
  throw std::runtime_error("signature '" + signature + "' is none that is known");
}

// Fields at these places, in the order of the signature; one element takes `extent` bytes from `lower` on.
MPI_Datatype placed(const std::vector<Field>& fields, const std::vector<MPI_Aint>& places, MPI_Aint lower,
                    MPI_Aint extent) {
  std::vector<int> ones(fields.size(), 1);
  std::vector<MPI_Datatype> types;
  for (const Field& field : fields) types.push_back(field.type);
  MPI_Datatype loose = MPI_DATATYPE_NULL, fitted = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(static_cast<int>(fields.size()), ones.data(), places.data(), types.data(), &loose);
  MPI_Type_create_resized(loose, lower, extent, &fitted);
  MPI_Type_free(&loose);
  return fitted;
}

}  // namespace

Span span_of(const Layout& layout, int n_blocks) {
  const MPI_Aint n = static_cast<MPI_Aint>(layout.count) * n_blocks;
  if (n == 0) return {};
  MPI_Aint lower = 0, bytes = 0;
  MPI_Type_get_true_extent(layout.type, &lower, &bytes);
  const MPI_Aint last = (n - 1) * extent_of(layout.type);
  return {lower + std::min<MPI_Aint>(0, last), lower + bytes + std::max<MPI_Aint>(0, last)};
}

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

void Types::free() {
  for (MPI_Datatype& type : made_) MPI_Type_free(&type);
  made_.clear();
}

MPI_Datatype Types::keep(MPI_Datatype type) {
  MPI_Type_commit(&type);
  made_.push_back(type);
  return type;
}

MPI_Datatype Types::element(const std::string& signature, int way) {
  const std::vector<Field> fields = fields_of(signature);
  MPI_Aint bytes = 0;
  std::vector<MPI_Aint> behind, before;  // each other, in the order of the signature and against it
  for (const Field& field : fields) {
    behind.push_back(bytes);
    bytes += field.bytes;
  }
  for (const MPI_Aint place : behind) before.push_back(behind.back() - place);
  const MPI_Aint room = (bytes + 7) / 8 * 8;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  switch (way) {
    case 0:
      if (fields.size() == 1) return fields[0].type;
      if (signature != "two") return keep(placed(fields, behind, 0, room));
      MPI_Type_contiguous(2, MPI_INT, &type);
      return keep(type);
    case 1:
      MPI_Type_dup(element(signature, 0), &type);
      return keep(type);
    case 2:  // a gap behind
      return keep(placed(fields, behind, 0, room + 8));
    case 3:  // and one before
      for (MPI_Aint& place : behind) place += 8;
      return keep(placed(fields, behind, 0, room + 16));
    case 4:  // against the order of the signature
      for (MPI_Aint& place : before) place += place > 0 ? 8 - place : 0;
      return keep(placed(fields, before, 0, 16));
    default:  // a lower bound below zero
      for (MPI_Aint& place : behind) place -= 8;
      return keep(placed(fields, behind, -8, room + 8));
  }
}

Layout Types::whole(const std::string& signature, int n, int way) {
  if (way < kElementWays || n == 0) return {n, element(signature, way % kElementWays)};
  const MPI_Datatype one = element(signature, way % 2 == 0 ? 0 : 2);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  switch (way) {
    case 6:
      MPI_Type_contiguous(n, one, &type);
      break;
    case 7:
      MPI_Type_vector(n, 1, 2, one, &type);
      break;
    case 8: {  // runs of up to three, with holes of growing length between them
      std::vector<int> lengths, places;
      for (int at = 0, left = n; left > 0; left -= lengths.back()) {
        lengths.push_back(std::min(3, left));
        places.push_back(at);
        at += 3 + static_cast<int>(lengths.size()) % 4;
      }
      MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), one, &type);
      break;
    }
    case 9: {  // the last element first
      std::vector<int> places;
      for (int i = 0; i < n; ++i) places.push_back(n - 1 - i);
      MPI_Type_create_indexed_block(n, 1, places.data(), one, &type);
      break;
    }
    case 10: {  // several of several
      const int many = n % 3 == 0 ? 3 : n % 2 == 0 ? 2 : 1;
      MPI_Type_contiguous(many, one, &type);
      return {n / many, keep(type)};
    }
    default: {  // one half dense, the other in steps
      int lengths[] = {n / 2, 1};
      MPI_Aint places[] = {0, (n / 2 + 1) * extent_of(one)};
      MPI_Datatype types[] = {one, MPI_DATATYPE_NULL};
      MPI_Type_vector(n - n / 2, 1, 3, one, &types[1]);
      MPI_Type_create_struct(2, lengths, places, types, &type);
      MPI_Type_free(&types[1]);
    }
  }
  return {1, keep(type)};
}

MPI_Datatype Types::pair(bool gap) { return element("two", gap ? 2 : 0); }

}  // namespace eco::fuzz

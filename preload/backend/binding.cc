#include "preload/backend/binding.h"

#include <cstring>

#include "preload/backend/datatypes.h"

namespace eco::preload {
namespace {

using coll::Collective;

// Of each vector.
constexpr std::size_t kMostKept = std::size_t{16} << 20;

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

// Elements of `data` into dense memory of their length, and back. False if MPI reports an error.
bool pack_into(std::span<std::byte> dense, const Data& data) {
  if (!is_dense(data.type)) return pack(address(data), static_cast<int>(data.count), data.type, dense);
  if (!dense.empty()) std::memcpy(dense.data(), address(data), dense.size());
  return true;
}

bool unpack_from(std::span<const std::byte> dense, const Data& data) {
  if (!is_dense(data.type)) return unpack(dense, address(data), static_cast<int>(data.count), data.type);
  if (!dense.empty()) std::memcpy(address(data), dense.data(), dense.size());
  return true;
}

Data part_of(const Data& whole, const Pieces::Piece& piece) {
  return {whole.memory, piece.count, whole.type, whole.skipped + piece.skipped};
}

}  // namespace

void PackedMemory::let_go_of_much() {
  for (std::vector<std::byte>* memory : {&input, &output}) {
    if (memory->capacity() > kMostKept) std::vector<std::byte>().swap(*memory);
  }
}

bool Binding::before(exec::Buffers& buffers) {
  if (sides_.pieces.empty()) return bind_output(buffers) && bind_input(buffers);
  return pad_output(buffers) && pad_input(buffers);
}

bool Binding::after() {
  if (!sides_.pieces.empty()) return take_padding_off();
  if (!packs_output_ || is_broadcast_root()) return true;
  return unpack_from(memory_.output, *sides_.output);
}

bool Binding::bind_output(exec::Buffers& buffers) {
  const std::size_t bytes = coll::output_bytes(problem_, rank_);
  if (bytes == 0) return true;
  packs_output_ = sides_.output && !is_dense(sides_.output->type);
  if (sides_.output && !packs_output_) {
    buffers.output = {address(*sides_.output), bytes};
    return true;
  }
  // Without an output it is scrap: a scatter's root in place has its block already.
  buffers.output = room(memory_.output, bytes);
  const bool comes_back = is_broadcast_root() || sides_.has_places_of_nobody;
  return !packs_output_ || !comes_back || pack_into(buffers.output, *sides_.output);
}

bool Binding::bind_input(exec::Buffers& buffers) {
  const std::size_t bytes = coll::input_bytes(problem_, rank_);
  if (bytes == 0 || !sides_.input) return true;
  // Allreduces alone have schedules that work in place.
  const bool in_output = problem_.collective == Collective::allreduce;
  const bool dense = is_dense(sides_.input->type);
  const std::span<const std::byte> direct = {address(*sides_.input), bytes};
  const bool is_output = sides_.in_place || (in_output ? direct.data() == buffers.output.data()
                                                       : dense && overlap(direct, buffers.output));
  if (is_output && in_output) {
    buffers.input_is_output = true;
    return true;
  }
  if (dense && !is_output) {
    buffers.input = direct;
    return true;
  }
  const std::span<std::byte> copy = room(memory_.input, bytes);
  buffers.input = copy;
  return pack_into(copy, *sides_.input);
}

// Everything is copied: the schedule's blocks are longer than the program's.
bool Binding::pad_output(exec::Buffers& buffers) {
  buffers.output = room(memory_.output, coll::output_bytes(problem_, rank_));
  return true;
}

bool Binding::pad_input(exec::Buffers& buffers) {
  const Data& data = *sides_.input;
  const std::span<std::byte> copy = room(memory_.input, coll::input_bytes(problem_, rank_));
  buffers.input = copy;
  if (!coll::is_reduction(problem_.collective)) {
    return pack_into(copy.first(total_bytes(data.count, data.type)), data);
  }
  // What fills a block up is combined like the rest of it, perhaps by the program's own function: so it is an element of
  // the program's, the vector's first, and every rank has the same there.
  const std::byte* const filler = address(data);
  const std::size_t block = problem_.block_bytes();
  const std::size_t element = total_bytes(1, data.type);
  sides_.pieces.for_each([&](int i, const Pieces::Piece& piece) {
    const std::span<std::byte> padded = copy.subspan(static_cast<std::size_t>(i) * block, block);
    const std::size_t bytes = static_cast<std::size_t>(piece.count) * element;
    if (bytes > 0) std::memcpy(padded.data(), address(part_of(data, piece)), bytes);
    for (std::size_t at = bytes; at < block; at += element) std::memcpy(padded.data() + at, filler, element);
  });
  return true;
}

bool Binding::take_padding_off() {
  const std::span<const std::byte> padded = memory_.output;
  const Data& data = *sides_.output;
  if (coll::is_reduction(problem_.collective)) {
    return unpack_from(padded.first(total_bytes(data.count, data.type)), data);
  }
  bool good = true;
  const std::size_t block = problem_.block_bytes();
  sides_.pieces.for_each([&](int i, const Pieces::Piece& piece) {
    const Data part = part_of(data, piece);
    const std::size_t bytes = total_bytes(part.count, part.type);
    good = good && unpack_from(padded.subspan(static_cast<std::size_t>(i) * block, bytes), part);
  });
  return good;
}

std::span<std::byte> Binding::room(std::vector<std::byte>& vector, std::size_t bytes) {
  vector.resize(bytes);
  return vector;
}

bool Binding::is_broadcast_root() const {
  return problem_.collective == Collective::broadcast && rank_ == problem_.root;
}

}  // namespace eco::preload

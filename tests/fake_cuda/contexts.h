// Contexts: the primary ones, those that programs create, and each thread's stack of them.
#ifndef TESTS_FAKE_CUDA_CONTEXTS_H
#define TESTS_FAKE_CUDA_CONTEXTS_H

#include "world.h"

namespace fake {

void make_primaries();

// The top of this thread's stack, or nullptr.
Context *current_context();
std::int64_t context_depth();
void push_context(Context *context);
Context *pop_context();  // nullptr: the stack was empty

// nullptr, with a fault, where the handle is none.
Context *context_of(const void *handle);

Context *create_context(Ordinal device, unsigned flags);
// Ends a context with all that is in it: what is lost is a fault.
void end_context(Context &context);

// An error sticks to the context; its pending work is dropped.
void stick(Context &context, Result code);

}  // namespace fake

#endif

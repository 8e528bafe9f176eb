// The CUDA runtime's calls. Streams and events have nothing to do, as a launch has run when it
// returns; captures are recorded and replayed.
#include "emulator.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <unordered_set>

struct graph_node {
  cudaGraphNodeType type;
  std::function<void()> run;
};
struct CUgraph_st {
  std::vector<std::shared_ptr<graph_node>> nodes;
  std::shared_ptr<std::vector<void*>> memory = std::make_shared<std::vector<void*>>();
  bool broken = false;
};
struct CUgraphNode_st {};
struct CUgraphExec_st {
  std::vector<std::shared_ptr<graph_node>> nodes;
  std::shared_ptr<std::vector<void*>> memory;
};
struct CUstream_st {
  CUgraph_st* capture = nullptr;
  bool origin = false;
};
struct CUevent_st {
  CUgraph_st* capture = nullptr;
  std::chrono::steady_clock::time_point at{};
};
struct CUmemPoolHandle_st {
  int device;
};

namespace emu {
namespace {
thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;
thread_local config pending; // of the launch that comes
cudaError_t note(cudaError_t e) {
  if (e != cudaSuccess) last_error = e;
  return e;
}
std::mutex attribute_mutex;
std::size_t largest_allowed = 48 * 1024; // dynamic shared memory, of any kernel

std::mutex& stream_mutex() {
  static auto* const m = new std::mutex;
  return *m;
}
std::unordered_set<CUstream_st*>& streams() {
  static auto* const s = new std::unordered_set<CUstream_st*>;
  return *s;
}
CUgraph_st* capture_of(cudaStream_t s) {
  if (s == nullptr || s == cudaStreamLegacy || s == cudaStreamPerThread) return nullptr;
  const std::lock_guard lock(stream_mutex());
  if (streams().count(s) == 0) fail("a stream that is not there");
  return s->capture;
}
thread_local CUgraph_st* captured_here = nullptr;
cudaError_t unsafe_call() { // what must not be called while this thread captures
  if (captured_here == nullptr) return cudaSuccess;
  captured_here->broken = true;
  return note(cudaErrorStreamCaptureUnsupported);
}
cudaError_t enqueue(cudaStream_t s, cudaGraphNodeType type, std::function<void()> f) {
  if (CUgraph_st* g = capture_of(s)) {
    if (g->broken) return note(cudaErrorStreamCaptureInvalidated);
    g->nodes.push_back(std::make_shared<graph_node>(graph_node{type, std::move(f)}));
    return cudaSuccess;
  }
  const device_access access;
  f();
  return cudaSuccess;
}
} // namespace

void configure(dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream, bool cooperative) {
  pending = {grid, block, shared, stream, cooperative, true};
}

void submit(const char* name, int most_threads, const void* closure, std::size_t bytes,
            void (*invoke)(const void*)) {
  if (!pending.armed) fail("a kernel is called without a launch");
  const config c = pending;
  pending.armed = false;
  const std::uint64_t threads = std::uint64_t(c.block.x) * c.block.y * c.block.z;
  cudaError_t error = cudaSuccess;
  if (threads == 0 || threads > 1024 || c.block.z > 64 || c.grid.x == 0 || c.grid.y == 0 ||
      c.grid.z == 0 || c.grid.x > 0x7fffffffu || c.grid.y > 65535 || c.grid.z > 65535)
    error = cudaErrorInvalidConfiguration;
  else if (c.shared > most_shared)
    error = cudaErrorInvalidValue;
  else if (threads > std::uint64_t(most_threads))
    error = cudaErrorLaunchOutOfResources;
  else if (c.cooperative && std::uint64_t(c.grid.x) * c.grid.y * c.grid.z >
                                std::uint64_t(options().multiprocessors) * (2048 / threads))
    error = cudaErrorCooperativeLaunchTooLarge;
  else {
    const std::lock_guard lock(attribute_mutex);
    if (c.shared > largest_allowed) error = cudaErrorInvalidValue;
  }
  if (error != cudaSuccess) {
    if (options().trace)
      std::fprintf(stderr, "emulator: launch refused (%d): %s\n", int(error), name);
    note(error);
    return;
  }
  if (bytes > 4096 + 64) fail("a kernel's arguments take more than 4 KB");
  if (CUgraph_st* g = capture_of(c.stream)) {
    if (g->broken) {
      note(cudaErrorStreamCaptureInvalidated);
      return;
    }
    auto copy =
        std::make_shared<std::vector<std::max_align_t>>(bytes / sizeof(std::max_align_t) + 2);
    std::memcpy(copy->data(), closure, bytes);
    g->nodes.push_back(
        std::make_shared<graph_node>(graph_node{cudaGraphNodeTypeKernel, [=] {
                                                  execute({c, name, copy->data(), invoke});
                                                }}));
    return;
  }
  execute({c, name, closure, invoke});
}
void host_task(cudaStream_t stream, const char* name, std::function<void()> f) {
  if (options().trace) std::fprintf(stderr, "emulator: %s\n", name);
  (void)enqueue(stream, cudaGraphNodeTypeKernel, std::move(f));
}
cudaError_t set_function_attribute(const void*, cudaFuncAttribute a, int v) {
  if (a != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (v < 0 || std::size_t(v) > most_shared) return note(cudaErrorInvalidValue);
  const std::lock_guard lock(attribute_mutex);
  largest_allowed = std::max(largest_allowed, std::size_t(v));
  return cudaSuccess;
}
cudaError_t take_error() { return last_error; }
} // namespace emu

using namespace emu;

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }
const char* cudaGetErrorName(cudaError_t e) {
  switch (e) {
  case cudaSuccess: return "cudaSuccess";
  case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
  case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
  case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
  case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
  case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
  case cudaErrorLaunchOutOfResources: return "cudaErrorLaunchOutOfResources";
  case cudaErrorCooperativeLaunchTooLarge: return "cudaErrorCooperativeLaunchTooLarge";
  case cudaErrorStreamCaptureUnsupported: return "cudaErrorStreamCaptureUnsupported";
  case cudaErrorStreamCaptureInvalidated: return "cudaErrorStreamCaptureInvalidated";
  default: return "cudaErrorUnknown";
  }
}
const char* cudaGetErrorString(cudaError_t e) {
  switch (e) {
  case cudaSuccess: return "no error";
  case cudaErrorInvalidValue: return "invalid argument";
  case cudaErrorMemoryAllocation: return "out of memory";
  case cudaErrorInvalidConfiguration: return "invalid configuration argument";
  case cudaErrorInvalidDevice: return "invalid device ordinal";
  case cudaErrorLaunchOutOfResources: return "too many resources requested for launch";
  default: return cudaGetErrorName(e);
  }
}
cudaError_t cudaGetDeviceCount(int* n) {
  *n = options().devices;
  return options().devices > 0 ? cudaSuccess : note(cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int* d) {
  *d = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int d) {
  if (d < 0 || d >= options().devices) return note(cudaErrorInvalidDevice);
  current_device = d;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return unsafe_call(); }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  *p = {};
  std::strcpy(p->name, "Emulated");
  p->totalGlobalMem = options().memory_bytes;
  p->sharedMemPerBlock = 48 * 1024;
  p->sharedMemPerBlockOptin = most_shared;
  p->sharedMemPerMultiprocessor = 228 * 1024;
  p->regsPerBlock = 65536;
  p->warpSize = 32;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  p->major = 9;
  p->minor = 0;
  p->multiProcessorCount = options().multiprocessors;
  p->l2CacheSize = 50 << 20;
  p->memoryBusWidth = 6144;
  p->cooperativeLaunch = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* v, cudaDeviceAttr a, int) {
  switch (a) {
  case cudaDevAttrMemoryClockRate: *v = 3201000; break;
  case cudaDevAttrMultiProcessorCount: *v = options().multiprocessors; break;
  case cudaDevAttrMaxThreadsPerBlock: *v = 1024; break;
  case cudaDevAttrMaxSharedMemoryPerBlock: *v = 48 * 1024; break;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin: *v = int(most_shared); break;
  case cudaDevAttrL2CacheSize: *v = 50 << 20; break;
  case cudaDevAttrComputeCapabilityMajor: *v = 9; break;
  case cudaDevAttrComputeCapabilityMinor: *v = 0; break;
  case cudaDevAttrCooperativeLaunch: *v = 1; break;
  default: return note(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = options().memory_bytes;
  *free = options().memory_bytes - memory_used();
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** p, std::size_t n) {
  if (const cudaError_t e = unsafe_call()) return e;
  *p = n == 0 ? nullptr : allocate(n, current_device, false);
  return n == 0 || *p != nullptr ? cudaSuccess : note(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void* p) {
  if (const cudaError_t e = unsafe_call()) return e;
  return release_memory(p, false) ? cudaSuccess : note(cudaErrorInvalidValue);
}
cudaError_t cudaHostAlloc(void** p, std::size_t n, unsigned) {
  *p = n == 0 ? nullptr : allocate(n, current_device, true);
  return n == 0 || *p != nullptr ? cudaSuccess : note(cudaErrorMemoryAllocation);
}
cudaError_t cudaMallocHost(void** p, std::size_t n) { return cudaHostAlloc(p, n, 0); }
cudaError_t cudaFreeHost(void* p) {
  return release_memory(p, true) ? cudaSuccess : note(cudaErrorInvalidValue);
}
cudaError_t cudaMallocAsync(void** p, std::size_t n, cudaStream_t s) {
  *p = n == 0 ? nullptr : allocate(n, current_device, false);
  if (n != 0 && *p == nullptr) return note(cudaErrorMemoryAllocation);
  if (CUgraph_st* g = capture_of(s)) {
    void* at = *p;
    g->memory->push_back(at);
    return enqueue(s, cudaGraphNodeTypeMemAlloc, [=] { std::memset(at, options().fill, n); });
  }
  return cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** p, std::size_t n, cudaMemPool_t, cudaStream_t s) {
  return cudaMallocAsync(p, n, s);
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t s) {
  if (CUgraph_st* g = capture_of(s)) {
    if (std::find(g->memory->begin(), g->memory->end(), p) != g->memory->end())
      return enqueue(s, cudaGraphNodeTypeMemFree, [] {}); // when the graph goes
    return enqueue(s, cudaGraphNodeTypeMemFree, [p] { release_memory(p, false); });
  }
  return release_memory(p, false) ? cudaSuccess : note(cudaErrorInvalidValue);
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* p, const cudaMemPoolProps* props) {
  *p = new CUmemPoolHandle_st{props->location.id};
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t p) {
  delete p;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void* v) {
  *static_cast<std::uint64_t*>(v) = memory_used();
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) { return cudaSuccess; }

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t n, cudaMemcpyKind kind,
                            cudaStream_t s) {
  if (kind != cudaMemcpyDefault) {
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (const cudaError_t e = check_range(to, n, to_device, "the target of a copy")) return note(e);
    if (const cudaError_t e = check_range(from, n, from_device, "the source of a copy"))
      return note(e);
  }
  return enqueue(s, cudaGraphNodeTypeMemcpy, [=] {
    if (n > 0) std::memmove(to, from, n);
  });
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t n, cudaMemcpyKind kind) {
  if (const cudaError_t e = unsafe_call()) return e;
  return cudaMemcpyAsync(to, from, n, kind, nullptr);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t n,
                                cudaStream_t s) {
  return cudaMemcpyAsync(to, from, n, cudaMemcpyDeviceToDevice, s);
}
cudaError_t cudaMemsetAsync(void* p, int v, std::size_t n, cudaStream_t s) {
  if (const cudaError_t e = check_range(p, n, true, "a memset")) return note(e);
  return enqueue(s, cudaGraphNodeTypeMemset, [=] {
    if (n > 0) std::memset(p, v, n);
  });
}
cudaError_t cudaMemset(void* p, int v, std::size_t n) {
  if (const cudaError_t e = unsafe_call()) return e;
  return cudaMemsetAsync(p, v, n, nullptr);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind, cudaStream_t s) {
  return enqueue(s, cudaGraphNodeTypeMemcpy, [=] {
    for (std::size_t i = 0; i < height; ++i)
      std::memmove(static_cast<char*>(to) + i * to_pitch,
                   static_cast<const char*>(from) + i * from_pitch, width);
  });
}
cudaError_t cudaMemset2DAsync(void* p, std::size_t pitch, int v, std::size_t width,
                              std::size_t height, cudaStream_t s) {
  return enqueue(s, cudaGraphNodeTypeMemset, [=] {
    for (std::size_t i = 0; i < height; ++i)
      std::memset(static_cast<char*>(p) + i * pitch, v, width);
  });
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* p) {
  *a = {};
  const auto found = find_allocation(p);
  if (!found || p == found->at + found->bytes) return cudaSuccess;
  void* const place = const_cast<void*>(p);
  a->type = found->host ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
  a->device = found->device;
  a->devicePointer = place;
  a->hostPointer = found->host ? place : nullptr;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
  *s = new CUstream_st;
  const std::lock_guard lock(stream_mutex());
  streams().insert(*s);
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* s) { return cudaStreamCreateWithFlags(s, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  const std::lock_guard lock(stream_mutex());
  if (streams().erase(s) == 0) return note(cudaErrorInvalidResourceHandle);
  delete s;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  if (CUgraph_st* g = capture_of(s)) {
    g->broken = true;
    return note(cudaErrorStreamCaptureUnsupported);
  }
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t s) { return cudaStreamSynchronize(s); }
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) {
  if (s != nullptr && s != cudaStreamLegacy && e->capture != nullptr && s->capture == nullptr) {
    const std::lock_guard lock(stream_mutex());
    s->capture = e->capture;
  }
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
  if (s == nullptr || s == cudaStreamLegacy) return note(cudaErrorStreamCaptureUnsupported);
  if (capture_of(s) != nullptr) return note(cudaErrorIllegalState);
  const std::lock_guard lock(stream_mutex());
  s->capture = captured_here = new CUgraph_st;
  s->origin = true;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* g) {
  *g = nullptr;
  const std::lock_guard lock(stream_mutex());
  if (s->capture == nullptr || !s->origin) return note(cudaErrorIllegalState);
  CUgraph_st* graph = s->capture;
  for (CUstream_st* o : streams())
    if (o->capture == graph) o->capture = nullptr;
  s->origin = false;
  captured_here = nullptr;
  if (graph->broken) {
    for (void* p : *graph->memory) release_memory(p, false);
    delete graph;
    return note(cudaErrorStreamCaptureInvalidated);
  }
  *g = graph;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t s, cudaStreamCaptureStatus* status) {
  const CUgraph_st* g = capture_of(s);
  *status = g == nullptr ? cudaStreamCaptureStatusNone
            : g->broken  ? cudaStreamCaptureStatusInvalidated
                         : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
  *e = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* e) { return cudaEventCreateWithFlags(e, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  delete e;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  e->capture = capture_of(s);
  e->at = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  if (e->capture != nullptr && captured_here == e->capture) {
    e->capture->broken = true;
    return note(cudaErrorStreamCaptureUnsupported);
  }
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t e) { return cudaEventSynchronize(e); }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t a, cudaEvent_t b) {
  *ms = std::chrono::duration<float, std::milli>(b->at - a->at).count();
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* e, cudaGraph_t g, unsigned long long) {
  *e = new CUgraphExec_st{g->nodes, g->memory};
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* e, cudaGraph_t g, unsigned long long f) {
  return cudaGraphInstantiateWithFlags(e, g, f);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s) {
  if (CUgraph_st* g = capture_of(s)) {
    g->broken = true;
    return note(cudaErrorStreamCaptureUnsupported);
  }
  const device_access access;
  for (const auto& n : e->nodes) n->run();
  return cudaSuccess;
}
namespace {
void drop_memory(std::shared_ptr<std::vector<void*>>& memory) {
  if (memory.use_count() == 1)
    for (void* p : *memory) release_memory(p, false);
}
} // namespace
cudaError_t cudaGraphDestroy(cudaGraph_t g) {
  drop_memory(g->memory);
  delete g;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e) {
  drop_memory(e->memory);
  delete e;
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t g, cudaGraphNode_t* nodes, std::size_t* n) {
  if (nodes != nullptr)
    for (std::size_t i = 0; i < std::min(*n, g->nodes.size()); ++i)
      nodes[i] = reinterpret_cast<cudaGraphNode_t>(g->nodes[i].get());
  *n = g->nodes.size();
  return cudaSuccess;
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t n, cudaGraphNodeType* t) {
  *t = reinterpret_cast<graph_node*>(n)->type;
  return cudaSuccess;
}

// The sandbox of type A modules: QuickJS in worker threads, a fresh context for each run, within limits of time, memory and calls.
// It decides when a run is ended. What a call of `svc` may do, the host decides: src/core/modules.
// No object of the host is inside, no real time, no file, no network.
export { openSandbox, type Sandbox } from './sandbox.ts'
export type { Job } from './task.ts'

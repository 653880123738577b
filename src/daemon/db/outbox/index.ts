// Follow-up work: noted with the change that needs it, done afterwards by any replica. Each piece waits in one queue, and a queue is worked on by
// one process at a time, under a lease. It knows lanes and queues; what the work is, and whether doing it twice does harm, its handler decides.
export { drainOutbox, runOutbox } from './drain.ts'
export { enqueueOutbox } from './enqueue.ts'
export type { OutboxHandler } from './work-queue.ts'

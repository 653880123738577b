import { sha256Hex } from '../kit/index.ts'

/**
 * The resource a job depends on: the database alone, a mail server or webhook, the payment provider, or a tenant's chat server. Crons may take
 * long, so they have a pool of their own.
 */
export type JobPool = 'own' | 'crons' | 'mail' | 'payments' | 'chat'

/** A queue whose server did not answer moves to the pool `away`, so that it occupies no worker of its own pool. */
export type WorkerPool = JobPool | 'away'

/**
 * How many queues of each pool one replica works on at once. Pools never share workers, so an alert never waits behind payments or chat. Most
 * jobs only wait for an answer; those of `away` take seconds each to time out.
 */
export const workersPerPool: Readonly<Record<WorkerPool, number>> = { own: 4, crons: 8, mail: 8, payments: 8, chat: 48, away: 16 }

const maxRetryDelayMs = 60 * 60_000
const maxUnreachableDelayMs = 5 * 60_000

/** Delay before a failed job runs again: exponential, at most an hour. */
export const retryDelayMs = (attempts: number): number => Math.min(1000 * 2 ** attempts, maxRetryDelayMs)

/**
 * Delay before an unreachable server is called again: exponential, at most six minutes, because a user may wait to be locked out.
 * The queue's name adds up to a fifth, so that servers that failed together are not called in the same second.
 */
export const unreachableDelayMs = (failures: number, queue: string): number => {
  const ms = Math.min(1000 * 2 ** failures, maxUnreachableDelayMs)
  return ms + Math.floor((ms / 5) * jitter(queue))
}

/** From 0 to below 1, the same for the same name. */
const jitter = (name: string): number => Number.parseInt(sha256Hex(name).slice(0, 4), 16) / 65_536

type ChatJob = Readonly<{ tenantId: string; what: 'locks' | 'names' | 'users' | 'spaces' | 'messages' | 'events' | 'notices'; key: string }>

/** One queue per tenant and kind of call, so that a lock never waits for a large space. */
export const chatQueue = ({ tenantId, what, key }: ChatJob) => ({ pool: 'chat', queue: `chat:${tenantId}:${what}`, key }) as const

/** All of these queues of a tenant, as a range of names. */
export const chatQueuesOf = (tenantId: string) => ({ from: `chat:${tenantId}:`, to: `chat:${tenantId};` })

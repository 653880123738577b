import type { Lease } from '../db/index.ts'

/** `wake` starts the next round at once, or right after this one. The signal aborts when the daemon stops. */
export type Round = Readonly<{ signal: AbortSignal; wake(): void }>

type Repeated = Readonly<{
  /** Its work in words, for the page of scheduled jobs. */
  name: string
  /** The pause after a round, also after one that failed. */
  everyMs: number
  /** Gets the topics of commits, of all replicas on PostgreSQL. Some may be missing, so a round must find those changes too. */
  onCommit?(topic: string): void
  /** Subscribes to what starts the next round at once. Returns how to end that. */
  listen?(wake: () => void): () => void
  /** Hands over its work when the daemon stops. */
  atEnd?(): Promise<unknown>
}>

/** Work that one replica at a time does again and again; the lease is released when it stops. */
export type LeasedLoop = Repeated &
  Readonly<{ lease: Readonly<{ name: string; ttlMs: number }>; run(round: Round & Readonly<{ lease: Lease }>): Promise<unknown> }>

/** Work beside requests that a daemon does again and again. */
export type Loop = (Repeated & Readonly<{ lease?: undefined; run(round: Round): Promise<unknown> }>) | LeasedLoop

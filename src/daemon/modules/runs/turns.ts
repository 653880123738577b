import type { Clock } from '../../../core/kit/index.ts'

const atOnce = 16
/** A turn that takes longer met a module that hangs, or a machine with too much to do. */
const slowMs = 1_500
/** Tenants whose last turn was slow leave the other places to those whose modules answer. */
const slowAtOnce = atOnce / 2

/** Returns whether there may be more. */
type Deliver = (tenantId: string) => Promise<boolean>

/** Tenants with new events, one turn after the other: neither a tenant with many events nor many with modules that hang keep others waiting. */
export class Turns {
  private readonly clock: Clock
  private readonly deliver: Deliver
  private readonly signal: AbortSignal
  private readonly waiting = new Set<string>()
  private readonly running = new Map<string, Promise<void>>()
  /** Tenants whose last turn was slow. */
  private readonly slow = new Set<string>()

  constructor(clock: Clock, deliver: Deliver, signal: AbortSignal) {
    this.clock = clock
    this.deliver = deliver
    this.signal = signal
  }

  notify(tenantId: string): void {
    this.waiting.add(tenantId)
    this.startNext()
  }

  idle(): Promise<unknown> {
    return Promise.all(this.running.values())
  }

  private startNext(): void {
    for (const tenantId of this.waiting) {
      if (this.signal.aborted || this.running.size >= atOnce) return
      if (this.running.has(tenantId) || (this.slow.has(tenantId) && this.slowRunning() >= slowAtOnce)) continue
      this.waiting.delete(tenantId)
      this.running.set(tenantId, this.take(tenantId))
    }
  }

  private slowRunning(): number {
    return [...this.running.keys()].filter((tenantId) => this.slow.has(tenantId)).length
  }

  private async take(tenantId: string): Promise<void> {
    const beganMs = this.clock.monotonicMs()
    const isMore = await this.deliver(tenantId)
    this.running.delete(tenantId)
    if (this.clock.monotonicMs() - beganMs > slowMs) this.slow.add(tenantId)
    else this.slow.delete(tenantId)
    if (isMore) this.waiting.add(tenantId)
    this.startNext()
  }
}

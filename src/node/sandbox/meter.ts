import { readFileSync } from 'node:fs'
import type { RunLimits, Violation, ViolationKind } from '../../core/modules/index.ts'
import { block } from './pace.ts'

/** CPU time of this thread; undefined where the system does not show it. */
function threadCpuMs(): number | undefined {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ', 1)[0]) / 1e6 || undefined
  } catch {
    return undefined
  }
}

/** The time of one run, and the first limit that it broke. */
export class Meter {
  broken: Violation | undefined
  private readonly limits: RunLimits
  private readonly startedAt = performance.now()
  private readonly startedCpuMs = threadCpuMs()
  private spentMs = 0
  private waitedMs = 0
  private enteredAt: number | undefined
  private allowedMs: number

  constructor(limits: RunLimits) {
    this.limits = limits
    this.allowedMs = limits.interpreterMs
  }

  /** Counts the time of `work` as time inside the interpreter. */
  inside<Result>(work: () => Result): Result {
    if (this.enteredAt !== undefined) return work()
    this.enteredAt = performance.now()
    try {
      return work()
    } finally {
      this.spentMs = this.interpreterMs()
      this.enteredAt = undefined
    }
  }

  /** Blocks the thread for the pace of large calls, which counts as time outside. Half of the time of a run may pass so. */
  wait(ms: number): void {
    if (ms <= 0) return
    const { wallMs } = this.limits
    this.waitedMs += ms
    if (this.waitedMs > wallMs / 2) {
      this.break('call_size', `large calls of svc would wait longer than ${wallMs / 2} ms`)
      return
    }
    this.spentMs = this.interpreterMs()
    block(ms)
    this.enteredAt = performance.now()
  }

  ms(): number {
    return performance.now() - this.startedAt
  }

  interpreterMs(): number {
    return this.spentMs + (this.enteredAt === undefined ? 0 : performance.now() - this.enteredAt)
  }

  leftMs(): number {
    return this.limits.wallMs - this.ms()
  }

  /** The first limit counts. */
  break(kind: ViolationKind, message: string): void {
    this.broken ??= { kind, message }
  }

  /** Asked by the interpreter while code runs, and between jobs. */
  isBroken(): boolean {
    const { wallMs, interpreterMs } = this.limits
    if (this.interpreterMs() > this.allowedMs && this.isOutOfTime())
      this.break('interpreter_time', `more than ${interpreterMs} ms inside the interpreter`)
    else if (this.leftMs() <= 0) this.break('wall_time', `more than ${wallMs} ms`)
    return this.broken !== undefined
  }

  /**
   * On a busy machine a thread waits for a processor inside the interpreter: its CPU time decides then, up to half the way between both limits. It is
   * read only when the time by the clock is over.
   */
  private isOutOfTime(): boolean {
    const { wallMs, interpreterMs } = this.limits
    const maxMs = Math.max(interpreterMs, (interpreterMs + wallMs) / 2)
    const cpuMs = threadCpuMs()
    if (this.startedCpuMs === undefined || cpuMs === undefined || this.interpreterMs() >= maxMs) return true
    const leftMs = interpreterMs - (cpuMs - this.startedCpuMs)
    if (leftMs <= 0) return true
    this.allowedMs = Math.min(maxMs, this.interpreterMs() + Math.max(leftMs, 1))
    return false
  }
}

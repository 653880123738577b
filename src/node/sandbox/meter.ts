import type { RunLimits, Violation, ViolationKind } from '../../core/modules/index.ts'

/** The time of one run, and the first limit that it broke. */
export class Meter {
  broken: Violation | undefined
  private readonly limits: RunLimits
  private readonly startedAt = performance.now()
  private spentMs = 0
  private enteredAt: number | undefined

  constructor(limits: RunLimits) {
    this.limits = limits
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
    if (this.interpreterMs() > interpreterMs) this.break('interpreter_time', `more than ${interpreterMs} ms inside the interpreter`)
    else if (this.leftMs() <= 0) this.break('wall_time', `more than ${wallMs} ms`)
    return this.broken !== undefined
  }
}

import { problem } from '../../core/kit/index.ts'

type Waiting = Readonly<{ begin: () => void }>
type Lane = { running: number; readonly waiting: Waiting[] }

type Options = Readonly<{
  /** Runs at once in this process: the threads of the sandbox. */
  slots: number
  perTenant: number
  maxWaiting: number
}>

/** Runs of all tenants, one tenant after the other: a tenant with many runs delays no other by more than one run. */
export class RunQueue {
  private readonly options: Options
  private readonly lanes = new Map<string, Lane>()
  /** Tenants with waiting runs, in the order in which they are served. */
  private readonly order: string[] = []
  private running = 0

  constructor(options: Options) {
    this.options = options
  }

  /** Throws RATE_LIMITED while too many runs of the tenant wait. */
  async run<Result>(tenantId: string, work: () => Promise<Result>): Promise<Result> {
    await this.enter(tenantId)
    try {
      return await work()
    } finally {
      this.leave(tenantId)
    }
  }

  private enter(tenantId: string): Promise<void> {
    const lane = this.lanes.get(tenantId) ?? { running: 0, waiting: [] }
    if (lane.waiting.length >= this.options.maxWaiting)
      throw problem('RATE_LIMITED', 'Too many runs of modules of this tenant are waiting.', { retryAfterSeconds: 2 })
    this.lanes.set(tenantId, lane)
    return new Promise((begin) => {
      lane.waiting.push({ begin })
      if (!this.order.includes(tenantId)) this.order.push(tenantId)
      this.startNext()
    })
  }

  private leave(tenantId: string): void {
    const lane = this.lanes.get(tenantId) as Lane
    lane.running--
    this.running--
    if (lane.running === 0 && lane.waiting.length === 0) this.lanes.delete(tenantId)
    this.startNext()
  }

  private startNext(): void {
    while (this.running < this.options.slots) {
      const at = this.order.findIndex((tenantId) => (this.lanes.get(tenantId)?.running ?? 0) < this.options.perTenant)
      if (at < 0) return
      const [tenantId = ''] = this.order.splice(at, 1)
      const lane = this.lanes.get(tenantId) as Lane
      const next = lane.waiting.shift()
      if (lane.waiting.length > 0) this.order.push(tenantId)
      if (!next) continue
      lane.running++
      this.running++
      next.begin()
    }
  }
}

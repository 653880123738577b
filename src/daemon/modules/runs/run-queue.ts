import { problem } from '../../../core/kit/index.ts'

/** `isSlow`: a limit of time ended the run. */
type Work<Result> = Readonly<{ tenantId: string; moduleId: string; run: () => Promise<Result>; isSlow: (result: Result) => boolean }>

type Waiting = Readonly<{ moduleId: string; begin: () => void }>
type Lane = { running: number; readonly waiting: Waiting[] }

type Options = Readonly<{
  /** Runs at once in this process: the threads of the sandbox. */
  slots: number
  perTenant: number
  maxWaiting: number
}>

/**
 * Runs of all tenants, one tenant after the other: a tenant with many runs delays no other by more than one run. Modules whose last run was slow get
 * every second place while others wait: one that hangs in a hundred tenants delays the others by one run too.
 */
export class RunQueue {
  private readonly options: Options
  private readonly lanes = new Map<string, Lane>()
  /** Tenants with waiting runs, in the order in which they are served. */
  private readonly order: string[] = []
  private readonly slowModules = new Set<string>()
  private wasSlow = false
  private running = 0

  constructor(options: Options) {
    this.options = options
  }

  /** Throws RATE_LIMITED while too many runs of the tenant wait. */
  async run<Result>({ tenantId, moduleId, run, isSlow }: Work<Result>): Promise<Result> {
    await this.enter(tenantId, moduleId)
    try {
      const result = await run()
      if (isSlow(result)) this.slowModules.add(moduleId)
      else this.slowModules.delete(moduleId)
      return result
    } finally {
      this.leave(tenantId)
    }
  }

  private enter(tenantId: string, moduleId: string): Promise<void> {
    const lane = this.lanes.get(tenantId) ?? { running: 0, waiting: [] }
    if (lane.waiting.length >= this.options.maxWaiting)
      throw problem('RATE_LIMITED', 'Too many runs of modules of this tenant are waiting.', { retryAfterSeconds: 2 })
    this.lanes.set(tenantId, lane)
    return new Promise((begin) => {
      lane.waiting.push({ moduleId, begin })
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
      const any = () => true
      const next = (this.wasSlow && this.find(({ moduleId }) => !this.slowModules.has(moduleId))) || this.find(any)
      if (!next) return
      const { tenantId, lane, at } = next
      const [one] = lane.waiting.splice(at, 1) as [Waiting]
      this.order.splice(this.order.indexOf(tenantId), 1)
      if (lane.waiting.length > 0) this.order.push(tenantId)
      this.wasSlow = this.slowModules.has(one.moduleId)
      lane.running++
      this.running++
      one.begin()
    }
  }

  /** The first waiting run that fits, of the first tenant that may begin one. */
  private find(fits: (waiting: Waiting) => boolean) {
    for (const tenantId of this.order) {
      const lane = this.lanes.get(tenantId) as Lane
      const at = lane.running < this.options.perTenant ? lane.waiting.findIndex(fits) : -1
      if (at >= 0) return { tenantId, lane, at }
    }
    return undefined
  }
}

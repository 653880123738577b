import type { Express, Request, RequestHandler, Response } from 'express'
import type { Registry } from 'prom-client'
import type { Clock } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Config } from '../config/index.ts'
import type { Db } from '../db/index.ts'
import { clientPaths } from '../http/index.ts'
import { addressGate, refusalPace } from './address-gate.ts'
import { anonymousShare } from './anonymous-share.ts'
import { type BudgetGate, budgetGate } from './budget-gate.ts'
import type { BudgetStore } from './budget-store.ts'
import { delayQueue } from './delay-queue.ts'
import { limitsMetrics } from './limits-metrics.ts'
import { memoryStore } from './memory-store.ts'
import { redisStore } from './redis-store.ts'
import { tenantBudgets } from './tenant-budgets.ts'
import { userShares } from './user-shares.ts'

type Deps = Readonly<{ config: Config; db: Db; clock: Clock; log: Logger; registry: Registry; draining: AbortSignal }>

/** The rate limits of a running daemon. */
export type Limits = BudgetGate &
  Readonly<{
    store: BudgetStore
    /** Adds the per-address limits to the routes of users. */
    addresses(app: Express): void
    anonymous: RequestHandler
    share: RequestHandler
    paceRefusal(request: Request, response: Response): Promise<boolean>
    close(): Promise<void>
  }>

const logins = ['/api/auth/v1/login', '/api/auth/v1/school/login']

/** Connects to the configured store and creates the limits. An unavailable Redis lets all requests through. */
export async function openLimits({ config, db, clock, log, registry, draining }: Deps): Promise<Limits> {
  const { limits, redis } = config
  const remote = redis === undefined ? undefined : await redisStore({ clock, log, url: redis, deadlineMs: limits.storeTimeoutMs })
  const store: BudgetStore = remote ?? memoryStore(clock)
  const size = { inAll: limits.held, forOne: limits.heldPerTenant }
  // Separate queues: anonymous login attempts must not use up the queue of delayed tenants.
  const [delays, addressDelays] = [delayQueue({ clock, draining }, size), delayQueue({ clock, draining }, size)]
  const metrics = limitsMetrics({ registry, held: () => delays.held() + addressDelays.held(), isUp: () => remote?.isUp() ?? true })
  const gates = { clock, delays: addressDelays, metrics }
  const perAddress = { perSecond: limits.perAddress, atOnce: 2 * limits.perAddress, buffered: 0 }
  const share = anonymousShare({ clock, draining, metrics })
  const paceAddress = refusalPace(gates, limits.perAddress / 3)
  const all = addressGate(gates, perAddress)
  const loginGate = addressGate(gates, {
    perSecond: limits.loginsPerAddress,
    atOnce: limits.loginsPerAddress,
    buffered: limits.loginBuffer,
  })
  // The files of the web console and of the pages of schools and vendors: one page loads dozens.
  const assets = addressGate(gates, { ...perAddress, atOnce: 10 * limits.perAddress })
  return {
    ...budgetGate({ store, budgetOf: tenantBudgets({ db, clock, budgets: limits }), delays, shares: userShares(clock), metrics }),
    store,
    addresses: (app) => {
      // Paths of operators and agents have no address limit.
      app.use([...clientPaths], all)
      app.use(['/console', '/school', '/vendor'], assets, share.handle)
      app.post(logins, loginGate)
    },
    anonymous: addressGate(gates, perAddress),
    share: share.handle,
    paceRefusal: async (request, response) =>
      !response.closed && (await paceAddress(request, response)) && (await share.paceRefusal(request, response)),
    close: store.close,
  }
}

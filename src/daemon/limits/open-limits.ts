import type { Express } from 'express'
import type { Registry } from 'prom-client'
import type { Clock } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Config } from '../config/index.ts'
import type { Db } from '../db/index.ts'
import { clientPaths } from '../http/index.ts'
import { addressGate } from './address-gate.ts'
import { type BudgetGate, budgetGate } from './budget-gate.ts'
import type { BudgetStore } from './budget-store.ts'
import { limitsMetrics } from './limits-metrics.ts'
import { memoryStore } from './memory-store.ts'
import { redisStore } from './redis-store.ts'
import { tenantBudgets } from './tenant-budgets.ts'
import { waitingRoom } from './waiting-room.ts'

type Deps = Readonly<{ config: Config; db: Db; clock: Clock; log: Logger; registry: Registry; draining: AbortSignal }>

/** What the HTTP side asks before it does anything, and what the rest of the room stands on. */
export type Limits = BudgetGate &
  Readonly<{
    store: BudgetStore
    /** Sets the gates per address before everything that is served there. */
    addresses(app: Express): void
    close(): Promise<void>
  }>

const login = '/api/auth/v1/login'

/** Connects to the store of the settings and makes the gates. A Redis that does not answer lets requests through until it does. */
export async function openLimits({ config, db, clock, log, registry, draining }: Deps): Promise<Limits> {
  const { limits, redis } = config
  const remote = redis === undefined ? undefined : await redisStore({ clock, log, url: redis, deadlineMs: limits.storeTimeoutMs })
  const store: BudgetStore = remote ?? memoryStore(clock)
  const size = { inAll: limits.held, forOne: limits.heldPerTenant }
  // A room each: strangers who crowd before the login must take no place from tenants that are slowed down.
  const [room, lobby] = [waitingRoom({ clock, draining }, size), waitingRoom({ clock, draining }, size)]
  const metrics = limitsMetrics({ registry, held: () => room.held() + lobby.held(), isUp: () => remote?.isUp() ?? true })
  const gates = { clock, room: lobby, metrics }
  const all = addressGate(gates, { perSecond: limits.perAddress, atOnce: 2 * limits.perAddress, buffered: 0 })
  const logins = addressGate(gates, { perSecond: limits.loginsPerAddress, atOnce: limits.loginsPerAddress, buffered: limits.loginBuffer })
  return {
    ...budgetGate({ store, budgetOf: tenantBudgets({ db, clock, budgets: limits }), room, metrics }),
    store,
    addresses: (app) => {
      // What operators and agents use is not held up (SECURITY).
      app.use([...clientPaths], all)
      app.post(login, logins)
    },
    close: store.close,
  }
}

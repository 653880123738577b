import { bootstrapContract } from '../../src/core/bootstrap/index.ts'
import { makeClient } from '../../src/core/contract/index.ts'
import { isoNow, problem } from '../../src/core/kit/index.ts'
import { maintenanceContract } from '../../src/core/maintenance/index.ts'
import { capabilitiesOf } from '../../src/core/users/index.ts'
import { bootstrapRoutes } from '../../src/daemon/bootstrap/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import type { Mailer } from '../../src/daemon/mail/index.ts'
import {
  type MaintenanceDeps,
  maintenanceFeature,
  maintenanceLoop,
  maintenanceRoutes,
  nextMaintenance,
} from '../../src/daemon/maintenance/index.ts'
import { findUserById } from '../../src/daemon/users/index.ts'
import { drainJobs } from '../../src/daemon/work/index.ts'
import { type BoxSpec, rolloutWorld } from './rollout-world.ts'
import { servedApp } from './served-app.ts'
import { roleBook } from './sessions-world.ts'

type Mail = Parameters<Mailer['send']>[0]
type Person = Readonly<{ roles?: readonly string[]; locale?: string; email?: string | null; status?: 'active' | 'disabled' }>

/** Boxes of a rollout with the people of their schools, who have the endpoints of maintenance and bootstrap, and a mailer that keeps its mails. */
export async function aMaintenanceWorld(db: Db, boxes: readonly BoxSpec[], change: Readonly<{ leadMs?: number; hasMail?: boolean }> = {}) {
  const { leadMs = 24 * 3_600_000, hasMail = true } = change
  const world = await rolloutWorld(db, boxes)
  const { deps: rollouts, clock } = world
  const mails: Mail[] = []
  const mailer: Mailer = { send: async (mail) => `kept as ${mails.push(mail)}` }
  const { log, random, windows } = rollouts
  const deps: MaintenanceDeps = {
    ...{ db, clock, random, log, windows, roles: roleBook, baseUrl: 'https://platform.example', leadMs },
    mailer: hasMail ? mailer : undefined,
  }
  const authenticate = async (authorization: string | undefined) => {
    const user = await findUserById(db, authorization?.slice('Bearer '.length) ?? '')
    if (!user) throw problem('UNAUTHENTICATED', 'nobody of that name')
    const tenantSlug = user.tenantId.slice('ten_'.length)
    const { id: userId, tenantId, roles } = user
    const capabilities = capabilitiesOf(roleBook, { tenantSlug, roles })
    return { kind: 'user', userId, tenantId, tenantSlug, sessionId: 'ses_1', matrixUserId: `@${userId}:x`, roles, capabilities } as never
  }
  const bootstrap = bootstrapRoutes({ db, roles: roleBook, spacesOf: async () => [], modulesOf: async () => [], nextMaintenance })
  const { url } = await servedApp([...maintenanceRoutes(deps), ...bootstrap], { authenticate: { platform: authenticate }, clock })
  const as = (userId: string) =>
    makeClient(
      { ...maintenanceContract, ...bootstrapContract },
      { baseUrl: url, headers: () => ({ connection: 'close', authorization: `Bearer ${userId}` }) },
    )

  const person = async (slug: string, name: string, { roles = ['head'], locale, email, status = 'active' }: Person = {}) => {
    const at = isoNow(clock)
    await db
      .insertInto('users')
      .values({
        ...{ id: name, tenant_id: `ten_${slug}`, localpart: name, display_name: name, locale: locale ?? null, avatar_url: null },
        ...{ roles: JSON.stringify(roles), status, created_at: at, updated_at: at, password_unknown_since: null, search_name: name },
        email: email === undefined ? `${name}@${slug}.example` : email,
      })
      .execute()
    return as(name)
  }

  const loop = maintenanceLoop(deps)
  /** One round of the loop, and the mails that it left. */
  const round = async () => {
    await loop.run({ signal: world.signal, wake: () => undefined, lease: undefined as never })
    await drainJobs({ db, clock, log, handlers: maintenanceFeature.jobs?.(deps) ?? {} })
  }
  const events = async (slug: string) => {
    const rows = await db
      .selectFrom('events')
      .select(['event_type', 'payload', 'audience'])
      .where('stream', '=', `tenant:ten_${slug}`)
      .orderBy('seq')
      .execute()
    return rows.map(({ event_type, payload, audience }) => [event_type, Object.keys(JSON.parse(payload)), audience])
  }
  /** Time passes; agents are heard of and have reported lately. */
  const until = async (iso: string) => {
    await clock.advance(Date.parse(iso) - clock.now().getTime())
    await world.heartbeat()
    await db
      .updateTable('boxes')
      .set({ reported_at: isoNow(clock) })
      .execute()
  }
  return { ...world, maintenance: deps, mails, as, person, round, events, until }
}

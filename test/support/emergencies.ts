import { Writable } from 'node:stream'
import { sql } from 'kysely'
import { pino } from 'pino'
import { makeClient } from '../../src/core/contract/index.ts'
import { type AdminActor, sha256Hex, type TokenActor } from '../../src/core/kit/index.ts'
import { emergencyContract, rolloutsContract } from '../../src/core/rollouts/index.ts'
import { type Db, dialectOf } from '../../src/daemon/db/index.ts'
import { makeMetrics } from '../../src/daemon/http/index.ts'
import { type RolloutsDeps, rolloutsRoutes } from '../../src/daemon/rollouts/index.ts'
import { anOperator } from './boxes-world.ts'
import { type BoxSpec, type RolloutWorld, rolloutWorld } from './rollout-world.ts'
import { servedApp } from './served-app.ts'

export const approvalToken = 'Zq7x-approval-token-of-this-test-PwK2'
/** Valid values of each field in the specification. */
export const anOrder = {
  reason: 'CVE-2026-12345: rooms of others can be read',
  toChatServer: '1.163.4',
  triggeredBy: 'anna, on call',
  approvalToken,
}

export const anAdmin: AdminActor = { ...anOperator, role: 'admin' }
export const aTokenActor: TokenActor = { kind: 'token', tokenId: 'tok_1', accountId: 'acc_1', name: 'ci', role: 'operator' }

/** A fleet behind the manifest, and the API of one actor, with all log lines. */
export async function emergencyWorld(db: Db, boxes: readonly BoxSpec[], change: Partial<RolloutsDeps> = {}) {
  const world = await rolloutWorld(db, boxes)
  const deps = { ...world.deps, approvalTokenSha256: sha256Hex(approvalToken), ...change }
  const logged: string[] = []
  const sink = new Writable({
    write: (chunk, _, done) => {
      logged.push(String(chunk))
      done()
    },
  })
  const log = pino({ level: 'trace' }, sink)
  const metrics = makeMetrics()
  return {
    ...world,
    deps,
    logged,
    metrics,
    as: (actor: AdminActor | TokenActor = anAdmin) => serveAs(world, { ...deps, log }, metrics, actor),
  }
}

async function serveAs(world: RolloutWorld, deps: RolloutsDeps, metrics: ReturnType<typeof makeMetrics>, actor: AdminActor | TokenActor) {
  const { url: baseUrl } = await servedApp(rolloutsRoutes(deps), {
    authenticate: { admin: async () => actor },
    clock: world.clock,
    log: deps.log,
    metrics,
  })
  return { ...makeClient({ ...rolloutsContract, ...emergencyContract }, { baseUrl, headers: () => ({ connection: 'close' }) }), baseUrl }
}

/** The whole content of the database as text. */
export async function everythingStored(db: Db): Promise<string> {
  const names =
    dialectOf(db) === 'postgres'
      ? sql<{ name: string }>`select table_name as name from information_schema.tables where table_schema = 'public'`
      : sql<{ name: string }>`select name from sqlite_master where type = 'table'`
  const { rows } = await names.execute(db)
  const tables = await Promise.all(rows.map(({ name }) => sql`select * from ${sql.table(name)}`.execute(db)))
  return JSON.stringify(tables.map((table) => table.rows))
}

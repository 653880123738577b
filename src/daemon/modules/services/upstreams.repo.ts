import { type Clock, isoIn, isoNow, type Random, type Secret } from '../../../core/kit/index.ts'
import { restMs } from '../../../core/module-services/index.ts'
import type { Db, DbOrTx, Tx } from '../../db/index.ts'
import { type Keyring, seal, unseal } from '../../sealed/index.ts'
import type { UpstreamTable } from './module-services.tables.ts'

export type Upstream = Readonly<{
  moduleId: string
  url: string
  host: string
  sealedSecret: string
  failures: number
  restUntil: string | null
  updatedAt: string
}>

const toUpstream = (row: UpstreamTable): Upstream => ({
  ...{ moduleId: row.module_id, url: row.url, host: row.host ?? new URL(row.url).host, sealedSecret: row.sealed_secret },
  ...{ failures: row.failures, restUntil: row.rest_until, updatedAt: row.updated_at },
})

export async function findUpstream(db: DbOrTx, moduleId: string): Promise<Upstream | undefined> {
  const row = await db.selectFrom('module_upstreams').selectAll().where('module_id', '=', moduleId).executeTakeFirst()
  return row && toUpstream(row)
}

const secretPlace = (moduleId: string) => ({ table: 'module_upstreams', row: moduleId, column: 'sealed_secret' })

export const openSecret = (keyring: Keyring, { moduleId, sealedSecret }: Pick<Upstream, 'moduleId' | 'sealedSecret'>): Secret =>
  unseal(keyring, secretPlace(moduleId), sealedSecret)

/** Standard Webhooks: `whsec_` and 32 bytes in base64. */
export const newSecret = (random: Random): string => `whsec_${Buffer.from(random.bytes(32)).toString('base64')}`

export const sealSecret = ({ keyring, random }: Readonly<{ keyring: Keyring; random: Random }>, moduleId: string, secret: string): string =>
  seal({ keyring, random }, secretPlace(moduleId), secret)

type NewUpstream = Readonly<{ moduleId: string; url: string; sealedSecret: string }>

export async function storeUpstream(tx: Tx, clock: Clock, { moduleId, url, sealedSecret }: NewUpstream): Promise<void> {
  const values = { url, host: new URL(url).host, sealed_secret: sealedSecret, failures: 0, rest_until: null, updated_at: isoNow(clock) }
  await tx
    .insertInto('module_upstreams')
    .values({ module_id: moduleId, ...values })
    .onConflict((c) => c.column('module_id').doUpdateSet(values))
    .execute()
}

/** The service answered: its installations no longer wait. */
export async function recordAnswer(db: DbOrTx, moduleId: string): Promise<void> {
  await db.updateTable('module_upstreams').set({ failures: 0, rest_until: null }).where('module_id', '=', moduleId).execute()
}

/**
 * The service did not answer: nothing is sent to it until the returned time. Calls that fail together count once, because all but the first find
 * a delay in force.
 */
export async function recordNoAnswer({ db, clock }: Readonly<{ db: Db; clock: Clock }>, { moduleId, failures }: Upstream): Promise<string> {
  const restUntil = isoIn(clock, restMs(failures + 1))
  await db
    .updateTable('module_upstreams')
    .set({ failures: failures + 1, rest_until: restUntil })
    .where('module_id', '=', moduleId)
    .where(({ eb, or }) => or([eb('rest_until', 'is', null), eb('rest_until', '<=', isoNow(clock))]))
    .execute()
  return restUntil
}

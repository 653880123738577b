import { sql } from 'kysely'
import { type AuditEntry, type ChainHead, chainStart } from '../../core/audit/index.ts'
import { problem } from '../../core/kit/index.ts'
import { contains, type DbOrTx } from '../db/index.ts'
import type { AuditTable } from './audit.tables.ts'

/** Every chain that left a trace, also one whose head was taken away. */
export async function chainNames(db: DbOrTx): Promise<string[]> {
  const heads = await db.selectFrom('audit_heads').select('chain').execute()
  return [...new Set([...heads, ...(await chainsWithEntries(db))].map(({ chain }) => chain))].sort()
}

/** From one chain straight to the next along the index: `distinct` would read every entry there ever was. */
async function chainsWithEntries(db: DbOrTx): Promise<readonly { chain: string }[]> {
  const { rows } = await sql<{ chain: string }>`
    with recursive chains (chain) as (
      select min(chain) from audit
      union all
      select (select min(audit.chain) from audit where audit.chain > chains.chain) from chains where chains.chain is not null
    )
    select chain from chains where chain is not null`.execute(db)
  return rows
}

export async function headOf(db: DbOrTx, chain: string): Promise<ChainHead> {
  const row = await db.selectFrom('audit_heads').select(['seq', 'hash']).where('chain', '=', chain).executeTakeFirst()
  return row ? { seq: Number(row.seq), hash: row.hash } : chainStart
}

/** A page of a chain in the order it was written, after `after`. */
export async function entriesAfter(
  db: DbOrTx,
  chain: string,
  { after, limit }: Readonly<{ after: number; limit: number }>,
): Promise<AuditEntry[]> {
  const rows = await db
    .selectFrom('audit')
    .selectAll()
    .where('chain', '=', chain)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit)
    .execute()
  return rows.map(asEntry)
}

export const asEntry = (row: AuditTable): AuditEntry => ({
  chain: row.chain,
  seq: Number(row.seq),
  at: row.at,
  actor: row.actor,
  action: row.action,
  subject: row.subject,
  data: readable(row.data),
  previousHash: row.previous_hash,
  hash: row.hash,
})

export const noChain = (chain: string) =>
  problem('NOT_FOUND', `chain ${chain} does not exist; the chain of a rollout has its id. fix: list all with \`tenantry audit verify\``)

/** Data that was made unreadable stays text: its hash then does not match, which the verification reports. */
function readable(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return data
  }
}

type OfModules = Readonly<{ subject: string; tenantId: string; moduleId?: string | undefined; limit: number }>

/** Entries about the modules of a tenant, whose slug is their subject, newest first. */
export async function moduleEntriesOf(db: DbOrTx, { subject, tenantId, moduleId, limit }: OfModules): Promise<AuditEntry[]> {
  let query = db
    .selectFrom('audit')
    .selectAll()
    .where('subject', '=', subject)
    .where('action', 'like', 'module.%')
    .where(contains('data', `"tenantId":${JSON.stringify(tenantId)}`))
  if (moduleId !== undefined) query = query.where(contains('data', `"moduleId":${JSON.stringify(moduleId)}`))
  return (await query.orderBy('seq', 'desc').limit(limit).execute()).map(asEntry)
}

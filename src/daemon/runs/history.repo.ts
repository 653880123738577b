import type { RunInput, Variables } from '../../core/boards/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { RunSummary } from '../../core/runs/index.ts'
import { nativeSha256Hex } from '../../node/index.ts'
import { type DbOrTx, insertRows, type Write } from '../db/index.ts'

/** An accepted input, as the history stores it; the first one of a run is its start. */
export type HistoryInput = RunInput | Readonly<{ type: 'start'; by: string | null; variables: Variables }>

/** A request that may be repeated: its key, and a text that is the same for the same request only. */
export type Keyed = Readonly<{ key: string; request: string }>

type Entry = Readonly<{ tenantId: string; runId: string; seq: number; at: string; input: HistoryInput; keyed?: Keyed | undefined }>

export function insertHistory({ tenantId, runId, seq, at, input, keyed }: Entry, answer: RunSummary): Write {
  const row = {
    ...{ run_id: runId, seq, tenant_id: tenantId, at, type: input.type, input: JSON.stringify(input) },
    ...{ by_user: 'by' in input ? input.by : null, element_id: 'elementId' in input ? input.elementId : null },
    ...{ key: keyed?.key ?? null, request: keyed ? nativeSha256Hex(keyed.request) : null, answer: keyed ? JSON.stringify(answer) : null },
  }
  return insertRows('run_history', [row])
}

type OfRun = Readonly<{ tenantId: string; runId: string }>

/** The answer to an earlier request with this key, or undefined. Throws KEY_REUSED if that was another request. */
export async function earlierAnswer(
  db: DbOrTx,
  { tenantId, id }: Readonly<{ tenantId: string; id: string }>,
  { key, request }: Keyed,
): Promise<RunSummary | undefined> {
  const row = await db
    .selectFrom('run_history')
    .select(['request', 'answer'])
    .where('tenant_id', '=', tenantId)
    .where('run_id', '=', id)
    .where('key', '=', key)
    .executeTakeFirst()
  if (row && row.request !== nativeSha256Hex(request))
    throw problem('KEY_REUSED', 'This idempotency key was sent with another request. fix: use a new key for each request')
  return row?.answer ? JSON.parse(row.answer) : undefined
}

/** Steps of a run after the number `after`, oldest first. */
export async function historyAfter(
  db: DbOrTx,
  { tenantId, runId }: OfRun,
  { after, limit }: Readonly<{ after: number; limit: number }>,
): Promise<readonly Readonly<{ seq: number; at: string; by: string | null; elementId: string | null; input: HistoryInput }>[]> {
  const rows = await db
    .selectFrom('run_history')
    .select(['seq', 'at', 'by_user', 'element_id', 'input'])
    .where('tenant_id', '=', tenantId)
    .where('run_id', '=', runId)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    seq: Number(row.seq),
    at: row.at,
    by: row.by_user,
    elementId: row.element_id,
    input: JSON.parse(row.input) as HistoryInput,
  }))
}

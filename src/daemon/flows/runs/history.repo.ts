import type { RunInput, Variables } from '../../../core/boards/index.ts'
import { problem } from '../../../core/kit/index.ts'
import type { RunSummary } from '../../../core/runs/index.ts'
import { nativeSha256Hex } from '../../../node/index.ts'
import { type DbOrTx, insertRows, type Write } from '../../db/index.ts'

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

export type HistoryStep = Readonly<{
  seq: number
  at: string
  by: string | null
  elementId: string | null
  type: HistoryInput['type']
  /** With which a retry continued. */
  boardVersion: number | null
}>

/** `retried`: the input of a retry. */
type StepRow = Readonly<{
  seq: number
  at: string
  by_user: string | null
  element_id: string | null
  type: string
  retried: string | null
}>

const toStep = ({ seq, at, by_user: by, element_id: elementId, type, retried }: StepRow): HistoryStep => ({
  ...{ seq: Number(seq), at, by, elementId },
  type: type as HistoryInput['type'],
  boardVersion: (retried === null ? undefined : (JSON.parse(retried) as { boardVersion?: number }).boardVersion) ?? null,
})

/** Steps of a run after the number `after`, oldest first, without their values. */
export async function historyAfter(
  db: DbOrTx,
  { tenantId, runId }: OfRun,
  { after, limit }: Readonly<{ after: number; limit: number }>,
): Promise<readonly HistoryStep[]> {
  const query = db
    .selectFrom('run_history')
    .select(['seq', 'at', 'by_user', 'element_id', 'type'])
    .select((eb) => eb.case().when('type', '=', 'retry').then(eb.ref('input')).end().as('retried'))
    .where('tenant_id', '=', tenantId)
  const rows = await query.where('run_id', '=', runId).where('seq', '>', after).orderBy('seq').limit(limit).execute()
  return rows.map(toStep)
}

export type SubmitInput = Extract<HistoryInput, { type: 'submit' }>

/** Inputs read at once: the values of one form take up to 256 KB. */
const maxInputs = 50

/** The first submitted forms of a run after the number `after`, oldest first. */
export async function submissionsAfter(
  db: DbOrTx,
  { tenantId, runId }: OfRun,
  after: number,
): Promise<readonly Readonly<{ seq: number; input: SubmitInput }>[]> {
  const query = db.selectFrom('run_history').select(['seq', 'input']).where('tenant_id', '=', tenantId).where('run_id', '=', runId)
  const rows = await query.where('type', '=', 'submit').where('seq', '>', after).orderBy('seq').limit(maxInputs).execute()
  return rows.map(({ seq, input }) => ({ seq: Number(seq), input: JSON.parse(input) as SubmitInput }))
}

export type ValuedStep = HistoryStep & Readonly<{ input: HistoryInput }>

/** The first steps of a run with their values; `maxCharacters` of JSON together. */
export async function firstSteps(
  db: DbOrTx,
  { tenantId, runId }: OfRun,
  { maxSteps, maxCharacters }: Readonly<{ maxSteps: number; maxCharacters: number }>,
): Promise<Readonly<{ steps: readonly ValuedStep[]; hasMore: boolean }>> {
  const columns = ['seq', 'at', 'by_user', 'element_id', 'type', 'input'] as const
  const ofRun = db.selectFrom('run_history').select(columns).where('tenant_id', '=', tenantId).where('run_id', '=', runId)
  const steps: ValuedStep[] = []
  let characters = 0
  for (;;) {
    const next = ofRun.where('seq', '>', steps.at(-1)?.seq ?? 0)
    const rows = await next.orderBy('seq').limit(maxInputs).execute()
    for (const row of rows) {
      characters += row.input.length
      if (steps.length === maxSteps || characters > maxCharacters) return { steps, hasMore: true }
      steps.push({ ...toStep({ ...row, retried: row.type === 'retry' ? row.input : null }), input: JSON.parse(row.input) })
    }
    if (rows.length < maxInputs) return { steps, hasMore: false }
  }
}

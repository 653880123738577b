import type { Selectable } from 'kysely'
import type { RolloutAttempt } from '../../core/rollouts/index.ts'
import { type DbOrTx, type PlaceOf, placesFor, prepared, preparedFor, preparedRows, type Tx } from '../db/index.ts'
import type { RolloutAttemptTable } from './rollouts.tables.ts'

type Row = Selectable<RolloutAttemptTable>
type Which = Readonly<{ actionId: string; attempt: number }>

const read = (text: string | null) => (text === null ? null : JSON.parse(text))
const ms = (value: number | null) => (value === null ? null : Number(value))

export const attemptOf = (row: Row): RolloutAttempt => ({
  attempt: row.attempt,
  kind: row.kind,
  status: row.status,
  startedAt: row.started_at,
  finishedAt: row.finished_at,
  snapshotId: row.snapshot_id,
  snapshotSha256: row.snapshot_sha256,
  imagesBefore: JSON.parse(row.images_before),
  digestsBefore: JSON.parse(row.digests_before),
  digestsAfter: JSON.parse(row.digests_after),
  probes: JSON.parse(row.probes),
  composeBackup: row.compose_backup,
  restored: read(row.restored),
  steps: JSON.parse(row.steps),
  durationMs: ms(row.duration_ms),
  fencedMs: ms(row.fenced_ms),
  report: read(row.report),
  error: read(row.error),
})

/** What is known of an attempt so far; the rest of its row stays as it is. */
export type Evidence = Partial<
  Omit<RolloutAttempt, 'attempt' | 'kind' | 'startedAt'> & {
    /** What was under way in the chat server before its update is what the former one knows. */
    backgroundBefore: readonly string[] | null
  }
>

const text = (value: unknown): string | null => (value === null || value === undefined ? null : JSON.stringify(value))
const rounded = (value: number | null | undefined) => (value === null || value === undefined ? null : Math.round(value))

/** How each field is written. */
const columnOf: { readonly [Field in keyof Evidence]-?: readonly [keyof Row, (value: Evidence[Field]) => unknown] } = {
  status: ['status', asIs],
  finishedAt: ['finished_at', asIs],
  snapshotId: ['snapshot_id', asIs],
  snapshotSha256: ['snapshot_sha256', asIs],
  imagesBefore: ['images_before', text],
  backgroundBefore: ['background_before', text],
  steps: ['steps', text],
  digestsBefore: ['digests_before', text],
  digestsAfter: ['digests_after', text],
  probes: ['probes', text],
  composeBackup: ['compose_backup', asIs],
  restored: ['restored', text],
  durationMs: ['duration_ms', rounded],
  fencedMs: ['fenced_ms', rounded],
  report: ['report', text],
  error: ['error', text],
}

function asIs(value: unknown): unknown {
  return value
}

const fields = Object.keys(columnOf) as readonly (keyof Evidence)[]

function columnsOf(evidence: Evidence): Partial<Row> {
  const columns: Record<string, unknown> = {}
  for (const field of fields) {
    const [name, written] = columnOf[field]
    if (evidence[field] !== undefined) columns[name] = written(evidence[field] as never)
  }
  return columns
}

export type NewAttempt = Which & Readonly<{ kind?: RolloutAttempt['kind']; rolloutId: string; at: string }>

export const insertAttempt = (tx: Tx, attempt: NewAttempt): Promise<void> => insertAttempts(tx, [attempt])

export async function insertAttempts(tx: Tx, attempts: readonly NewAttempt[]): Promise<void> {
  const rows = attempts.map(({ actionId, attempt, kind = 'update', rolloutId, at }) => ({
    ...{ action_id: actionId, attempt, kind, rollout_id: rolloutId, started_at: at },
  }))
  await insert(tx, rows)
}

type Begun = Pick<Row, 'action_id' | 'attempt' | 'kind' | 'rollout_id' | 'started_at'>

const insert = preparedRows<Begun>(['action_id', 'attempt', 'kind', 'rollout_id', 'started_at'], (db, rows) =>
  db.insertInto('rollout_attempts').values(rows.map((begun) => ({ ...begun, ...unknownYet }))),
)

const unknownYet = {
  status: 'preflight',
  finished_at: null,
  snapshot_id: null,
  snapshot_sha256: null,
  images_before: '{}',
  background_before: null,
  steps: '[]',
  digests_before: '{}',
  digests_after: '{}',
  probes: '[]',
  compose_backup: null,
  restored: null,
  duration_ms: null,
  fenced_ms: null,
  report: null,
  error: null,
} as const

/** Of an attempt that exists; answers all of it as it will be read back: what is rounded or left out in the row is so there. */
export async function keepEvidence(tx: Tx, { actionId, attempt }: Which, evidence: Evidence): Promise<RolloutAttempt> {
  const columns = columnsOf(evidence)
  const { rows } = await updateAndRead(Object.keys(columns).join())(tx, { ...columns, of: actionId, nth: attempt })
  return attemptOf(rows[0] as Row)
}

/** The same for who need not know the rest of it. */
export async function recordEvidence(tx: Tx, { actionId, attempt }: Which, evidence: Evidence): Promise<void> {
  const columns = columnsOf(evidence)
  await update(Object.keys(columns).join())(tx, { ...columns, of: actionId, nth: attempt })
}

type Known = Partial<Row> & { of: string; nth: number }

/** By the names of the columns that become known: they do so together. */
const updated = (db: DbOrTx, place: PlaceOf<Known>, columns: string) =>
  db
    .updateTable('rollout_attempts')
    .set(placesFor(place, columns.split(',') as (keyof Row)[]))
    .where('action_id', '=', place('of'))
    .where('attempt', '=', place('nth'))

const update = preparedFor((columns: string) => prepared<Known, unknown>((db, place) => updated(db, place, columns)))
const updateAndRead = preparedFor((columns: string) => prepared<Known, Row>((db, place) => updated(db, place, columns).returningAll()))

/** By service, what ran before the first attempt that looked at what it would replace; null where none came as far. */
export async function ranBefore(db: DbOrTx, actionId: string): Promise<Record<string, { image: string; digest: string | null }> | null> {
  const row = await db
    .selectFrom('rollout_attempts')
    .select(['images_before', 'digests_before'])
    .where('action_id', '=', actionId)
    .where('digests_before', '<>', '{}')
    .orderBy('attempt')
    .executeTakeFirst()
  if (!row) return null
  const digests: Record<string, string | null> = JSON.parse(row.digests_before)
  const images = Object.entries<string>(JSON.parse(row.images_before))
  return Object.fromEntries(images.map(([service, image]) => [service, { image, digest: digests[service] ?? null }]))
}

/** All attempts of an action, first to last. */
export async function attemptsOf(db: DbOrTx, actionId: string): Promise<RolloutAttempt[]> {
  const rows = await db.selectFrom('rollout_attempts').selectAll().where('action_id', '=', actionId).orderBy('attempt').execute()
  return rows.map(attemptOf)
}

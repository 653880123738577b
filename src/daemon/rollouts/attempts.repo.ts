import type { Selectable } from 'kysely'
import type { InstalledVersions } from '../../core/boxes/index.ts'
import type { RolloutAttempt } from '../../core/rollouts/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import { actionId } from './action-row.ts'
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
  downtime: read(row.downtime),
  hasLogs: row.logs !== null,
  logs: read(row.logs),
  steps: JSON.parse(row.steps),
  durationMs: ms(row.duration_ms),
  fencedMs: ms(row.fenced_ms),
  report: read(row.report),
  error: read(row.error),
})

/** The newest attempt on a box with log lines of its failure. */
export const lastFailedAttempt = (db: DbOrTx, boxId: string): Promise<{ rolloutId: string; attempt: number; at: string } | undefined> =>
  db
    .selectFrom('rollout_actions as action')
    .innerJoin('rollout_attempts as attempt', 'attempt.action_id', 'action.id')
    .select(['attempt.rollout_id as rolloutId', 'attempt.attempt as attempt', 'attempt.started_at as at'])
    .where('action.box_id', '=', boxId)
    .where('attempt.logs', 'is not', null)
    .orderBy('attempt.started_at', 'desc')
    .limit(1)
    .executeTakeFirst()

/** The fields of an attempt that become known; the others stay as they are. */
export type Evidence = Partial<
  Omit<RolloutAttempt, 'attempt' | 'kind' | 'startedAt' | 'hasLogs'> & {
    /** Background updates that ran before the update: the former chat server knows them. */
    backgroundBefore: readonly string[] | null
  }
>

const text = (value: unknown): string | null => (value === null || value === undefined ? null : JSON.stringify(value))
const rounded = (value: number | null | undefined) => (value === null || value === undefined ? null : Math.round(value))

/** Maps each field to its column. */
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
  downtime: ['downtime', text],
  logs: ['logs', text],
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

type NewAttempt = Which & Readonly<{ kind?: RolloutAttempt['kind']; rolloutId: string; at: string }>

export async function insertAttempt(tx: Tx, { actionId, attempt, kind = 'update', rolloutId, at }: NewAttempt): Promise<void> {
  const begun = { action_id: actionId, attempt, kind, rollout_id: rolloutId, started_at: at }
  await tx
    .insertInto('rollout_attempts')
    .values({ ...begun, ...nothingKnown })
    .execute()
}

const nothingKnown = {
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
  downtime: null,
  logs: null,
  duration_ms: null,
  fenced_ms: null,
  report: null,
  error: null,
} as const

/** Adds evidence to an attempt. Answers all of it as it is read back from the row. */
export async function storeEvidence(tx: Tx, which: Which, evidence: Evidence): Promise<RolloutAttempt> {
  return attemptOf(await addEvidence(tx, which, evidence).returningAll().executeTakeFirstOrThrow())
}

/** The same without the answer. */
export async function recordEvidence(tx: Tx, which: Which, evidence: Evidence): Promise<void> {
  await addEvidence(tx, which, evidence).execute()
}

const addEvidence = (tx: Tx, { actionId, attempt }: Which, evidence: Evidence) =>
  tx.updateTable('rollout_attempts').set(columnsOf(evidence)).where('action_id', '=', actionId).where('attempt', '=', attempt)

/** By service, what ran before the first attempt that read it; null where no attempt came that far. */
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

/**
 * The versions that a box ran before an update, by the id of the update's command: the snapshot of that update holds them. Null for any other
 * command, and after a later attempt has read the box: its action keeps only the last versions read.
 */
export async function versionsBeforeUpdate(db: DbOrTx, commandId: string): Promise<InstalledVersions | null> {
  const [rolloutId = '', slug = '', attempt = ''] = commandId.split('.')
  if (!/^[0-9]+$/.test(attempt)) return null
  const row = await db
    .selectFrom('rollout_attempts as attempt')
    .innerJoin('rollout_actions as action', 'action.id', 'attempt.action_id')
    .select('action.from_versions')
    .where('attempt.action_id', '=', actionId(rolloutId, slug))
    .where('attempt.attempt', '=', Number(attempt))
    .where('attempt.kind', '=', 'update')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('rollout_attempts as later')
            .select('later.attempt')
            .whereRef('later.action_id', '=', 'attempt.action_id')
            .whereRef('later.attempt', '>', 'attempt.attempt')
            .where('later.kind', '=', 'update'),
        ),
      ),
    )
    .executeTakeFirst()
  return row ? JSON.parse(row.from_versions) : null
}

import type { Selectable } from 'kysely'
import type { RolloutAttempt } from '../../core/rollouts/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
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
  steps: JSON.parse(row.steps),
  durationMs: ms(row.duration_ms),
  fencedMs: ms(row.fenced_ms),
  report: read(row.report),
  error: read(row.error),
})

/** What is known of an attempt so far; the rest of its row stays as it is. */
export type Evidence = Partial<Omit<RolloutAttempt, 'attempt' | 'kind' | 'startedAt'>>

const columnsOf = (evidence: Evidence): Partial<Row> => ({
  ...(evidence.status === undefined ? {} : { status: evidence.status }),
  ...(evidence.finishedAt === undefined ? {} : { finished_at: evidence.finishedAt }),
  ...(evidence.snapshotId === undefined ? {} : { snapshot_id: evidence.snapshotId }),
  ...(evidence.snapshotSha256 === undefined ? {} : { snapshot_sha256: evidence.snapshotSha256 }),
  ...(evidence.imagesBefore === undefined ? {} : { images_before: JSON.stringify(evidence.imagesBefore) }),
  ...(evidence.steps === undefined ? {} : { steps: JSON.stringify(evidence.steps) }),
  ...(evidence.digestsBefore === undefined ? {} : { digests_before: JSON.stringify(evidence.digestsBefore) }),
  ...(evidence.digestsAfter === undefined ? {} : { digests_after: JSON.stringify(evidence.digestsAfter) }),
  ...(evidence.probes === undefined ? {} : { probes: JSON.stringify(evidence.probes) }),
  ...(evidence.composeBackup === undefined ? {} : { compose_backup: evidence.composeBackup }),
  ...(evidence.durationMs === undefined ? {} : { duration_ms: evidence.durationMs === null ? null : Math.round(evidence.durationMs) }),
  ...(evidence.fencedMs === undefined ? {} : { fenced_ms: evidence.fencedMs === null ? null : Math.round(evidence.fencedMs) }),
  ...(evidence.report === undefined ? {} : { report: evidence.report && JSON.stringify(evidence.report) }),
  ...(evidence.error === undefined ? {} : { error: evidence.error && JSON.stringify(evidence.error) }),
})

export async function insertAttempt(
  tx: Tx,
  { actionId, attempt, kind = 'update', rolloutId, at }: Which & { kind?: RolloutAttempt['kind']; rolloutId: string; at: string },
): Promise<void> {
  await tx
    .insertInto('rollout_attempts')
    .values({
      action_id: actionId,
      attempt,
      kind,
      rollout_id: rolloutId,
      status: 'preflight',
      started_at: at,
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
      duration_ms: null,
      fenced_ms: null,
      report: null,
      error: null,
    })
    .execute()
}

export async function keepEvidence(tx: Tx, { actionId, attempt }: Which, evidence: Evidence): Promise<void> {
  await tx
    .updateTable('rollout_attempts')
    .set(columnsOf(evidence))
    .where('action_id', '=', actionId)
    .where('attempt', '=', attempt)
    .execute()
}

/** One that exists. */
export async function attemptOfAction(db: DbOrTx, { actionId, attempt }: Which): Promise<RolloutAttempt> {
  const query = db.selectFrom('rollout_attempts').selectAll().where('action_id', '=', actionId).where('attempt', '=', attempt)
  return attemptOf(await query.executeTakeFirstOrThrow())
}

/** What was under way in the chat server before its update is what the former one knows. */
export async function keepBackground(tx: Tx, { actionId, attempt }: Which, updates: readonly string[] | null | undefined): Promise<void> {
  const background_before = updates ? JSON.stringify(updates) : null
  const own = tx.updateTable('rollout_attempts').set({ background_before }).where('action_id', '=', actionId)
  await own.where('attempt', '=', attempt).execute()
}

/** All attempts of an action, first to last. */
export async function attemptsOf(db: DbOrTx, actionId: string): Promise<RolloutAttempt[]> {
  const rows = await db.selectFrom('rollout_attempts').selectAll().where('action_id', '=', actionId).orderBy('attempt').execute()
  return rows.map(attemptOf)
}

import type { Alert } from '../../core/alerts/index.ts'
import { type InstalledVersions, versionMoves } from '../../core/boxes/index.ts'
import { duration } from '../../core/kit/index.ts'
import type { Snapshot } from '../../core/snapshots/index.ts'

type Tone = 'ok' | 'working' | 'waiting' | 'failed' | 'off'

/** Something that happened to a box, with the page that has more about it. */
export type BoxEvent = Readonly<{ key: string; at: string; tone: Tone; text: string; to?: string; detail?: string }>

type AuditEntry = Readonly<{
  chain: string
  seq: number
  at: string
  actor: string
  action: string
  subject: string | null
  data?: unknown
}>

/** An attempt of a rollout on the box. */
export type BoxUpdate = Readonly<{
  rolloutId: string
  kind: 'update' | 'rollback-images' | 'rollback-snapshot'
  attempt: number
  status: string
  from: InstalledVersions
  to: InstalledVersions
  startedAt: string
  finishedAt: string | null
  durationMs: number | null
  error: Readonly<{ code: string; message: string }> | null
}>

type Sources = Readonly<{
  entries: readonly AuditEntry[]
  updates: readonly BoxUpdate[]
  alerts: readonly Alert[]
  snapshots: readonly Snapshot[]
}>

/** Nothing in the box changes by them. */
const unimportant: readonly string[] = ['box.logs', 'box.check']

/** How many of each source are read. */
export const historyLimit = 50

/**
 * Updates, restores, drills, moves, alerts and changes by operators, newest first. It ends where one source was cut off: older events of the
 * others would hide that some are missing.
 */
export function historyOf({ entries, updates, alerts, snapshots }: Sources): readonly BoxEvent[] {
  const sources = [
    entries.filter(({ action }) => !unimportant.includes(action)).map(ofEntry),
    updates.map(ofUpdate),
    alerts.flatMap(ofAlert),
    snapshots.flatMap(ofDrill),
  ]
  const ends = [cutAt(entries, ({ at }) => at), cutAt(updates, ({ startedAt }) => startedAt), cutAt(alerts, ({ lastAt }) => lastAt)]
  const from = ends.reduce((latest, at) => (at > latest ? at : latest), '')
  return sources
    .flat()
    .filter(({ at }) => at >= from)
    .toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
}

/** Where a list ends that is sorted newest first and was cut off; empty for a whole one. */
const cutAt = <One>(source: readonly One[], at: (one: One) => string): string => {
  const last = source.at(-1)
  return last && source.length >= historyLimit ? at(last) : ''
}

const failed: readonly string[] = ['failed', 'rollback_failed']

function ofUpdate({ rolloutId, kind, attempt, status, from, to, startedAt, finishedAt, durationMs, error }: BoxUpdate): BoxEvent {
  const isUpdate = kind === 'update'
  const what = isUpdate ? `Update: ${versionMoves(from, to)}` : `Rollback ${kind === 'rollback-images' ? 'by images' : 'to the snapshot'}`
  const tone = failed.includes(status)
    ? 'failed'
    : status === 'succeeded'
      ? 'ok'
      : finishedAt === null
        ? 'working'
        : isUpdate
          ? 'failed'
          : 'ok'
  return {
    ...{ key: `update ${rolloutId} ${attempt}`, at: finishedAt ?? startedAt, tone },
    text: `${what}: ${status.replaceAll('_', ' ')}`,
    to: `/rollouts/${rolloutId}`,
    detail: [`rollout ${rolloutId}`, durationMs !== null && `in ${duration(durationMs)}`, error && `${error.message} [${error.code}]`]
      .filter(Boolean)
      .join(', '),
  }
}

/** An alert, and its end where it has one. */
function ofAlert({ id, severity, title, firstAt, closedAt, closedBecause, count }: Alert): readonly BoxEvent[] {
  const to = `/alerts/${id}`
  const raised: BoxEvent = {
    ...{ key: `alert ${id}`, at: firstAt, to, text: `Alert: ${title}` },
    tone: severity === 'info' ? 'off' : severity === 'warning' ? 'waiting' : 'failed',
    ...(count > 1 ? { detail: `${count} times` } : {}),
  }
  if (closedAt === null) return [raised]
  const ended = { key: `alert ${id} closed`, at: closedAt, tone: 'ok' as const, text: `Alert closed: ${title}`, to }
  return [raised, { ...ended, ...(closedBecause ? { detail: closedBecause } : {}) }]
}

function ofDrill({ slug, snapshotId, lastDrill }: Snapshot): readonly BoxEvent[] {
  if (!lastDrill) return []
  const { at, ok, durationMs, error } = lastDrill
  return [
    {
      ...{ key: `drill ${snapshotId}`, at, tone: ok ? 'ok' : 'failed', to: `/snapshots?slug=${slug}&q=${snapshotId.slice(0, 8)}` },
      text: `Drill of snapshot ${snapshotId.slice(0, 8)}: ${ok ? 'restored' : 'failed'}`,
      detail: error ? `${error.message} [${error.code}]` : durationMs === null ? '' : `in ${duration(durationMs)}`,
    },
  ]
}

const texts: Readonly<Record<string, string>> = {
  'box.provision': 'Provisioning requested',
  'box.adopt': 'Adoption requested',
  'box.adopt.again': 'Registered again',
  'box.restart': 'Restart requested',
  'box.import.importing': 'Import of its stack requested',
  'box.import.imported': 'Imported',
  'box.import.failed': 'Import failed; the stack runs',
  'box.import.undoing': 'Return to its stack requested',
  'box.import.undone': 'Returned to its stack',
  'box.import.finishing': 'End of the import requested',
  'box.import.finished': 'Import finished',
  'box.canary': 'Canary mark changed',
  'box.restore': 'Restore requested',
  'box.restored': 'Restored from a snapshot',
  'box.drill': 'Drill requested',
  'box.rehearse_upgrade': 'Upgrade rehearsal requested',
  'box.reconcile': 'Users and spaces re-synced',
  'box.released': 'Hold released',
  'box.fence_overdue': 'Fence overdue',
  'box.maintenance.on': 'Maintenance entered',
  'box.maintenance.off': 'Maintenance ended',
  'box.maintenance.failed': 'Maintenance failed',
  'snapshot.recover': 'Recovery requested',
  'snapshot.take': 'Snapshot requested',
}

/** The words of an audited action: `box.move.taking_over` reads `Move: taking over`. */
export function actionText(action: string): string {
  const known = texts[action]
  if (known) return known
  const [, kind, state] = /^box\.(move|removal)\.(.+)$/.exec(action) ?? []
  return kind && state ? `${kind === 'move' ? 'Move' : 'Removal'}: ${state.replaceAll('_', ' ')}` : action
}

const badAction = /failed|stranded|overdue/

function ofEntry({ chain, seq, at, actor, action, subject, data }: AuditEntry): BoxEvent {
  const { reason, snapshotId } = (data ?? {}) as { reason?: unknown; snapshotId?: unknown }
  return {
    ...{ key: `${chain} ${seq}`, at, tone: badAction.test(action) ? 'failed' : 'off', text: actionText(action) },
    ...(typeof snapshotId === 'string' ? { to: `/snapshots?slug=${subject}&q=${snapshotId.slice(0, 8)}` } : {}),
    detail: `${actor}${typeof reason === 'string' ? `: ${reason}` : ''}`,
  }
}

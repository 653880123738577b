import { type DrillResult, drilledMediaText } from '../../core/boxes/index.ts'
import { bytesText, duration, plural } from '../../core/kit/index.ts'
import { titles } from './titles.ts'

/** Every text of the pages of snapshots. */
export const words = {
  title: titles.list,
  ofBox: (slug: string) => `Snapshots of ${slug}`,
  answer: (count: number, boxes: number, unproven: number) =>
    `${plural(count, 'snapshot')} of ${plural(boxes, 'box', 'boxes')}${unproven > 0 ? `, ${unproven} never drilled` : ', all drilled'}`,
  empty: 'No snapshots yet.',
  emptyNext: 'Updates and the daily schedule take them. Take one now; the box stays online.',
  none: 'No snapshot matches the filter.',
  all: 'All snapshots',
  columns: {
    snapshot: 'Snapshot',
    box: 'Box',
    kind: 'Kind',
    taken: 'Taken',
    status: 'Status',
    drilled: 'Last drill',
    kept: 'Retention reason',
    added: 'Added',
    duration: 'Duration',
    synapse: 'Synapse',
    actions: 'Actions',
  },
  size: bytesText,
  drilledIn: (ms: number | null) => (ms === null ? '' : `, in ${duration(ms)}`),
  failedProof: 'failed',
  never: 'never',
  take: 'Take…',
  drill: 'Drill…',
  restore: 'Restore…',
  gone: 'This snapshot is not in the repository any more.',
  takeTitle: 'Take a snapshot?',
  takeConfirm: 'Take snapshot',
  takeWhat:
    'The box stays online. Its database, files and configuration are stored as they are now; other actions on the box wait meanwhile.',
  box: 'Box',
  drillTitle: (slug: string) => `Drill a snapshot of ${slug}?`,
  drillConfirm: 'Drill',
  drillWhat: (id: string) =>
    `Restores ${id} beside the box, in isolation, and compares its tables, its rows and a sample of its media. The box stays online and is not changed; no user can reach the copy, which is removed at the end.`,
  restoreTitle: (slug: string) => `Restore ${slug}?`,
  restoreConfirm: 'Restore',
  restoreWhat: (slug: string, id: string, tier: string) => `Restores ${slug} from ${id} (${tier}).`,
  loss: (ms: number) => `DATA LOSS: everything of the last ${duration(ms)} (messages, files, accounts).`,
  offline: 'The box is offline during the restore. The current data is kept as a pre-restore snapshot.',
  proofBefore: (ago: string, ms: number | null) => `Last drilled ${ago}${ms === null ? '' : ` in ${duration(ms)}`}.`,
  unproven: 'It was never drilled. Drill it first.',
  damaged: 'This snapshot is damaged: the restore may fail.',
  anyway: 'Restore anyway: it reintroduces a vulnerability that an emergency fixed',
  commands: 'Running',
  commandWords: { take: 'Snapshot', drill: 'Drill', restore: 'Restore' },
  queued: (host: string) => `waiting for the agent of ${host}`,
  offlineHost: (host: string, status: string) => `${host} is ${status}: waiting until it reconnects`,
  running: (host: string) => `running on ${host}`,
  taken: 'taken',
  noAnswer: 'the agent did not finish in time',
  drilled: ({ tables, rows, media, restoreMs }: DrillResult) =>
    [
      'verified',
      tables !== null && rows !== null && `${tables} tables with ${rows} rows match`,
      drilledMediaText(media),
      restoreMs !== null && `estimated restore time ${duration(restoreMs)}`,
    ]
      .filter(Boolean)
      .join(', '),
  restored: {
    restored: 'restored and verified',
    failed: 'the restore failed; the box is unchanged and verified',
    restore_failed:
      'the restore failed; the box is quarantined (fenced and stopped), with both its former data and the snapshot’s. Operator action is required',
  },
  dismiss: 'Dismiss',
} as const

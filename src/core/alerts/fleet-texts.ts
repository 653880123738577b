import { plural } from '../kit/index.ts'
import type { NewAlert } from './alert.ts'
import { type AlertError, humanTime, quoted, reasonText } from './rollout-texts.ts'

// Alerts about boxes, hosts, snapshots and moves.

export const fenceStuck = (of: Readonly<{ slug: string; holder: string | null; since: string }>): NewAlert => ({
  kind: 'fence_stuck',
  key: `fence_stuck:${of.slug}`,
  subject: of.slug,
  severity: 'critical',
  title: `${of.slug} has been in maintenance too long`,
  body:
    `${of.slug} has been fenced since ${humanTime(of.since)}, longer than its operation may take` +
    `${of.holder === null ? '' : ` (${quoted(of.holder, 120)})`}.\n` +
    'Users see a maintenance page. The data is safe; a fence is never lifted without a health proof.',
  command: `tenantry boxes show ${of.slug}`,
  standing: true,
})

/** `replacedAt`: a call was signed with a key that was replaced then; absent: two agents used the current key. */
export const hostFrozen = ({ host, replacedAt }: Readonly<{ host: string; replacedAt?: string }>): NewAlert => ({
  kind: 'host_frozen',
  key: `host_frozen:${host}`,
  subject: host,
  severity: 'critical',
  title: replacedAt === undefined ? `Host ${host} is frozen: two agents use its key` : `Host ${host} is frozen: a replaced key is in use`,
  body:
    (replacedAt === undefined
      ? `Two running agents authenticated as ${host}: its machine was copied or its key was stolen. Neither gets commands any more.\n`
      : `An agent signed with a key of ${host} that was replaced on ${humanTime(replacedAt)}: its machine was copied or restored from a backup, ` +
        'or a thief of the key replaced it. No agent of the host gets commands any more.\n') +
    'The boxes on it keep serving their users. If you know of no copy of the machine, treat the key as stolen.',
  command: `tenantry hosts show ${host}`,
})

type LateSnapshot = Readonly<{ slug: string; newestAt: string | null }>

/** One alert for the whole fleet: an unreachable store makes every box late at once. */
export const snapshotOverdue = (of: Readonly<{ boxes: readonly [LateSnapshot, ...LateSnapshot[]] }>): NewAlert => {
  const [first, ...others] = of.boxes
  const listed = of.boxes.slice(0, 10).map(({ slug, newestAt }) => `${slug} (${newestAt === null ? 'none' : humanTime(newestAt)})`)
  return {
    kind: 'snapshot_overdue',
    key: 'snapshot_overdue',
    subject: 'snapshots',
    severity: 'warning',
    title: others.length === 0 ? `${first.slug} has no recent snapshot` : `${of.boxes.length} boxes have no recent snapshot`,
    body:
      `A snapshot is due every day. Newest: ${listed.join(', ')}${of.boxes.length > 10 ? ', …' : ''}.\n` +
      'The boxes serve their users. If a disk fails now, data written since the newest snapshot is lost.',
    command: `tenantry snapshots take ${first.slug} --wait`,
    standing: true,
  }
}

/** `checkedAt`: last repository check. `provenAt`: last successful test restore. Null: never. */
type UnprovenBox = Readonly<{ slug: string; unchecked: boolean; checkedAt: string | null; provenAt: string | null }>

/** One alert for the whole fleet: a failing check usually fails for every box. */
export const proofOverdue = (of: Readonly<{ boxes: readonly [UnprovenBox, ...UnprovenBox[]] }>): NewAlert => {
  const [first, ...others] = of.boxes
  const time = (at: string | null) => (at === null ? 'never' : humanTime(at))
  const listed = of.boxes
    .slice(0, 10)
    .map(({ slug, checkedAt, provenAt }) => `${slug} (checked ${time(checkedAt)}, test-restored ${time(provenAt)})`)
  return {
    kind: 'proof_overdue',
    key: 'proof_overdue',
    subject: 'snapshots',
    severity: 'warning',
    title:
      others.length === 0 ? `${first.slug}: snapshots not verified for weeks` : `Snapshots of ${of.boxes.length} boxes are not verified`,
    body:
      `Each repository is checked weekly and each box is test-restored every four weeks. Overdue for five weeks: ${listed.join(', ')}` +
      `${of.boxes.length > 10 ? ', …' : ''}.\nThe boxes serve their users. The daemon log and \`tenantry events tail\` (snapshot.upkeep_failed) show the cause.`,
    command: first.unchecked ? 'tenantry crons run snapshot-check' : `tenantry snapshots drill ${first.slug} --wait`,
    standing: true,
  }
}

export const snapshotDamaged = (of: Readonly<{ slug: string; missing: readonly string[]; error: AlertError }>): NewAlert => ({
  kind: 'snapshot_damaged',
  key: `snapshot_damaged:${of.slug}`,
  subject: of.slug,
  severity: 'critical',
  title:
    of.missing.length > 0
      ? `${of.slug}: ${plural(of.missing.length, 'snapshot is', 'snapshots are')} missing`
      : `${of.slug}: snapshots may be damaged`,
  body:
    (of.missing.length > 0 ? `They were not removed by retention: ${of.missing.map((id) => id.slice(0, 8)).join(', ')}.\n` : '') +
    (of.error ? `The check of its repository failed. ${reasonText(of.error)}\n` : '') +
    'The box serves its users. Take a new snapshot before you change anything on it.',
  command: `tenantry snapshots take ${of.slug} --wait`,
})

/** One alert for all repositories of a host, or of the bucket: they are lost together. */
export const snapshotStoreLost = (
  of: Readonly<{ key: string; subject: string; boxes: readonly string[]; error: AlertError }>,
): NewAlert => {
  const { key, subject, boxes } = of
  const [first = 'no box'] = boxes
  return {
    kind: 'snapshot_store_lost',
    key,
    subject,
    severity: 'critical',
    title: boxes.length > 1 ? `Snapshots of ${boxes.length} boxes are gone` : `${first}: all snapshots are gone`,
    body:
      `The repositories cannot be found any more: ${boxes.slice(0, 10).join(', ')}${boxes.length > 10 ? ', …' : ''}. ${reasonText(of.error)}\n` +
      'The boxes serve their users. Until the store is back, no snapshot is taken and no box is updated or restored; nothing is created in its place. ' +
      'Bring it back, then run the check: it finds the snapshots again. If it is lost for good: `tenantry snapshots abandon <slug> --reason …`.',
    command: 'tenantry crons run snapshot-check',
    standing: true,
  }
}

export const drillFailed = (of: Readonly<{ slug: string; snapshotId: string; error: AlertError }>): NewAlert => ({
  kind: 'drill_failed',
  key: `drill_failed:${of.slug}`,
  subject: of.slug,
  severity: 'warning',
  title: `${of.slug}: snapshot drill failed`,
  body:
    `The test restore of snapshot ${of.snapshotId.slice(0, 8)} of ${of.slug} failed.\n${reasonText(of.error)}\n` +
    'The box serves its users. Until a drill succeeds it is not known whether its data can be restored.',
  command: `tenantry snapshots drill ${of.slug}`,
})

export const restoreFailed = (of: Readonly<{ slug: string; snapshotId: string; error: AlertError }>): NewAlert => ({
  kind: 'restore_failed',
  key: `restore_failed:${of.slug}`,
  subject: of.slug,
  severity: 'critical',
  title: `${of.slug} is DOWN: restore failed`,
  body:
    `The restore to snapshot ${of.snapshotId.slice(0, 8)} failed, and so did the return to the previous data. ${reasonText(of.error)}\n` +
    'Users see a maintenance page. Both sets of volumes are kept: remove none. Fix the cause, then restore again.',
  command: `tenantry boxes show ${of.slug}`,
})

type Stranded = Readonly<{
  slug: string
  from: string
  to: string
  error: AlertError
  /** The new host may run the box, and its agent does not know it. */
  mayRun: boolean
}>

export const moveStranded = (of: Stranded): NewAlert => ({
  kind: 'move_stranded',
  key: `move_stranded:${of.slug}`,
  subject: of.slug,
  severity: 'critical',
  title: `${of.slug} is DOWN: its move failed halfway`,
  body:
    (of.mayRun
      ? `The move from ${of.from} to ${of.to} failed, and ${of.to} may still run the box. ${reasonText(of.error)}\n` +
        `Before you move it back, stop its containers on ${of.to} (docker ps, docker stop): two hosts must never serve one box.\n`
      : `The move from ${of.from} to ${of.to} failed, and neither host runs the box. ${reasonText(of.error)}\n`) +
    'Users cannot reach it. Its data is on the old host, if that host still runs, and in its snapshots.',
  command: `tenantry boxes show ${of.slug}`,
})

import { type AlertError, alertKey, firstOf, humanTime, type NewAlert, reasonText } from '../../core/alerts/index.ts'
import { plural } from '../../core/kit/index.ts'

type LateSnapshot = Readonly<{ slug: string; newestAt: string | null }>

/** One alert for the whole fleet: an unreachable store makes every box late at once. */
export const snapshotsLate = (boxes: readonly [LateSnapshot, ...LateSnapshot[]]): NewAlert => {
  const listed = boxes.map(({ slug, newestAt }) => `${slug} (${newestAt === null ? 'none' : humanTime(newestAt)})`)
  return {
    kind: 'snapshot_overdue',
    key: lateKey,
    subject: 'snapshots',
    title: boxes.length === 1 ? `${boxes[0].slug} has no recent snapshot` : `${boxes.length} boxes have no recent snapshot`,
    body:
      `A snapshot is due every day. Newest: ${firstOf(listed)}.\n` +
      'The boxes serve their users. If a disk fails now, data written since the newest snapshot is lost.',
    command: `tenantry snapshots take ${boxes[0].slug} --wait`,
    standing: true,
  }
}

export const lateKey = alertKey('snapshot_overdue', 'taken')

/** `checkedAt`: last repository check. `provenAt`: last successful test restore. Null: never. */
type UnprovenBox = Readonly<{ slug: string; unchecked: boolean; checkedAt: string | null; provenAt: string | null }>

/** One alert for the whole fleet: a failing check usually fails for every box. */
export const proofsLate = (boxes: readonly [UnprovenBox, ...UnprovenBox[]]): NewAlert => {
  const [{ slug, unchecked }] = boxes
  const time = (at: string | null) => (at === null ? 'never' : humanTime(at))
  const listed = boxes.map((box) => `${box.slug} (checked ${time(box.checkedAt)}, drilled ${time(box.provenAt)})`)
  return {
    kind: 'snapshot_overdue',
    key: proofsLateKey,
    subject: 'snapshots',
    title: boxes.length === 1 ? `${slug}: snapshots not verified for weeks` : `Snapshots of ${boxes.length} boxes are not verified`,
    body:
      `Each repository is checked weekly and each box is drilled every four weeks. Overdue for five weeks: ${firstOf(listed)}.\n` +
      'The boxes serve their users. The daemon log and `tenantry events tail --type snapshot.upkeep_failed --no-follow` show the cause.',
    command: unchecked ? 'tenantry crons run snapshot-check' : `tenantry snapshots drill ${slug} --wait`,
    standing: true,
  }
}

export const proofsLateKey = alertKey('snapshot_overdue', 'proven')

export const snapshotDamaged = (of: Readonly<{ slug: string; missing: readonly string[]; error: AlertError }>): NewAlert => ({
  kind: 'snapshot_damaged',
  subject: of.slug,
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

export const drillFailed = (of: Readonly<{ slug: string; snapshotId: string; error: AlertError }>): NewAlert => ({
  kind: 'snapshot_damaged',
  key: drillKey(of.slug),
  subject: of.slug,
  severity: 'warning',
  title: `${of.slug}: snapshot drill failed`,
  body:
    `The test restore of snapshot ${of.snapshotId.slice(0, 8)} of ${of.slug} failed.\n${reasonText(of.error)}\n` +
    'The box serves its users. Until a drill succeeds it is not known whether its data can be restored.',
  command: `tenantry snapshots drill ${of.slug}`,
})

export const drillKey = (slug: string): string => alertKey('snapshot_damaged', `drill:${slug}`)

export const archiveBehind = (of: Readonly<{ slug: string; coveredUntil: string | null; error: AlertError }>): NewAlert => ({
  kind: 'archive_behind',
  key: alertKey('archive_behind', of.slug),
  subject: of.slug,
  title: `${of.slug}: the archive is behind`,
  body:
    `The store has its data up to ${of.coveredUntil === null ? 'no moment yet' : humanTime(of.coveredUntil)}.\n` +
    (of.error ? `${reasonText(of.error)}\n` : '') +
    'The box serves its users. If its disk fails now, what was written since is lost.',
  command: `tenantry boxes show ${of.slug}`,
  standing: true,
})

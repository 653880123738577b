import { plural } from '../kit/index.ts'
import type { NewAlert } from './alert.ts'
import { because, said, spoken, type Told } from './rollout-texts.ts'

// Alerts about boxes, hosts and snapshots.

export const fenceStuck = (of: Readonly<{ slug: string; holder: string | null; since: string }>): NewAlert => ({
  kind: 'fence_stuck',
  key: `fence_stuck:${of.slug}`,
  subject: of.slug,
  severity: 'critical',
  title: `${of.slug} is shut to its users for too long`,
  body:
    `The fence of ${of.slug} stands since ${spoken(of.since)}, longer than what it is for may take` +
    `${of.holder === null ? '' : ` (${said(of.holder, 120)})`}.\n` +
    'Its users see a maintenance notice. The data is safe; a fence is never lifted by guessing.',
  command: `tenantry boxes show ${of.slug}`,
  standing: true,
})

export const hostFrozen = (of: Readonly<{ host: string }>): NewAlert => ({
  kind: 'host_frozen',
  key: `host_frozen:${of.host}`,
  subject: of.host,
  severity: 'critical',
  title: `Host ${of.host} is frozen: two agents use its key`,
  body:
    `Two running agents proved to be ${of.host}: its machine was copied, or its key stolen. Neither gets work any more.\n` +
    'The boxes on it go on serving their users. If no copy of the machine is known, treat the key as stolen.',
  command: `tenantry hosts show ${of.host}`,
})

type Late = Readonly<{ slug: string; newestAt: string | null }>

/** One for the whole fleet: a store that does not answer makes all boxes late at once. */
export const snapshotOverdue = (of: Readonly<{ boxes: readonly [Late, ...Late[]] }>): NewAlert => {
  const [first, ...others] = of.boxes
  const told = of.boxes.slice(0, 10).map(({ slug, newestAt }) => `${slug} (${newestAt === null ? 'none' : spoken(newestAt)})`)
  return {
    kind: 'snapshot_overdue',
    key: 'snapshot_overdue',
    subject: 'snapshots',
    severity: 'warning',
    title: others.length === 0 ? `${first.slug} has no fresh snapshot` : `${of.boxes.length} boxes have no fresh snapshot`,
    body:
      `One is due every day; the newest is of: ${told.join(', ')}${of.boxes.length > 10 ? ', …' : ''}.\n` +
      'The boxes themselves serve their users. Should a disk die now, what was written since would be lost.',
    command: `tenantry snapshots take ${first.slug} --wait`,
    standing: true,
  }
}

/** `checkedAt`, `provenAt`: null where it was never done. */
type Unproven = Readonly<{ slug: string; unchecked: boolean; checkedAt: string | null; provenAt: string | null }>

/** One for the whole fleet too: what keeps one from being looked after keeps all. */
export const proofOverdue = (of: Readonly<{ boxes: readonly [Unproven, ...Unproven[]] }>): NewAlert => {
  const [first, ...others] = of.boxes
  const time = (at: string | null) => (at === null ? 'never' : spoken(at))
  const told = of.boxes
    .slice(0, 10)
    .map(({ slug, checkedAt, provenAt }) => `${slug} (checked ${time(checkedAt)}, brought back ${time(provenAt)})`)
  return {
    kind: 'proof_overdue',
    key: 'proof_overdue',
    subject: 'snapshots',
    severity: 'warning',
    title:
      others.length === 0
        ? `${first.slug}: nobody has proven its snapshots for weeks`
        : `The snapshots of ${of.boxes.length} boxes are unproven`,
    body:
      `A repository is checked every week, and each box brought back once in four weeks. Not so for five weeks: ${told.join(', ')}` +
      `${of.boxes.length > 10 ? ', …' : ''}.\nThe boxes themselves are well. What hinders it is in the log of the daemon and in \`tenantry events tail\` (snapshot.upkeep_failed).`,
    command: first.unchecked ? 'tenantry crons run snapshot-check' : `tenantry snapshots drill ${first.slug} --wait`,
    standing: true,
  }
}

export const snapshotDamaged = (of: Readonly<{ slug: string; missing: readonly string[]; error: Told }>): NewAlert => ({
  kind: 'snapshot_damaged',
  key: `snapshot_damaged:${of.slug}`,
  subject: of.slug,
  severity: 'critical',
  title:
    of.missing.length > 0
      ? `${of.slug}: ${plural(of.missing.length, 'snapshot is', 'snapshots are')} missing`
      : `${of.slug}: its snapshots may be damaged`,
  body:
    (of.missing.length > 0 ? `Nobody gave them up: ${of.missing.map((id) => id.slice(0, 8)).join(', ')}.\n` : '') +
    (of.error ? `The check of its repository failed. ${because(of.error)}\n` : '') +
    'The box itself is well. Take a new snapshot before anything else is done to it.',
  command: `tenantry snapshots take ${of.slug} --wait`,
})

export const drillFailed = (of: Readonly<{ slug: string; snapshotId: string; error: Told }>): NewAlert => ({
  kind: 'drill_failed',
  key: `drill_failed:${of.slug}`,
  subject: of.slug,
  severity: 'warning',
  title: `${of.slug}: its snapshot could not be proven`,
  body:
    `The drill was to bring snapshot ${of.snapshotId.slice(0, 8)} of ${of.slug} up beside the box, and that failed.\n${because(of.error)}\n` +
    'The box itself is well. Until a drill succeeds nobody knows that its data would come back.',
  command: `tenantry snapshots drill ${of.slug}`,
})

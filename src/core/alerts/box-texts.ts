import { plural } from '../kit/index.ts'
import type { NewAlert } from './alert.ts'
import { because, said, type Told } from './rollout-texts.ts'

// Alerts about boxes, hosts and snapshots.

export const fenceStuck = (of: Readonly<{ slug: string; holder: string | null; since: string }>): NewAlert => ({
  kind: 'fence_stuck',
  key: `fence_stuck:${of.slug}`,
  subject: of.slug,
  severity: 'critical',
  title: `${of.slug} is shut to its users for too long`,
  body:
    `The fence of ${of.slug} stands since ${of.since}, longer than what it is for may take` +
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

export const snapshotOverdue = (of: Readonly<{ slug: string; newestAt: string | null }>): NewAlert => ({
  kind: 'snapshot_overdue',
  key: `snapshot_overdue:${of.slug}`,
  subject: of.slug,
  severity: 'warning',
  title: `${of.slug} has no fresh snapshot`,
  body:
    `${of.newestAt === null ? `There is no snapshot of ${of.slug}` : `The newest snapshot of ${of.slug} is of ${of.newestAt}`}; ` +
    'one is due every day.\nThe box itself serves its users. Should its disk die now, what was written since would be lost.',
  command: `tenantry snapshots take ${of.slug}`,
  standing: true,
})

export const snapshotDamaged = (of: Readonly<{ slug: string; snapshots: readonly string[] }>): NewAlert => ({
  kind: 'snapshot_damaged',
  key: `snapshot_damaged:${of.slug}`,
  subject: of.slug,
  severity: 'critical',
  title: `${of.slug}: ${plural(of.snapshots.length, 'snapshot is', 'snapshots are')} damaged or missing`,
  body:
    `A look into the repository of ${of.slug} found them so: ${of.snapshots.map((id) => id.slice(0, 8)).join(', ')}.\n` +
    'The box itself is well. Take a new snapshot before anything else is done to it.',
  command: `tenantry snapshots take ${of.slug}`,
})

export const drillFailed = (of: Readonly<{ slug: string; snapshotId: string; error: Told }>): NewAlert => ({
  kind: 'drill_failed',
  key: `drill_failed:${of.slug}`,
  subject: of.slug,
  severity: 'warning',
  title: `${of.slug}: its snapshot could not be proven`,
  body:
    `The drill brought snapshot ${of.snapshotId.slice(0, 8)} of ${of.slug} up beside the box, and that failed.\n${because(of.error)}\n` +
    'The box itself is well. Until a drill succeeds nobody knows that its data would come back.',
  command: `tenantry snapshots drill ${of.slug}`,
})

import type { NewAlert } from './alert.ts'
import { because, type Told } from './rollout-texts.ts'

// Alerts about boxes that rest, because what a person had asked for did not end well.

export const restoreFailed = (of: Readonly<{ slug: string; snapshotId: string; error: Told }>): NewAlert => ({
  kind: 'restore_failed',
  key: `restore_failed:${of.slug}`,
  subject: of.slug,
  severity: 'critical',
  title: `${of.slug} could not be restored and rests shut`,
  body:
    `It was to be brought back to snapshot ${of.snapshotId.slice(0, 8)}, and neither that nor the way back held. ${because(of.error)}\n` +
    'Its users see a maintenance notice. Both sets of volumes are there: remove none. Mend what the error names, then restore it again.',
  command: `tenantry boxes show ${of.slug}`,
})

export const moveStranded = (of: Readonly<{ slug: string; from: string; to: string; error: Told }>): NewAlert => ({
  kind: 'move_stranded',
  key: `move_stranded:${of.slug}`,
  subject: of.slug,
  severity: 'critical',
  title: `${of.slug} runs on no host: its move is stranded`,
  body:
    `It was to move from ${of.from} to ${of.to}, and neither of them runs it now. ${because(of.error)}\n` +
    'Its users find nobody. Its data is on the old host, if that still lives, and in its snapshots.',
  command: `tenantry boxes show ${of.slug}`,
})

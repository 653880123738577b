import { plural } from '../kit/index.ts'
import type { NewAlert } from './alert.ts'
import { spoken } from './rollout-texts.ts'

// Alerts about work that follows changes.

type Late = Readonly<{ topic: string; count: number; since: string }>

/** The changes themselves stand; what hangs is what they are to do elsewhere. */
export const followupsLate = ({ late }: Readonly<{ late: readonly Late[] }>): NewAlert => ({
  kind: 'followups_late',
  key: 'followups_late',
  subject: 'follow-up work',
  severity: 'warning',
  title: 'Follow-up work has waited for more than an hour',
  body:
    `${late.map(({ topic, count, since }) => `${plural(count, 'piece')} of ${topic}, since ${spoken(since)}`).join('; ')}.\n` +
    'What was changed here stands, but others do not know it yet: a disabled user may still chat, a member may not be in its room. ' +
    'Most often a chat server does not answer; once it does, the work is done by itself.',
  command: 'tenantry followups list --limit 20',
  standing: true,
})

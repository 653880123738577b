import { plural } from '../../core/kit/index.ts'
import type { EndedBy } from '../../core/sessions/index.ts'
import type { SuspensionCause } from '../../core/tenants/index.ts'
import { titles } from './titles.ts'

export const words = {
  ...titles,
  count: (count: number) => `${plural(count, 'tenant')}.`,
  suspendedCount: (all: number, count: number) => `${plural(all, 'tenant')}, ${count} suspended.`,
  none: 'No tenants yet',
  noneHint: 'Create one together with its box:',
  noMatch: 'No tenant matches the filter',
  noUsers: 'No users yet',
  noUserMatch: 'No user matches the filter',
  more: 'Load more',
  suspend: 'Suspend',
  suspendTitle: (slug: string) => `Suspend ${slug}?`,
  suspendConsequence:
    'Its users can neither log in nor use the platform from within a second on. Box and chat keep running, and nothing is deleted.',
  resume: 'Resume',
  resumeTitle: (slug: string) => `Resume ${slug}?`,
  resumeConsequence: 'Its users can log in again. Sessions that have not expired continue.',
  resumeForTime:
    'The subscription of its plan ended: only a new one lifts the suspension for good. Until the day below its users can log in again.',
  until: 'Until the end of (UTC), at most 90 days ahead',
  untilOptional: 'Until the end of (UTC; empty: for good)',
  activeUntil: (day: string, reason: string) => `active until ${day}, then suspended again: ${reason}`,
  causes: { operator: 'by an operator', plan_ended: 'the subscription of its plan ended' } satisfies Record<SuspensionCause, string>,
  disable: 'Disable',
  disableTitle: (user: string) => `Disable ${user}?`,
  disableConsequence: 'Ends all sessions within a second and locks the chat account. Messages and files stay; enabling reverses it.',
  enable: 'Enable',
  enableTitle: (user: string) => `Enable ${user}?`,
  enableConsequence: 'The user can log in again, to platform and chat. Ended sessions stay ended.',
  reset: 'Reset password',
  resetTitle: (user: string) => `Reset the password of ${user}?`,
  resetConsequence: 'Creates a new password, shown once, and ends all platform sessions. Chat sessions of devices continue.',
  shownOnce: 'Save the password now, it is not shown again.',
  sessions: 'Open sessions',
  noSessions: 'No open session.',
  endSession: 'End',
  endTitle: 'End this session?',
  endConsequence: 'The session ends on every replica within a second and cannot be refreshed. The chat session of the device continues.',
  passwordLost: 'The password was lost in a restore: reset it, or the user cannot log in.',
  endedBy: {
    logout: 'logged out',
    user: 'ended by the user',
    admin: 'ended by an operator',
    reuse: 'refresh token reused',
    disabled: 'user disabled',
    reset: 'password reset',
    too_many: 'too many sessions',
  } satisfies Record<EndedBy, string>,
  files: 'Files',
  limitsCalm: 'No tenant is close to its budget.',
  limitsSlow: (count: number) => `${plural(count, 'tenant')} slowed down or refused.`,
  window: (seconds: number, store: string) =>
    `Requests of the last ${seconds} s, counted ${store === 'redis' ? 'over all replicas' : 'per process'}.`,
} as const

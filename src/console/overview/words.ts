import { plural } from '../../core/kit/index.ts'

export const words = {
  title: 'Overview',
  calm: 'All is well. No action needed.',
  attention: (count: number) => `${plural(count, 'alert')} to act on.`,
  rollouts: 'Rollouts',
  noRollouts: 'No rollout is active.',
  fleet: 'Fleet',
  lastDay: 'Last 24 hours',
  quietDay: 'Nothing happened.',
  open: 'Open alerts',
  boxes: (count: number) => plural(count, 'box', 'boxes'),
  noBoxes: 'No boxes yet.',
  host: { online: 'online', offline: 'offline', frozen: 'frozen', revoked: 'revoked' },
  severity: { info: 'info', warning: 'warning', critical: 'critical' },
  oldestProof: 'oldest proof',
  unproven: (count: number) => `${plural(count, 'box', 'boxes')} never proven`,
  why: 'Why',
} as const

import { plural } from '../../core/kit/index.ts'

export const words = {
  title: 'Overview',
  calm: 'All is well. No action needed.',
  chats: ({ running, ...others }: Readonly<Record<string, number>>) => {
    const all = Object.values(others).reduce((sum, count) => sum + count, running ?? 0)
    if (running === all) return all === 1 ? 'The chat runs.' : `All ${all} chats run.`
    return `${running} of ${all} chats run.`
  },
  attention: (count: number) => `${plural(count, 'alert')} to act on.`,
  toDecide: (paused: number, alerts: number) =>
    `${plural(paused, 'rollout is', 'rollouts are')} paused and ${paused === 1 ? 'needs' : 'need'} your decision${alerts > 0 ? `; ${plural(alerts, 'alert')} besides` : ''}.`,
  decisions: 'Decision required',
  pausedIn: (phase: string | null) => (phase ? `paused in ${phase}` : 'paused'),
  resume: 'Resume…',
  abort: 'Abort…',
  why: 'Why it stopped',
  rollouts: 'Active rollouts',
  noRollouts: 'No rollout is running.',
  fleet: 'Fleet',
  lastDay: 'Last 24 hours',
  quietDay: 'Nothing happened.',
  open: 'Open alerts',
  boxes: (count: number) => plural(count, 'box', 'boxes'),
  health: { down: 'down', degraded: 'degraded', unknown: 'unknown', maintenance: 'in maintenance', running: 'running' },
  noBoxes: 'No boxes yet.',
  host: { online: 'online', offline: 'offline', frozen: 'frozen', revoked: 'revoked' },
  severity: { info: 'info', warning: 'warning', critical: 'critical' },
  oldestProof: 'oldest drill',
  unproven: (count: number) => `${plural(count, 'box', 'boxes')} never drilled`,
  notSetUp: 'Nothing is set up yet: there are no boxes.',
} as const

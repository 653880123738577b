import { chatsText, type FleetSummary } from '../../core/boxes/index.ts'
import { plural } from '../../core/kit/index.ts'

const total = (health: FleetSummary['health']) => Object.values(health).reduce((sum, count) => sum + count, 0)

export const words = {
  title: 'Overview',
  calm: 'All is well. No action needed.',
  chats: (health: FleetSummary['health']) => {
    const text = chatsText(health)
    const unknown = health.unknown > 0 && health.unknown < total(health) ? `; ${health.unknown} not known` : ''
    return `${text[0]?.toUpperCase()}${text.slice(1)}${unknown}.`
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
  closedAfter: (title: string, span: string) => `${title} (closed after ${span})`,
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

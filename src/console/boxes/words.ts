import { plural } from '../../core/kit/index.ts'
import { titles } from './titles.ts'

export const driftWords = { none: 'in sync', minor: 'minor', major: 'major', unknown: 'unknown' } as const

export const words = {
  ...titles,
  driftOf: (severity: keyof typeof driftWords) => (severity === 'none' ? 'in sync with the manifest' : `${driftWords[severity]} drift`),
  shown: (shown: number, all: number) => (shown === all ? plural(all, 'box', 'boxes') : `${shown} of ${plural(all, 'box', 'boxes')}`),
  drifted: (drifted: number, unknown: number) =>
    drifted + unknown === 0
      ? 'in sync with the manifest'
      : [drifted > 0 && `${drifted} drifted`, unknown > 0 && `${unknown} unknown`].filter(Boolean).join(', '),
  filter: 'Filter by box, tenant or host',
  empty: 'No boxes yet',
  emptyHint: 'A box is provisioned on a host that is online.',
  noMatch: 'No box matches the filter',
  clear: 'Clear the filter',
  scan: 'Scan',
  scanTitle: (count: number) => `Scan ${plural(count, 'box', 'boxes')}?`,
  scanEffect:
    'The agents report the versions that run, and the daemon compares them with the manifest. Nothing in a box changes, and no user notices.',
  scanning: (answered: number, all: number) => `${answered} of ${plural(all, 'box', 'boxes')} answered`,
  scanned: (all: number) => `Scan finished: ${plural(all, 'box', 'boxes')} answered`,
  stillAway: (count: number) => `${plural(count, 'box', 'boxes')} did not answer`,
  unreachable: (count: number, hosts: readonly string[]) => `${plural(count, 'box', 'boxes')} skipped: ${hosts.join(', ')} offline`,
  changed: (count: number) => (count === 0 ? 'no version changed' : `${plural(count, 'box', 'boxes')} changed`),
  dismiss: 'Dismiss',
  tier: 'Tier',
  drift: 'Drift',
  state: 'State',
  host: 'Host',
  versions: 'Versions against the manifest',
  noReport: 'No report yet. Scan the box to compare it with the manifest.',
  probe: 'Last probe',
  noProbe: 'Not probed yet.',
  snapshots: 'Snapshots',
  noSnapshots: 'No snapshots yet.',
  move: 'Move',
  removal: 'Removal',
  commands: 'Commands of its host',
  history: 'History',
  noHistory: 'No operator has changed this box.',
  check: 'Probe now',
  checkTitle: (slug: string) => `Probe ${slug}?`,
  checkEffect: 'The agent logs in as the probe user, sends a message and reads it back. It takes seconds, and no user notices.',
  enter: 'Enter maintenance…',
  enterTitle: (slug: string) => `Enter maintenance on ${slug}?`,
  enterEffect:
    'Users of this box get an error page until maintenance ends. Rollouts wait for the box. Its containers and data stay as they are.',
  leave: 'End maintenance…',
  leaveTitle: (slug: string) => `End maintenance of ${slug}?`,
  leaveEffect: 'Users reach the box again, and rollouts may update it.',
  markCanary: 'Make canary…',
  canaryTitle: (slug: string, on: boolean) => (on ? `Make ${slug} a canary?` : `Make ${slug} an ordinary box?`),
  canaryEffect: (on: boolean) =>
    on ? 'Rollouts update it before any other box, and stop if it fails.' : 'Rollouts update it with its tier.',
  unmarkCanary: 'No canary…',
} as const

import { duration, plural } from '../../core/kit/index.ts'
import type { RolloutPlan } from '../../core/rollouts/index.ts'
import { titles } from './titles.ts'
import { boxes } from './words.ts'

/** Every text of the page of an emergency. */
export const emergencyWords = {
  title: titles.emergency,
  intro:
    'For a vulnerability that is being exploited: all boxes, no canary phase, maintenance windows ignored, running rollouts paused. Nothing is sent before the last step.',
  forbidden: 'An emergency requires the role admin.',
  yourRole: (role: string) => `You are ${role}. Ask an admin, or log in as one.`,
  steps: ['What it is', 'What it does', 'Confirm and send', 'Start'],
  cve: 'CVE id',
  cveHint: 'such as CVE-2026-12345',
  cveInvalid: 'Enter a CVE id such as CVE-2026-12345.',
  reason: 'How is it exploited (one sentence)',
  reasonShort: (length: number) => `At least ${length} characters with the CVE id.`,
  reasonOther: (cve: string) => `The reason names a CVE other than ${cve}.`,
  targets: 'New versions (empty: unchanged)',
  targetNames: {
    toChatServer: 'Synapse (chat server)',
    toDatabase: 'PostgreSQL (database)',
    toObjectStore: 'MinIO (object store)',
    toMigrationsHead: 'Box migrations',
  },
  runs: (versions: string) => `runs ${versions}`,
  notRunning: 'not running',
  noTarget: 'Enter at least one version.',
  decidedBy: 'Decided by',
  decidedHint: 'the person who decided it; recorded in the audit log',
  preview: 'Show what it does',
  planning: 'Planning',
  back: 'Change it',
  pauses: 'Pauses',
  noPauses: 'no staged rollout is running',
  stops: (ids: string) => `rollbacks of ${ids}; their pending boxes stay as they are`,
  stopsName: 'Stops',
  manifest: (revision: number) => `revision ${revision}, for all tiers`,
  totals: ({ updates, parallel, expectedMs }: Pick<RolloutPlan, 'updates' | 'parallel' | 'expectedMs'>, maxMs: number) =>
    `${boxes(updates)} to update in this order, ${parallel} at a time. Expected duration: ${duration(expectedMs)}; max downtime per box: ${duration(maxMs)}. No canary phase; maintenance windows are ignored.`,
  nothing: 'Nothing to update: no box is behind and free of findings.',
  leftOut: (leftOut: readonly string[]) => `Left out (${leftOut.length}): ${leftOut.join('; ')}`,
  lacks: (missing: string, fix: string) => `${missing}. Fix: ${fix}.`,
  columns: { phase: 'Phase', update: 'Update', upToDate: 'Up to date', blocked: 'Blocked', duration: 'Duration', downtime: 'Downtime' },
  next: 'Continue to the confirmation',
  confirm: (cve: string) => `Type ${cve} to confirm`,
  token: 'Approval token',
  tokenHint: 'what `tenantryd approval-token` printed; it is not stored',
  wrongToken: (left: number) =>
    `The approval token is wrong. ${left === 0 ? 'No tries are left: more would lock the account.' : `${plural(left, 'try', 'tries')} left.`}`,
  send: 'Send: create the emergency',
  sent: 'Created and queued. Its start makes the plan again and applies its versions to the manifest.',
  changed: 'The manifest or an image has changed since you saw the plan: read the rollout before you start it.',
  start: 'Start it now',
  startWithout: (count: number) => `Start it now, without ${plural(count, 'blocked box', 'blocked boxes')}`,
  see: 'Open the rollout',
  facts: { emergency: 'Emergency', reason: 'Reason', by: 'Decided by', targets: 'Targets', manifest: 'Manifest' },
} as const

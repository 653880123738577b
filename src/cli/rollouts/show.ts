import { stepWord } from '../../core/boxes/index.ts'
import { duration, problem } from '../../core/kit/index.ts'
import {
  actionTint,
  downtimeParts,
  fenceEndText,
  isSnapshotStored,
  lastMoveText,
  outcomeTint,
  outcomeWord,
  type RolloutAction,
  type RolloutAttempt,
  type RolloutDetail,
  type RolloutPlan,
  type RolloutReport,
  restoredText,
  snapshotText,
  statusWord,
  withShortDigests,
} from '../../core/rollouts/index.ts'
import { logLine } from '../boxes/index.ts'
import { type Context, clean, command, count, fields, flag, momentOf, oneOf, type Style, sections, stamp, text } from '../kit/index.ts'
import { planView } from './plan.ts'
import { reportView } from './report.view.ts'
import { rolloutList, rolloutView } from './rollout.view.ts'

type Shown =
  | (RolloutReport & { plan?: RolloutPlan })
  | RolloutDetail
  | Readonly<{ action: RolloutAction; attempts: readonly RolloutAttempt[] }>

export const show = command('show <id>', 'Show a rollout: failures, timeline, downtime, next commands', {
  options: {
    box: text('--box <slug>', 'one box with the evidence of each attempt'),
    logs: flag('--logs', 'with --box: the last log lines of the services that failed'),
    boxes: flag('--boxes', 'all boxes in a table'),
    plan: flag('--plan', 'the plan of the rollout'),
    report: flag('--report', 'with --json: the report instead of the full record'),
  },
  run: async (context, { id, box, boxes, plan, report, logs }): Promise<Shown> => {
    const params = { id }
    if (logs && !box) throw problem('USAGE', '--logs needs the box. fix: add --box <slug>')
    if (box) {
      const shown = await context.api.rollouts.getRolloutAction({ params: { id, slug: box } })
      if (logs && shown.attempts.some((attempt) => attempt.hasLogs && attempt.logs === null))
        throw problem('FORBIDDEN', 'Reading logs needs the role operator.')
      return shown
    }
    if (boxes || plan || (context.json && !report)) return context.api.rollouts.getRollout({ params })
    return withPlan(context, await context.api.rollouts.reportRollout({ params }))
  },
  view: (result, style, { plan, logs }) => {
    if ('attempts' in result) return logs ? logsView(result.attempts, style) : actionView(result, style)
    if ('timeline' in result) return reportView(result, style)
    return plan ? planView(result.plan, style) : rolloutView(result, style)
  },
  examples: ['show ro_8x2m4k7p9q3r5t6v1w0y', 'show ro_8x2m4k7p9q3r5t6v1w0y --box anna-schule'],
})

/** A queued rollout is shown with its plan. */
async function withPlan({ api, json }: Context, report: RolloutReport): Promise<RolloutReport & { plan?: RolloutPlan }> {
  if (json || report.rollout.status !== 'queued') return report
  const { plan } = await api.rollouts.getRollout({ params: { id: report.rollout.id } })
  return { ...report, plan }
}

const checkWord = (done: boolean | null) => (done === null ? 'not reached' : done ? 'OK' : 'failed')

/** One box of a rollout with the evidence of each attempt. */
export function actionView({ action, attempts }: { action: RolloutAction; attempts: readonly RolloutAttempt[] }, style: Style): string {
  const facts = fields(style, [
    ['box', style.paint.bold(action.tenantSlug)],
    ['rollout', action.rolloutId],
    ['phase', action.phase],
    ['status', style.paint[outcomeTint(action)](outcomeWord(action))],
    ['versions', lastMoveText(action)],
    ['snapshot', `${checkWord(isSnapshotStored(action))}${action.snapshotId ? ` (${clean(action.snapshotId)})` : ''}`],
    ['update', checkWord(action.updateOk)],
    ['health', checkWord(action.healthOk)],
    ['maintenance ends', action.fenceMode && fenceEndText(action.fenceMode)],
    ['expected downtime', action.expectedFenceMs > 0 ? duration(action.expectedFenceMs) : null],
    ['findings', action.findings.map(({ code, message }) => `${clean(message)} [${code}]`).join('\n')],
  ])
  const hasLogs = attempts.some((attempt) => attempt.hasLogs)
  const next = hasLogs
    ? `Log lines of the failure: tenantry rollouts show ${action.rolloutId} --box ${action.tenantSlug} --logs`
    : undefined
  return sections(facts, ...attempts.map((attempt) => attemptView(attempt, style)), next)
}

/** The last lines of the services that failed, of each attempt that has some. */
const logsView = (attempts: readonly RolloutAttempt[], style: Style): string => {
  const kept = attempts.filter(({ logs }) => logs !== null)
  if (kept.length === 0) return 'No log lines: no attempt failed after it had changed the box.'
  return sections(
    ...kept.map(
      ({ kind, attempt, logs }) =>
        `${style.paint.bold(`${attemptWords[kind]} ${attempt}`)}\n${(logs ?? []).map((line) => logLine(line, style)).join('\n')}`,
    ),
  )
}

const attemptWords = { update: 'Attempt', 'rollback-images': 'Image rollback,', 'rollback-snapshot': 'Snapshot rollback,' } as const

const errorText = (error: RolloutAttempt['error'], { paint }: Style): string | null => {
  const shortened = withShortDigests(error)
  return shortened && paint.red(`${clean(shortened.message)} [${clean(shortened.code)}]`)
}

const attemptView = (attempt: RolloutAttempt, style: Style): string =>
  `${style.paint.bold(`${attemptWords[attempt.kind]} ${attempt.attempt}`)} ${style.paint[actionTint(attempt.status)](statusWord(attempt.status))}\n${fields(
    style,
    [
      ['  started', stamp(attempt.startedAt, style.now)],
      ['  duration', attempt.durationMs === null ? null : duration(attempt.durationMs)],
      ['  downtime', downtimeText(attempt)],
      ['  steps', stepsText(attempt)],
      ['  database', attempt.restored && restoredText(attempt.restored)],
      ['  error', errorText(attempt.error, style)],
      ['  snapshot', attempt.snapshotId && clean(attempt.snapshotId)],
      ['  manifest', attempt.snapshotSha256 && `sha256 ${clean(attempt.snapshotSha256)}`, 'detail'],
      ['  compose backup', attempt.composeBackup && clean(attempt.composeBackup), 'detail'],
      ['  images', images(attempt)],
      [
        '  probes',
        attempt.probes.map(({ at, verdict, reason }) => `${at.slice(11, 19)} ${verdict}${reason ? `: ${clean(reason)}` : ''}`).join('\n'),
      ],
    ],
  )}`

/** The whole downtime, the fence mode that was applied, and the parts. */
function downtimeText({ fencedMs, downtime }: RolloutAttempt): string | null {
  if (fencedMs === null) return null
  if (!downtime) return duration(fencedMs)
  const times = downtimeParts(downtime)
    .map(([name, ms]) => `${name} ${duration(ms)}`)
    .join(', ')
  const why = downtime.reason === undefined ? '' : `: ${clean(downtime.reason)}`
  const snapshot = snapshotText(downtime)
  return `${duration(fencedMs)} (opened ${fenceEndText(downtime.mode)}${why}${times ? `; ${times}` : ''}${snapshot ? `; ${clean(snapshot)}` : ''})`
}

/** Steps in order with durations: `…` while a step runs, none when its end was never reported. */
const stepsText = ({ steps, durationMs: over }: RolloutAttempt): string =>
  steps
    .map(({ step, durationMs }) => {
      const took = durationMs === null ? (over === null ? ' …' : '') : ` ${duration(durationMs)}`
      return `${stepWord(clean(step)) || clean(step)}${took}`
    })
    .join(', ')

/** Images that changed, before and after. */
const images = ({ digestsBefore, digestsAfter }: RolloutAttempt): string =>
  Object.keys(digestsAfter)
    .filter((service) => digestsBefore[service] !== digestsAfter[service])
    .map((service) => `${service} ${short(digestsBefore[service])} → ${short(digestsAfter[service])}`)
    .join('\n')

const short = (digest: string | null | undefined) => (digest ? clean(digest).replace('sha256:', '').slice(0, 12) : 'unknown')

const statuses = ['queued', 'canary', 'free_5', 'free_100', 'pro', 'enterprise', 'done', 'paused', 'failed', 'rolled_back'] as const

export const list = command('list', 'List rollouts, newest first', {
  options: {
    status: oneOf('--status <status>', 'filter by status', [...statuses, 'aborted']),
    kind: oneOf('--kind <kind>', 'filter by kind', ['staged', 'emergency_cve']),
    since: text('--since <time>', 'created since a time (2026-01-05T02:00:00Z) or age (12h, 7d)'),
    idempotencyKey: text('--idempotency-key <key>', 'filter by idempotency key'),
    limit: count('--limit <count>', 'max results'),
    cursor: text('--cursor <cursor>', 'pagination cursor'),
  },
  run: ({ api, clock }, { since, status, ...query }) =>
    api.rollouts.listRollouts({
      query: {
        ...query,
        // An aborted rollout has the status `failed` in the API.
        status: status === 'aborted' ? 'failed' : status,
        ...(since === undefined ? {} : { since: momentOf(since, clock.now()) }),
      },
    }),
  view: (page, style, { status, kind, since, idempotencyKey, cursor }) =>
    rolloutList(
      page,
      style,
      [status, kind, since, idempotencyKey, cursor].some((one) => one !== undefined),
    ),
  examples: ['list --since 7d', 'list --status paused'],
})

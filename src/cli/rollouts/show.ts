import { duration } from '../../core/kit/index.ts'
import type { RolloutAction, RolloutAttempt, RolloutDetail, RolloutPlan, RolloutReport } from '../../core/rollouts/index.ts'
import { versionMoves } from '../boxes/index.ts'
import { type Context, clean, command, count, fields, flag, momentOf, oneOf, type Style, sections, stamp, text } from '../kit/index.ts'
import { planView } from './plan.ts'
import { reportView } from './report.view.ts'
import { rolloutList, rolloutView } from './rollout.view.ts'

import { actionTint, outcomeTint, outcomeWord, statusWord, stepWord, withShortDigests } from './words.ts'

type Shown =
  | (RolloutReport & { plan?: RolloutPlan })
  | RolloutDetail
  | Readonly<{ action: RolloutAction; attempts: readonly RolloutAttempt[] }>

export const show = command(
  'show <id>',
  'What became of a rollout: failures first, timeline, fences, steps, and what to type next',
  {
    box: text('--box <slug>', 'what proves the outcome for one box, attempt by attempt'),
    boxes: flag('--boxes', 'every box in a table'),
    plan: flag('--plan', 'the plan that it was made with'),
    report: flag('--report', 'with --json: the post-mortem, instead of the whole record with all boxes'),
  },
  async (context, { id, box, boxes, plan, report }): Promise<Shown> => {
    const params = { id }
    if (box) return context.api.rollouts.getRolloutAction({ params: { id, slug: box } })
    if (boxes || plan || (context.json && !report)) return context.api.rollouts.getRollout({ params })
    return withPlan(context, await context.api.rollouts.reportRollout({ params }))
  },
  (result, style, { plan }) => {
    if ('attempts' in result) return actionView(result, style)
    if ('timeline' in result) return reportView(result, style)
    return plan ? planView(result.plan, style) : rolloutView(result, style)
  },
  { examples: ['show ro_8x2m4k7p9q3r5t6v1w0y', 'show ro_8x2m4k7p9q3r5t6v1w0y --box anna-schule'] },
)

/** Whoever looks at a rollout that has not begun wants to see what it would do. */
async function withPlan({ api, json }: Context, report: RolloutReport): Promise<RolloutReport & { plan?: RolloutPlan }> {
  if (json || report.rollout.status !== 'queued') return report
  const { plan } = await api.rollouts.getRollout({ params: { id: report.rollout.id } })
  return { ...report, plan }
}

const said = (done: boolean | null) => (done === null ? 'not reached' : done ? 'ok' : 'failed')

/** One box of a rollout with the evidence of each attempt. */
export function actionView({ action, attempts }: { action: RolloutAction; attempts: readonly RolloutAttempt[] }, style: Style): string {
  const facts = fields(style, [
    ['box', style.paint.bold(action.tenantSlug)],
    ['rollout', action.rolloutId],
    ['phase', action.phase],
    ['status', style.paint[outcomeTint(action)](outcomeWord(action))],
    ['moves', versionMoves(action.from, action.to)],
    ['snapshot', `${said(action.snapshotOk)}${action.snapshotId ? ` (${clean(action.snapshotId)})` : ''}`],
    ['update', said(action.updateOk)],
    ['health', said(action.healthOk)],
    ['findings', action.findings.map(({ code, message }) => `${clean(message)} [${code}]`).join('\n')],
  ])
  return sections(facts, ...attempts.map((attempt) => attemptView(attempt, style)))
}

const attemptWords = { update: 'Attempt', 'undo-images': 'Way back by images,', 'undo-snapshot': 'Way back by snapshot,' } as const

const errorText = (error: RolloutAttempt['error'], { paint }: Style): string | null => {
  const told = withShortDigests(error)
  return told && paint.red(`${clean(told.message)} [${clean(told.code)}]`)
}

const attemptView = (attempt: RolloutAttempt, style: Style): string =>
  `${style.paint.bold(`${attemptWords[attempt.kind]} ${attempt.attempt}`)} ${style.paint[actionTint(attempt.status)](statusWord(attempt.status))}\n${fields(
    style,
    [
      ['  started', stamp(attempt.startedAt, style.now)],
      ['  took', attempt.durationMs === null ? null : duration(attempt.durationMs)],
      ['  fenced', attempt.fencedMs === null ? null : duration(attempt.fencedMs)],
      ['  steps', stepsText(attempt)],
      ['  database back', databaseBack(attempt)],
      ['  error', errorText(attempt.error, style)],
      ['  snapshot', attempt.snapshotId && clean(attempt.snapshotId)],
      ['  manifest', attempt.snapshotSha256 && `sha256 ${clean(attempt.snapshotSha256)}`],
      ['  compose backup', attempt.composeBackup && clean(attempt.composeBackup)],
      ['  images', images(attempt)],
      [
        '  probes',
        attempt.probes.map(({ at, verdict, reason }) => `${at.slice(11, 19)} ${verdict}${reason ? `: ${clean(reason)}` : ''}`).join('\n'),
      ],
    ],
  )}`

/** By the fast way or the slow one, so that both can be compared. */
function databaseBack({ restored }: RolloutAttempt): string | null {
  if (!restored) return null
  const { from, tookMs, copiedMs } = restored
  const made = copiedMs === undefined ? '' : ` (the copy was made in ${duration(copiedMs)})`
  return `from ${from === 'cold-copy' ? 'its cold copy' : 'the dump'} in ${duration(tookMs)}${made}`
}

/** In their order; the longest stands out by its number. One that goes on has none yet; one whose end was never told has none at all. */
const stepsText = ({ steps, durationMs: over }: RolloutAttempt): string =>
  steps
    .map(({ step, durationMs }) => {
      const took = durationMs === null ? (over === null ? ' …' : '') : ` ${duration(durationMs)}`
      return `${stepWord(clean(step)) || clean(step)}${took}`
    })
    .join(', ')

/** What ran before and what runs now, where they differ. */
const images = ({ digestsBefore, digestsAfter }: RolloutAttempt): string =>
  Object.keys(digestsAfter)
    .filter((service) => digestsBefore[service] !== digestsAfter[service])
    .map((service) => `${service} ${short(digestsBefore[service])} → ${short(digestsAfter[service])}`)
    .join('\n')

const short = (digest: string | null | undefined) => (digest ? clean(digest).replace('sha256:', '').slice(0, 12) : 'unknown')

const statuses = ['queued', 'canary', 'free_5', 'free_100', 'pro', 'enterprise', 'done', 'paused', 'failed', 'rolled_back'] as const

export const list = command(
  'list',
  'Rollouts, newest first',
  {
    status: oneOf('--status <status>', 'in one status', statuses),
    kind: oneOf('--kind <kind>', 'of one kind', ['staged', 'emergency_cve']),
    since: text('--since <time>', 'made since then: 2026-01-05, 2026-01-05T02:00:00Z, or 12h, 7d ago'),
    idempotencyKey: text('--idempotency-key <key>', 'the one that you made with this key'),
    limit: count('--limit <count>', 'at most so many'),
    cursor: text('--cursor <cursor>', 'go on where the page before ended'),
  },
  ({ api, clock }, { since, ...query }) =>
    api.rollouts.listRollouts({ query: { ...query, ...(since === undefined ? {} : { since: momentOf(since, clock.now()) }) } }),
  (page, style, { status, kind, since, idempotencyKey, cursor }) =>
    rolloutList(
      page,
      style,
      [status, kind, since, idempotencyKey, cursor].some((one) => one !== undefined),
    ),
  { examples: ['list --since 7d', 'list --status paused'] },
)

import { duration } from '../../core/kit/index.ts'
import type { RolloutAction, RolloutAttempt } from '../../core/rollouts/index.ts'
import { versionMoves } from '../boxes/index.ts'
import { clean, fields, type Style, sections, stamp } from '../kit/index.ts'
import { actionTint, outcomeTint, outcomeWord, spoken, statusWord, stepWord } from './words.ts'

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
  const told = spoken(error)
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

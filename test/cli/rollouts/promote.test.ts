import { expect, test } from 'vitest'
import { type Answers, tenantry } from '../../support/command-line.ts'
import { anAction, aReport, aRollout, aRolloutDetail, at, rolloutId } from '../../support/records.ts'

const path = `/admin/tenant-boxes/rollouts/${rolloutId}`
const answersFor = (paused: object): Answers => ({
  [`GET ${path}`]: aRolloutDetail([anAction('a')], { status: 'paused', previousStatus: 'free_5', ...paused }),
  [`POST ${path}/promote`]: aRollout(),
})
const held = {
  holdAfter: 'canary' as const,
  pauseReason: 'held after canary, as requested at its creation. Next: resume the rollout to continue.',
}

const bakeUntil = '2026-01-05T02:30:00.000Z'

test.each([
  ['its hold', held],
  ['the rest of a bake', { status: 'canary' as const, previousStatus: null, bakeUntil }],
  ['a bake that a failing box has stopped', { bakeUntil, pauseReason: 'bake after canary stopped: a (alert fence_stuck). Next: …' }],
])('promote continues a rollout past %s', async (_, state) => {
  const ran = await tenantry(['rollouts', 'promote', rolloutId, '-y'], { answers: answersFor(state) })
  expect([ran.exit, ran.asked.at(-1)?.path]).toEqual([0, `${path}/promote`])
})

test('a rollout that bakes shows until when, and how to continue', async () => {
  const answers = answersFor({ status: 'canary', previousStatus: null, bakeMs: 1_800_000, bakeUntil })
  const { stdout } = await tenantry(['rollouts', 'show', rolloutId, '--boxes'], { answers })
  expect(stdout).toMatch(/status +baking \(canary\)/)
  expect(stdout).toMatch(/waiting +until 2026-01-05 02:30:00 UTC: bake after canary/)
  expect(stdout).toMatch(/bake +30 min after each phase/)
  expect(stdout).toContain(`tenantry rollouts promote ${rolloutId}`)
})

const gate = {
  name: 'errors',
  query: 'q',
  atMost: 0.5,
  atLeast: null,
  forMs: 600_000,
  onNoAnswer: 'pause',
  noAnswer: null,
  missed: 0,
} as const
const asked = (state: 'holding' | 'failed', value: string) => [{ ...gate, state, value, since: at('02:30:00'), at: at('02:33:10') }]

test('a rollout that asks its gates shows each with value and time', async () => {
  const answers = answersFor({ status: 'canary', previousStatus: null, bakeUntil, gates: asked('holding', '0.123456') })
  const { stdout } = await tenantry(['rollouts', 'show', rolloutId, '--boxes'], { answers })
  const text = 'errors: 0.1235 at 02:33:10 UTC, holding \\(at most 0.5 for 10 min\\)'
  expect(stdout).toMatch(new RegExp(`waiting +for gates after canary: ${text}\n`))
  expect(stdout).toMatch(new RegExp(`gates +${text}\n`))
  const reported = await tenantry(['rollouts', 'show', rolloutId], {
    answers: { [`GET ${path}/report`]: aReport([anAction('a')], { gates: asked('holding', '0.123456') }) },
  })
  expect(reported.stdout).toMatch(new RegExp(`gates +${text}\n`))
})

test('a gate that stopped a rollout is named, and promote continues past it', async () => {
  const pauseReason = 'gates after free_5 stopped: errors must be at most 0.5 for 10 min and is 0.75. Next: …'
  const answers = answersFor({ bakeUntil, pauseReason, gates: asked('failed', '0.75') })
  const { stdout } = await tenantry(['rollouts', 'show', rolloutId, '--boxes'], { answers })
  expect(stdout).toMatch(/reason +gates after free_5 stopped: errors must be at most 0\.5 for 10 min and is 0\.75\n/)
  expect(stdout).toContain(`tenantry rollouts promote ${rolloutId}`)
  const ran = await tenantry(['rollouts', 'promote', rolloutId, '-y'], { answers })
  expect([ran.exit, ran.asked.at(-1)?.path]).toEqual([0, `${path}/promote`])
})

test.each([
  ['90s', 90_000],
  ['2h', 7_200_000],
])('--bake %s and --parallel are sent with plan, create and rehearse', async (text, bakeMs) => {
  for (const verb of ['plan', 'create', 'rehearse']) {
    const { asked } = await tenantry(['rollouts', verb, '--bake', text, '--parallel', '1'], { answers: {} })
    expect(asked.at(-1)?.body).toMatchObject({ bakeMs, parallel: 1 })
  }
})

test('--bake refuses what is no duration', async () => {
  const ran = await tenantry(['rollouts', 'plan', '--bake', '30'], { answers: {} })
  expect([ran.exit, ran.stderr]).toEqual([2, expect.stringContaining('must be a duration, such as 90s, 30m, 2h or 1d')])
})

test.each([
  ['paused for a failure', { holdAfter: 'canary', pauseReason: 'pro stopped: a failed' }, 'pro stopped: a failed'],
  ['not paused', { status: 'pro', holdAfter: 'pro', pauseReason: null }, 'it is pro.'],
  ['paused by a person while it bakes', { bakeUntil: '2026-01-05T02:30:00.000Z', pauseReason: 'lunch' }, 'lunch'],
])('promote refuses a rollout that is %s', async (_, paused, says) => {
  const ran = await tenantry(['rollouts', 'promote', rolloutId, '-y'], { answers: answersFor(paused) })
  expect([ran.exit, ran.asked.map(({ method }) => method)]).toEqual([5, ['GET']])
  expect(ran.stderr).toContain(says)
})

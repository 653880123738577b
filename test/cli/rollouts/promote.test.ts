import { expect, test } from 'vitest'
import { type Answers, tenantry } from '../../support/command-line.ts'
import { anAction, aRollout, aRolloutDetail, rolloutId } from '../../support/records.ts'

const path = `/admin/tenant-boxes/rollouts/${rolloutId}`
const answersFor = (paused: object): Answers => ({
  [`GET ${path}`]: aRolloutDetail([anAction('a')], { status: 'paused', previousStatus: 'free_5', ...paused }),
  [`POST ${path}/resume`]: aRollout(),
})
const held = {
  holdAfter: 'canary' as const,
  pauseReason: 'held after canary, as requested at its creation. Next: resume the rollout to continue.',
}

test('promote continues a rollout past its hold', async () => {
  const ran = await tenantry(['rollouts', 'promote', rolloutId, '-y'], { answers: answersFor(held) })
  expect([ran.exit, ran.asked.at(-1)?.path, ran.asked.at(-1)?.body]).toEqual([0, `${path}/resume`, { skipFailed: false }])
})

test.each([
  ['paused for a failure', { holdAfter: 'canary', pauseReason: 'pro stopped: a failed' }, 'pro stopped: a failed'],
  ['not paused', { status: 'pro', holdAfter: 'pro', pauseReason: null }, 'it is pro.'],
])('promote refuses a rollout that is %s', async (_, paused, says) => {
  const ran = await tenantry(['rollouts', 'promote', rolloutId, '-y'], { answers: answersFor(paused) })
  expect([ran.exit, ran.asked.map(({ method }) => method)]).toEqual([5, ['GET']])
  expect(ran.stderr).toContain(says)
})

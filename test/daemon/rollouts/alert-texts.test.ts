import { expect, test } from 'vitest'
import { explainPause, mustSkipFailures } from '../../../src/core/rollouts/pause-reason.ts'
import { boxRollbackFailed, rolloutPaused, updateFailed, updateLeftDown, updateOverdue } from '../../../src/daemon/rollouts/alerts.ts'

const error = { code: 'PROBE_FAILED', message: 'the event that was sent did not come back' }
const box = { rolloutId: 'ro_0123456789abcdefghjk', slug: 'anna-schule', attempt: 1, error }
const { rolloutId } = box

test('the key depends on kind, box, rollout and attempt, not on the error', () => {
  const key = (more: object) => updateLeftDown({ ...box, ...more }).key
  expect(key({ error: null })).toBe(key({}))
  const keys = [key({}), key({ attempt: 2 }), key({ slug: 'north' }), key({ rolloutId: 'ro_1' })]
  keys.push(
    updateFailed('unhealthy', box).key,
    updateOverdue({ ...box, host: 'host-1' }).key,
    boxRollbackFailed({ ...box, isDown: false }).key,
  )
  expect(new Set(keys).size).toBe(7)
})

test.each(['unhealthy', 'rolled_back', 'opened_early', 'wrong_image'] as const)(
  'a failed update that is %s names its case, the cause on one line and the board of the box',
  (failure) => {
    const { title, body, command } = updateFailed(failure, { ...box, error: { code: 'X\r\nNothing to do.\u001b[2J', message: 'a\nb' } })
    expect(title).toContain('anna-schule')
    expect(body.split('\n')).toHaveLength(3)
    expect(body).toContain('\nX Nothing to do.\ufffd[2J: a b\n')
    expect(command).toBe(`tenantry rollouts show ${rolloutId} --box anna-schule`)
  },
)

test.each([
  ['rolled_back', `To continue: tenantry rollouts resume ${rolloutId}\n`],
  ['rollback_failed', `To continue: tenantry rollouts resume ${rolloutId} --skip-failed\n`],
] as const)('a pause because of a box in %s names a resume command that the daemon accepts', (status, line) => {
  const failures = [{ slug: 'anna-schule', status, error }]
  const of = { rolloutId, reason: explainPause('canary', failures), mustSkip: mustSkipFailures(failures) }
  expect(rolloutPaused(of).body).toContain(line)
})

import { expect, test } from 'vitest'
import { explainPause } from '../../../src/core/rollouts/pause-reason.ts'

const digests = Array.from('0123456', (sign) => `sha256:${sign.repeat(64)}`)

test('a pause over moved tags names each digest by its first signs, and none is cut in the middle', () => {
  const message = digests.map((digest) => `registry.test/synapse:v1 is ${digest}`).join('; ')
  const paused = explainPause('canary', [{ slug: 'oak', status: 'failed', error: { code: 'DIGEST_MISMATCH', message } }])
  const told = paused.match(/sha256:[0-9a-f]*/g) ?? []
  expect(told.slice(0, 5)).toEqual(digests.slice(0, 5).map((digest) => digest.slice(0, 19)))
  expect(paused).toMatch(/^canary stopped: oak failed \(DIGEST_MISMATCH: registry\.test.*\)\. Next: resume/)
})

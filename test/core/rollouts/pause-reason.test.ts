import { expect, test } from 'vitest'
import { explainPause, reasonWithout } from '../../../src/core/rollouts/pause-reason.ts'

const digests = Array.from('0123456', (sign) => `sha256:${sign.repeat(64)}`)

test('a pause over moved tags names each digest by its first signs, and none is cut in the middle', () => {
  const message = digests.map((digest) => `registry.test/synapse:v1 is ${digest}`).join('; ')
  const paused = explainPause('canary', [{ slug: 'oak', status: 'failed', error: { code: 'DIGEST_MISMATCH', message } }])
  const told = paused.match(/sha256:[0-9a-f]*/g) ?? []
  expect(told.slice(0, 5)).toEqual(digests.slice(0, 5).map((digest) => digest.slice(0, 19)))
  expect(paused).toMatch(/^canary stopped: oak failed \(DIGEST_MISMATCH: registry\.test.*\)\. Next: resume/)
})

test('beside a list of the failures the reason leaves their errors out, and no others', () => {
  const [oak, elm] = [
    { code: 'PULL_FAILED', message: `no such image ${digests[0]}\n at once. ` },
    { code: 'PROBE_FAILED', message: 'no answer' },
  ]
  const reason = explainPause('canary', [
    { slug: 'oak', status: 'failed', error: oak },
    { slug: 'elm', status: 'rolled_back', error: elm },
  ])
  expect(reasonWithout(reason, [oak, null])).toMatch(
    /^canary stopped: oak failed; elm failed and was rolled back \(PROBE_FAILED: no answer\)\. Next/,
  )
})

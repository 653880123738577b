import { expect, test } from 'vitest'
import { type ImportStep, importSaga } from '../../../src/core/boxes/index.ts'
import { nextStep, type SagaEntry } from '../../../src/core/saga/index.ts'

const forward = importSaga.steps.map(({ name }) => name)
const after = (step: ImportStep) => forward.slice(forward.indexOf(step))
const did = (...steps: ImportStep[]): SagaEntry[] =>
  steps.flatMap((step) => [
    { step, mark: 'intent', elapsedMs: 0 },
    { step, mark: 'done', elapsedMs: 0 },
  ])
const world = { quiet: true }
const next = (entries: readonly SagaEntry[]) => nextStep(importSaga, entries, { world, time: { elapsedMs: 3_600_000, deadlineMs: null } })
const error = { code: 'PROBE_FAILED', message: 'no' }

/** The steps that a restarted agent does until the end. */
function rest(entries: SagaEntry[]): string[] {
  const steps: string[] = []
  for (;;) {
    const now = next(entries)
    if ('done' in now) return [...steps, now.done]
    const step = 'do' in now ? now.do : 'compensate' in now ? now.compensate : ''
    steps.push(step)
    entries.push(...did(step as ImportStep))
  }
}

test.each(after('fence'))('an agent that is killed in %s does it again, and a failure there returns to the stack', (step) => {
  const before = did(...forward.slice(0, forward.indexOf(step)))
  const killed: SagaEntry[] = [...before, { step, mark: 'intent', elapsedMs: 0 }]
  expect(next(killed)).toEqual({ do: step })
  const failed: SagaEntry[] = [...killed, { step, mark: 'failed', elapsedMs: 0, data: { error } }]
  expect(rest([...failed])).toEqual(['halt', 'return', 'clear', 'rolled_back'])
  // Killed while it returns: it returns.
  expect(rest([...failed, { step: 'halt', mark: 'intent', elapsedMs: 0 }])).toEqual(['halt', 'return', 'clear', 'rolled_back'])
})

test('once the box is recorded, an agent that is killed ends the import forward', () => {
  expect(rest(did(...forward))).toEqual(['open', 'rest', 'tidy', 'committed'])
})

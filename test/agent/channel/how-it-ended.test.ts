import { expect, test } from 'vitest'
import { outcomeSummary } from '../../../src/agent/channel/run-command.ts'
import type { CommandOutcome } from '../../../src/core/hosts/index.ts'

// The log line that an operator finds on the host when the daemon is away.

const why = { code: 'SNAPSHOT_FAILED', message: 'the store is full' } as const

test.each<[string, CommandOutcome, Record<string, unknown>]>([
  ['a refusal', { ok: false, error: why }, { ok: false, code: 'SNAPSHOT_FAILED', why: 'the store is full' }],
  ['an answer without an end of its own', { ok: true, result: { services: {} } }, { ok: true }],
  ['no answer at all', { ok: true, result: null }, { ok: true }],
  ['a change that held', { ok: true, result: { outcome: 'committed', error: null } }, { ok: true, outcome: 'committed' }],
  [
    'a change that was rolled back',
    { ok: true, result: { outcome: 'rolled_back', error: why } },
    { ok: true, outcome: 'rolled_back', code: 'SNAPSHOT_FAILED', why: 'the store is full' },
  ],
])('the log line of %s is correct', (_, outcome, line) => {
  expect(outcomeSummary(outcome)).toEqual(line)
})

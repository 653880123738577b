import { expect, test } from 'vitest'
import { type RunResult, readSamples } from '../../../src/core/modules/index.ts'
import { type TestReport, testModule } from '../../../src/node/module-test/index.ts'
import type { Sandbox } from '../../../src/node/sandbox/index.ts'
import { aManifest } from '../../support/modules-world.ts'

const dataVersion = 1000

/** The report on a module with as many migrations as a manifest allows. Each of them has `log` and `violations`. */
function reportOf({ log = [], violations = [] }: Partial<Pick<RunResult, 'log' | 'violations'>>): Promise<TestReport> {
  const run: Sandbox['run'] = async ({ job }) => ({
    ...{ outcome: 'done', ms: 1, interpreterMs: 1, calls: 0, log: [...log] },
    ...(job.type === 'describe'
      ? { value: { events: [], routes: false, migrations: dataVersion }, violations: [] }
      : { value: null, violations: [...violations] }),
  })
  const manifest = aManifest({ dataVersion, events: { subscribes: [] } })
  const samples = readSamples(undefined, manifest)
  return testModule({ run, close: async () => undefined }, { files: {}, manifest, samples }, '2026-01-05T00:00:00.000Z')
}

test('the report has the first 1,000 lines of the log, and the number of the others', async () => {
  const { ok, ran, log } = await reportOf({ log: Array.from({ length: 100 }, (_, n) => `line ${n}`) })
  expect([ok, ran.length, log.length]).toEqual([true, 1 + dataVersion, 1001])
  expect([log[0], log[999], log[1000]]).toEqual(['exports: line 0', 'migration 9: line 99', '… 99100 more lines'])
  expect((await reportOf({ log: [] })).log).toEqual([])
})

test('a step names its first ten violations, and the number of the others', async () => {
  const violations = Array.from({ length: 200 }, (_, n) => ({ kind: 'permission' as const, message: `no. ${n}` }))
  const { ok, ran } = await reportOf({ violations })
  expect(ok).toBe(false)
  expect(ran[1]?.message).toMatch(/^permission: no\. 0; .*permission: no\. 9; and 190 more$/)
  expect((await reportOf({ violations: violations.slice(0, 1) })).ran[1]?.message).toBe('permission: no. 0')
})

import { execa } from 'execa'
import { expect, test } from 'vitest'

test('every benchmark still runs on the code of today, and measures all of its rows', { timeout: 2_400_000 }, async () => {
  const { exitCode, stdout, stderr } = await execa(process.execPath, ['bench/run.js'], { env: { TENANTRY_BENCH: 'quick' }, reject: false })
  expect(exitCode, stderr).toBe(0)
  const rows = stdout
    .split('\n')
    .filter((line) => line.endsWith('|'))
    .slice(2)
  expect(rows.length).toBeGreaterThan(40)
  expect(rows.filter((row) => !/\| quick *\|$/.test(row))).toEqual([])
})

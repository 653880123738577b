import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

test("every benchmark still runs on today's code, and measures all of its rows", () => {
  const env = { ...process.env, TENANTRY_BENCH: 'quick' }
  const { status, stdout, stderr } = spawnSync(process.execPath, ['bench/run.js'], { encoding: 'utf8', env })
  expect(status, stderr).toBe(0)
  const rows = stdout
    .split('\n')
    .filter((line) => line.endsWith('|'))
    .slice(2)
  expect(rows.length).toBeGreaterThan(40)
  expect(rows.filter((row) => !/\| quick *\|$/.test(row))).toEqual([])
})

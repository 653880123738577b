import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { loadConfig } from '../../../src/daemon/config/index.ts'

const nights = [{ days: ['mon', 'tue'], from: '02:00', to: '05:00' }]

test('any time is right until a tier has a window', () => {
  expect(loadConfig({ env: {} })).toMatchObject({ timeZone: 'UTC', windows: { free: null, pro: null, enterprise: null } })
})

test('windows are said in words, as lists in the file, or as any time', async () => {
  const file = join(await mkdtemp(join(tmpdir(), 'tenantry-config-')), 'tenantryd.yaml')
  const list = '  pro:\n    - { days: [mon, tue], from: 02:00, to: 05:00 }\n'
  await writeFile(file, `timeZone: Europe/Berlin\nwindows:\n  free: mon,tue 02:00-05:00\n${list}  enterprise: mon 02:00-03:00\n`)
  const { timeZone, windows } = loadConfig({ file, env: { TENANTRY_WINDOWS_ENTERPRISE: 'any' } })
  expect({ timeZone, windows }).toEqual({ timeZone: 'Europe/Berlin', windows: { free: nights, pro: nights, enterprise: null } })
})

test.each([
  ['TENANTRY_WINDOWS_FREE', 'whenever', 'windows.free'],
  ['TENANTRY_WINDOWS_PRO', 'mon 02:00-26:00', 'windows.pro'],
  ['TENANTRY_TIME_ZONE', '+01:00', 'timeZone'],
])('%s=%s is refused with its path', (variable, value, path) => {
  const load = () => loadConfig({ env: { [variable]: value } })
  expect(load).toThrow(expect.toSatisfy((error) => isProblem(error, 'CONFIG_INVALID') && error.details?.[0]?.path === path))
})

import { expect, test } from 'vitest'
import { tenantry } from '../../support/command-line.ts'

const settings = [
  { key: 'listen', variable: 'TENANTRY_LISTEN', value: '127.0.0.1:8440', origin: 'default' },
  { key: 'backupKey', variable: 'TENANTRY_BACKUP_KEY', value: '[secret]', origin: 'environment' },
]
const answers = { 'GET /api/admin/v1/settings': { settings } }

test('all settings are listed with value and origin', async () => {
  const { exit, stdout } = await tenantry(['settings', 'list'], { answers })
  expect(exit).toBe(0)
  expect(stdout).toMatch(/^listen +127\.0\.0\.1:8440 +default/m)
  expect(stdout).toMatch(/^backupKey +\[secret\] +environment/m)
})

test('--changed leaves out defaults, and says so when there is nothing else', async () => {
  const { stdout } = await tenantry(['settings', 'list', '--changed', '--json'], { answers })
  expect(JSON.parse(stdout)).toEqual({ settings: settings.slice(1) })
  const none = await tenantry(['settings', 'list', '--changed'], { answers: { 'GET /api/admin/v1/settings': { settings: [] } } })
  expect(none.stdout).toContain('All settings have their defaults.')
})

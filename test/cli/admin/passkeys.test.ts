import { expect, test } from 'vitest'
import { type Answers, tenantry } from '../../support/command-line.ts'
import { at } from '../../support/records.ts'

const id = 'acc_0123456789abcdefghjk'
const account = {
  ...{ id, name: 'anna', role: 'admin', status: 'active', login: 'password', totp: true, mustChangePassword: false },
  ...{ initialPasswordExpiresAt: null, lockedUntil: null, lastLoginAt: null, createdAt: at('01:00:00'), createdBy: 'ben' },
}
const phone = { id: 'pky_0123456789abcdefghjk', name: 'Phone', createdAt: at('01:00:00'), lastUsedAt: null }
const key = { id: 'pky_0123456789abcdefghjm', name: 'Key', createdAt: at('01:00:00'), lastUsedAt: at('01:58:00') }
const answers: Answers = {
  'GET /api/admin/v1/accounts': { accounts: [account] },
  'GET /api/admin/v1/passkeys': { passkeys: [phone, key] },
  [`DELETE /api/admin/v1/passkeys/${phone.id}`]: undefined,
}

test('passkeys of an account are listed, as a table and as JSON', async () => {
  const { exit, stdout, asked } = await tenantry(['accounts', 'passkeys', 'anna'], { answers })
  expect(exit).toBe(0)
  expect(asked.at(-1)?.search).toBe(`?account=${id}`)
  expect(stdout).toMatch(/PASSKEY.*LAST USED.*CREATED/)
  expect(stdout).toMatch(/Phone +never/)
  const { stdout: json } = await tenantry(['accounts', 'passkeys', 'anna', '--json'], { answers })
  expect(JSON.parse(json)).toEqual({ passkeys: [phone, key] })
  const none = { ...answers, 'GET /api/admin/v1/passkeys': { passkeys: [] } }
  expect((await tenantry(['accounts', 'passkeys', 'anna'], { answers: none })).stdout).toMatch(/^No passkeys/)
})

test('a passkey is removed by name or id; an unknown one is named', async () => {
  for (const named of ['Phone', phone.id]) {
    const ran = await tenantry(['accounts', 'remove-passkey', 'anna', named, '--yes'], { answers })
    expect([ran.exit, ran.stdout]).toEqual([0, `Removed passkey ${named} of anna.\n`])
    expect(ran.asked.at(-1)).toMatchObject({ method: 'DELETE', path: `/api/admin/v1/passkeys/${phone.id}` })
  }
  const { exit, stderr } = await tenantry(['accounts', 'remove-passkey', 'anna', 'Laptop', '--yes'], { answers })
  expect(exit).toBe(3)
  expect(stderr).toContain('Account anna has no passkey Laptop')
  expect(stderr).toContain('tenantry accounts passkeys anna')
})

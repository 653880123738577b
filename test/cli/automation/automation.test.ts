import { expect, test } from 'vitest'
import { tenantry } from '../../support/command-line.ts'

const key = {
  ...{ id: 'aky_00000000000000000001', name: 'n8n', prefix: 'tak_Abcd', tenants: ['linden', 'ulme'], createdBy: 'admin:anna' },
  ...{ createdAt: '2026-01-01T00:00:00.000Z', expiresAt: null, lastUsedAt: null },
}
const path = '/api/admin/v1/automation-keys'

test('keys are listed as a table and as JSON', async () => {
  const answers = { [`GET ${path}`]: { keys: [key] } }
  const shown = await tenantry(['automation', 'keys', 'list'], { answers })
  expect(shown.stdout).toMatch(/KEY +TENANTS .*EXPIRES/)
  expect(shown.stdout).toMatch(/n8n +linden, ulme .*never/)
  const json = await tenantry(['automation', 'keys', 'list', '--json'], { answers })
  expect(JSON.parse(json.stdout)).toMatchObject({ keys: [key] })
  const none = await tenantry(['automation', 'keys', 'list'], { answers: { [`GET ${path}`]: { keys: [] } } })
  expect(none.stdout).toContain('tenantry automation keys create <name> --tenant <slug>')
})

test('a new key is shown once, for the tenants that were named', async () => {
  const ran = await tenantry(['automation', 'keys', 'create', 'n8n', '--tenant', 'linden', '--tenant', 'ulme'], {
    answers: { [`POST ${path}`]: { ...key, key: 'tak_secret' } },
  })
  expect(ran.stdout).toContain('tak_secret')
  expect(ran.stdout).toContain('X-Automation-Key')
  expect(ran.asked.at(-1)).toMatchObject({ body: { name: 'n8n', tenants: ['linden', 'ulme'] } })
})

test('a key needs a name and a tenant; an unknown one is not revoked', async () => {
  expect((await tenantry(['automation', 'keys', 'create'])).exit).toBe(2)
  expect((await tenantry(['automation', 'keys', 'create', 'n8n'])).stderr).toContain('--tenant <slug>')
  const gone = await tenantry(['automation', 'keys', 'revoke', 'x'], { answers: { [`GET ${path}`]: { keys: [key] } } })
  expect(gone.exit).toBe(3)
  const answers = { [`GET ${path}`]: { keys: [key] }, [`DELETE ${path}/${key.id}`]: undefined }
  expect((await tenantry(['automation', 'keys', 'revoke', 'n8n'], { answers })).stdout).toContain('Revoked n8n.')
})

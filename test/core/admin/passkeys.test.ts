import { describe, expect, test } from 'vitest'
import { adminContract, passkeyCreation, passkeyRequest, relyingPartyOf } from '../../../src/core/admin/index.ts'

describe('where passkeys can be used', () => {
  test.each([
    ['https://tenantry.example', { id: 'tenantry.example', origin: 'https://tenantry.example' }],
    ['https://tenantry.example:8443', { id: 'tenantry.example', origin: 'https://tenantry.example:8443' }],
    ['http://localhost:8440', { id: 'localhost', origin: 'http://localhost:8440' }],
    ['http://tenantry.example', undefined],
    ['http://127.0.0.1:8440', undefined],
    ['https://192.0.2.1', undefined],
    ['https://[2001:db8::1]', undefined],
  ])('%s', (baseUrl, party) => expect(relyingPartyOf(baseUrl)).toEqual(party))
})

const party = { id: 'tenantry.example', origin: 'https://tenantry.example' }

test('the browser is asked for a passkey that it finds by itself, and whose person it verifies', () => {
  const creation = passkeyCreation({ party, challenge: 'AAAA', account: { handle: 'BBBB', name: 'anna' }, existing: ['CCCC'] })
  expect(creation).toMatchObject({
    rp: { id: 'tenantry.example' },
    user: { id: 'BBBB', name: 'anna' },
    excludeCredentials: [{ id: 'CCCC' }],
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    attestation: 'none',
  })
  expect(adminContract.beginPasskey.returns.parse(creation)).toEqual(creation)
  const request = passkeyRequest(party, 'AAAA')
  expect(request).toEqual({ challenge: 'AAAA', rpId: 'tenantry.example', timeout: 300_000, userVerification: 'required' })
  expect(adminContract.beginPasskeyLogin.returns.parse(request)).toEqual(request)
})

test.each([
  ['Phone', true],
  ['Schlüssel 🔑 im Büro', true],
  ['', false],
  ['   ', false],
  ['a'.repeat(41), false],
  ['two\nlines', false],
  ['turned \u202Eround', false],
])('the name %j', (name, isValid) => {
  const credential = { id: 'AAAA', clientDataJSON: 'AAAA', attestationObject: 'AAAA' }
  expect(adminContract.addPasskey.body.safeParse({ name, credential }).success).toBe(isValid)
})

test('answers of browsers are bounded', () => {
  const credential = { id: 'AAAA', clientDataJSON: 'AAAA', authenticatorData: 'AAAA', signature: 'AAAA', userHandle: 'AAAA' }
  const isValid = (more: object) => adminContract.openConsoleByPasskey.body.safeParse({ credential: { ...credential, ...more } }).success
  expect(isValid({})).toBe(true)
  for (const name of Object.keys(credential)) {
    expect(isValid({ [name]: 'A'.repeat(9000) }), name).toBe(false)
    expect(isValid({ [name]: '' }), name).toBe(false)
    expect(isValid({ [name]: 'a+b/' }), name).toBe(false)
  }
})

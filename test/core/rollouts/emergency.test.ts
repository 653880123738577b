import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { api } from '../../../src/core/api.ts'
import { openApiDocument, parsePart } from '../../../src/core/contract/index.ts'
import { isProblem, manualClock, secret } from '../../../src/core/kit/index.ts'
import {
  cveIdIn,
  emergencyContract,
  emergencyManifest,
  newEmergencyId,
  RolloutDetail,
  readEmergencyOrder,
} from '../../../src/core/rollouts/index.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { aManifest } from '../../support/boxes.ts'

const token = 'Zq7-the-approval-token'
const good = { reason: 'CVE-2026-12345 is used against our schools', toChatServer: '1.163.2', triggeredBy: 'anna, on call' }
const parse = (body: unknown) => parsePart(emergencyContract.createEmergency.body, body, '')
const read = (change: Record<string, unknown>, without: readonly string[] = []) => {
  const { approvalToken, ...rest } = parse({ ...good, ...change, approvalToken: token })
  for (const name of without) delete (rest.order as Record<string, unknown>)[name]
  return readEmergencyOrder(rest, approvalToken)
}
const refusal = (change: Record<string, unknown>, without?: readonly string[]) => {
  try {
    read(change, without)
  } catch (error) {
    if (isProblem(error, 'VALIDATION')) return error
    throw error
  }
  throw new Error('it was taken')
}

describe('the body', () => {
  test('is only taken apart, so that a wrong token is refused before the rest is looked at', () => {
    const { approvalToken, order, unknownFields } = parse({ reason: 7, toChatServer: null, approvalToken: token, colour: 'red' })
    expect(approvalToken.reveal()).toBe(token)
    expect([order, unknownFields]).toEqual([{ reason: 7, toChatServer: null }, 1])
  })

  test.each([[{}], [{ approvalToken: 7 }], [{ approvalToken: null }]])(
    'without a token that is a text it holds an empty one: %j',
    (body) => {
      expect(parse(body).approvalToken.reveal()).toBe('')
    },
  )

  test('shows nothing of the token once it is parsed', () => {
    const parsed = parse({ ...good, approvalToken: token })
    expect(JSON.stringify(parsed)).not.toContain(token)
    expect(String(parsed.approvalToken)).toBe('[secret]')
  })

  test('is described with all its fields', () => {
    const document = openApiDocument(api, { title: 'x', version: '1' }) as {
      paths: Record<string, Record<string, { requestBody: object }>>
    }
    const text = JSON.stringify(document.paths['/admin/v1/tenant-boxes/cve-hotpath']?.post?.requestBody)
    for (const field of ['reason', 'toChatServer', 'toDatabase', 'toObjectStore', 'toMigrationsHead', 'approvalToken', 'triggeredBy'])
      expect(text).toContain(`"${field}":{"type":"string"`)
  })
})

describe('an order', () => {
  test('is taken with one target or all of them', () => {
    expect(read({})).toEqual(good)
    const all = { toDatabase: '17.7', toObjectStore: 'RELEASE.2026-02-12T20-18-48Z', toMigrationsHead: '0003' }
    expect(read(all)).toEqual({ ...good, ...all })
  })

  test('takes the v of a tag as part of no version', () => {
    expect(read({ toChatServer: 'v1.163.2', toDatabase: 'v17.7' })).toEqual({ ...good, toDatabase: '17.7' })
  })

  test.each<[string, Record<string, unknown>, readonly string[], RegExp]>([
    ['a reason that is too short', { reason: 'CVE-2026-12345' }, [], /reason must have at least 20/],
    ['a reason without a CVE id', { reason: 'somebody reads all our messages' }, [], /reason must name the CVE/],
    ['no reason', {}, ['reason'], /reason is missing/],
    ['no target', {}, ['toChatServer'], /name at least one of toChatServer/],
    ['nobody who decided it', {}, ['triggeredBy'], /triggeredBy is missing/],
    ['an empty name', { triggeredBy: '   ' }, [], /triggeredBy must name the person/],
    ['a chat server called latest', { toChatServer: 'latest' }, [], /toChatServer must be a version/],
    ['a chat server with two v', { toChatServer: 'vv1.163.2' }, [], /toChatServer must be a version/],
    ['a database with a shell in it', { toDatabase: '17.6; rm' }, [], /toDatabase must be a version/],
    ['an object store by number', { toObjectStore: '17.6' }, [], /toObjectStore must be a release/],
    ['a head of three digits', { toMigrationsHead: '003' }, [], /toMigrationsHead must be four digits/],
    ['null', { toDatabase: null }, [], /toDatabase must be a text/],
    ['an escape', { triggeredBy: 'anna\u001b[2J' }, [], /triggeredBy must not hold control/],
    ['a field that nobody knows', { colour: 'red' }, [], /unknown fields/],
  ])('with %s is refused', (_, change, without, says) => {
    expect(refusal(change, without).message).toMatch(says)
  })

  test.each(['reason', 'triggeredBy', 'toChatServer', 'toMigrationsHead'])('is refused when %s holds the token', (field) => {
    const refused = refusal({ [field]: `${good.reason} ${token}` })
    expect(refused.details?.map(({ path }) => path)).toContain(field)
    expect(JSON.stringify(refused.toBody())).not.toContain(token)
  })

  test('never repeats what somebody typed, not even the name of an unknown field', () => {
    const anywhere = fc.constantFrom(...Object.keys(good), 'toDatabase', 'toObjectStore', token, `x${token}`)
    fc.assert(
      fc.property(fc.dictionary(anywhere, fc.constantFrom(token, `a ${token}`, [token], { [token]: token }), { minKeys: 1 }), (change) => {
        expect(JSON.stringify(refusal(change).toBody())).not.toContain(token)
      }),
    )
  })
})

test.each([
  ['CVE-2026-12345 is used', 'CVE-2026-12345'],
  ['see cve-2024-1234, and CVE-2026-1', 'CVE-2024-1234'],
  ['XCVE-2026-12345 or CVE-26-12345', undefined],
])('the CVE in "%s" is %s', (text, id) => {
  expect(cveIdIn(text)).toBe(id)
})

test('an emergency moves all tiers, and only what it names', () => {
  const before = aManifest()
  const after = emergencyManifest(
    { ...before, tiers: { ...before.tiers, pro: { ...before.tiers.pro, postgres: '17.5' } } },
    { synapse: '1.163.2' },
  )
  expect(after).toEqual({
    ...aManifest({ synapse: '1.163.2' }),
    tiers: { ...aManifest({ synapse: '1.163.2' }).tiers, pro: { ...aManifest({ synapse: '1.163.2' }).tiers.pro, postgres: '17.5' } },
  })
})

test('its id bears the day and eight characters of chance', () => {
  const clock = manualClock()
  const id = newEmergencyId(clock, systemRandom)
  expect(id).toMatch(new RegExp(`^cve-${clock.now().toISOString().slice(0, 10).replaceAll('-', '')}-[0-9a-z]{8}$`))
  expect(RolloutDetail.shape.id.safeParse(id).success).toBe(true)
  expect(newEmergencyId(clock, systemRandom)).not.toBe(id)
  expect(secret(id).toString()).toBe('[secret]')
})

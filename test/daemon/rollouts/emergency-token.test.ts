import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { isProblem, type ProblemCode, problem, secret } from '../../../src/core/kit/index.ts'
import { currentManifest } from '../../../src/daemon/boxes/index.ts'
import { createEmergency } from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { anAdmin, anOrder, approvalToken, aTokenActor, emergencyWorld, everythingStored } from '../../support/emergencies.ts'
import type { BoxSpec } from '../../support/rollout-world.ts'

const fleet: readonly BoxSpec[] = [
  { slug: 'acme', canary: true },
  { slug: 'prima', plan: 'pro' },
  { slug: 'magna', plan: 'dedicated' },
]
const wrong = { ...anOrder, approvalToken: 'not-the-token' }

const refusedWith = (code: ProblemCode, text?: RegExp) =>
  expect.toSatisfy((error: unknown) => isProblem(error, code) && (text === undefined || text.test(error.message)))
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'made',
    (error) => (isProblem(error) ? error.code : String(error)),
  )
const noSnapshots = () => {
  throw problem('CONFIG', 'no backup key')
}

onBothDialects('the approval token of an emergency', (fresh) => {
  test.each([
    [{}, []],
    [{ approvalTokenSha256: undefined }, ['approval_token']],
    [{ assertSnapshotsConfigured: noSnapshots, hasRecoveryKey: false }, ['backup', 'recovery']],
  ])('lists say what an emergency lacks before anyone orders one: %j', async (change, lacks) => {
    const world = await emergencyWorld(await fresh(), fleet, change)
    expect((await (await world.as(anOperator)).listRollouts({ query: {} })).emergencyLacks).toEqual(lacks)
  })

  describe('is refused', () => {
    test('for everyone but admins who logged in, before any other check', async () => {
      const world = await emergencyWorld(await fresh(), fleet, { approvalTokenSha256: undefined })
      await expect((await world.as(anOperator)).createEmergency({ body: wrong })).rejects.toEqual(
        refusedWith('FORBIDDEN', /requires the role admin/),
      )
      await expect((await world.as(aTokenActor)).createEmergency({ body: wrong })).rejects.toEqual(refusedWith('FORBIDDEN', /API tokens/))
    })

    test.each([
      [
        'CONFIG',
        'no token is configured, whatever else is wrong',
        { approvalTokenSha256: undefined, assertSnapshotsConfigured: noSnapshots },
        { reason: 'x' },
      ],
      [
        'AUTH',
        'the token is wrong, whatever else is wrong',
        { assertSnapshotsConfigured: noSnapshots },
        { reason: 'x', approvalToken: 'y', colour: 1 },
      ],
      ['AUTH', 'the token is missing', {}, { ...anOrder, approvalToken: undefined }],
      ['AUTH', 'the token is not text', {}, { ...anOrder, approvalToken: 7 }],
      ['CONFIG', 'no snapshot store is configured, whatever the body', { assertSnapshotsConfigured: noSnapshots }, { approvalToken }],
      ['VALIDATION', 'the body is invalid', {}, { ...anOrder, reason: 'because' }],
      ['VALIDATION', 'the migrations head is unknown', {}, { ...anOrder, toMigrationsHead: '0009' }],
    ] as const)('with %s when %s', async (code, _, change, body) => {
      const world = await emergencyWorld(await fresh(), fleet, change)
      await expect((await world.as()).createEmergency({ body })).rejects.toEqual(refusedWith(code))
      expect((await currentManifest(world.deps.db)).revision).toBe(2)
      expect(await world.deps.db.selectFrom('rollouts').select('id').execute()).toEqual([])
    })
  })

  describe('wrong tokens', () => {
    test('lock only their account, for 15 minutes, after five within 15 minutes', async () => {
      const world = await emergencyWorld(await fresh(), fleet)
      const api = await world.as()
      for (let n = 1; n <= 5; n++) await expect(api.createEmergency({ body: wrong })).rejects.toEqual(refusedWith('AUTH'))
      for (const body of [wrong, anOrder])
        await expect(api.createEmergency({ body })).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 900 })
      const other = await world.as({ ...anAdmin, accountId: 'acc_2', name: 'bert' })
      expect((await other.createEmergency({ body: anOrder })).status).toBe('queued')
      await world.clock.advance(899_000)
      await expect(api.createEmergency({ body: anOrder })).rejects.toEqual(refusedWith('RATE_LIMITED'))
      await world.clock.advance(1_000)
      expect((await api.createEmergency({ body: anOrder })).status).toBe('queued')
    })

    test('no longer count after 15 minutes or after the right token', async () => {
      const world = await emergencyWorld(await fresh(), fleet)
      const api = await world.as()
      const four = async () => {
        for (let n = 1; n <= 4; n++) expect(await codeOf(api.createEmergency({ body: wrong }))).toBe('AUTH')
      }
      await four()
      await world.clock.advance(900_000)
      await four()
      // The right token with a wrong order is right all the same.
      expect(await codeOf(api.createEmergency({ body: { approvalToken } }))).toBe('VALIDATION')
      await four()
      expect(await codeOf(api.createEmergency({ body: anOrder }))).toBe('made')
    })

    test('sent all at once: five are compared', async () => {
      const world = await emergencyWorld(await fresh(), fleet)
      const api = await world.as()
      const codes = await Promise.all(Array.from({ length: 30 }, () => codeOf(api.createEmergency({ body: wrong }))))
      expect(codes.filter((code) => code === 'AUTH')).toHaveLength(5)
      expect(codes.filter((code) => code === 'RATE_LIMITED')).toHaveLength(25)
    })

    test('are in the audit log with the account', async () => {
      const world = await emergencyWorld(await fresh(), fleet)
      await codeOf((await world.as()).createEmergency({ body: wrong }))
      const [last] = await world.deps.db
        .selectFrom('audit')
        .selectAll()
        .where('chain', '=', 'admin')
        .orderBy('seq', 'desc')
        .limit(1)
        .execute()
      expect(last).toMatchObject({ action: 'rollout.emergency.wrong_token', actor: 'admin:anna', data: '{}' })
    })

    test('also lock the account while no token is configured', async () => {
      const db = await fresh()
      const world = await emergencyWorld(db, fleet)
      const api = await world.as()
      for (let n = 1; n <= 5; n++) await codeOf(api.createEmergency({ body: wrong }))
      await expect(
        createEmergency({ ...world.deps, approvalTokenSha256: undefined }, anAdmin, {
          approvalToken: secret('x'),
          order: {},
          unknownFields: 0,
        }),
      ).rejects.toEqual(refusedWith('RATE_LIMITED'))
    })

    test('that cannot be counted are not compared, and the right one is refused too', async () => {
      const world = await emergencyWorld(await fresh(), fleet)
      await sql`drop table approval_failures`.execute(world.deps.db)
      await expect((await world.as()).createEmergency({ body: anOrder })).rejects.toEqual(refusedWith('INTERNAL'))
      expect(await world.deps.db.selectFrom('rollouts').select('id').execute()).toEqual([])
    })
  })

  test('the token is in no table, log line, metric or response afterwards', async () => {
    const world = await emergencyWorld(await fresh(), fleet)
    const { baseUrl } = await world.as()
    const send = async (body: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${baseUrl}/admin/v1/tenant-boxes/cve-hotpath`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', connection: 'close', ...headers },
        body,
      })
      return { status: response.status, text: `${await response.text()}${JSON.stringify([...response.headers])}` }
    }
    const json = (change: object) => JSON.stringify({ ...anOrder, ...change })
    const answers = [
      await send(json({})),
      await send(json({ colour: approvalToken, [approvalToken]: 'red' })),
      await send(json({ reason: `${anOrder.reason} ${approvalToken}` })),
      await send(json({ triggeredBy: approvalToken })),
      await send(json({ toChatServer: approvalToken })),
      await send(json({ toDatabase: { nested: approvalToken } })),
      await send(json({ reason: 'no', approvalToken: [approvalToken] })),
      await send(json({ reason: `a\u0000 ${approvalToken}` })),
      await send(json({ [`\u0000${approvalToken}`]: `\u0000` })),
      await send(json({}).slice(0, -3)),
      await send(JSON.stringify(approvalToken)),
      await send(JSON.stringify([approvalToken])),
      await send(json({}), { 'content-type': 'text/plain' }),
      await send(json({ reason: 'x'.repeat(300_000) })),
      await send(json({}), { 'idempotency-key': `a-${approvalToken}` }),
    ]
    await sql`drop table rollout_attempts`.execute(world.deps.db)
    await sql`drop table rollout_actions`.execute(world.deps.db)
    answers.push(await send(json({})))
    expect(answers.map(({ status }) => status)).toEqual([201, 400, 400, 400, 400, 400, 401, 400, 400, 400, 400, 400, 415, 413, 400, 500])
    const all = [
      ...answers.map(({ text }) => text),
      ...world.logged,
      await world.metrics.registry.metrics(),
      await everythingStored(world.deps.db),
    ]
    expect(world.logged.join('')).toContain('cve-hotpath')
    for (const text of all) expect(text).not.toContain(approvalToken)
  })
})

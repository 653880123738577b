import { expect, test } from 'vitest'
import { connect } from '../../../src/agent/channel/index.ts'
import { makeClient } from '../../../src/core/contract/index.ts'
import { hostsContract } from '../../../src/core/hosts/index.ts'
import { commandById, commandSweep, composeHandlers, type FailureHandlers, isAnswered } from '../../../src/daemon/hosts/index.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aReport, hostWorld } from '../../support/host-world.ts'
import { roundsOf } from '../../support/loops.ts'

const silence = { protocolVersion: 1, agentVersion: '0.1.0', engine: null, resources: null, reports: [], holding: [] }
const id = 'cmd_1'
const bad = { ok: false as const, error: { code: 'PULL_FAILED', message: 'no such tag' } }
const good = { ok: true as const, result: { report: aReport() } }

onBothDialects('a command that ends without a result', (fresh) => {
  const setUp = async () => {
    const world = await hostWorld(await fresh())
    const heard: string[] = []
    const failureHandlers: FailureHandlers = {
      'tenant-box.report_versions': async (_, command, { reported, lost }) =>
        void heard.push(`${command.status} ${command.error?.code} ${lost ? 'lost' : reported ? 'told' : 'given up'}`),
    }
    Object.assign(world.deps.boxes, { failureHandlers })
    const { hostId, ...identity } = await world.enrol('host-1')
    const agent = connect({ clock: world.clock, random: systemRandom, identity: { hostId, ...identity } })
    await agent.hello({ body: silence })
    await world.enqueue({ id, hostId, deadlineMs: 60_000 })
    const take = () => agent.nextCommand({ body: { holding: [] } })
    const post = (outcome: typeof bad | typeof good) => agent.postResult({ params: { id }, body: { leaseToken: 1, outcome } })
    const expire = async () => {
      await world.clock.advance(60_000)
      await roundsOf({ ...world.deps, owner: 'replica-1' }, commandSweep(world.deps))()
    }
    return { ...world, heard, take, post, expire }
  }

  test('is reported once, in the transaction that stores it', async () => {
    const { heard, take, post } = await setUp()
    await take()
    await post(bad)
    await post(bad)
    expect(heard).toEqual(['failed PULL_FAILED told'])
  })

  test('is not stored if its handler fails, so that the agent delivers it again', async () => {
    const { take, post, deps } = await setUp()
    Object.assign(deps.boxes, { failureHandlers: { 'tenant-box.report_versions': () => Promise.reject(new Error('no')) } })
    await take()
    await expect(post(bad)).rejects.toThrow()
    expect((await commandById(deps.db, id)).status).toBe('leased')
  })

  test('is reported when the daemon abandons the command, and again when its agent later reports a failure', async () => {
    const { heard, take, post, expire, told } = await setUp()
    await take()
    await expire()
    expect(heard).toEqual(['expired COMMAND_EXPIRED given up'])
    await post(bad)
    expect(heard[1]).toBe('expired PULL_FAILED told')
    expect(told.results).toEqual([])
  })

  test('that its agent reports first as failed and later with a result: the result is stored and handled, the status stays', async () => {
    const { heard, take, post, told, deps } = await setUp()
    await take()
    expect(await post(bad)).toEqual({ status: 'failed' })
    expect(await post(good)).toEqual({ status: 'failed' })
    expect(await post(good)).toEqual({ status: 'failed' })
    expect(await post(bad)).toEqual({ status: 'failed' })
    expect([heard, told.results.length]).toEqual([['failed PULL_FAILED told'], 1])
    const { status, result, error } = await commandById(deps.db, id)
    expect({ status, result, error }).toMatchObject({
      status: 'failed',
      result: { report: { slug: good.result.report.slug } },
      error: { code: 'PULL_FAILED' },
    })
  })

  test('is reported when its host is revoked', async () => {
    const { heard, baseUrl } = await setUp()
    const admin = makeClient(hostsContract, { baseUrl, headers: () => ({ authorization: 'Bearer anna' }) })
    await admin.revokeHost({ params: { name: 'host-1' }, body: { reason: 'broken' } })
    expect(heard).toEqual(['expired HOST_REVOKED given up'])
  })

  test.each([
    ['lost with the state folder of the agent is answered by its next enrolment', []],
    ['that the agent still has after its next enrolment waits for its result', [{ id, leaseToken: 1 }]],
  ])('%s', async (_, holding) => {
    const { heard, baseUrl, take, deps, enrol, clock } = await setUp()
    await take()
    const admin = makeClient(hostsContract, { baseUrl, headers: () => ({ authorization: 'Bearer anna' }) })
    await clock.advance(1_000)
    await admin.revokeHost({ params: { name: 'host-1' }, body: { reason: 'its disk is lost' } })
    await clock.advance(1_000)
    const agent = connect({ clock, random: systemRandom, identity: await enrol('host-1') })
    const session = { ...silence, holding }
    await agent.hello({ body: session })
    const command = await commandById(deps.db, id)
    expect([command.status, isAnswered(command)]).toEqual(['expired', holding.length === 0])
    if (holding.length === 0) expect(command.error?.message).toContain('lost this command with its state folder')
    const ends = ['expired HOST_REVOKED given up', ...(holding.length === 0 ? ['expired HOST_REVOKED lost'] : [])]
    expect(heard).toEqual(ends)
    const { revision } = command
    await agent.hello({ body: { ...session, holding: [] } })
    expect(heard).toEqual(ends)
    expect((await commandById(deps.db, id)).revision).toBe(revision)
  })

  test('is not passed to result handlers', async () => {
    const { heard, take, post, told } = await setUp()
    await take()
    await post(good)
    expect([heard, told.results.length]).toEqual([[], 1])
  })
})

test('handlers of the same kind run in order, boxes first', async () => {
  const called: string[] = []
  const note = (name: string) => async () => void called.push(name)
  const kind = 'tenant-box.update'
  const side = composeHandlers(
    { resultHandlers: { [kind]: note('boxes'), 'tenant-box.adopt': note('adopt') } } as never,
    { resultHandlers: { [kind]: note('snapshots') }, failureHandlers: { [kind]: note('snapshots failed') } },
    { failureHandlers: { [kind]: note('moves failed') } },
  )
  await side.resultHandlers[kind]?.({} as never, {} as never, {} as never)
  await side.resultHandlers['tenant-box.adopt']?.({} as never, {} as never, {} as never)
  await side.failureHandlers?.[kind]?.({} as never, {} as never, { reported: true })
  expect(called).toEqual(['boxes', 'snapshots', 'adopt', 'snapshots failed', 'moves failed'])
})

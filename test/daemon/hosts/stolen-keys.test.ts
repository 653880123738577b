import { calculateJwkThumbprint } from 'jose'
import { expect, test, vi } from 'vitest'
import { type AgentIdentity, type AgentPrivateKey, enrolAgent, newAgentKey, openConnection } from '../../../src/agent/channel/index.ts'
import { makeClient } from '../../../src/core/contract/index.ts'
import { hostsContract } from '../../../src/core/hosts/index.ts'
import { isProblem, type ProblemCode, secret } from '../../../src/core/kit/index.ts'
import { hostById } from '../../../src/daemon/hosts/index.ts'
import { freezeHost } from '../../../src/daemon/hosts/revoke-host.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { hostWorld } from '../../support/host-world.ts'

const refused = (code: ProblemCode, text = /./) =>
  expect.toSatisfy((error: unknown) => isProblem(error, code) && text.test((error as Error).message), `${code} saying ${text}`)

const silence = { protocolVersion: 1, agentVersion: '0.1.0', engine: null, resources: null, reports: [], holding: [] }
const beat = { body: { holding: [] } }

const publicHalf = ({ kty, crv, x }: AgentPrivateKey) => ({ kty, crv, x })

onBothDialects('stolen keys and invitations', (fresh) => {
  const setUp = async () => {
    const world = await hostWorld(await fresh())
    const { baseUrl, clock, deps } = world
    const admin = makeClient(hostsContract, { baseUrl, headers: () => ({ authorization: 'Bearer anna' }) })
    const { token } = await admin.inviteHost({ body: { name: 'host-1' } })
    const first = await newAgentKey()
    const enrolWith = async (by: string, key: AgentPrivateKey) => {
      await clock.advance(1000) // enrolments from one address are limited
      return enrolAgent({ daemonUrl: baseUrl, agentVersion: '0.1.0' }, key, secret(by))
    }
    const identity = await enrolWith(token, first)
    /** A new process with this key. */
    const speak = (who: AgentIdentity, fetch = globalThis.fetch) => {
      const { client, as } = openConnection({ clock, random: systemRandom, identity: who, fetch })
      return { ...client, as }
    }
    const withKey = async (key: AgentPrivateKey): Promise<AgentIdentity> => ({
      ...identity,
      keyId: await calculateJwkThumbprint(publicHalf(key)),
      privateKey: key,
    })
    /** Announces a new key by a process and confirms it by its first use. */
    const rotate = async (by: ReturnType<typeof speak>) => {
      const key = await newAgentKey()
      await by.rotateKey({ body: { publicKey: publicHalf(key) } })
      const next = await withKey(key)
      await by.as(next).rotateKey({ body: { publicKey: publicHalf(key) } })
      return next
    }
    const status = async () => (await admin.showHost({ params: { name: 'host-1' } })).status
    const frozenAlerts = () =>
      deps.db.selectFrom('alerts').select(['subject', 'title', 'closed_at']).where('kind', '=', 'host_frozen').execute()
    return { ...world, admin, token, first, identity, enrolWith, speak, withKey, rotate, status, frozenAlerts }
  }
  type World = Awaited<ReturnType<typeof setUp>>

  const freeze = async ({ deps, identity }: World) => {
    await freezeHost(deps, await hostById(deps.db, identity.hostId), { instanceId: 'a copy' })
  }
  const revoke = async ({ admin }: World) => void (await admin.revokeHost({ params: { name: 'host-1' }, body: { reason: 'stolen' } }))

  test.each([
    { how: 'revoked', block: revoke },
    { how: 'frozen', block: freeze },
  ])('a used invitation does not bring a $how host back, by its first key or by any other', async ({ how, block }) => {
    const world = await setUp()
    const { enrolWith, first, token, speak, identity, rotate, status, frozenAlerts } = world
    const agent = speak(identity)
    await agent.hello({ body: silence })
    await rotate(agent)
    await block(world)
    await expect(enrolWith(token, first)).rejects.toEqual(refused('ENROLMENT_INVALID'))
    await expect(enrolWith(token, await newAgentKey())).rejects.toEqual(refused('ENROLMENT_INVALID'))
    expect(await status()).toBe(how)
    expect((await frozenAlerts()).filter(({ closed_at }) => closed_at !== null)).toEqual([])
  })

  test.each([
    { how: 'revoked', block: revoke },
    { how: 'frozen', block: freeze },
  ])('a used invitation does not answer the key of a $how host', async ({ how, block }) => {
    const world = await setUp()
    await block(world)
    await expect(world.enrolWith(world.token, world.first)).rejects.toEqual(refused('ENROLMENT_INVALID'))
    expect(await world.status()).toBe(how)
  })

  test('a key change ends the invitation: the replaced key does not repeat its enrolment', async () => {
    const { enrolWith, first, token, speak, identity, rotate } = await setUp()
    const agent = speak(identity)
    await agent.hello({ body: silence })
    await rotate(agent)
    await expect(enrolWith(token, first)).rejects.toEqual(refused('ENROLMENT_INVALID'))
  })

  test('revoking a frozen host ends its invitation, and a replaced key is not enrolled again', async () => {
    const world = await setUp()
    const { admin, enrolWith, first, speak, identity, rotate, status } = world
    const agent = speak(identity)
    await agent.hello({ body: silence })
    await rotate(agent)
    await freeze(world)
    const { token } = await admin.inviteHost({ body: { name: 'host-1' } })
    await revoke(world)
    await expect(enrolWith(token, await newAgentKey())).rejects.toEqual(refused('ENROLMENT_INVALID'))
    const again = await admin.inviteHost({ body: { name: 'host-1' } })
    await expect(enrolWith(again.token, first)).rejects.toEqual(refused('CONFLICT', /enrolled before/))
    expect(await status()).toBe('revoked')
    await enrolWith(again.token, await newAgentKey())
  })

  test('a thief who greets and rotates with a stolen key is found by the next call of the robbed agent', async () => {
    const { speak, identity, rotate, clock, status, frozenAlerts, deps } = await setUp()
    const error = vi.spyOn(deps.log, 'error')
    const robbed = speak(identity)
    await robbed.hello({ body: silence })
    await clock.advance(20_000)
    const thief = speak(identity)
    await thief.hello({ body: silence })
    const taken = speak(await rotate(thief))
    await taken.hello({ body: silence })
    // Within the grace the call may be a late one; the agent asks again.
    await expect(robbed.heartbeat(beat)).rejects.toEqual(refused('UNAVAILABLE'))
    await clock.advance(10_000)
    await expect(robbed.hello({ body: silence })).rejects.toEqual(refused('HOST_FROZEN', /replaced key/))
    expect(await status()).toBe('frozen')
    expect(await frozenAlerts()).toEqual([{ subject: 'host-1', title: 'Host host-1 is frozen: a replaced key is in use', closed_at: null }])
    expect(error).toHaveBeenCalledOnce()
    await expect(taken.heartbeat(beat)).rejects.toEqual(refused('HOST_FROZEN'))
    const frozen = await deps.db.selectFrom('audit').select('data').where('action', '=', 'host.frozen').execute()
    expect(frozen).toHaveLength(1)
  })

  test('a process that is not connected cannot rotate the key while the connected agent lives', async () => {
    const { speak, identity, rotate, clock, deps } = await setUp()
    const agent = speak(identity)
    await agent.hello({ body: silence })
    await clock.advance(60_000)
    await agent.heartbeat(beat)
    await clock.advance(60_000)
    // Its own attempts are no sign of life of the connected agent, and do not extend the wait.
    await expect(rotate(speak(identity))).rejects.toEqual(refused('UNAVAILABLE', /agent of host-1 is connected/))
    expect((await deps.db.selectFrom('hosts').select('next_key_id').executeTakeFirstOrThrow()).next_key_id).toBeNull()
    await clock.advance(31_000)
    await rotate(speak(identity))
  })

  test('an announced key that is never used does not silence the robbed agent: it is found after ten minutes too', async () => {
    const { speak, identity, clock, status } = await setUp()
    await speak(identity).hello({ body: silence })
    await clock.advance(20_000)
    const thief = speak(identity)
    await thief.hello({ body: silence })
    await thief.rotateKey({ body: { publicKey: publicHalf(await newAgentKey()) } })
    await clock.advance(11 * 60_000) // the machine of the robbed agent was off
    await expect(speak(identity).hello({ body: silence })).rejects.toEqual(refused('HOST_FROZEN'))
    expect(await status()).toBe('frozen')
  })

  test('a replaced key stays known after many further rotations', async () => {
    const { speak, identity, rotate, clock, status } = await setUp()
    const robbed = speak(identity)
    await robbed.hello({ body: silence })
    const thief = speak(identity)
    await thief.hello({ body: silence })
    let current = await rotate(thief)
    for (let turn = 0; turn < 30; turn++) {
      const process = speak(current)
      await process.hello({ body: silence })
      current = await rotate(process)
    }
    await clock.advance(60_000)
    await expect(robbed.heartbeat(beat)).rejects.toEqual(refused('HOST_FROZEN'))
    expect(await status()).toBe('frozen')
  })

  test('a stranger cannot freeze a host: a forged call by a former key changes nothing', async () => {
    const { speak, identity, rotate, clock, status } = await setUp()
    const agent = speak(identity)
    await agent.hello({ body: silence })
    await rotate(agent)
    await clock.advance(60_000)
    const forged = { ...identity, privateKey: await newAgentKey() }
    await expect(speak(forged).hello({ body: silence })).rejects.toEqual(refused('UNAUTHENTICATED'))
    const elsewhere = { ...identity, daemonUrl: 'https://other.example' }
    const fetch: typeof globalThis.fetch = (url, init) =>
      globalThis.fetch(String(url).replace('https://other.example', identity.daemonUrl), init)
    await expect(speak(elsewhere, fetch).hello({ body: silence })).rejects.toEqual(refused('UNAUTHENTICATED'))
    expect(await status()).not.toBe('frozen')
  })

  test('after a new enrolment the keys of the earlier one prove nothing: their holder cannot freeze the host again', async () => {
    const { admin, speak, identity, rotate, clock, enrolWith, status } = await setUp()
    const robbed = speak(identity)
    await robbed.hello({ body: silence })
    await rotate(robbed)
    await clock.advance(60_000)
    await expect(speak(identity).hello({ body: silence })).rejects.toEqual(refused('HOST_FROZEN'))
    const { token } = await admin.inviteHost({ body: { name: 'host-1' } })
    const anew = speak(await enrolWith(token, await newAgentKey()))
    await anew.hello({ body: silence })
    await clock.advance(60_000)
    await expect(speak(identity).hello({ body: silence })).rejects.toEqual(refused('UNAUTHENTICATED', /host-1 was enrolled again.*fix: /))
    expect(await status()).toBe('online')
  })

  test('the current and the announced key of an earlier enrolment stay known: they are enrolled and announced no more', async () => {
    const world = await setUp()
    const { admin, first, identity, speak, enrolWith, withKey, clock, status } = world
    const announced = await newAgentKey()
    const agent = speak(identity)
    await agent.hello({ body: silence })
    await agent.rotateKey({ body: { publicKey: publicHalf(announced) } })
    await revoke(world)
    const { token } = await admin.inviteHost({ body: { name: 'host-1' } })
    const anew = speak(await enrolWith(token, await newAgentKey()))
    await anew.hello({ body: silence })
    await clock.advance(60_000)
    for (const key of [first, announced]) {
      await expect(speak(await withKey(key)).hello({ body: silence })).rejects.toEqual(refused('UNAUTHENTICATED', /enrolled again/))
      await expect(anew.rotateKey({ body: { publicKey: publicHalf(key) } })).rejects.toEqual(refused('CONFLICT', /new key/))
    }
    expect(await status()).toBe('online')
    await revoke(world)
    const again = await admin.inviteHost({ body: { name: 'host-1' } })
    await expect(enrolWith(again.token, first)).rejects.toEqual(refused('CONFLICT', /enrolled before/))
  })

  test('a replaced key cannot be announced again, by its host or by another one', async () => {
    const { speak, identity, rotate, first, enrol } = await setUp()
    const agent = speak(identity)
    await agent.hello({ body: silence })
    const next = speak(await rotate(agent))
    await next.hello({ body: silence })
    await expect(next.rotateKey({ body: { publicKey: publicHalf(first) } })).rejects.toEqual(refused('CONFLICT', /new key/))
    const other = speak(await enrol('host-2'))
    await other.hello({ body: silence })
    await expect(other.rotateKey({ body: { publicKey: publicHalf(first) } })).rejects.toEqual(refused('CONFLICT', /new key/))
  })
})

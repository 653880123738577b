import { expect, test } from 'vitest'
import {
  type AgentIdentity,
  type AgentPrivateKey,
  type KeyStore,
  newAgentKey,
  openConnection,
  rotateKey,
} from '../../../src/agent/channel/index.ts'
import { isProblem, type ProblemCode } from '../../../src/core/kit/index.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { hostWorld } from '../../support/host-world.ts'

const refused = (code: ProblemCode) => expect.toSatisfy((error: unknown) => isProblem(error, code), code)
const silence = { protocolVersion: 1, agentVersion: '0.1.0', engine: null, resources: null, reports: [], holding: [] }

/** Keys of an agent on a disk that survives it. `at` is called before each step and may throw there: the agent dies. */
function aDisk(identity: AgentIdentity, at: (step: string) => void = () => undefined) {
  const disk: { identity: AgentIdentity; next?: AgentPrivateKey } = { identity }
  const keys: KeyStore = {
    pending: async () => disk.next,
    prepare: async () => {
      const made = await newAgentKey()
      at('before the key is written')
      disk.next = made
      at('after the key is written')
      return made
    },
    adopt: async (next) => {
      at('before the identity is written')
      disk.identity = next
      at('between identity and clean-up')
      delete disk.next
    },
  }
  return { disk, keys }
}

onBothDialects('rotation of agent keys', (fresh) => {
  const setUp = async () => {
    const world = await hostWorld(await fresh())
    const identity = await world.enrol('host-1')
    const speak = (who: AgentIdentity, fetch?: typeof globalThis.fetch) =>
      openConnection({ clock: world.clock, random: systemRandom, identity: who, ...(fetch ? { fetch } : {}) })
    const actions = async () => (await world.deps.db.selectFrom('audit').select('action').orderBy('seq').execute()).map((row) => row.action)
    return { ...world, identity, speak, actions }
  }
  const beat = { body: { holding: [] } }

  test('the new key is accepted and the former is not, with audit entry and event', async () => {
    const { identity, speak, actions, clock, deps } = await setUp()
    const connection = speak(identity)
    await connection.client.hello({ body: silence })
    await clock.advance(86_400_000)
    const { disk, keys } = aDisk(identity)
    const next = await rotateKey(connection, keys)
    expect(next.keyId).not.toBe(identity.keyId)
    expect(disk).toEqual({ identity: next })
    await connection.client.heartbeat(beat)
    await expect(connection.as(identity).hello({ body: silence })).rejects.toEqual(refused('UNAUTHENTICATED'))
    await expect(speak(identity).client.hello({ body: silence })).rejects.toEqual(refused('UNAVAILABLE'))
    expect(await actions()).toEqual(['host.invited', 'host.enrolled', 'host.key_announced', 'host.key_rotated'])
    const events = await deps.db.selectFrom('events').select('event_type').where('source', '=', 'hosts').execute()
    expect(events).toEqual([{ event_type: 'host.key_rotated' }])
    const { keyAgeMs } = await speak(next).client.hello({ body: silence })
    expect(keyAgeMs).toBe(0)
  })

  test('an announced key invalidates nothing until it is used, but the former expires after ten minutes', async () => {
    const { identity, speak, clock } = await setUp()
    const connection = speak(identity)
    await connection.client.hello({ body: silence })
    const { kty, crv, x, d } = await newAgentKey()
    expect((await connection.client.rotateKey({ body: { publicKey: { kty, crv, x } } })).state).toBe('announced')
    await clock.advance(10 * 60_000)
    await connection.client.heartbeat(beat)
    await clock.advance(1000)
    await expect(connection.client.heartbeat(beat)).rejects.toEqual(refused('UNAUTHENTICATED'))
    const { disk, keys } = aDisk(identity)
    disk.next = { kty, crv, x, d }
    await rotateKey(connection, keys)
    await connection.client.heartbeat(beat)
  })

  const steps = ['before the key is written', 'after the key is written', 'before the identity is written', 'between identity and clean-up']
  const calls = ['lost before the daemon has it', 'answered to nobody']
  const deaths = [...steps, ...[1, 2].flatMap((nth) => calls.map((how) => `call ${nth}, ${how}`))]

  test.each(deaths)('an agent that dies %s is accepted again, and ends with one key', async (death) => {
    const { identity, speak, clock } = await setUp()
    const dies = (step: string) => {
      if (step === death) throw new Error('died')
    }
    let call = 0
    const mortal: typeof globalThis.fetch = async (input, init) => {
      if (!String(input).endsWith('/key')) return globalThis.fetch(input, init)
      call += 1
      dies(`call ${call}, lost before the daemon has it`)
      const answer = await globalThis.fetch(input, init)
      dies(`call ${call}, answered to nobody`)
      return answer
    }
    const first = aDisk(identity, dies)
    await expect(rotateKey(speak(identity, mortal), first.keys)).rejects.toThrow(/died/)
    await clock.advance(3_600_000)
    const again = aDisk(first.disk.identity)
    if (first.disk.next) again.disk.next = first.disk.next
    const connection = speak(again.disk.identity)
    await rotateKey(connection, again.keys)
    expect(again.disk.next).toBeUndefined()
    await speak(again.disk.identity).client.hello({ body: silence })
    await clock.advance(10_000)
    if (again.disk.identity.keyId !== identity.keyId)
      await expect(speak(identity).client.hello({ body: silence })).rejects.toEqual(refused('HOST_FROZEN'))
  })

  test('a late call signed with the former key is sent again with the new one', async () => {
    const { identity, speak } = await setUp()
    let holdBack: Promise<unknown> | undefined
    const connection = speak(identity, async (input, init) => {
      if (String(input).endsWith('/heartbeat')) await holdBack
      return globalThis.fetch(input, init)
    })
    await connection.client.hello({ body: silence })
    let release: () => void = () => undefined
    holdBack = new Promise<void>((resolve) => {
      release = resolve
    })
    const late = connection.client.heartbeat(beat)
    await rotateKey(connection, aDisk(identity).keys)
    release()
    expect((await late).lost).toEqual([])
  })

  test('a host cannot take the key of another one, and a revoked host cannot rotate', async () => {
    const { identity, enrol, speak, deps } = await setUp()
    const other = await enrol('host-2')
    const { kty, crv, x } = other.privateKey
    const taking = speak(identity).client.rotateKey({ body: { publicKey: { kty, crv, x } } })
    await expect(taking).rejects.toEqual(refused('CONFLICT'))
    await deps.db.updateTable('hosts').set({ status: 'revoked', reason: 'sold' }).execute()
    await expect(rotateKey(speak(identity), aDisk(identity).keys)).rejects.toEqual(refused('HOST_REVOKED'))
  })
})

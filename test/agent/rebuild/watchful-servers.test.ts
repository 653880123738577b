import { expect, test } from 'vitest'
import type { BoxServers, ContainerEngine, LocalBox } from '../../../src/agent/ports/index.ts'
import { watchfulServers } from '../../../src/agent/rebuild/rebuild-from-snapshot.ts'

const box = { slug: 'oak', project: { name: 'oak' } } as unknown as LocalBox
const { signal } = new AbortController()

/** Its Synapse is in a state, and has died so often, at each look. */
function probing(looks: readonly Readonly<{ state: string; restartCount: number }>[]) {
  const left = [...looks]
  const containers = async () => [{ id: 'c1', service: 'synapse', ...left.shift() }]
  const engine = { containers, logs: async () => 'no database\n' } as unknown as ContainerEngine
  const servers = watchfulServers({ probe: async () => 'well' } as unknown as BoxServers, engine)
  return () => servers.probe(box, signal)
}

test('a server that dies again and again while it is probed ends the probing with its last words', async () => {
  const probe = probing([0, 1, 3].map((restartCount) => ({ state: 'restarting', restartCount })))
  await probe()
  await probe()
  await expect(probe()).rejects.toMatchObject({ code: 'PROBE_FAILED', message: 'synapse of oak dies: no database' })
})

test('what died before it was probed, as after a reboot until its database had recovered, is probed', async () => {
  const probe = probing([{ state: 'running', restartCount: 9 }])
  await expect(probe()).resolves.toBe('well')
})

test('one that has ended for good is not waited for', async () => {
  await expect(probing([{ state: 'exited', restartCount: 0 }])()).rejects.toMatchObject({ code: 'PROBE_FAILED' })
})

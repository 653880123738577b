import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { provision } from '../../../src/agent/boxes/index.ts'
import { secret } from '../../../src/core/kit/index.ts'
import { aContext, anAgent, aProvision } from '../boxes/provisioning.ts'
import { boxServersSuite } from '../suites/box-servers.ts'
import { aHost, aRunningBox, moving } from './boxes.ts'

boxServersSuite('the servers of a simulated box', async () => {
  const { host, folder, deps } = await anAgent()
  await moving(host.clock, () => provision(deps)(aContext().context, aProvision()), 10_000)
  const box = (await deps.boxes.find('oak'))!
  for (let message = 0; message < 5; message++) host.traffic.sendMessage(box)
  const mute = 'registry.test/tenantry/synapse:v1.157.1-mute'
  host.inject({ kind: 'probe-fails', image: mute, components: ['chatSync'] })
  const setDatabases = async (otherDatabases: readonly string[]) => {
    const path = join((await host.engine.volumePath(`${box.project.name}-postgres`))!, 'content.json')
    await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), otherDatabases }))
  }
  return {
    servers: host.servers,
    engine: host.engine,
    box,
    folder,
    versions: { synapse: '1.157.1', postgres: '15.14', minio: 'RELEASE.2025-09-07T16-13-09Z' },
    releases: {
      mute,
      tooOld: 'registry.test/tenantry/synapse:v1.97.0',
      next: 'registry.test/tenantry/synapse:v1.163.2',
      nextVersion: '1.163.2',
    },
    refuseWrites: async () => {
      const removeFault = host.inject({ kind: 'probe-fails', components: ['database'] })
      return async () => removeFault()
    },
    crashDatabase: async () => {
      await host.engine.stop(box.project, ['postgres'])
      await host.engine.start(box.project, ['postgres'])
    },
    addDatabase: async (name) => {
      await setDatabases([name])
      return () => setDatabases([])
    },
  }
})

test('a throw-away account is another each time', async () => {
  const host = await aHost()
  const box = await aRunningBox(host)
  const make = () => host.servers.createTemporaryAccount(box, secret('any'))
  const [one, other] = [await make(), await make()]
  expect(new Set([one.userId, other.userId, one.roomId, other.roomId, one.accessToken, other.accessToken]).size).toBe(6)
})

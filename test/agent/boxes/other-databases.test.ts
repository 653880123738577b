import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { handOver } from '../../../src/agent/move/index.ts'
import type { ContainerEngine } from '../../../src/agent/ports/index.ts'
import { aContext, handOverPayload, twoHosts } from '../move/a-move.ts'
import { aLivedOnBox } from '../restore/a-restore.ts'
import { moving } from '../simulated/boxes.ts'
import { aWorld } from '../update/an-update.ts'

/** As somebody does who runs a bridge on the same PostgreSQL. */
async function addDatabases({ engine }: { engine: ContainerEngine }, volume: string, ...otherDatabases: string[]) {
  const path = join((await engine.volumePath(volume))!, 'content.json')
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), otherDatabases }))
}

const refusal = (names: string) => ({
  code: 'PREFLIGHT_REFUSED',
  message: expect.stringMatching(new RegExp(`${names}.*dumps and snapshots do not include`)),
})

test('an update stops before anything is touched', async () => {
  const world = await aWorld()
  await addDatabases(world.host, 'box-oak-postgres', 'bridge')
  expect(await world.run()).toMatchObject({ outcome: 'failed', error: refusal('bridge') })
  expect(world.counts.stop).toBeUndefined()
  expect(world.host.traffic.sendMessage(world.box)).toBe('stored')
})

test('a restore stops before anything is fetched', async () => {
  const world = await aLivedOnBox()
  await addDatabases(world.host, 'box-oak-postgres', 'bridge')
  expect(await world.run()).toMatchObject({ outcome: 'failed', error: refusal('bridge') })
  expect(world.host.traffic.content(world.box)).toMatchObject({ otherDatabases: ['bridge'], messages: 5 })
})

test('a hand-over stops while the box serves', async () => {
  const { clock, old, box } = await twoHosts()
  await addDatabases(old.host, 'old-oak-postgres', 'bridge')
  const given = moving(clock, async () => handOver(await old.agent())(aContext('hand-over'), handOverPayload()), 5_000)
  await expect(given).rejects.toMatchObject(refusal('bridge'))
  expect(old.host.traffic.sendMessage(box)).toBe('stored')
})

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { handOver } from '../../../src/agent/move/index.ts'
import type { ContainerEngine } from '../../../src/agent/ports/index.ts'
import { aStack } from '../adoption/a-stack.ts'
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

test('a stack whose PostgreSQL holds databases of others is not completed, and is said so', async () => {
  const stack = await aStack()
  await addDatabases(stack.host, 'elm_db', 'bridge', 'wiki')
  const { findings } = await stack.run()
  expect(findings).toEqual([expect.stringMatching(/holds 2 other databases \(bridge, wiki\)/)])
  await expect(stack.run(await stack.seen())).rejects.toMatchObject(refusal('bridge, wiki'))
})

test('a database that the agent finds first and the chat server does not use is one of others', async () => {
  const stack = await aStack({ env: { postgres: 'POSTGRES_USER=postgres\nPOSTGRES_DB=wiki\n' } })
  await addDatabases(stack.host, 'elm_db', 'synapse')
  expect((await stack.run()).findings).toEqual([expect.stringMatching(/1 other database \(wiki\).*move it .* drop it here/)])
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

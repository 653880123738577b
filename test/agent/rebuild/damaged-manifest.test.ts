import { access, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { drill } from '../../../src/agent/drill/index.ts'
import { handOver, takeOver } from '../../../src/agent/move/index.ts'
import { aContext, address, around, handOverPayload, takeOverPayload, twoHosts } from '../move/a-move.ts'
import { snapshotOfBox } from '../move/a-snapshot.ts'
import { aLivedOnBox, asInSnapshot } from '../restore/a-restore.ts'
import { moving } from '../simulated/boxes.ts'

// The disk damages the manifest of what a command has fetched, wherever the command is by then: the snapshot is as good as it was.

/** Tears it before the first call of the name, in the folder that something was fetched into. */
function tearing(workFolder: string, at: string) {
  const torn: string[] = []
  const touch = async (name: string, act: () => Promise<unknown>) => {
    if (name === at && torn.length === 0) torn.push(...(await tearFetched(workFolder)))
    return act()
  }
  return { torn, around: around(touch) }
}

async function tearFetched(workFolder: string): Promise<string[]> {
  const all = (await readdir(workFolder).catch(() => [])).map((name) => join(workFolder, name, 'dump', 'manifest.json'))
  const there = (
    await Promise.all(
      all.map((path) =>
        access(path)
          .then(() => [path])
          .catch(() => []),
      ),
    )
  ).flat()
  for (const path of there) await writeFile(path, '{"format":')
  return there
}

test.each(['pin', 'up', 'loadDatabase', 'probe'])('a take-over whose manifest is torn at %s ends with the whole box', async (at) => {
  const { clock, old, next, box } = await twoHosts()
  await old.host.servers.applyMigration(box, { head: '0007', name: 'notes', sql: '', sha256: 'ab'.repeat(32) })
  const handing = async () => handOver(await old.agent())(aContext('hand-over'), handOverPayload())
  const { snapshot } = await moving(clock, handing, 5_000)
  const damage = tearing(join(next.folder, 'state', 'work'), at)
  const taking = async () => takeOver(await next.agent(damage.around))(aContext('take-over'), takeOverPayload(snapshot))
  expect(await moving(clock, taking, 5_000)).toMatchObject({ outcome: 'restored', error: null })
  const taken = (await next.boxes.find('oak'))!
  expect([damage.torn.length, taken.migrationsHead]).toEqual([1, '0007'])
  expect(next.host.traffic.content(taken)).toMatchObject({ messages: 3, media: 1, objects: 1 })
})

test.each(['pin', 'up'])('a drill whose manifest is torn at %s proves its snapshot', async (at) => {
  const { clock, old, box } = await twoHosts()
  const { snapshotId, snapshotSha256 } = await snapshotOfBox(old, box, 'daily')
  const damage = tearing(join(old.folder, 'state', 'work'), at)
  const payload = { ...address, ownershipEpoch: 1, snapshotId, snapshotSha256, deadlineMs: 30 * 86_400_000 }
  const drilling = async () => drill(await old.agent(damage.around))(aContext('drill-1'), payload)
  expect(await moving(clock, drilling, 1_000)).toMatchObject({ ok: true, rows: 5, error: null })
  expect(damage.torn).toHaveLength(1)
})

test('a restore whose manifest is torn while what is there is kept ends with the box as in its snapshot', async () => {
  const world = await aLivedOnBox()
  const damage = tearing((await world.agent()).workFolder, 'dumpDatabase')
  expect(await world.run({}, { deps: await world.agent(damage.around) })).toMatchObject({ outcome: 'restored', error: null })
  expect(world.host.traffic.content(world.box)).toMatchObject(asInSnapshot)
  expect(damage.torn).toHaveLength(1)
})

import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { DatabaseFacts } from '../../../src/agent/ports/index.ts'
import { aLivedOnBox } from '../restore/a-restore.ts'
import { aContext, aPayload, aWorld, newSynapse, type Ports } from '../update/an-update.ts'

// A rollback replaces one volume, so a database with files elsewhere is refused before anything stops.

const saying =
  (change: Partial<DatabaseFacts>) =>
  <Some extends Pick<Ports, 'servers'>>(ports: Some): Some => ({
    ...ports,
    servers: {
      ...ports.servers,
      databaseFacts: async (box: Parameters<Ports['servers']['databaseFacts']>[0]) => {
        const facts = await ports.servers.databaseFacts(box)
        return facts && { ...facts, ...change }
      },
    },
  })

const refused: [string, Partial<DatabaseFacts>, RegExp][] = [
  ['a tablespace', { tablespaces: ['fast in /mnt/ssd'] }, /1 tablespace outside .*fast in \/mnt\/ssd.*fix: /],
  ['data in another volume', { systemId: '1' }, /not in the volume \S+, but in another volume.*fix: /],
]

describe.each(refused)('%s', (_, change, message) => {
  const refusal = { code: 'NOT_RESTORABLE', message: expect.stringMatching(message) }

  test('refuses an update before anything stops', async () => {
    const world = await aWorld()
    const result = await world.run(aPayload(), { deps: await world.agent(saying(change)) })
    expect(result).toMatchObject({ outcome: 'failed', fencedMs: 0, error: refusal })
    expect(world.counts.stop).toBeUndefined()
  })

  test('refuses a restore before anything is fetched', async () => {
    const world = await aLivedOnBox({ change: ({ servers }) => saying(change)({ servers }) })
    expect(await world.run()).toMatchObject({ outcome: 'failed', error: refusal })
  })
})

test('a write-ahead log that is a link refuses an update, wherever the data folder is in the volume', async () => {
  const world = await aWorld()
  const root = (await world.host.engine.volumePath('box-oak-postgres')) as string
  await rm(join(root, 'pg_wal'), { recursive: true })
  await symlink('/mnt/wal', join(root, 'pg_wal'))
  const refusal = { code: 'NOT_RESTORABLE', message: expect.stringMatching(/pg_wal in the volume box-oak-postgres is a link/) }
  expect(await world.run()).toMatchObject({ outcome: 'failed', error: refusal })

  const deep = await aWorld()
  const volume = (await deep.host.engine.volumePath('box-oak-postgres')) as string
  const data = join(volume, '18', 'docker')
  await mkdir(data, { recursive: true })
  const systemId = (await deep.host.servers.databaseFacts(deep.box))?.systemId
  await rename(join(volume, 'global'), join(data, 'global'))
  expect(await deep.run(aPayload(), { deps: await deep.agent(saying({ systemId: systemId as string })) })).toMatchObject({
    outcome: 'committed',
  })
})

test('no cold copy is made of a volume with a link out of it', async () => {
  const world = await aWorld()
  world.inject({ kind: 'dies-at-start', image: newSynapse })
  const root = (await world.host.engine.volumePath('box-oak-postgres')) as string
  await mkdir(join(root, 'pg_tblspc'))
  await symlink('/mnt/ssd', join(root, 'pg_tblspc', '16400'))
  await writeFile(join(root, 'a'), '')
  await symlink('../a', join(root, 'pg_tblspc', 'inside'))
  const details: (string | undefined)[] = []
  const context = aContext({ progress: ({ detail }) => void details.push(detail) })
  expect(await world.run(aPayload(), { context })).toMatchObject({ outcome: 'rolled_back' })
  expect(details).toContain('pg_tblspc/16400 in box-oak-postgres is a link out of the volume')
})

test('an archive, replication slots and settings by ALTER SYSTEM are warnings of an update, and refuse nothing', async () => {
  const change = { archiveMode: 'on', replicationSlots: ['standby'], alteredSettings: ['work_mem'] }
  const warnings = [/archive_mode=on/, /1 replication slot \(standby\)/, /ALTER SYSTEM \(work_mem\)/].map((text) =>
    expect.stringMatching(text),
  )
  const world = await aWorld()
  const details: (string | undefined)[] = []
  const context = aContext({ progress: ({ detail }) => void details.push(detail) })
  expect(await world.run(aPayload(), { context, deps: await world.agent(saying(change)) })).toMatchObject({ outcome: 'committed' })
  expect(details).toEqual(expect.arrayContaining(warnings))
})

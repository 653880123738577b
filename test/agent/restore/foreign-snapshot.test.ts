import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { volumeKey } from '../../../src/agent/restore/fetch.ts'
import type { RestoreDeps } from '../../../src/agent/restore/index.ts'
import { aLivedOnBox, asInSnapshot, asItLivedOn, type LivedOn } from './a-restore.ts'

const probe = { userId: '@tenantry-probe:oak.test', accessToken: 'a token', roomId: '!probe:oak.test' }
const probeFile = ({ box }: LivedOn) => join(box.project.folder, 'secrets/probe.json')

/** A restore of a snapshot that another host took, whose files the attack changed. */
async function restored(world: LivedOn, attack: (folder: string) => Promise<unknown>) {
  const deps = await world.agent()
  const snapshots: RestoreDeps['snapshots'] = {
    ...deps.snapshots,
    isOwn: async () => false,
    restore: async (repository, { id, path, into }, signal) => {
      await deps.snapshots.restore(repository, { id, path, into }, signal)
      if (into.endsWith('/box')) await attack(into)
    },
  }
  return world.run({}, { deps: { ...deps, snapshots } })
}

test('of a snapshot of another host the data is restored, while the files of the box stay', async () => {
  const world = await aLivedOnBox()
  const result = await restored(world, async (folder) => {
    await writeFile(join(folder, '.env'), 'SYNAPSE_TAG=evil\n')
    await mkdir(join(folder, 'secrets'))
    await writeFile(join(folder, 'secrets/box.json'), '{}')
    await writeFile(join(folder, 'secrets/probe.json'), JSON.stringify({ ...probe, accessToken: 'atoken' }))
  })
  expect(result).toMatchObject({ outcome: 'restored', error: null })
  expect(world.host.traffic.content(world.box)).toMatchObject(asInSnapshot)
  expect(await world.homeserver()).toBe('as it was changed later\n')
  expect((await world.rules()).sort()).toEqual(['box.conf', 'later.conf', 'soft-logout.conf'])
  for (const path of ['.env', 'secrets/box.json'])
    await expect(readFile(join(world.box.project.folder, path))).rejects.toMatchObject({ code: 'ENOENT' })
  // It belongs to the database.
  expect(JSON.parse(await readFile(probeFile(world), 'utf8'))).toEqual({ ...probe, accessToken: 'atoken' })
})

test('a probe account with a line of its own is not put in place', async () => {
  const world = await aLivedOnBox()
  await restored(world, async (folder) => {
    await mkdir(join(folder, 'secrets'))
    await writeFile(join(folder, 'secrets/probe.json'), JSON.stringify({ ...probe, accessToken: 'a\r\nx' }))
  })
  await expect(readFile(probeFile(world))).rejects.toMatchObject({ code: 'ENOENT' })
})

test('a link in a snapshot of another host is refused, and nothing was touched', async () => {
  const world = await aLivedOnBox()
  const result = await restored(world, (folder) => symlink('/etc', join(folder, 'secrets')))
  expect(result).toMatchObject({ outcome: 'failed', error: { code: 'FOLDER_UNSAFE' } })
  expect(world.host.traffic.content(world.box)).toMatchObject(asItLivedOn)
})

test('a link that a container put into the folder of the box is not followed, neither by the restore nor by its rollback', async () => {
  const world = await aLivedOnBox()
  const victim = join(world.host.folder, 'victim')
  const rules = join(world.box.project.folder, 'edge/conf.d')
  await mkdir(victim)
  await writeFile(join(victim, 'box.conf'), 'of the host\n')
  await writeFile(join(victim, 'only-here.conf'), 'of the host\n')
  await rm(rules, { recursive: true })
  await symlink(victim, rules)
  const result = await world.run()
  expect(result).toMatchObject({
    outcome: 'failed',
    error: { code: 'FOLDER_UNSAFE', message: expect.stringMatching(/conf\.d is a symbolic link/) },
  })
  for (const name of ['box.conf', 'only-here.conf']) expect(await readFile(join(victim, name), 'utf8')).toBe('of the host\n')
  expect(world.host.traffic.content(world.box)).toMatchObject(asItLivedOn)
})

test.each([
  ['its own volume', 'objects', 'objects'],
  ['the volume of another service', 'postgres', null],
  ['a volume that no service mounts', 'spare', null],
  ['a name of every object', 'constructor', null],
  ['no key', null, null],
])('a snapshot names %s for the object storage', (_, key, expected) => {
  const volumes = { postgres: 'oak_postgres', objects: 'oak_objects', spare: 'oak_spare' }
  const services = {
    postgres: { image: 'registry.test/postgres:17', volumes: ['oak_postgres'] },
    minio: { image: 'registry.test/minio:1', volumes: ['oak_objects'] },
  }
  const taken = key === 'objects' ? [] : [{ volume: { key: 'objects' } }]
  expect(volumeKey({ key, service: 'minio' }, { volumes, services }, taken)).toBe(expected)
})

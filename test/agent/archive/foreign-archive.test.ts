import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readFacts } from '../../../src/agent/archive/facts.ts'
import { removeFence } from '../../../src/agent/archive/recover.ts'
import { assertOnlyFiles } from '../../../src/agent/boxes/index.ts'

// The archive of a compromised host leads to no file of the host that recovers it.

async function aFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-foreign-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const facts = (inside: string) => ({
  ...{ format: 1, slug: 'north', boxId: 'box_1', images: {}, migrationsHead: '1' },
  installed: { synapse: '1', postgres: '15', minio: '1', migrationsHead: '1' },
  box: { chatDomain: 'north.test', ports: null, project: 'north', composeFile: '/b/compose.yaml', managed: true, ownershipEpoch: 1 },
  paths: { boxFolder: '/b', data: [], database: '/v/data' },
  postgres: { image: 'postgres:15', environment: {}, target: '/data', inside, owner: { uid: 1, gid: 1, mode: 0o700 } },
})

test.each([
  ['', true],
  ['pgdata/15', true],
  ['../../etc', false],
  ['a/../../etc', false],
  ['/etc', false],
])('the data folder %j is below its volume: %s', async (inside, isGood) => {
  const folder = await aFolder()
  await writeFile(join(folder, 'facts.json'), JSON.stringify(facts(inside)))
  const read = readFacts(folder).then(
    () => true,
    (error) => error.code !== 'RESTORE_FAILED',
  )
  expect(await read).toBe(isGood)
})

test('a link is refused, however deep it is and whatever it names', async () => {
  const folder = await aFolder()
  await mkdir(join(folder, 'base', '1'), { recursive: true })
  await writeFile(join(folder, 'base', '1', '112'), 'rows')
  await expect(assertOnlyFiles(folder)).resolves.toBeUndefined()
  await symlink('112', join(folder, 'base', '1', '113'))
  await expect(assertOnlyFiles(folder)).rejects.toMatchObject({
    code: 'FOLDER_UNSAFE',
    message: expect.stringContaining('base/1/113 is a symbolic link'),
  })
})

test('the fence in a box folder is removed, and not the one of another box behind a link', async () => {
  const [other, folder] = [await aFolder(), await aFolder()]
  const fence = async (of: string) => {
    await mkdir(join(of, 'edge', 'fence'), { recursive: true })
    await writeFile(join(of, 'edge', 'fence', 'on'), '{}')
  }
  await fence(other)
  await fence(folder)
  await removeFence(folder)
  expect(await readdir(join(folder, 'edge', 'fence'))).toEqual([])
  await rm(join(folder, 'edge'), { recursive: true })
  await symlink(join(other, 'edge'), join(folder, 'edge'))
  await expect(removeFence(folder)).rejects.toMatchObject({ code: 'FOLDER_UNSAFE' })
  expect(await readdir(join(other, 'edge', 'fence'))).toEqual(['on'])
  await expect(removeFence(await aFolder())).resolves.toBeUndefined()
})

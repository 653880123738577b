import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clearDump, fetchSnapshot, manifestOfFetched, readVerifiedDump, takeBoxSnapshot } from '../../../src/agent/backup/index.ts'
import type { SnapshotStore } from '../../../src/agent/ports/index.ts'
import { aHost, aRunningBox } from '../simulated/boxes.ts'

// A copy damaged by this host's disk does not mean that the snapshot is damaged: it is fetched and verified again.

const vault = { repository: 'sim:oak', password: 'a key', env: {}, mayCreate: true }
const installed = { migrationsHead: '0007', postgres: '15.14', synapse: '1.157.1', minio: 'RELEASE.2025-09-07T16-13-09Z' }

/** A snapshot that a command has fetched, whose files of the box it has changed since. */
async function aFetchedSnapshot() {
  const host = await aHost()
  const box = await aRunningBox(host)
  host.traffic.sendMessage(box)
  const deps = { ...host, workFolder: join(host.folder, 'work') }
  await host.snapshots.prepare(vault)
  const commandId = 'sn_1.snapshot'
  const { taken } = await takeBoxSnapshot(deps, { box, repository: vault, tier: 'manual', commandId, images: {}, installed })
  await clearDump(deps, commandId)
  const folder = join(host.folder, 'fetched')
  const wanted = { snapshotId: taken.snapshotId, manifestSha256: taken.snapshotSha256, folder }
  const fetched = await fetchSnapshot(deps, { ...wanted, repository: vault })
  await writeFile(join(fetched.boxFolder, 'compose.yaml'), 'made quiet')
  let brought = 0
  const restore = async (...of: Parameters<SnapshotStore['restore']>) => {
    brought += 1
    await host.snapshots.restore(...of)
  }
  const path = join(fetched.dumpFolder, 'manifest.json')
  return { ...fetched, folder, path, wanted, deps: { snapshots: { ...host.snapshots, restore } }, times: () => brought }
}

const repository = async () => vault
const unneeded = () => Promise.reject(new Error('nothing was damaged'))

const otherSum = (text: string) => text.replace(/("sha256": ")./, (_, before) => `${before}x`)
const damages = [
  ['is torn', async (path: string) => writeFile(path, '{"format":')],
  ['is empty', async (path: string) => writeFile(path, '')],
  ['is gone', async (path: string) => rm(path)],
  ['names another sum', async (path: string) => writeFile(path, otherSum(await readFile(path, 'utf8')))],
  ['names another head', async (path: string) => writeFile(path, (await readFile(path, 'utf8')).replaceAll('0007', '0008'))],
  [
    'cannot be read',
    async (path: string) => {
      await rm(path)
      await mkdir(path)
    },
  ],
] as const

test('an intact manifest is not fetched again', async () => {
  const { deps, wanted, manifest, times } = await aFetchedSnapshot()
  expect(await manifestOfFetched(deps, { ...wanted, repository: unneeded })).toEqual(manifest)
  expect(times()).toBe(0)
})

test.each(damages)('a manifest that %s is fetched again with its dump, and changed box files are not overwritten', async (_, harm) => {
  const { deps, wanted, manifest, dumpFolder, boxFolder, path, folder, times } = await aFetchedSnapshot()
  await harm(path)
  expect(await manifestOfFetched(deps, { ...wanted, repository })).toEqual(manifest)
  expect((await readVerifiedDump(dumpFolder))?.sha256).toBe(wanted.manifestSha256)
  expect(await readFile(join(boxFolder, 'compose.yaml'), 'utf8')).toBe('made quiet')
  expect([times(), (await readdir(folder)).sort()]).toEqual([1, ['box', 'dump']])
})

test.each(damages)('a fetch that finds a manifest which %s fetches it again', async (_, harm) => {
  const { deps, wanted, manifest, path } = await aFetchedSnapshot()
  await harm(path)
  const again = await fetchSnapshot(deps, { ...wanted, repository: vault })
  expect(again).toMatchObject({ manifest, manifestSha256: wanted.manifestSha256 })
})

test('a manifest that is far too large is not read', async () => {
  const { path, dumpFolder } = await aFetchedSnapshot()
  expect(await readVerifiedDump(dumpFolder)).toBeDefined()
  await appendFile(path, ' '.repeat(8_000_000))
  expect(await readVerifiedDump(dumpFolder)).toBeUndefined()
})

test('without a stored checksum, an unreadable manifest is fetched again too', async () => {
  const { deps, wanted, manifest, path } = await aFetchedSnapshot()
  await writeFile(path, '{"format":')
  expect(await manifestOfFetched(deps, { ...wanted, manifestSha256: null, repository })).toEqual(manifest)
})

test('one that is another in the store as well is refused', async () => {
  const { deps, wanted, path } = await aFetchedSnapshot()
  const restore = async (...of: Parameters<SnapshotStore['restore']>) => {
    await deps.snapshots.restore(...of)
    await writeFile(path, otherSum(await readFile(path, 'utf8')))
  }
  await rm(path)
  const asked = manifestOfFetched({ snapshots: { ...deps.snapshots, restore } }, { ...wanted, repository })
  await expect(asked).rejects.toMatchObject({ code: 'RESTORE_FAILED', message: expect.stringContaining('does not match its manifest') })
})

import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import {
  clearDump,
  dumpFolderOf,
  fetchData,
  fetchDumpAgain,
  fetchSnapshot,
  matchesManifest,
  readManifest,
  takeBoxSnapshot,
} from '../../../src/agent/backup/index.ts'
import { fenceFile } from '../../../src/agent/boxes/index.ts'
import type { SnapshotStore } from '../../../src/agent/ports/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { aHost, aRunningBox, composeText } from '../simulated/boxes.ts'

const repository = { repository: 'sim:oak', password: 'a key', env: {}, mayCreate: true }
const installed = { migrationsHead: '0000', postgres: '15.14', synapse: '1.157.1', minio: 'RELEASE.2025-09-07T16-13-09Z' }

/** A box with two messages, and the snapshot that was taken of it. */
async function aTakenSnapshot() {
  const host = await aHost()
  const box = await aRunningBox(host)
  host.traffic.sendMessage(box)
  host.traffic.uploadMedia(box)
  await writeFile(fenceFile(box.project), '{"commandId":"another"}')
  const deps = { ...host, workFolder: join(host.folder, 'work') }
  await host.snapshots.prepare(repository)
  const request = { box, repository, tier: 'manual' as const, commandId: 'sn_1,a/b.snapshot', images: {}, installed }
  const { taken, counts } = await takeBoxSnapshot(deps, request)
  return { host, box, deps, request, taken, counts }
}

test('a snapshot comes back to another folder, with all that is needed to make the box again', async () => {
  const { host, box, deps, request, taken, counts } = await aTakenSnapshot()
  await clearDump(deps, request.commandId)
  const folder = join(host.folder, 'fetched')
  const wanted = { repository, snapshotId: taken.snapshotId, manifestSha256: taken.snapshotSha256, folder }
  const fetched = await fetchSnapshot(deps, wanted)
  expect(fetched.manifest).toMatchObject({
    commandId: request.commandId,
    tier: 'manual',
    rows: counts,
    installed,
    box: { chatDomain: 'oak.test', project: 'box-oak', ports: box.ports },
    paths: {
      boxFolder: box.project.folder,
      data: [
        { service: 'synapse', key: 'media' },
        { service: 'minio', key: 'objects' },
      ],
    },
  })
  expect(fetched.snapshot).toMatchObject({ slug: 'oak', tier: 'manual', commandId: request.commandId, warm: false })
  expect(await readFile(join(fetched.boxFolder, 'compose.yaml'), 'utf8')).toBe(composeText('oak'))
  const volumes = fetched.manifest.paths.data.map((data) => ({ data, into: join(host.folder, 'data', data.service) }))
  await fetchData(deps, wanted, volumes)
  for (const { data, into } of volumes) expect(await readdir(into)).toEqual(await readdir(data.folder))
})

test('volumes are fetched in parallel, a shared one once, and a failure ends the others before it is reported', async () => {
  const folders: string[] = []
  const ended: string[] = []
  const snapshots = {
    restore: async (...[, { path: folder, into }, signal]: Parameters<SnapshotStore['restore']>) => {
      folders.push(`${folder} ${into}`)
      if (folder === '/media' && folders.length === 2) throw problem('SNAPSHOT_STORE_UNAVAILABLE', 'it does not answer')
      await new Promise((_, reject) => signal?.addEventListener('abort', () => setImmediate(() => reject(signal.reason)))).catch((error) =>
        ended.push(error.code),
      )
    },
  } as unknown as SnapshotStore
  const volume = (service: 'synapse' | 'minio', folder: string) => ({
    data: { service, key: null, volume: 'v', folder },
    into: `/new${folder}`,
  })
  const volumes = [volume('minio', '/objects'), volume('synapse', '/media'), volume('minio', '/media')]
  const fetching = fetchData({ snapshots }, { repository, snapshotId: 'abc' }, volumes)
  await expect(fetching).rejects.toMatchObject({ code: 'SNAPSHOT_STORE_UNAVAILABLE' })
  expect(folders).toEqual(['/objects /new/objects', '/media /new/media'])
  expect(ended).toEqual(['SNAPSHOT_STORE_UNAVAILABLE'])
})

test('the switch of a fence is in no snapshot', async () => {
  const { host, deps, taken } = await aTakenSnapshot()
  const wanted = { repository, snapshotId: taken.snapshotId, manifestSha256: null, folder: join(host.folder, 'fetched') }
  const { boxFolder } = await fetchSnapshot(deps, wanted)
  await expect(readFile(join(boxFolder, 'edge', 'fence', 'on'))).rejects.toMatchObject({ code: 'ENOENT' })
})

test('a snapshot with another manifest than was taken is refused', async () => {
  const { host, deps, taken } = await aTakenSnapshot()
  const wanted = { repository, snapshotId: taken.snapshotId, manifestSha256: 'f'.repeat(64), folder: join(host.folder, 'fetched') }
  await expect(fetchSnapshot(deps, wanted)).rejects.toMatchObject({ code: 'RESTORE_FAILED' })
})

test('a dump that is not what its manifest says is refused, and of the files that came beside its proof nothing is left', async () => {
  const { host, deps, taken } = await aTakenSnapshot()
  const folder = join(host.folder, 'fetched')
  const brought: string[] = []
  const restore = async (...of: Parameters<SnapshotStore['restore']>) => {
    await deps.snapshots.restore(...of)
    const [, { into }] = of
    brought.push(into)
    if (into === join(folder, 'dump')) await writeFile(join(into, 'database.dump'), 'torn')
  }
  const wanted = { repository, snapshotId: taken.snapshotId, manifestSha256: taken.snapshotSha256, folder }
  const fetching = fetchSnapshot({ snapshots: { ...deps.snapshots, restore } }, wanted)
  await expect(fetching).rejects.toMatchObject({ code: 'RESTORE_FAILED', message: expect.stringContaining('does not match its manifest') })
  expect(brought.sort()).toEqual([join(folder, 'box'), join(folder, 'dump')])
  expect(await readdir(folder)).toEqual([])
})

test.each([
  ['with the paths that the snapshot names', [], ['box', 'dump']],
  ['and are brought by the manifest where more than one folder could be them', ['/srv/other'], ['dump', 'box']],
])('the files of the box come beside the dump, once, %s', async (_, more, order) => {
  const { host, deps, taken } = await aTakenSnapshot()
  const folder = join(host.folder, 'fetched')
  const seen: string[] = []
  let bringsBox: () => void = () => undefined
  const boxBegun = new Promise<void>((resolve) => {
    bringsBox = resolve
  })
  const restore = async (...of: Parameters<SnapshotStore['restore']>) => {
    const into = basename(of[1].into)
    if (into === 'box') bringsBox()
    else if (more.length === 0) await boxBegun
    seen.push(into)
    await deps.snapshots.restore(...of)
  }
  const find = async (...of: Parameters<SnapshotStore['find']>) => {
    const found = await deps.snapshots.find(...of)
    return found && { ...found, paths: [...found.paths, ...more] }
  }
  const wanted = { repository, snapshotId: taken.snapshotId, manifestSha256: taken.snapshotSha256, folder }
  const { boxFolder } = await fetchSnapshot({ snapshots: { ...deps.snapshots, restore, find } }, wanted)
  expect(await readFile(join(boxFolder, 'compose.yaml'), 'utf8')).toBe(composeText('oak'))
  expect(seen).toEqual(order)
})

test('what an interrupted fetch left damaged is fetched again', async () => {
  const { host, deps, taken } = await aTakenSnapshot()
  const folder = join(host.folder, 'fetched')
  const wanted = { repository, snapshotId: taken.snapshotId, manifestSha256: taken.snapshotSha256, folder }
  const { dumpFolder } = await fetchSnapshot(deps, wanted)
  await writeFile(join(dumpFolder, 'database.dump'), 'torn')
  await rm(join(folder, 'box'), { recursive: true })
  const again = await fetchSnapshot(deps, wanted)
  expect(await readFile(join(again.dumpFolder, 'database.dump'), 'utf8')).toContain('"messages":1')
  expect(await readFile(join(again.boxFolder, 'compose.yaml'), 'utf8')).toBe(composeText('oak'))
})

test('a dump fetched again is still verified by its manifest after a kill, and changed box files are not overwritten', async () => {
  const { host, deps, taken } = await aTakenSnapshot()
  const folder = join(host.folder, 'fetched')
  const wanted = { repository, snapshotId: taken.snapshotId, manifestSha256: taken.snapshotSha256, folder }
  const fetched = await fetchSnapshot(deps, wanted)
  await writeFile(join(fetched.dumpFolder, 'database.dump'), 'torn')
  await writeFile(join(fetched.boxFolder, 'compose.yaml'), 'made quiet')
  const killed = async (...of: Parameters<SnapshotStore['restore']>) => {
    await deps.snapshots.restore(...of)
    throw new Error('killed')
  }
  await expect(fetchDumpAgain({ snapshots: { ...deps.snapshots, restore: killed } }, wanted, fetched)).rejects.toThrow('killed')
  expect(await matchesManifest(fetched.dumpFolder, fetched.manifest)).toBe(false)
  expect((await readManifest(fetched.dumpFolder))?.sha256).toBe(taken.snapshotSha256)
  await fetchDumpAgain(deps, wanted, fetched)
  expect(await matchesManifest(fetched.dumpFolder, fetched.manifest)).toBe(true)
  expect(await readFile(join(fetched.boxFolder, 'compose.yaml'), 'utf8')).toBe('made quiet')
  expect((await readdir(folder)).sort()).toEqual(['box', 'dump'])
})

test('a dump that was left whole is not made again, and a torn one is', async () => {
  const { host, box, deps, request } = await aTakenSnapshot()
  host.traffic.sendMessage(box)
  expect((await takeBoxSnapshot(deps, request)).counts.local_media_repository).toBe(1)
  await writeFile(join(dumpFolderOf(deps.workFolder, request.commandId), 'database.dump'), 'torn')
  await rm(fenceFile(box.project))
  host.traffic.uploadMedia(box)
  expect((await takeBoxSnapshot(deps, request)).counts.local_media_repository).toBe(2)
})

test('a missing snapshot is reported', async () => {
  const { host, deps } = await aTakenSnapshot()
  const wanted = { repository, snapshotId: 'a'.repeat(64), manifestSha256: null, folder: join(host.folder, 'fetched') }
  await expect(fetchSnapshot(deps, wanted)).rejects.toMatchObject({ code: 'RESTORE_FAILED', message: expect.stringContaining('aaaa') })
})

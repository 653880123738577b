import { expect, test } from 'vitest'
import type { BoxServers, LocalBox, SnapshotStore } from '../../../src/agent/ports/index.ts'
import { fillVolumes } from '../../../src/agent/rebuild/index.ts'

type Filling = Parameters<typeof fillVolumes>[2]

test('the database is loaded while media and objects are still brought, into the folders that they are given', async () => {
  const seen: string[] = []
  let loaded: () => void = () => undefined
  const load = new Promise<void>((resolve) => {
    loaded = resolve
  })
  const restore = async (...[, { path: from, into }]: Parameters<SnapshotStore['restore']>) => {
    await load
    seen.push(`${from} into ${into}`)
  }
  const loadDatabase = async () => {
    seen.push('loaded')
    loaded()
  }
  const deps = {
    snapshots: { restore } as unknown as SnapshotStore,
    servers: { loadDatabase } as unknown as BoxServers,
  }
  const data = (service: 'synapse' | 'minio', key: string) => ({ service, key, volume: key, folder: `/was/${key}` })
  const filling = {
    repository: { repository: 'sim:oak', password: 'a key', env: {}, mayCreate: true },
    snapshotId: 'abc',
    fetched: { dumpFolder: '/dump', manifest: { rows: {}, paths: { data: [data('synapse', 'media'), data('minio', 'objects')] } } },
    folderOf: async ({ key }: { key: string }) => `/new/${key}`,
    upDatabase: async () => void seen.push('up'),
  } as unknown as Filling
  await fillVolumes(deps, {} as LocalBox, filling)
  expect(seen).toEqual(['up', 'loaded', '/was/media into /new/media', '/was/objects into /new/objects'])
})

import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostDisk } from '../../../src/agent/backup/index.ts'
import { boxServers } from '../../../src/agent/box-servers/index.ts'
import { localBoxes, portInUse, provision } from '../../../src/agent/boxes/index.ts'
import { dockerEngine } from '../../../src/agent/docker/index.ts'
import { type FileStore, fileLocks, folderStore, onceOnly, openJournal } from '../../../src/agent/journal/index.ts'
import { resticSnapshots } from '../../../src/agent/snapshots/index.ts'
import { systemClock, systemRandom } from '../../../src/node/index.ts'
import { aContext, aProvision, templateFolder } from '../../agent/boxes/provisioning.ts'
import { readTestbed } from '../../testbed/testbed.ts'
import { converse, reachableBox } from './conversation.ts'

type Wanted = Readonly<{
  slug: string
  boxId: string
  ports: Readonly<{ public: number; platform: number; probe: number }>
  messages?: number
}>

/** A real box with a conversation in it, in a folder of its own, and an agent over it that can be started again and again. */
export async function aRealBox({ slug, boxId, ports, messages = 5 }: Wanted) {
  const { images, dockerHost, dockerConfig, docker, registry, restic } = readTestbed()
  const folder = await realpath(await mkdtemp(join(tmpdir(), `tenantry-${slug}-`)))
  const engine = dockerEngine({ dockerHost, dockerConfig, docker })
  const servers = boxServers({ engine, clock: systemClock, random: systemRandom })
  const boxes = localBoxes(join(folder, 'state'))
  const look = { engine, servers, boxes, clock: systemClock }
  const settings = {
    boxesFolder: join(folder, 'boxes'),
    templateFolder,
    allowedImages: [`${registry}/tenantry/*`],
    binds: { public: '127.0.0.1', platform: '127.0.0.1' },
    maxUploadMegabytes: 50,
  }
  const order = aProvision({
    slug,
    boxId,
    chatDomain: `${slug}.test`,
    publicUrl: `http://127.0.0.1:${ports.public}`,
    images: { edge: images.edge.ref, synapse: images['synapse-1.163.2'].ref, postgres: images.postgres.ref, minio: images.minio.ref },
    ports,
    probe: { consecutive: 2, spacingMs: 200, timeoutMs: 60_000 },
  })
  await provision({ ...look, portInUse, random: systemRandom, settings })(aContext().context, order)
  const talk = await converse(reachableBox(slug, join(folder, 'boxes', slug), ports), messages)
  const box = (await boxes.find(slug))!
  const fileStore = folderStore(join(folder, 'journal'))
  const agent = async (files: FileStore = fileStore) => {
    const journal = await openJournal({ store: files, clock: systemClock })
    return {
      ...look,
      journal,
      once: onceOnly({ journal, locks: fileLocks(join(folder, 'locks')) }),
      snapshots: resticSnapshots({ program: restic, owner: folder, cacheFolder: join(folder, 'cache'), storeTimeoutMs: 10_000 }),
      disk: hostDisk,
      workFolder: join(folder, 'work'),
    }
  }
  const remove = async () => {
    await engine.down(box.project, { volumes: true })
    await rm(folder, { recursive: true, force: true })
  }
  return { folder, engine, servers, box, talk, fileStore, agent, remove }
}

import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostDisk } from '../../../src/agent/backup/index.ts'
import { boxServers } from '../../../src/agent/box-servers/index.ts'
import { localBoxes, portInUse, provision } from '../../../src/agent/boxes/index.ts'
import { dockerEngine } from '../../../src/agent/docker/index.ts'
import { fileLocks, folderStore, onceOnly, openJournal } from '../../../src/agent/journal/index.ts'
import type { LocalBox } from '../../../src/agent/ports/index.ts'
import { resticSnapshots } from '../../../src/agent/snapshots/index.ts'
import type { UpdateDeps } from '../../../src/agent/update/index.ts'
import type { BoxCommandPayload } from '../../../src/core/boxes/index.ts'
import { systemClock, systemRandom } from '../../../src/node/index.ts'
import { aContext, aProvision, templateFolder } from '../../agent/boxes/provisioning.ts'
import { readTestbed, type TestbedImageKey } from '../../testbed/testbed.ts'
import { reachableBox } from './conversation.ts'
import { boxPorts } from './ports.ts'

/** A real box, provisioned on the test bed, and the agent's own dependencies for its updates; no daemon. */
export async function agentOnBox(slug: string, synapse: TestbedImageKey = 'synapse-1.157.1') {
  const { images, dockerHost, dockerConfig, docker, registry, restic } = readTestbed()
  const ports = boxPorts()
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'tenantry-e2e-')))
  const engine = dockerEngine({ dockerHost, dockerConfig, docker })
  const servers = boxServers({ engine, clock: systemClock, random: systemRandom })
  const boxes = localBoxes(join(folder, 'state'))
  const allowedImages = [`${registry}/tenantry/*`]
  const look = { engine, servers, boxes, clock: systemClock }
  const binds = { public: '127.0.0.1', platform: '127.0.0.1' }
  const settings = { boxesFolder: join(folder, 'boxes'), templateFolder, allowedImages, binds, maxUploadMegabytes: 50 }
  const boxId = `box_${slug}`
  const order = aProvision({
    ...{ slug, boxId, chatDomain: `${slug}.test`, publicUrl: `http://127.0.0.1:${ports.public}`, ports },
    images: { edge: images.edge.ref, synapse: images[synapse].ref, postgres: images.postgres.ref, minio: images.minio.ref },
    probe: { consecutive: 2, spacingMs: 200, timeoutMs: 60_000 },
  })
  await provision({ ...look, portInUse, random: systemRandom, settings })(aContext().context, order)
  const journal = await openJournal({ store: folderStore(join(folder, 'journal')), clock: systemClock })
  const deps: UpdateDeps = {
    ...look,
    journal,
    once: onceOnly({ journal, locks: fileLocks(join(folder, 'locks')) }),
    snapshots: resticSnapshots({ program: restic, owner: folder, cacheFolder: join(folder, 'cache') }),
    disk: hostDisk,
    random: systemRandom,
    workFolder: join(folder, 'work'),
    allowedImages,
  }
  const repository = { repository: `file:${join(folder, 'repository')}`, password: 'a key', env: {}, mayCreate: true }
  return {
    deps,
    folder,
    ports,
    repository,
    addressed: { slug, boxId, ownershipEpoch: 1 },
    localBox: async () => (await boxes.find(slug)) as LocalBox,
    box: reachableBox(slug, join(folder, 'boxes', slug), ports),
    contextOf: (commandId: string, signal = new AbortController().signal) => ({
      ...aContext(signal).context,
      commandId,
      secrets: async () => ({ snapshots: repository }),
    }),
    payloadOf: (key: TestbedImageKey, fence: BoxCommandPayload<'tenant-box.update'>['fence']): BoxCommandPayload<'tenant-box.update'> => ({
      ...{ slug, boxId, ownershipEpoch: 1, fence, deadlineMs: 600_000 },
      targets: { services: { synapse: { image: images[key].ref, digest: images[key].digest } }, migrationsHead: '0000' },
      probe: { consecutive: 3, spacingMs: 500, quickSpacingMs: 200, timeoutMs: 60_000 },
    }),
    remove: async () => {
      const made = await boxes.find(slug)
      if (made) await engine.down(made.project, { volumes: true })
      if (made) await engine.removeProject(made.project.name)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

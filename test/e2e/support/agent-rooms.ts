import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostDisk } from '../../../src/agent/backup/index.ts'
import { boxServers } from '../../../src/agent/box-servers/index.ts'
import { composeRecord, factFinder, localBoxes, portInUse } from '../../../src/agent/boxes/index.ts'
import { dockerEngine } from '../../../src/agent/docker/index.ts'
import { fileLocks, folderStore, openJournal } from '../../../src/agent/journal/index.ts'
import { boxExecutors } from '../../../src/agent/program/index.ts'
import { resticSnapshots } from '../../../src/agent/snapshots/index.ts'
import { systemClock, systemRandom } from '../../../src/node/index.ts'
import { aContext, templateFolder } from '../../agent/boxes/provisioning.ts'
import { readTestbed } from '../../testbed/testbed.ts'

/** All that an agent can do on this machine's engine, in this process and without a daemon. */
export async function agentRooms(name: string) {
  const { dockerHost, dockerConfig, docker, registry, restic } = readTestbed()
  const folder = await realpath(await mkdtemp(join(tmpdir(), `tenantry-${name}-`)))
  const engine = dockerEngine({ dockerHost, dockerConfig, docker })
  const servers = boxServers({ engine, clock: systemClock, random: systemRandom })
  const boxes = localBoxes(join(folder, 'state'))
  const stateFolder = join(folder, 'state')
  const executors = boxExecutors({
    clock: systemClock,
    random: systemRandom,
    stateFolder,
    findFacts: factFinder({ engine, clock: systemClock, disk: hostDisk, compose: composeRecord({ stateFolder, boxes }) }),
    engine,
    servers,
    boxes,
    portInUse,
    snapshots: resticSnapshots({ program: restic, owner: folder, cacheFolder: join(folder, 'cache') }),
    journal: await openJournal({ store: folderStore(join(folder, 'journal')), clock: systemClock }),
    locks: fileLocks(join(folder, 'locks')),
    disk: hostDisk,
    settings: {
      boxesFolder: join(folder, 'boxes'),
      templateFolder,
      allowedImages: [`${registry}/tenantry/*`],
      binds: { public: '127.0.0.1', platform: '127.0.0.1' },
      maxUploadMegabytes: 50,
    },
  })
  const contextOf = (commandId: string) => {
    const base = aContext()
    const secrets = async () => ({
      snapshots: { repository: `file:${join(folder, 'repository')}`, password: 'a key', env: {}, mayCreate: true },
    })
    return { ...base, context: { ...base.context, commandId, secrets } }
  }
  const end = async () => {
    for (const { project } of await boxes.list()) await engine.removeProject(project.name)
    await rm(folder, { recursive: true, force: true })
  }
  return { folder, engine, servers, boxes, executors, contextOf, end }
}

export type AgentRooms = Awaited<ReturnType<typeof agentRooms>>

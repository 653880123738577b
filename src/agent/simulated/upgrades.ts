import type { DatabaseContent, UpgradeFacts } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { DatabaseUpgrades, LocalBox } from '../ports/index.ts'
import { countsOf, databaseVolume, factsOf } from './database.ts'
import type { VolumeContent } from './volumes.ts'
import { containerOf, type World } from './world.ts'

/** Dumps are kept by the project of the new server, and gone with it. */
export function simulatedUpgrades(world: World): DatabaseUpgrades {
  const dumps = new Map<string, VolumeContent>()
  return {
    facts: async (box, signal) => {
      signal?.throwIfAborted()
      databaseVolume(world, box)
      const { bytes = 0, otherDatabases = [] } = factsOf(world, box) ?? {}
      return { ...factsOfServer(world, box), bytes, otherDatabases: [...otherDatabases] }
    },
    target: async (next, signal) => {
      signal?.throwIfAborted()
      databaseVolume(world, next)
      return { ...versionOf(world, next), extensions: ['plpgsql'], collations: [] }
    },
    dump: async ({ former, next }, _jobs, signal) => {
      const content = world.volumes.read(databaseVolume(world, former))
      await world.faults.linger('dumpMs', signal)
      if (world.faults.strike('dump-fails', { box: former.slug })) throw problem('SNAPSHOT_FAILED', 'exit code 1: injected')
      dumps.set(next.project.name, content)
      return JSON.stringify(content).length
    },
    load: async ({ former, next }, _jobs, signal) => {
      const volume = databaseVolume(world, next)
      const content = dumps.get(next.project.name)
      await world.faults.linger('loadMs', signal)
      if (world.faults.strike('disk-full', { box: former.slug }, ({ at }) => at === 'load'))
        throw problem('DISK_FULL', `No disk space left for the rehearsal of ${former.slug}`)
      if (!content || world.faults.strike('load-fails', { box: former.slug })) throw problem('RESTORE_FAILED', 'exit code 1: injected')
      world.volumes.change(volume, content)
    },
    analyze: async ({ next }, _jobs, signal) => {
      signal?.throwIfAborted()
      databaseVolume(world, next)
    },
    content: async (server, _box, signal): Promise<DatabaseContent> => {
      signal?.throwIfAborted()
      const content = world.volumes.read(databaseVolume(world, server))
      return {
        ...{ bytes: factsOf(world, server)?.bytes ?? 0, rows: countsOf(content), sequences: { events: String(content.stream) } },
        ...{ indexes: ['events_pkey'], constraints: ['events_pkey on events'], extensions: ['plpgsql'], roles: ['postgres', 'synapse'] },
        properties: { encoding: 'UTF8', collate: 'C', ctype: 'C' },
      }
    },
  }
}

function versionOf(world: World, { project }: LocalBox): Readonly<{ version: string; major: number }> {
  const { version } = world.image(containerOf(world, project.name, 'postgres')?.image ?? ':0')
  return { version, major: Number.parseInt(version, 10) }
}

const factsOfServer = (world: World, box: LocalBox): Omit<UpgradeFacts, 'bytes' | 'otherDatabases'> => ({
  ...versionOf(world, box),
  superuser: 'postgres',
  ...{ invalidIndexes: [], extensions: ['plpgsql'], collations: [{ provider: 'c', locale: 'C', version: null }] },
  ...{ largeObjects: 0, preparedTransactions: 0, logicalSlots: [], roleSettings: [] },
})

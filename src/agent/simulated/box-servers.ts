import type { BoxServers } from '../ports/index.ts'
import { simulatedAccount, simulatedThrowAway } from './accounts.ts'
import { applySimulated, dumpSimulated, factsOf, loadSimulated, positionsOf, raiseSimulated, settleSimulated } from './database.ts'
import { probeSimulated } from './probe.ts'
import { chatState, databaseState, objectsState } from './servers.ts'
import { containerOf, type World } from './world.ts'

/** The inside of simulated boxes: probes that write, dumps and loads of the simulated database. */
export const simulatedServers = (world: World): BoxServers => ({
  probe: (box, signal) => probeSimulated(world, box, signal),
  serverVersions: async ({ project }) => ({
    ...(chatState(world, project.name) === 'ready' ? { synapse: versionOf(world, project.name, 'synapse') } : {}),
    ...(databaseState(world, project.name) === 'ready' ? { postgres: versionOf(world, project.name, 'postgres') } : {}),
    ...(objectsState(world, project.name) === 'ready' ? { minio: versionOf(world, project.name, 'minio') } : {}),
  }),
  dumpDatabase: (box, folder, signal) => dumpSimulated(world, box, folder, signal),
  loadDatabase: (box, folder, expected, signal) => loadSimulated(world, box, folder, expected, signal),
  settleDatabase: (box, expected, signal) => settleSimulated(world, box, expected, signal),
  streamPositions: (box, signal) => positionsOf(world, box, signal),
  raiseStreams: (box, past, signal) => raiseSimulated(world, box, past, signal),
  createProbeAccount: async (box, appserviceToken, signal) => {
    signal?.throwIfAborted()
    return simulatedAccount(world, box, appserviceToken)
  },
  createThrowAwayAccount: async (box, registrationSecret, signal) => {
    signal?.throwIfAborted()
    return simulatedThrowAway(world, box, registrationSecret)
  },
  databaseBytes: async (box) => factsOf(world, box)?.bytes,
  databaseFacts: async (box) => factsOf(world, box),
  applyMigration: (box, migration, signal) => applySimulated(world, box, migration, signal),
  databaseReady: async ({ project }) => databaseState(world, project.name) === 'ready',
})

const versionOf = (world: World, project: string, service: 'synapse' | 'postgres' | 'minio'): string =>
  world.image(containerOf(world, project, service)?.image ?? ':unknown').version

import { join } from 'node:path'
import type { Clock, Random } from '../../core/kit/index.ts'
import { settlingFetch } from '../../node/index.ts'
import type { BoxServers, ContainerEngine, SnapshotStore } from '../ports/index.ts'
import { simulatedServers } from './box-servers.ts'
import { type ExecScript, simulatedEngine } from './engine.ts'
import { type Fault, type FaultProfile, type Faults, instant, makeFaults } from './faults.ts'
import { simulatedTraffic, type Traffic } from './servers.ts'
import { type SimulatedVaults, simulatedSnapshots } from './snapshots.ts'
import { simulatedVolumes } from './volumes.ts'
import { containersOf, type ImageOverrides, makeWorld } from './world.ts'

export type SimulatedHostOptions = Readonly<{
  clock: Clock
  random: Random
  /** A private folder of this host for volumes; may contain box folders. */
  folder: string
  profile?: FaultProfile
  /** Images that differ from their tag. */
  images?: ImageOverrides
  /** Hosts with the same value share their snapshots. */
  vaults?: SimulatedVaults
  execScript?: ExecScript
}>

export type SimulatedHost = Readonly<{
  engine: ContainerEngine
  servers: BoxServers
  snapshots: SnapshotStore
  traffic: Traffic
  /** Network and clock of this host's agent, with faults applied. */
  channel(machine: SimulatedMachine): Required<SimulatedMachine>
  /** Adds a fault; the returned function removes it. */
  inject(fault: Fault): () => void
  /** Stops every container without events, like a power failure. */
  powerCut(): void
  volumeNames(): readonly string[]
  pinnedImages(): readonly string[]
  /** Projects whose database has an open backup. */
  openBackups(): readonly string[]
  /** Names of the services that run in a project. */
  running(project: string): readonly string[]
}>

/** A simulated host with a container engine, boxes and a snapshot store. It survives restarts of its agent. */
export function simulatedHost(options: SimulatedHostOptions): SimulatedHost {
  const { clock, random, folder, profile = instant, images = {}, vaults = new Map() } = options
  const faults = makeFaults({ clock, random, ...profile })
  const volumes = simulatedVolumes(join(folder, 'volumes'))
  const world = makeWorld({ clock, random, faults, volumes, images })
  return {
    engine: simulatedEngine(world, options.execScript),
    servers: simulatedServers(world),
    snapshots: simulatedSnapshots(world, vaults),
    traffic: simulatedTraffic(world),
    channel: (machine) => simulatedChannel(faults, machine),
    inject: faults.inject,
    powerCut: () => {
      for (const container of world.containers.values()) container.wanted = 'stopped'
      world.backups.clear()
    },
    volumeNames: volumes.names,
    pinnedImages: () => [...new Set([...world.pins.values()].flatMap((set) => [...set]))].sort(),
    openBackups: () => [...world.backups],
    running: (project) =>
      containersOf(world, project)
        .filter(({ wanted, dies }) => wanted === 'running' && dies === null)
        .map(({ service }) => service),
  }
}

type SimulatedMachine = Readonly<{ clock: Clock; fetch?: typeof globalThis.fetch }>

/** Applies the faults of a simulated host to clock and network. */
const simulatedChannel = (faults: Faults, { clock, fetch = settlingFetch }: SimulatedMachine): Required<SimulatedMachine> => ({
  clock: {
    ...clock,
    now: () => new Date(clock.now().getTime() + (faults.strike('clock-skew', {})?.offsetMs ?? 0)),
  },
  fetch: async (input, init) => {
    if (faults.strike('offline', {})) throw new TypeError('fetch failed', { cause: new Error('the simulated host is offline') })
    return fetch(input, init)
  },
})

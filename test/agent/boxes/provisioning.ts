import { realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { localBoxes, type ProvisionDeps } from '../../../src/agent/boxes/index.ts'
import type { CommandContext } from '../../../src/agent/ports/index.ts'
import { type SimulatedHostOptions, seededRandom } from '../../../src/agent/simulated/index.ts'
import type { BoxCommandPayload, CommandOutputs } from '../../../src/core/boxes/index.ts'
import { aHost, images } from '../simulated/boxes.ts'

export const templateFolder = join(dirname(fileURLToPath(import.meta.url)), '../../../config/box-template')

export const aProvision = (change: Partial<BoxCommandPayload<'tenant-box.provision'>> = {}): BoxCommandPayload<'tenant-box.provision'> => ({
  slug: 'oak',
  boxId: 'box_oak',
  ownershipEpoch: 1,
  chatDomain: 'chat.oak.example',
  publicUrl: 'https://chat.oak.example',
  images,
  ports: { public: 18_001, platform: 18_002, probe: 18_003 },
  probe: { consecutive: 3, spacingMs: 60_000, timeoutMs: 1_800_000 },
  ...change,
})

/** A context whose deliveries and progress are kept for the test to look at. */
export function aContext(signal = new AbortController().signal) {
  const delivered: CommandOutputs[] = []
  const steps: string[] = []
  const context: CommandContext = {
    commandId: 'roll.oak.1.provision',
    signal,
    progress: ({ step }) => void (steps.at(-1) === step || steps.push(step)),
    secrets: async () => ({}),
    migrations: async () => [],
    deliver: async (outputs) => void delivered.push(outputs),
    sendLines: async () => 'ended',
  }
  return { context, delivered, steps }
}

/** An agent's rooms over a fresh simulated host. */
export async function anAgent(options: Partial<SimulatedHostOptions> = {}) {
  const host = await aHost(options)
  const folder = await realpath(host.folder)
  const deps: ProvisionDeps = {
    engine: host.engine,
    servers: host.servers,
    clock: host.clock,
    random: seededRandom('an agent'),
    boxes: localBoxes(join(folder, 'state')),
    portInUse: async () => false,
    settings: {
      boxesFolder: join(folder, 'boxes'),
      templateFolder,
      allowedImages: ['registry.test/tenantry/*'],
      binds: { public: '127.0.0.1', platform: '127.0.0.1' },
      maxUploadMegabytes: 50,
    },
  }
  return { host, folder, deps }
}

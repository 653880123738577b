import { boxCommands, type ServiceUsage } from '../../core/boxes/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { CommandExecutor, ContainerEngine, ContainerState } from '../ports/index.ts'
import { boxOfCommand, type LocalBoxes } from './local-boxes.ts'

type Deps = Readonly<{ clock: Clock; engine: ContainerEngine; boxes: LocalBoxes }>

/** The containers of a box and what they use now, measured at once. */
export const services =
  (deps: Deps): CommandExecutor<'tenant-box.services'> =>
  async (_, input) => {
    const box = await boxOfCommand(deps.boxes, boxCommands['tenant-box.services'].payload.parse(input))
    const containers = await deps.engine.containers(box.project)
    return { services: await Promise.all(containers.map((container) => usageOf(deps.engine, container))), at: isoNow(deps.clock) }
  }

async function usageOf(engine: ContainerEngine, container: ContainerState): Promise<ServiceUsage> {
  const { id, service, image, state, exitCode, startedAt, restartCount: restarts } = container
  const used = state === 'running' ? await engine.usage(id) : null
  const { cpuPercent, memoryBytes, memoryLimitBytes } = used ?? { cpuPercent: null, memoryBytes: null, memoryLimitBytes: null }
  return { service, image, state, exitCode, startedAt, restarts, cpuPercent, memoryBytes, memoryLimitBytes }
}

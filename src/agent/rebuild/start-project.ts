import type { Service } from '../../core/boxes/index.ts'
import type { LocalBox } from '../ports/index.ts'
import type { ReviveDeps } from './deps.ts'

/** Starts the servers of a filled project, each after those that it would die without. */
export async function startProject(
  { engine }: Pick<ReviveDeps, 'engine'>,
  { project }: LocalBox,
  services: readonly Service[],
  signal: AbortSignal,
): Promise<void> {
  for (const service of (['postgres', 'minio', 'synapse', 'edge'] as const).filter((one) => services.includes(one)))
    await engine.up(project, [service], signal)
}

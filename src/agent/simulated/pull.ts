import { problem, type Random, sha256Hex } from '../../core/kit/index.ts'
import type { PullProgress } from '../ports/index.ts'
import { needEngine, type World } from './world.ts'

type PullOptions = Readonly<{ digest?: string; onProgress?: (progress: PullProgress) => void; signal?: AbortSignal }>

const parts = 4

/** A pull in a few parts. A tag that lies answers a digest of its own, which only a pull by digest notices. */
export async function pullSimulated(world: World, image: string, { digest, onProgress, signal }: PullOptions): Promise<string> {
  needEngine(world)
  signal?.throwIfAborted()
  if (world.faults.strike('registry-down', { image })) throw problem('REGISTRY_UNAVAILABLE', `the registry of ${image} does not answer`)
  if (world.faults.strike('tag-missing', { image })) throw problem('PULL_FAILED', `there is no ${image} in its registry: manifest unknown`)
  const offered = world.faults.strike('lying-digest', { image }) ? lie(world.random) : world.image(image).digest
  if (digest !== undefined && digest !== offered) throw problem('PULL_FAILED', `there is no ${image} with ${digest} in its registry`)
  const pullMs = world.faults.draw('pullMs')
  for (let part = 1; part <= parts; part++) {
    await world.clock.sleep(pullMs / parts, signal)
    signal?.throwIfAborted()
    onProgress?.({ percent: (100 * part) / parts, detail: `${part} of ${parts} layers` })
  }
  if (world.faults.strike('pull-fails', { image })) throw problem('PULL_FAILED', `the pull of ${image} broke off`)
  if (world.faults.strike('disk-full', { image }, ({ at }) => at === 'pull'))
    throw problem('DISK_FULL', `no space left on the host for ${image}`)
  world.local.set(image, offered)
  return offered
}

const lie = (random: Random): string => `sha256:${sha256Hex(random.bytes(16))}`

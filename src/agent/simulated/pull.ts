import { type PullSource, parseImage, pullFromSources } from '../../core/boxes/index.ts'
import { isoNow, problem, type Random, sha256Hex } from '../../core/kit/index.ts'
import type { PullOptions, ResolveOptions } from '../ports/index.ts'
import { within } from './faults.ts'
import { assertEngineUp, type World } from './world.ts'

const parts = 4

/** A pull from the mirror, where one is named, and else from the registry itself; what comes bears the name that was asked for. */
export async function pullSimulated(world: World, image: string, options: PullOptions): Promise<string> {
  assertEngineUp(world)
  options.signal?.throwIfAborted()
  return pullFromSources(image, options, (source) => pullFrom(world, image, source, options))
}

/** What the same registries say of a tag now; one that lies says something else each time. */
export async function resolveSimulated(world: World, image: string, options: ResolveOptions): Promise<string> {
  assertEngineUp(world)
  options.signal?.throwIfAborted()
  return pullFromSources(image, options, async (source) =>
    askRegistry(world, referenceAt(source, image), source, world.image(image).digest),
  )
}

const referenceAt = ({ repository }: PullSource, image: string): string => `${repository}:${parseImage(image).tag}`

/** In a few parts. A tag that lies answers a digest of its own, which only a pull by digest notices. */
async function pullFrom(world: World, name: string, source: PullSource, { digest, onProgress, signal }: PullOptions): Promise<string> {
  const image = referenceAt(source, name)
  const offered = askRegistry(world, image, source, world.image(name).digest)
  if (digest !== undefined && digest !== offered) throw problem('PULL_FAILED', `there is no ${image} with ${digest} in its registry`)
  const pullMs = world.faults.draw('pullMs') + slowness(world, image)
  for (let part = 1; part <= parts; part++) {
    await world.clock.sleep(pullMs / parts, signal)
    signal?.throwIfAborted()
    onProgress?.({ percent: (100 * part) / parts, detail: `${part} of ${parts} layers` })
  }
  if (world.faults.strike('pull-fails', { image })) throw problem('PULL_FAILED', `the pull of ${image} broke off`)
  if (world.faults.strike('disk-full', { image }, ({ at }) => at === 'pull'))
    throw problem('DISK_FULL', `no space left on the host for ${image}`)
  world.local.set(name, offered)
  world.namedAt.set(name, isoNow(world.clock))
  return offered
}

function askRegistry({ faults, random }: World, image: string, { account }: PullSource, digest: string): string {
  if (faults.strike('registry-down', { image })) throw problem('REGISTRY_UNAVAILABLE', `the registry of ${image} does not answer`)
  const isAnother = ({ username, password }: { username: string; password: string }) =>
    account?.username !== username || account.password !== password
  if (faults.strike('needs-account', { image }, isAnother)) throw problem('PULL_FAILED', `${image} cannot be pulled: unauthorized`)
  if (faults.strike('tag-missing', { image })) throw problem('PULL_FAILED', `there is no ${image} in its registry: manifest unknown`)
  return faults.strike('lying-digest', { image }) ? lie(random) : digest
}

function slowness({ faults, random }: World, image: string): number {
  const fault = faults.strike('slow-pull', { image })
  return fault ? within(fault.extraMs, random) : 0
}

const lie = (random: Random): string => `sha256:${sha256Hex(random.bytes(16))}`

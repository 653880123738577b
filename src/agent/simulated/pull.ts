import { type PullSource, parseImage, pullFromSources } from '../../core/boxes/index.ts'
import { isoNow, problem, type Random, sha256Hex } from '../../core/kit/index.ts'
import type { PullOptions, ResolveOptions } from '../ports/index.ts'
import { within } from './faults.ts'
import { assertEngineUp, type World } from './world.ts'

const parts = 4

/** Pulls from a mirror or the registry; the image gets the requested name. */
export async function pullSimulated(world: World, image: string, options: PullOptions): Promise<string> {
  assertEngineUp(world)
  options.signal?.throwIfAborted()
  return pullFromSources(image, options, (source) => pullFrom(world, { name: image, source }, options))
}

/** Resolves a tag with the same registries; a `lying-digest` fault returns a new digest each time. */
export async function resolveSimulated(world: World, image: string, options: ResolveOptions): Promise<string> {
  assertEngineUp(world)
  options.signal?.throwIfAborted()
  return pullFromSources(image, options, async (source) =>
    askRegistry(world, { name: image, source }, { digest: world.image(image).digest, missing: 'IMAGE_NOT_FOUND' }),
  )
}

/** An image by its name, in one of its registries. */
type Named = Readonly<{ name: string; source: PullSource }>

const referenceAt = ({ repository }: PullSource, image: string): string => `${repository}:${parseImage(image).tag}`

/** Pulls in a few parts. A `lying-digest` fault returns another digest, which only a pull by digest detects. */
async function pullFrom(world: World, { name, source }: Named, { digest, onProgress, signal }: PullOptions): Promise<string> {
  const image = referenceAt(source, name)
  const offered = askRegistry(world, { name, source }, { digest: world.image(name).digest, missing: 'PULL_FAILED' })
  if (digest !== undefined && digest !== offered) throw problem('PULL_FAILED', `${image} with ${digest} does not exist in its registry`)
  const pullMs = world.faults.draw('pullMs') + slowness(world, image)
  for (let part = 1; part <= parts; part++) {
    await world.clock.sleep(pullMs / parts, signal)
    signal?.throwIfAborted()
    onProgress?.({ percent: (100 * part) / parts, detail: `${part} of ${parts} layers` })
  }
  if (world.faults.strike('pull-fails', { image })) throw problem('PULL_FAILED', `The pull of ${image} was interrupted`)
  if (world.faults.strike('disk-full', { image }, ({ at }) => at === 'pull'))
    throw problem('DISK_FULL', `No disk space left on the host for ${image}`)
  world.local.set(name, offered)
  world.namedAt.set(name, isoNow(world.clock))
  return offered
}

/** The content of a tag in its registry, and the code of a missing tag. */
type Registered = Readonly<{ digest: string; missing: 'IMAGE_NOT_FOUND' | 'PULL_FAILED' }>

function askRegistry({ faults, random }: World, { name, source }: Named, { digest, missing }: Registered): string {
  const image = referenceAt(source, name)
  const { account } = source
  if (faults.strike('registry-down', { image })) throw problem('REGISTRY_UNAVAILABLE', `The registry of ${image} does not answer`)
  const isAnother = ({ username, password }: { username: string; password: string }) =>
    account?.username !== username || account.password !== password
  if (faults.strike('needs-account', { image }, isAnother)) throw problem('PULL_FAILED', `Cannot pull ${image}: unauthorized`)
  if (faults.strike('tag-missing', { image })) throw problem(missing, `${image} does not exist in its registry: manifest unknown`)
  return faults.strike('lying-digest', { image }) ? lie(random) : digest
}

function slowness({ faults, random }: World, image: string): number {
  const fault = faults.strike('slow-pull', { image })
  return fault ? within(fault.extraMs, random) : 0
}

const lie = (random: Random): string => `sha256:${sha256Hex(random.bytes(16))}`

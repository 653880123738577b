import pRetry from 'p-retry'
import type { ResolvedImage } from '../../core/boxes/index.ts'
import { type Clock, isProblem, type Problem, problem } from '../../core/kit/index.ts'
import type { CommandContext, CommandExecutor, ContainerEngine, PullProgress } from '../ports/index.ts'
import { needAllowedImage } from './image-names.ts'

import { boxOfCommand, type LocalBoxes } from './local-boxes.ts'

type Deps = Readonly<{ engine: ContainerEngine; clock: Clock }>
type Wanted = Readonly<{
  image: string
  digest?: string | undefined
  signal: AbortSignal
  onProgress?: (progress: PullProgress) => void
}>

const retries = 4
const firstWaitMs = 2_000

/**
 * Sees to it that an image is on the host and answers its digest. One that is here with the wanted digest is not pulled again.
 * A registry that does not answer is tried again, a tag that it does not have is not. Throws DIGEST_MISMATCH.
 */
async function bringImage({ engine, clock }: Deps, { image, digest, signal, onProgress }: Wanted): Promise<string> {
  if (digest !== undefined && (await engine.localDigest(image)) === digest) return digest
  const options = { signal, ...(digest === undefined ? {} : { digest }), ...(onProgress ? { onProgress } : {}) }
  const pulled = await pRetry(() => engine.pull(image, options), {
    retries,
    // The waiting is done on our clock, below.
    minTimeout: 0,
    maxTimeout: 0,
    signal,
    shouldRetry: ({ error }) => isProblem(error, 'REGISTRY_UNAVAILABLE'),
    onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
      if (isProblem(error, 'REGISTRY_UNAVAILABLE') && retriesLeft > 0) await clock.sleep(firstWaitMs * 2 ** (attemptNumber - 1), signal)
    },
  })
  if (digest === undefined || pulled === digest) return pulled
  throw problem('DIGEST_MISMATCH', `${image} is ${pulled} in its registry and not ${digest}, as planned`)
}

/** An image that the way back would start must be here, and what it was: a tag that has moved on is brought back by digest. Pins it. */
export async function keepImage(deps: Deps, { image, digest, signal }: Wanted, label: string): Promise<void> {
  const here = await deps.engine.localDigest(image)
  if (here === undefined || (digest !== undefined && here !== digest)) await bringImage(deps, { image, digest, signal })
  await deps.engine.pin(image, label)
}

type WantedImages = Readonly<{
  /** By what they are for, as progress tells; without a digest it is what the registry has now. */
  images: Readonly<Record<string, Readonly<{ image: string; digest?: string | null | undefined }> | undefined>>
  /** What keeps them from being pruned until `unpin`; absent for those that a compose file names already. */
  pin?: string
  /** As progress names it. */
  step: string
  context: Pick<CommandContext, 'progress'>
  signal: AbortSignal
}>

/** Brings images one after the other, and answers their digests. Throws IMAGE_NOT_ALLOWED, PULL_FAILED and its kin. */
export async function bringImages(
  deps: Deps & Readonly<{ allowedImages: readonly string[] }>,
  { images, pin, step, context, signal }: WantedImages,
): Promise<Record<string, string>> {
  const digests: Record<string, string> = {}
  for (const [what, wanted] of Object.entries(images)) {
    if (!wanted) continue
    const { image, digest } = wanted
    needAllowedImage(deps.allowedImages, image)
    const onProgress = ({ percent, detail }: PullProgress) =>
      context.progress({ step, percent, detail: `${what}: ${detail}`.slice(0, 500) })
    digests[image] = await bringImage(deps, { image, digest: digest ?? undefined, signal, onProgress })
    if (pin !== undefined) await deps.engine.pin(image, pin)
  }
  return digests
}

type ResolveDeps = Readonly<{ engine: ContainerEngine; clock: Clock; boxes: LocalBoxes; allowedImages: readonly string[] }>

/** What tags are in their registries now, all of them at once. One that nobody can tell keeps none of the others from being told. */
export const resolveImages =
  (deps: ResolveDeps): CommandExecutor<'tenant-box.resolve_images'> =>
  async ({ signal }, payload) => {
    await boxOfCommand(deps.boxes, payload, { handedOver: 'welcome' })
    const over = new AbortController()
    const ended = AbortSignal.any([signal, over.signal])
    const late = lateness(deps.clock, payload.withinMs, ended)
    try {
      const images = await Promise.all(payload.images.map((image) => resolveOne(deps, image, late, ended)))
      signal.throwIfAborted()
      return { images }
    } finally {
      over.abort()
    }
  }

async function resolveOne(
  { engine, allowedImages }: ResolveDeps,
  image: string,
  late: Promise<Problem>,
  signal: AbortSignal,
): Promise<ResolvedImage> {
  try {
    needAllowedImage(allowedImages, image)
    const answer = await Promise.race([engine.resolve(image, { signal }), late])
    if (typeof answer !== 'string') throw answer
    return { image, digest: answer, error: null }
  } catch (error) {
    if (!isProblem(error)) throw error
    return { image, digest: null, error: { code: error.code, message: error.message.slice(0, 500) } }
  }
}

async function lateness(clock: Clock, withinMs: number, signal: AbortSignal): Promise<Problem> {
  await clock.sleep(withinMs, signal)
  return problem('REGISTRY_UNAVAILABLE', `no registry answered within ${withinMs / 1000} s`)
}

import pRetry from 'p-retry'
import type { ResolvedImage } from '../../core/boxes/index.ts'
import { type Clock, isProblem, type Problem, problem } from '../../core/kit/index.ts'
import type { CommandContext, CommandExecutor, ContainerEngine, PullProgress } from '../ports/index.ts'
import { assertAllowedImage } from './image-names.ts'

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

/** Pulls an image unless it is present with the requested digest, and returns its digest. Retries only REGISTRY_UNAVAILABLE. Throws DIGEST_MISMATCH. */
async function pullImage({ engine, clock }: Deps, { image, digest, signal, onProgress }: Wanted): Promise<string> {
  if (digest !== undefined && (await engine.localDigest(image)) === digest) return digest
  const options = { signal, ...(digest === undefined ? {} : { digest }), ...(onProgress ? { onProgress } : {}) }
  const pulled = await pRetry(() => engine.pull(image, options), {
    retries,
    // The injected clock waits, below.
    minTimeout: 0,
    maxTimeout: 0,
    signal,
    shouldRetry: ({ error }) => isProblem(error, 'REGISTRY_UNAVAILABLE'),
    onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
      if (isProblem(error, 'REGISTRY_UNAVAILABLE') && retriesLeft > 0) await clock.sleep(firstWaitMs * 2 ** (attemptNumber - 1), signal)
    },
  })
  if (digest === undefined || pulled === digest) return pulled
  throw problem('DIGEST_MISMATCH', `${image} has digest ${pulled} in its registry, expected ${digest}`)
}

/** Keeps an image that a rollback would start: pulls it by digest when its tag has moved, and pins it. */
export async function pinImage(deps: Deps, { image, digest, signal }: Wanted, label: string): Promise<void> {
  const here = await deps.engine.localDigest(image)
  if (here === undefined || (digest !== undefined && here !== digest)) await pullImage(deps, { image, digest, signal })
  await deps.engine.pin(image, label)
}

type WantedImages = Readonly<{
  /** Images by purpose, which progress shows; without a digest the current one of the registry. */
  images: Readonly<Record<string, Readonly<{ image: string; digest?: string | null | undefined }> | undefined>>
  /** Pin label that protects the images from pruning until `unpin`. */
  pin?: string
  /** Step name in progress. */
  step: string
  context: Pick<CommandContext, 'progress'>
  signal: AbortSignal
}>

/** Pulls images one by one and returns their digests. Throws IMAGE_NOT_ALLOWED, PREFLIGHT_REFUSED for an image of another platform, and the errors of a pull. */
export async function pullImages(
  deps: Deps & Readonly<{ allowedImages: readonly string[] }>,
  { images, pin, step, context, signal }: WantedImages,
): Promise<Record<string, string>> {
  const digests: Record<string, string> = {}
  for (const [what, requested] of Object.entries(images)) {
    if (!requested) continue
    const { image, digest } = requested
    assertAllowedImage(deps.allowedImages, image)
    const onProgress = ({ percent, detail }: PullProgress) =>
      context.progress({ step, percent, detail: `${what}: ${detail}`.slice(0, 500) })
    digests[image] = await pullImage(deps, { image, digest: digest ?? undefined, signal, onProgress })
    const wrong = await deps.engine.misfit(image, { signal })
    if (wrong !== undefined) throw problem('PREFLIGHT_REFUSED', wrong)
    if (pin !== undefined) await deps.engine.pin(image, pin)
  }
  return digests
}

type ResolveDeps = Readonly<{ engine: ContainerEngine; clock: Clock; boxes: LocalBoxes; allowedImages: readonly string[] }>

/** Resolves the current digests of tags in parallel; a failure of one tag does not fail the others. */
export const resolveImages =
  (deps: ResolveDeps): CommandExecutor<'tenant-box.resolve_images'> =>
  async ({ signal }, payload) => {
    await boxOfCommand(deps.boxes, payload, { handedOver: 'welcome' })
    const over = new AbortController()
    const ended = AbortSignal.any([signal, over.signal])
    const late = lateness(deps.clock, payload.withinMs, ended)
    try {
      const images = await Promise.all(payload.images.map((image) => resolveOne(deps, image, { late, signal: ended })))
      signal.throwIfAborted()
      return { images }
    } finally {
      over.abort()
    }
  }

async function resolveOne(
  { engine, allowedImages }: ResolveDeps,
  image: string,
  { late, signal }: Readonly<{ late: Promise<Problem>; signal: AbortSignal }>,
): Promise<ResolvedImage> {
  try {
    assertAllowedImage(allowedImages, image)
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
  return problem('REGISTRY_UNAVAILABLE', `No registry answered within ${withinMs / 1000} s`)
}

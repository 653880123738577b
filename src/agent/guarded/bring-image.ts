import pRetry from 'p-retry'
import { type Clock, isProblem, problem } from '../../core/kit/index.ts'
import { readFence } from '../boxes/index.ts'
import type { ContainerEngine, LocalBox, PullProgress } from '../ports/index.ts'

type Needs = Readonly<{ engine: ContainerEngine; clock: Clock }>
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
export async function bringImage({ engine, clock }: Needs, { image, digest, signal, onProgress }: Wanted): Promise<string> {
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
export async function keepImage(needs: Needs, { image, digest, signal }: Wanted, label: string): Promise<void> {
  const here = await needs.engine.localDigest(image)
  if (here === undefined || (digest !== undefined && here !== digest)) await bringImage(needs, { image, digest, signal })
  await needs.engine.pin(image, label)
}

/** Once a change has ended. A box that is fenced still rests for somebody to decide, and may need the images of whoever left it there. */
export async function letImagesGo({ needs, box }: Readonly<{ needs: Pick<Needs, 'engine'>; box: LocalBox }>): Promise<void> {
  if ((await readFence(box.project)) === undefined) await needs.engine.unpin(box.slug)
}

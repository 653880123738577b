import type { ResolvedImage } from '../../core/boxes/index.ts'
import { type Clock, isProblem, type Problem, problem } from '../../core/kit/index.ts'
import type { CommandExecutor, ContainerEngine } from '../ports/index.ts'
import { boxOfCommand } from './box-of-command.ts'
import { needAllowedImage } from './image-allow-list.ts'
import type { LocalBoxes } from './local-boxes.ts'

type Deps = Readonly<{ engine: ContainerEngine; clock: Clock; boxes: LocalBoxes; allowedImages: readonly string[] }>

/** What tags are in their registries now, all of them at once. One that nobody can tell keeps none of the others from being told. */
export const resolveImages =
  (deps: Deps): CommandExecutor<'tenant-box.resolve_images'> =>
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
  { engine, allowedImages }: Deps,
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

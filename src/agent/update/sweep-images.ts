import { readFile } from 'node:fs/promises'
import pLimit from 'p-limit'
import { unusedImages } from '../../core/boxes/index.ts'
import { type Clock, isoIn, isProblem } from '../../core/kit/index.ts'
import {
  fullName,
  fullRepository,
  isAllowedName,
  isLiteralImage,
  type KnownMirrors,
  type LocalBoxes,
  resolvedCompose,
} from '../boxes/index.ts'
import type { CommandJournal } from '../journal/index.ts'
import type { ContainerEngine, LocalImage } from '../ports/index.ts'

type Deps = Readonly<{
  engine: Pick<ContainerEngine, 'images' | 'removeImage'>
  journal: Pick<CommandJournal, 'open'>
  boxes: Pick<LocalBoxes, 'list' | 'unreadable'>
  clock: Clock
  mirrors: Pick<KnownMirrors, 'originNames'>
  removals: Pick<ImageRemovals, 'exclusive'>
  allowedImages: readonly string[]
  keepDays: number
}>

const dayMs = 86_400_000
const everyMs = 3_600_000

/**
 * Removes images that this host may run and that no container, pin or compose file of a box uses, some days after their last pull or pin. The name
 * that a mirror gave an image counts as its original name. Returns the removed names. Call it again and again: it works once an hour, and
 * never while a command runs, because a command may rely on an image that it has just found.
 */
export function imageSweeper(deps: Deps): () => Promise<readonly string[]> {
  const { clock, journal } = deps
  let sweptAtMs = Number.NEGATIVE_INFINITY
  return async () => {
    if (deps.keepDays === 0 || clock.monotonicMs() - sweptAtMs < everyMs || (await journal.open()).length > 0) return []
    sweptAtMs = clock.monotonicMs()
    const isNeeded = await imagesOfBoxes(deps)
    return isNeeded ? sweep(deps, isNeeded) : []
  }
}

type IsNeeded = (name: string) => boolean

async function sweep(deps: Deps, isNeeded: IsNeeded): Promise<string[]> {
  const { engine, clock, mirrors, removals, allowedImages, keepDays } = deps
  const originName = await mirrors.originNames()
  const unneeded = unusedImages({
    images: await engine.images(),
    isOurs: (name) => isAllowedName(allowedImages, originName(name)),
    isReferenced: isNeeded,
    before: isoIn(clock, -keepDays * dayMs),
  })
  const removed: string[] = []
  for (const image of unneeded) if (await removals.exclusive(() => removeUnlessNeeded(deps, image))) removed.push(...image.names)
  return removed
}

/** Returns whether the image was removed. Checks again, because a command may have begun meanwhile. */
async function removeUnlessNeeded(deps: Deps, image: LocalImage): Promise<boolean> {
  if ((await deps.journal.open()).length > 0) return false
  // A box that is being provisioned is in no journal, but its compose file exists before its images are checked.
  const isNeeded = await imagesOfBoxes(deps)
  if (!isNeeded || image.names.some(isNeeded)) return false
  return deps.engine.removeImage(image).then(() => true, unlessInUse)
}

/** Skips images that came into use meanwhile. */
function unlessInUse(error: unknown): false {
  if (!isProblem(error, 'CONFLICT')) throw error
  return false
}

/**
 * Undefined when a box cannot be read: then any image may be needed. An image without a plain `repository:tag` (a digest, a variable, no tag)
 * protects its whole repository.
 */
async function imagesOfBoxes({ boxes, mirrors }: Deps): Promise<IsNeeded | undefined> {
  if ((await boxes.unreadable()).length > 0) return undefined
  try {
    const texts = await Promise.all((await boxes.list()).map(({ project }) => readFile(project.composeFile, 'utf8')))
    const images = texts.flatMap(imagesIn)
    const unclear = images.filter((image) => !isLiteralImage(image)).map(fullRepository)
    if (unclear.some((repository) => repository.includes('$'))) return undefined
    const [names, repositories] = [new Set(images.map(fullName)), new Set(unclear)]
    const originName = await mirrors.originNames()
    return (image) => [image, originName(image)].some((name) => names.has(fullName(name)) || repositories.has(fullRepository(name)))
  } catch {
    return undefined
  }
}

/** Images of all services of the file, including services that an operator added. */
const imagesIn = (text: string): string[] =>
  Object.values(resolvedCompose(text).services as Record<string, { image?: unknown } | null>).flatMap((service) =>
    typeof service?.image === 'string' ? [service.image] : [],
  )

/**
 * Keeps commands from relying on an image that is being removed: a command finds an image first and records its use later. One per agent.
 */
type ImageRemovals = Readonly<{
  /** Runs one removal at a time, while every look-up and pull waits. */
  exclusive<Value>(work: () => Promise<Value>): Promise<Value>
  /** The same engine, whose look-ups and pulls wait for running removals. */
  waitForRemovals(engine: ContainerEngine): ContainerEngine
}>

export function imageRemovals(): ImageRemovals {
  const oneAtATime = pLimit(1)
  const removalsDone = () => oneAtATime(() => undefined)
  return {
    exclusive: (work) => oneAtATime(work),
    waitForRemovals: (engine) => ({
      ...engine,
      localDigest: async (image) => {
        await removalsDone()
        return engine.localDigest(image)
      },
      // A pull without a digest would count layers that are about to be removed.
      pull: async (image, options) => {
        await removalsDone()
        return engine.pull(image, options)
      },
    }),
  }
}

import { readFile } from 'node:fs/promises'
import { unusedImages } from '../../core/boxes/index.ts'
import { type Clock, isoIn, isProblem } from '../../core/kit/index.ts'
import {
  fullName,
  fullRepository,
  isAllowedName,
  isLiteralImage,
  type KnownMirrors,
  type LocalBoxes,
  plainCompose,
} from '../boxes/index.ts'
import type { CommandJournal } from '../journal/index.ts'
import type { ContainerEngine, LocalImage } from '../ports/index.ts'
import type { ImageRemovals } from './image-removals.ts'

type Deps = Readonly<{
  engine: Pick<ContainerEngine, 'images' | 'removeImage'>
  journal: Pick<CommandJournal, 'open'>
  boxes: Pick<LocalBoxes, 'list' | 'unreadable'>
  clock: Clock
  mirrors: Pick<KnownMirrors, 'originNames'>
  removals: Pick<ImageRemovals, 'alone'>
  allowedImages: readonly string[]
  keepDays: number
}>

const dayMs = 86_400_000
const everyMs = 3_600_000

/**
 * Gives back the disk that former versions of boxes take: each image that this host may run, and that no container, no pin and no compose file
 * of a box has, goes some time after it was pulled or pinned last. A name that a mirror gave it counts as the one that was asked for. Answers
 * their names. Called again and again by one agent, it looks once an hour, and never while something is done to a box: what a command has just
 * found here must stay.
 */
export function imageSweeper(deps: Deps): () => Promise<readonly string[]> {
  const { clock, journal } = deps
  let lookedAtMs = Number.NEGATIVE_INFINITY
  return async () => {
    if (deps.keepDays === 0 || clock.monotonicMs() - lookedAtMs < everyMs || (await journal.open()).length > 0) return []
    lookedAtMs = clock.monotonicMs()
    const wanted = await wantedByBoxes(deps)
    return wanted ? sweep(deps, wanted) : []
  }
}

type Wanted = (name: string) => boolean

async function sweep(deps: Deps, wanted: Wanted): Promise<string[]> {
  const { engine, clock, mirrors, removals, allowedImages, keepDays } = deps
  const originName = await mirrors.originNames()
  const unneeded = unusedImages({
    images: await engine.images(),
    isOurs: (name) => isAllowedName(allowedImages, originName(name)),
    wanted,
    before: isoIn(clock, -keepDays * dayMs),
  })
  const removed: string[] = []
  for (const image of unneeded) if (await removals.alone(() => removeUnlessWanted(deps, image))) removed.push(...image.names)
  return removed
}

/** Answers whether it went: by now a command may have begun, which finds here what it finds. */
async function removeUnlessWanted(deps: Deps, image: LocalImage): Promise<boolean> {
  if ((await deps.journal.open()).length > 0) return false
  // A box that is being made is in no journal: its compose file is there before its images are looked for.
  const wanted = await wantedByBoxes(deps)
  if (!wanted || image.names.some(wanted)) return false
  return deps.engine.removeImage(image).then(() => true, unlessInUse)
}

/** Somebody took it meanwhile. */
function unlessInUse(error: unknown): false {
  if (!isProblem(error, 'CONFLICT')) throw error
  return false
}

/**
 * Undefined where a box cannot be read: then nobody knows what it needs. Of an image that is not written as `repository:tag`, but with a digest,
 * a variable or no tag, all of its repository may be what the box has.
 */
async function wantedByBoxes({ boxes, mirrors }: Deps): Promise<Wanted | undefined> {
  if ((await boxes.unreadable()).length > 0) return undefined
  try {
    const texts = await Promise.all((await boxes.list()).map(({ project }) => readFile(project.composeFile, 'utf8')))
    const images = texts.flatMap(imagesIn)
    const unclear = images.filter((image) => !isLiteralImage(image)).map(fullRepository)
    if (unclear.some((repository) => repository.includes('$'))) return undefined
    const [names, repositories] = [new Set(images.map(fullName)), new Set(unclear)]
    const originName = await mirrors.originNames()
    return (given) => [given, originName(given)].some((name) => names.has(fullName(name)) || repositories.has(fullRepository(name)))
  } catch {
    return undefined
  }
}

/** Also those of services that are none of the four of a box: what somebody added to it must start again too. */
const imagesIn = (text: string): string[] =>
  Object.values(plainCompose(text).services as Record<string, { image?: unknown } | null>).flatMap((service) =>
    typeof service?.image === 'string' ? [service.image] : [],
  )

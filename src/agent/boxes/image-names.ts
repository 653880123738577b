import { join } from 'node:path'
import pLimit from 'p-limit'
import { z } from 'zod'
import { type CommandSecrets, ImageRef, parseImage, registryOf } from '../../core/boxes/index.ts'
import { asJson, problem } from '../../core/kit/index.ts'

import { readIfThere, writeFileAtomic } from '../../node/index.ts'

/**
 * Throws IMAGE_NOT_ALLOWED unless the allow list covers the image. The list is in the agent's settings, so a compromised daemon cannot run
 * other images. An entry is a full repository, or a prefix that ends in `/*`.
 */
export function assertAllowedImage(allowed: readonly string[], image: string): void {
  if (!ImageRef.safeParse(image).success)
    throw problem('IMAGE_NOT_ALLOWED', `${JSON.stringify(image.slice(0, 100))} is not an image with a tag`)
  const repository = inFull(parseImage(image).repository)
  if (isAllowed(allowed, repository)) return
  throw problem(
    'IMAGE_NOT_ALLOWED',
    `Image ${image} is not allowed on this host. fix: add ${repository} to "images" in the agent's settings`,
  )
}

/** Checks a name as the engine prints it: `repository:tag` or `repository@digest`. */
export const isAllowedName = (allowed: readonly string[], name: string): boolean => isAllowed(allowed, fullRepository(name))

/** A fully qualified name, for comparison. */
export const fullName = (name: string): string => `${fullRepository(name)}${name.slice(repositoryIn(name).length)}`

/** The fully qualified repository of a name with or without tag and digest. */
export const fullRepository = (name: string): string => inFull(repositoryIn(name))

/** A registry may have a port, so the tag follows the last colon after the last slash. */
function repositoryIn(name: string): string {
  const [undigested = ''] = name.split('@')
  const colon = undigested.lastIndexOf(':')
  return colon > undigested.lastIndexOf('/') ? undigested.slice(0, colon) : undigested
}

const isAllowed = (allowed: readonly string[], repository: string): boolean => allowed.some((entry) => covers(entry, repository))

const covers = (entry: string, repository: string): boolean =>
  entry.endsWith('/*') ? repository.startsWith(inFull(entry).slice(0, -1)) : inFull(entry) === repository

/** `nginx` is `docker.io/library/nginx`. */
function inFull(repository: string): string {
  const { registry, path } = registryOf(repository)
  return `${registry}/${path}`
}

/** Registry by mirror, such as `mirror.example:5000/hub` → `docker.io`. */
const Mirrors = z.record(z.string(), z.string())

/** All mirrors this host ever used. An engine keeps the mirror's name on a pulled image, even after the daemon's list of mirrors has changed. */
export type KnownMirrors = Readonly<{
  record(registries: NonNullable<CommandSecrets['registries']>): Promise<void>
  /** Returns a function that maps a mirror's image name to its origin; other names are only fully qualified. */
  originNames(): Promise<(name: string) => string>
}>

export function knownMirrors(stateFolder: string): KnownMirrors {
  const file = join(stateFolder, 'mirrors.json')
  const read = async () => Mirrors.safeParse(asJson((await readIfThere(file)) ?? '')).data ?? {}
  const add = async (named: Readonly<Record<string, string>>) => {
    const known = await read()
    if (Object.entries(named).every(([mirror, registry]) => known[mirror] === registry)) return
    await writeFileAtomic(file, `${JSON.stringify({ ...known, ...named }, null, 2)}\n`)
  }
  const oneAtATime = pLimit(1)
  return {
    record: (registries) => {
      const named = Object.entries(registries).flatMap(([registry, { mirror }]) => (mirror === undefined ? [] : [[mirror, registry]]))
      return oneAtATime(() => add(Object.fromEntries(named)))
    },
    originNames: async () => {
      // Longest first: one mirror's name may be a prefix of another's.
      const known = Object.entries(await read()).sort(([one], [other]) => other.length - one.length)
      return (name) => {
        const full = fullName(name)
        const [mirror, registry] = known.find(([mirror]) => full.startsWith(`${mirror}/`)) ?? []
        return mirror === undefined ? full : `${registry}${full.slice(mirror.length)}`
      }
    },
  }
}

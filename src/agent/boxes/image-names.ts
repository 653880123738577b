import { join } from 'node:path'
import { z } from 'zod'
import { type CommandSecrets, ImageRef, parseImage, registryOf } from '../../core/boxes/index.ts'
import { asJson, problem } from '../../core/kit/index.ts'

import { readIfThere, writeFileAtomic } from '../../node/index.ts'

/**
 * Whether this host may run an image. The list is in the agent's own config, so that whoever holds the daemon still cannot run
 * any program here. An entry is a repository in full, or one ending in `/*` for all below it. Throws IMAGE_NOT_ALLOWED.
 */
export function needAllowedImage(allowed: readonly string[], image: string): void {
  if (!ImageRef.safeParse(image).success)
    throw problem('IMAGE_NOT_ALLOWED', `${JSON.stringify(image.slice(0, 100))} is no image with a tag`)
  const repository = inFull(parseImage(image).repository)
  if (isAllowed(allowed, repository)) return
  throw problem('IMAGE_NOT_ALLOWED', `${image} is not on the list of this host; add ${repository} to "images" in the agent's settings`)
}

/** The same of any name that an engine has for an image: `repository:tag` or `repository@digest`. */
export const isAllowedName = (allowed: readonly string[], name: string): boolean => isAllowed(allowed, fullRepository(name))

/** A name as every engine would write it, to compare two by. */
export const fullName = (name: string): string => `${fullRepository(name)}${name.slice(repositoryIn(name).length)}`

/** What it is a name of, in full; a tag, a digest, both or none may follow. */
export const fullRepository = (name: string): string => inFull(repositoryIn(name))

/** The registry may have a port: a tag is what follows the last colon behind the last slash. */
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

/** Which registry a mirror, such as `mirror.example:5000/hub`, stands for. */
const Mirrors = z.record(z.string(), z.string())

/**
 * The mirrors that this host has ever asked. An engine keeps a mirror's name on what came from there, also when the tag that was asked for
 * has moved on; and the daemon, which says the mirrors, may be away or have others by then.
 */
export type KnownMirrors = Readonly<{
  note(registries: NonNullable<CommandSecrets['registries']>): Promise<void>
  /** What says by which name of its own registry an image would be asked for; a name of no mirror stays, as every engine would write it. */
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
  let last: Promise<unknown> = Promise.resolve()
  return {
    note: (registries) => {
      const named = Object.entries(registries).flatMap(([registry, { mirror }]) => (mirror === undefined ? [] : [[mirror, registry]]))
      const done = last.then(() => add(Object.fromEntries(named)))
      last = done.catch(() => undefined)
      return done
    },
    originNames: async () => {
      // The longest first: a mirror may lie below another one's name.
      const known = Object.entries(await read()).sort(([one], [other]) => other.length - one.length)
      return (name) => {
        const full = fullName(name)
        const [mirror, registry] = known.find(([mirror]) => full.startsWith(`${mirror}/`)) ?? []
        return mirror === undefined ? full : `${registry}${full.slice(mirror.length)}`
      }
    },
  }
}

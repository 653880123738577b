import { ImageRef, parseImage, registryOf } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'

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

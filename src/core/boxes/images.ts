import { z } from 'zod'

const host = '(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?/)?'
const repository = `${host}[a-z0-9]+(?:[._/-][a-z0-9]+)*`
const tag = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}'

const reference = `${repository}:${tag}`

/** `repository:tag`, without shell characters. The digest is separate: Docker ignores a tag beside one. */
export const ImageRef = z
  .string()
  .max(300)
  .regex(new RegExp(`^${reference}$`), 'must be an image reference with a tag, such as registry.example/synapse:v1.163.2')

/** An image, or a major version of PostgreSQL as a tag of the present repository. */
export const UpgradeImage = z
  .string()
  .max(300)
  .regex(new RegExp(`^([1-9][0-9]|${reference})$`), 'must be an image with a tag, or a major version such as 17')

/** `sha256:` and 64 hex digits. */
export const Digest = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hex digits')

/** An image reference with a placeholder for the version, such as `synapse:v{version}`. */
export const ImagePattern = z
  .string()
  .max(300)
  .regex(
    new RegExp(`^${repository}:[A-Za-z0-9_.-]*\\{version\\}[A-Za-z0-9_.-]*$`),
    'must be an image reference with {version} in its tag, such as registry.example/synapse:v{version}',
  )

type ParsedImage = Readonly<{ repository: string; tag: string }>

/** Splits at the last colon: the registry may have a port. */
export function parseImage(ref: string): ParsedImage {
  const at = ref.lastIndexOf(':')
  return { repository: ref.slice(0, at), tag: ref.slice(at + 1) }
}

/** The major version that the tag begins with, as `15` of `postgres:15.4-alpine`; undefined for another tag. */
export const majorOfImage = (image: string): string | undefined => /^v?(\d+)/.exec(parseImage(image).tag)?.[1]

/** True if Docker reads the first part of a repository as a host; otherwise it is a name at Docker Hub. */
export const isRegistry = (word: string): boolean => /[.:]/.test(word) || word === 'localhost'

/** The registry of a repository and its path there, as Docker reads it: `nginx` is `library/nginx` of `docker.io`. */
export function registryOf(repository: string): Readonly<{ registry: string; path: string }> {
  const [first = '', ...rest] = repository.split('/')
  if (rest.length > 0 && isRegistry(first)) return { registry: first, path: rest.join('/') }
  return { registry: 'docker.io', path: rest.length > 0 ? repository : `library/${repository}` }
}

export const imageOf = (pattern: string, version: string): string => pattern.replace('{version}', version)

type StoredImage = Readonly<{ names: readonly string[]; pulled: boolean; pinned: boolean; used: boolean; namedAt: string | null }>

type Rule<Image> = Readonly<{
  /** True if a name belongs to a repository that this host may run. Other images are never deleted. */
  isOurs(name: string): boolean
  /** True if a box's compose file names it: it may be started at any time. */
  isReferenced(name: string): boolean
  /** ISO time; an image named since then may be needed for a rollback. */
  before: string
  images: readonly Image[]
}>

/**
 * The images that no box needs (SAFETY, update: retention frees disk space). Images stay that cannot be pulled again, have an unknown age, or have a
 * name outside our repositories.
 */
export const unusedImages = <Image extends StoredImage>({ images, isOurs, isReferenced, before }: Rule<Image>): Image[] =>
  images.filter(
    ({ names, pulled, pinned, used, namedAt }) =>
      pulled &&
      !pinned &&
      !used &&
      namedAt !== null &&
      namedAt < before &&
      names.length > 0 &&
      names.every(isOurs) &&
      !names.some(isReferenced),
  )

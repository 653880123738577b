import { z } from 'zod'

const host = '(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?/)?'
const repository = `${host}[a-z0-9]+(?:[._/-][a-z0-9]+)*`
const tag = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}'

/** `repository:tag`, in full: no shell character can be in it. A digest is kept apart, because Docker ignores the tag beside one. */
export const ImageRef = z
  .string()
  .max(300)
  .regex(new RegExp(`^${repository}:${tag}$`), 'must be an image reference with a tag, such as registry.example/synapse:v1.163.2')

/** `sha256:` and 64 hex digits: what a tag really was. */
export const Digest = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hex digits')

/** The manifest's form of an image reference: its tag has the place of the version, `synapse:v{version}`. */
export const ImagePattern = z
  .string()
  .max(300)
  .regex(
    new RegExp(`^${repository}:[A-Za-z0-9_.-]*\\{version\\}[A-Za-z0-9_.-]*$`),
    'must be an image reference with {version} in its tag, such as registry.example/synapse:v{version}',
  )

type ParsedImage = Readonly<{ repository: string; tag: string }>

/** Splits at the last colon, which belongs to the tag: the registry may have a port. */
export function parseImage(ref: string): ParsedImage {
  const at = ref.lastIndexOf(':')
  return { repository: ref.slice(0, at), tag: ref.slice(at + 1) }
}

/** What Docker takes for a host at the beginning of a repository; another word would be a name at Docker Hub. */
export const isRegistry = (word: string): boolean => /[.:]/.test(word) || word === 'localhost'

/** The registry of a repository and its path there, as Docker reads it: `nginx` is `library/nginx` of `docker.io`. */
export function registryOf(repository: string): Readonly<{ registry: string; path: string }> {
  const [first = '', ...rest] = repository.split('/')
  if (rest.length > 0 && isRegistry(first)) return { registry: first, path: rest.join('/') }
  return { registry: 'docker.io', path: rest.length > 0 ? repository : `library/${repository}` }
}

export const imageOf = (pattern: string, version: string): string => pattern.replace('{version}', version)

import type { Manifest, ManifestChange } from './manifest.ts'

/** The changes from one manifest to the next, by dotted path. */
export function diffManifests(from: Manifest | undefined, to: Manifest): ManifestChange[] {
  const [before, after] = [from ? leaves(from) : new Map<string, string>(), leaves(to)]
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((path) => ({ path, from: before.get(path) ?? null, to: after.get(path) ?? null }))
    .filter((change) => change.from !== change.to)
}

function leaves(value: object, root = ''): Map<string, string> {
  const entries = Object.entries(value).flatMap(([key, inner]): [string, string][] =>
    typeof inner === 'object' ? [...leaves(inner, `${root}${key}.`)] : [[`${root}${key}`, String(inner)]],
  )
  return new Map(entries)
}

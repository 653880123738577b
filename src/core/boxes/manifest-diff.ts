import type { Manifest } from './manifest.ts'

/** One value that differs; null where a side has none. */
export type ManifestChange = Readonly<{ path: string; from: string | null; to: string | null }>

/** What changes from one manifest to the next, by dotted path; from nothing when there was none. */
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

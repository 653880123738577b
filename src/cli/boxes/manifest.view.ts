import type { ManifestRevision } from '../../core/boxes/index.ts'
import { clean, fields, type Look, sections, stamp, table } from '../kit/index.ts'

export function manifestView({ revision, manifest, appliedAt, appliedBy }: ManifestRevision, look: Look): string {
  return sections(
    fields(look, [
      ['revision', look.paint.bold(String(revision))],
      ['applied', `${stamp(appliedAt, look.now)} by ${clean(appliedBy)}`],
    ]),
    table(
      look,
      [
        { title: 'TIER', value: ([tier]) => tier, priority: 1 },
        { title: 'SYNAPSE', value: ([, { synapse }]) => synapse, priority: 1 },
        { title: 'POSTGRES', value: ([, { postgres }]) => postgres, priority: 1 },
        { title: 'MINIO', value: ([, { minio }]) => minio, priority: 2, least: 12 },
        { title: 'MIGRATIONS', value: ([, { migrationsHead }]) => migrationsHead, priority: 2 },
      ],
      Object.entries(manifest.tiers),
    ),
    fields(look, Object.entries(manifest.images)),
  )
}

type Change = Readonly<{ path: string; from: string | null; to: string | null }>

/** One row per change; the same change in several tiers is one row. */
export function changesView(changes: readonly Change[], look: Look): string {
  const rows = new Map<string, { what: string; tiers: string[] } & Change>()
  for (const change of changes) {
    const [, tier, component] = /^tiers\.([^.]+)\.(.+)$/.exec(change.path) ?? []
    const what = component === 'migrationsHead' ? 'migrations' : (component ?? change.path.replace(/^images\./, 'image of '))
    const key = JSON.stringify([what, change.from, change.to])
    const row = rows.get(key) ?? { ...change, what, tiers: [] }
    if (tier) row.tiers.push(tier)
    rows.set(key, row)
  }
  return table(
    look,
    [
      { title: 'WHAT', value: ({ what }) => what, priority: 1 },
      { title: 'TIERS', value: ({ tiers }) => tiers.join(' '), priority: 3 },
      { title: 'NOW', value: ({ from }) => from, priority: 1, least: 12, paint: () => 'red' },
      { title: 'THEN', value: ({ to }) => to, priority: 1, least: 12, paint: () => 'green' },
    ],
    [...rows.values()],
  )
}

import type { ManifestRevision } from '../../core/boxes/index.ts'
import { fold } from '../../core/kit/index.ts'
import { type Column, clean, fields, type Style, sections, stamp, table, tableWithText } from '../kit/index.ts'

export function manifestView({ revision, manifest, appliedAt, appliedBy }: ManifestRevision, style: Style): string {
  return sections(
    fields(style, [
      ['revision', style.paint.bold(String(revision))],
      ['applied', `${stamp(appliedAt, style.now)} by ${clean(appliedBy)}`],
    ]),
    table(
      style,
      [
        { title: 'TIER', value: ([tier]) => tier, priority: 1 },
        { title: 'SYNAPSE', value: ([, { synapse }]) => synapse, priority: 1 },
        { title: 'POSTGRES', value: ([, { postgres }]) => postgres, priority: 1 },
        { title: 'MINIO', value: ([, { minio }]) => minio, priority: 2, minWidth: 12 },
        { title: 'MIGRATIONS', value: ([, { migrationsHead }]) => migrationsHead, priority: 2 },
      ],
      Object.entries(manifest.tiers),
    ),
    fields(style, Object.entries(manifest.images)),
  )
}

type Change = Readonly<{ path: string; from: string | null; to: string | null }>

/** One row per change; the same change in several tiers is one row. */
export function changesView(changes: readonly Change[], style: Style): string {
  const rows = new Map<string, { what: string; tiers: string[] } & Change>()
  for (const change of changes) {
    const [, tier, component] = /^tiers\.([^.]+)\.(.+)$/.exec(change.path) ?? []
    const what = component === 'migrationsHead' ? 'migrations' : (component ?? change.path.replace(/^images\./, 'image of '))
    const key = JSON.stringify([what, change.from, change.to])
    const row = rows.get(key) ?? { ...change, what, tiers: [] }
    if (tier) row.tiers.push(tier)
    rows.set(key, row)
  }
  return rowsView([...rows.values()], style)
}

type Row = Readonly<{ what: string; tiers: readonly string[] }> & Change

/** What is now and what would be are read against each other: images differ at their end, so where both have no room side by side they stand below, whole. */
function rowsView(rows: readonly Row[], style: Style): string {
  const named: Column<Row>[] = [
    { title: 'WHAT', value: ({ what }) => what, priority: 1 },
    { title: 'TIERS', value: ({ tiers }) => tiers.join(' '), priority: 3 },
  ]
  const beside = table(
    { ...style, width: Number.POSITIVE_INFINITY },
    [
      ...named,
      { title: 'NOW', value: ({ from }) => from, priority: 1, paint: () => 'red' },
      { title: 'THEN', value: ({ to }) => to, priority: 1, paint: () => 'green' },
    ],
    rows,
  )
  if (fold(beside, style.width) === beside) return beside
  const move: Column<Row> = { title: 'NOW → THEN', value: ({ from, to }) => `${from ?? '-'} → ${to ?? '-'}`, priority: 1 }
  return tableWithText(style, [...named, move], move, rows)
}

import type { ManifestGates, ManifestRevision } from '../../core/boxes/index.ts'
import { fold, plural, problem } from '../../core/kit/index.ts'
import {
  assertConfirmed,
  type Column,
  type Context,
  clean,
  command,
  count,
  fields,
  readTextFile,
  type Style,
  sections,
  stamp,
  table,
  tableWithText,
} from '../kit/index.ts'
import { readRevision } from './manifest-history.ts'

export const show = command('show', 'Show the current manifest, or an earlier revision', {
  options: { revision: count('--revision <number>', 'an earlier revision; all are in the history') },
  run: ({ api }, { revision }) => (revision === undefined ? api.boxes.showManifest() : readRevision(api, revision)),
  view: manifestView,
})

export const diff = command('diff <file>', 'Preview the changes of a manifest file (read-only)', {
  run: async (context, { file }) => context.api.boxes.diffManifest({ body: { manifest: await readManifest(context, file) } }),
  view: ({ changes, revision }, style) =>
    changes.length === 0 ? `No changes: equal to revision ${revision}.` : changesView(changes, style),
})

export const resolve = command('resolve <file>', 'Write the digests of all images into a manifest file', {
  run: async ({ api, notify, readStdin }, { file }) => {
    const document = await readDocument({ readStdin }, file)
    const { images } = await api.rollouts.resolveManifest({ body: { manifest: document.toJS() } })
    const open = images.filter(({ digest }) => digest === null)
    if (open.length > 0) {
      const reasons = open.map(({ image, why }) => `${image} (${why ?? 'no host could be asked'})`)
      throw problem('CONFLICT', `${file} is unchanged, because some digests are not known: ${reasons.join('; ')}`)
    }
    document.set('digests', Object.fromEntries(images.map(({ image, digest }) => [image, digest])))
    const text = document.toString({ lineWidth: 0 })
    if (file !== '-') await writeTextFile(file, text)
    for (const { image, askedFrom } of images.filter(({ confirmedBy }) => confirmedBy === null))
      notify(({ paint }) =>
        paint.yellow(`Only ${clean(askedFrom ?? 'one host')} resolved ${clean(image)}; no second host confirmed the digest.`),
      )
    return { file, images, text }
  },
  view: ({ file, images, text }, style) =>
    file === '-'
      ? text.trimEnd()
      : sections(
          table(
            style,
            [
              { title: 'IMAGE', value: ({ image }) => image, priority: 1 },
              { title: 'DIGEST', value: ({ digest }) => digest, priority: 2, minWidth: 20 },
              { title: 'HOSTS', value: ({ askedFrom, confirmedBy }) => [askedFrom, confirmedBy].filter(Boolean).join(' '), priority: 1 },
            ],
            images,
          ),
          `${plural(images.length, 'digest')} written to ${clean(file)}. Next: tenantry manifest apply ${clean(file)}`,
        ),
})

export const apply = command('apply <file>', 'Apply a manifest file; only rollouts update boxes', {
  run: async (context, { file }) => applyAfterDiff(context, await readManifest(context, file)),
  view: appliedView,
})

export const rollback = command('rollback <revision>', 'Apply an earlier manifest again; only rollouts update boxes', {
  run: async (context, { revision }) => {
    const { manifest } = await readRevision(context.api, revisionOf(revision))
    return applyAfterDiff(context, manifest)
  },
  view: appliedView,
  examples: ['rollback 12'],
})

function revisionOf(typed: string): number {
  const revision = Number(typed)
  if (!Number.isInteger(revision) || revision < 1) throw problem('USAGE', `${typed} is not a revision. fix: \`tenantry manifest history\``)
  return revision
}

/** Shows the changes and asks, then applies them. */
async function applyAfterDiff({ api, ask, yes, notify }: Context, manifest: unknown) {
  const body = { manifest }
  if (!yes) {
    const { changes, revision } = await api.boxes.diffManifest({ body })
    if (changes.length > 0) {
      notify((style) => changesView(changes, style))
      if (ask.interactive) await warnOfActiveRollouts({ api, notify })
      await assertConfirmed(ask, `Apply ${plural(changes.length, 'change')} to revision ${revision}?`)
    }
  }
  const applied = await api.boxes.applyManifest({ body })
  if (yes && applied.changed) await warnOfActiveRollouts({ api, notify })
  return applied
}

type Applied = Readonly<{ changed: boolean; changes: readonly unknown[]; revision: number }>

function appliedView({ changed, changes, revision }: Applied, { paint }: Style): string {
  return changed
    ? `${paint.green(`Revision ${revision}`)} applied (${plural(changes.length, 'change')}). Boxes are unchanged. Next: tenantry rollouts plan`
    : `No changes: equal to revision ${revision}.`
}

/** Older unfinished rollouts are not named. */
const newestRollouts = 100

/** A rollout keeps the versions from its creation, so a new manifest leaves its boxes in drift. Where the list fails, nothing is said. */
async function warnOfActiveRollouts({ api, notify }: Pick<Context, 'api' | 'notify'>): Promise<void> {
  const { rollouts } = await api.rollouts.listRollouts({ query: { limit: newestRollouts } }).catch(() => ({ rollouts: [] }))
  for (const { id, status, manifestRevision } of rollouts.filter(({ startedAt, finishedAt }) => startedAt !== null && finishedAt === null))
    notify(
      ({ paint }) =>
        `${paint.yellow(`Rollout ${clean(id)} is active (${clean(status)}).`)} It continues to revision ${manifestRevision}, not to this one. Stop it first: tenantry rollouts abort ${clean(id)}`,
    )
}

function manifestView({ revision, manifest, appliedAt, appliedBy }: ManifestRevision, style: Style): string {
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
    fields(
      style,
      Object.entries(manifest.gates ?? {}).map(([name, gate], n) => [n === 0 ? 'gates' : '', `${name}: ${gateText(gate)}`]),
    ),
  )
}

/** `at most 0.5 for 10m: sum(errors)` */
const gateText = ({ query, atMost, atLeast, for: period }: ManifestGates[string]): string => {
  const limits = [atLeast !== undefined && `at least ${atLeast}`, atMost !== undefined && `at most ${atMost}`].filter(Boolean).join(' and ')
  return `${limits}${period === undefined ? '' : ` for ${period}`}: ${clean(query)}`
}

type Change = Readonly<{ path: string; from: string | null; to: string | null }>

/** One row per change; equal changes of several tiers share a row. */
function changesView(changes: readonly Change[], style: Style): string {
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

/** Both values side by side where they fit; otherwise one below the other, untruncated, because images differ at their end. */
function rowsView(rows: readonly Row[], style: Style): string {
  const named: Column<Row>[] = [
    { title: 'ITEM', value: ({ what }) => what, priority: 1 },
    { title: 'TIERS', value: ({ tiers }) => tiers.join(' '), priority: 3 },
  ]
  const beside = table(
    { ...style, width: Number.POSITIVE_INFINITY },
    [
      ...named,
      { title: 'CURRENT', value: ({ from }) => from, priority: 1, paint: () => 'red' },
      { title: 'NEW', value: ({ to }) => to, priority: 1, paint: () => 'green' },
    ],
    rows,
  )
  if (fold(beside, style.width) === beside) return beside
  const move: Column<Row> = { title: 'CURRENT → NEW', value: ({ from, to }) => `${from ?? '-'} → ${to ?? '-'}`, priority: 1 }
  return tableWithText(style, { columns: [...named, move], text: move }, rows)
}

/** Reads a manifest file (`-` is stdin); the daemon validates it. */
const readManifest = async (context: Pick<Context, 'readStdin'>, file: string): Promise<unknown> =>
  (await readDocument(context, file)).toJS()

async function readDocument({ readStdin }: Pick<Context, 'readStdin'>, file: string) {
  const [{ parseDocument }, text] = await Promise.all([import('yaml'), file === '-' ? readStdin() : readTextFile(file)])
  const document = parseDocument(text)
  const [wrong] = document.errors
  if (wrong) throw problem('MANIFEST_INVALID', `${file} is not YAML: ${wrong.message.split('\n')[0]?.replace(/:$/, '')}`)
  return document
}

async function writeTextFile(file: string, text: string): Promise<void> {
  const { writeFile } = await import('node:fs/promises')
  await writeFile(file, text).catch((error: NodeJS.ErrnoException) => {
    throw problem('USAGE', `cannot write ${file} (${error.code}); pass a file that is writable`)
  })
}

import type { ManifestRevision, TierVersions } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { type Context, command, count, sections, stamp, table, text } from '../kit/index.ts'

export const history = command('history', 'List applied manifests, newest first', {
  options: { limit: count('--limit <count>', 'max results'), cursor: text('--cursor <cursor>', 'pagination cursor') },
  run: ({ api }, query) => api.boxes.listManifestRevisions({ query }),
  view: ({ revisions, nextCursor }, style) =>
    revisions.length === 0
      ? 'No manifest yet. Apply one: tenantry manifest apply <file>'
      : sections(
          table(
            style,
            [
              { title: 'REVISION', value: ({ revision }) => revision, priority: 1, align: 'right' },
              { title: 'SYNAPSE', value: (one) => versionsOf(one, 'synapse'), priority: 1 },
              { title: 'POSTGRES', value: (one) => versionsOf(one, 'postgres'), priority: 2 },
              { title: 'MINIO', value: (one) => versionsOf(one, 'minio'), priority: 4, minWidth: 12 },
              { title: 'MIGRATIONS', value: (one) => versionsOf(one, 'migrationsHead'), priority: 5 },
              { title: 'APPLIED', value: ({ appliedAt }) => stamp(appliedAt, style.now), priority: 2 },
              { title: 'BY', value: ({ appliedBy }) => appliedBy, priority: 3, minWidth: 10 },
            ],
            revisions,
          ),
          nextCursor ? `Next page: --cursor ${nextCursor}` : '',
        ),
})

/** Each distinct version of the tiers once. */
const versionsOf = ({ manifest }: ManifestRevision, component: keyof TierVersions): string =>
  [...new Set(Object.values(manifest.tiers).map((versions) => versions[component]))].join(' ')

/** Reads one revision. Throws NOT_FOUND. */
export async function readRevision(api: Context['api'], revision: number): Promise<ManifestRevision> {
  const { revisions } = await api.boxes.listManifestRevisions({ query: { cursor: revision + 1, limit: 1 } })
  const [found] = revisions
  if (found?.revision !== revision)
    throw problem('NOT_FOUND', `manifest revision ${revision} does not exist. fix: \`tenantry manifest history\``)
  return found
}

import type { Manifest, ManifestRevision, TierVersions } from '../../core/boxes/index.ts'
import { Ago, CliLine, DataTable, Section, type TableColumn } from '../kit/index.ts'
import { words } from './words.ts'

const { columns: titles } = words

const tierColumns: readonly TableColumn<readonly [string, TierVersions]>[] = [
  { key: 'tier', title: titles.tier, width: '120px', value: ([tier]) => tier, sortable: false },
  { key: 'synapse', title: titles.synapse, width: '120px', value: ([, { synapse }]) => synapse, sortable: false },
  { key: 'postgres', title: titles.postgres, width: '120px', value: ([, { postgres }]) => postgres, sortable: false },
  { key: 'minio', title: titles.minio, width: 'minmax(220px, 1fr)', value: ([, { minio }]) => minio, sortable: false },
  {
    key: 'migrations',
    narrow: 'hidden',
    title: titles.migrations,
    width: '100px',
    value: ([, one]) => one.migrationsHead,
    sortable: false,
  },
]

/** The versions of each tier. */
export const Tiers = ({ tiers }: Pick<Manifest, 'tiers'>) => (
  <DataTable label={words.versions} columns={tierColumns} rows={Object.entries(tiers)} rowKey={([tier]) => tier} empty={null} />
)

/** Each distinct version of the tiers once. */
const versionsOf = ({ manifest }: ManifestRevision, component: keyof TierVersions): string =>
  [...new Set(Object.values(manifest.tiers).map((versions) => versions[component]))].join(' ')

const historyColumns: readonly TableColumn<ManifestRevision>[] = [
  { key: 'revision', title: titles.revision, width: '90px', value: ({ revision }) => revision, sortable: false },
  { key: 'synapse', title: titles.synapse, width: '140px', value: (one) => versionsOf(one, 'synapse'), sortable: false },
  { key: 'postgres', title: titles.postgres, width: '120px', value: (one) => versionsOf(one, 'postgres'), sortable: false },
  { key: 'minio', title: titles.minio, width: 'minmax(220px, 1fr)', value: (one) => versionsOf(one, 'minio'), sortable: false },
  {
    key: 'migrations',
    narrow: 'hidden',
    title: titles.migrations,
    width: '100px',
    value: (one) => versionsOf(one, 'migrationsHead'),
    sortable: false,
  },
  {
    key: 'applied',
    title: titles.applied,
    width: '110px',
    value: ({ appliedAt }) => appliedAt,
    cell: ({ appliedAt }) => <Ago at={appliedAt} />,
    sortable: false,
  },
  { key: 'by', title: titles.by, width: 'minmax(120px, 1fr)', value: ({ appliedBy }) => appliedBy, sortable: false },
]

/** All revisions, newest first; each opens its page. */
export const History = ({ revisions }: Readonly<{ revisions: readonly ManifestRevision[] }>) => (
  <Section title={words.history}>
    <DataTable
      label={words.history}
      columns={historyColumns}
      rows={revisions}
      rowKey={({ revision }) => String(revision)}
      rowLink={({ revision }) => `/manifest?revision=${revision}`}
      empty={null}
      reserve={480}
    />
    <CliLine>tenantry manifest history</CliLine>
  </Section>
)

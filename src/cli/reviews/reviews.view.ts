import type { Client } from '../../core/contract/index.ts'
import { printable } from '../../core/kit/index.ts'
import type { storeContract } from '../../core/store/index.ts'
import { ago, type Column, clean, fields, type Style, sections, stamp, table } from '../kit/index.ts'

type Store = Client<typeof storeContract>
type Listed = Awaited<ReturnType<Store['listReviews']>>
type Review = Listed['reviews'][number]
type Shown = Awaited<ReturnType<Store['showReview']>>

const columns = ({ now }: Style): Column<Review>[] => [
  { title: 'SUBMISSION', value: ({ submissionId }) => submissionId, priority: 1 },
  { title: 'MODULE', value: ({ moduleId }) => moduleId, priority: 1 },
  { title: 'VERSION', value: ({ version }) => version, priority: 1 },
  { title: 'DEVELOPER', value: ({ developer }) => clean(developer.name), priority: 2 },
  { title: 'VERIFIED', value: ({ developer }) => (developer.verified ? 'yes' : 'no'), priority: 3 },
  { title: 'TEST', value: ({ test }) => (test.ok ? 'OK' : 'failed'), priority: 2, paint: ({ test }) => (test.ok ? 'green' : 'red') },
  { title: 'WARNINGS', value: ({ warnings }) => warnings.length, priority: 3, align: 'right' },
  { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now), priority: 2 },
]

export const reviewList = ({ reviews, nextCursor }: Listed, style: Style): string =>
  sections(
    reviews.length === 0 ? 'No submissions await a review.' : table(style, columns(style), reviews),
    nextCursor ? `Next page: --cursor ${nextCursor}` : '',
  )

/** Every text of the developer is printed without control characters: a package must not write to the terminal of its reviewer. */
export function reviewView(one: Shown, style: Style): string {
  const { developer, difference, manifest, scan, test, warnings, sources } = one
  return sections(
    fields(style, [
      ['submission', one.submissionId],
      ['module', `${one.moduleId} ${one.version} (${clean(one.name)})`],
      ['status', one.status],
      [
        'developer',
        `${clean(developer.name)}, ${clean(developer.organization)}${developer.verified ? ', verified' : ''} (${developer.id})`,
      ],
      ['created', stamp(one.createdAt, style.now)],
      ['permissions', manifest.permissions.join(', ') || 'none'],
      ['sha256', one.checksum],
      ['scan', scan.ok ? `OK (${scan.files} files, ${scan.bytes} bytes)` : `${scan.violations.length} findings`],
      ['test', test.ok ? `OK (${test.ran.length} steps)` : 'failed'],
    ]),
    listed('warnings', warnings),
    listed(
      'failed steps',
      test.ran.filter(({ ok }) => !ok).map(({ step, message }) => `${step}: ${message}`),
    ),
    listed(
      difference.previousVersion ? `changes since ${difference.previousVersion}` : 'content of the first version',
      changesOf(difference),
    ),
    ...sources.map((source) => sourceView(source)),
    one.status === 'in_review' ? `next: tenantry reviews approve ${one.submissionId}` : '',
  )
}

const listed = (title: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : [`${title}:`, ...lines.map((line) => `  ${clean(line)}`)].join('\n')

const changesOf = ({ files, ...others }: Shown['difference']): string[] => [
  ...files.added.map((name) => `+ file ${name}`),
  ...files.removed.map((name) => `- file ${name}`),
  ...files.changed.map((name) => `~ file ${name}`),
  ...(['permissions', 'subscribes', 'publishes'] as const).flatMap((kind) => [
    ...others[kind].added.map((name) => `+ ${kind} ${name}`),
    ...others[kind].removed.map((name) => `- ${kind} ${name}`),
  ]),
]

function sourceView({ file, bytes, text, findings }: Shown['sources'][number]): string {
  if (text === null) return `${clean(file)}: ${bytes} bytes, not shown: read it in the package`
  const found = findings.map(({ line, column, message }) => `  ${[line, column].filter(Boolean).join(':')} ${clean(message)}`)
  const lines = text.split(/\r?\n/).map((line, n) => `${String(n + 1).padStart(5)}  ${printable(line)}`.trimEnd())
  return [`${clean(file)} (${bytes} bytes)`, ...found, ...lines].join('\n')
}
